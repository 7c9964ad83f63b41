//! Maps as the `.maps` section declares them: every property is the type of a member.

use std::collections::BTreeMap;

use super::code::{Layout, Target};
use super::elf::Elf;
use super::{MapInfo, ObjectError};
use crate::btf::{Btf, BtfMember, Kind, TypeId};

/// A map of the object.
#[derive(Clone, Debug, Default)]
pub struct MapDefinition {
    pub name: String,
    /// `enum bpf_map_type`.
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    /// Type of the value in the object's BTF; 0 when only its size is given.
    pub value_type: TypeId,
    /// What the maps in a map of maps look like.
    pub inner: Option<Box<MapDefinition>>,
    /// What is in it from the start.
    pub values: Vec<InitialValue>,
}

/// An element of a map of maps.
#[derive(Clone, Copy, Debug)]
pub struct InitialValue {
    /// Its key.
    pub index: u32,
    /// The map that is its value, by number.
    pub map: usize,
}

/// Names of map kinds by `enum bpf_map_type`.
#[rustfmt::skip]
const KINDS: [&str; 34] = [
    "unspec", "hash", "array", "prog_array", "perf_event_array", "percpu_hash", "percpu_array", "stack_trace",
    "cgroup_array", "lru_hash", "lru_percpu_hash", "lpm_trie", "array_of_maps", "hash_of_maps", "devmap", "sockmap",
    "cpumap", "xskmap", "sockhash", "cgroup_storage_deprecated", "reuseport_sockarray",
    "percpu_cgroup_storage_deprecated", "queue", "stack", "sk_storage", "devmap_hash", "struct_ops", "ringbuf",
    "inode_storage", "task_storage", "bloom_filter", "user_ringbuf", "cgrp_storage", "arena",
];

/// The name of a map kind.
pub fn kind_name(kind: u32) -> String {
    KINDS.get(kind as usize).map_or_else(|| format!("map type {kind}"), |name| name.to_string())
}

impl MapDefinition {
    /// What people see of it.
    pub fn info(&self) -> MapInfo {
        MapInfo {
            name: self.name.clone(),
            kind: kind_name(self.kind),
            key_size: self.key_size,
            value_size: self.value_size,
            max_entries: self.max_entries,
        }
    }

    fn read(btf: &Btf, name: &str, ty: TypeId, depth: u32) -> Result<MapDefinition, ObjectError> {
        let mut map = MapDefinition { name: name.to_string(), ..MapDefinition::default() };
        for member in btf.members(ty)? {
            map.read_member(btf, member, depth)?;
        }
        Ok(map)
    }

    fn read_member(&mut self, btf: &Btf, member: &BtfMember, depth: u32) -> Result<(), ObjectError> {
        let damaged = || ObjectError::Damaged(format!("map {}: property {} cannot be read", self.name, member.name));
        let fits = |size: u64| u32::try_from(size).map_err(|_| damaged());
        let pointee = || match btf.resolve(member.ty)?.1.kind {
            Kind::Pointer(to) => Ok(to),
            _ => Err(damaged()),
        };
        // `__uint(name, n)` declares a pointer to an array of n elements.
        let number = || match btf.resolve(pointee()?)?.1.kind {
            Kind::Array { count, .. } => Ok(count),
            _ => Err(damaged()),
        };
        match member.name.as_str() {
            "type" => self.kind = number()?,
            "max_entries" => self.max_entries = number()?,
            "map_flags" => self.flags = number()?,
            "key_size" => self.key_size = number()?,
            "value_size" => self.value_size = number()?,
            "key" => self.key_size = fits(btf.size_of(pointee()?)?)?,
            "value" => {
                let ty = pointee()?;
                (self.value_type, self.value_size) = (ty, fits(btf.size_of(ty)?)?);
            }
            "values" => {
                let Kind::Array { element, .. } = btf.resolve(member.ty)?.1.kind else { return Err(damaged()) };
                let Kind::Pointer(to) = btf.resolve(element)?.1.kind else { return Err(damaged()) };
                if depth == 0 && matches!(btf.resolve(to)?.1.kind, Kind::Composite { .. }) {
                    let inner = MapDefinition::read(btf, &format!("{}.inner", self.name), to, depth + 1)?;
                    (self.inner, self.value_size) = (Some(Box::new(inner)), 4);
                }
            }
            // Where it is pinned, on which node it lies, extra words of arenas: of no effect here.
            _ => {}
        }
        Ok(())
    }
}

/// The section's variables: name, type and offset.
fn variables(elf: &Elf, btf: &Btf) -> Result<Vec<(String, TypeId, u64)>, ObjectError> {
    let Some(index) = elf.sections.iter().position(|section| section.name == ".maps") else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (_, section) in btf.iter() {
        let Kind::DataSection(variables) = &section.kind else { continue };
        for variable in variables.iter().filter(|_| section.name == ".maps") {
            let ty = btf.get(variable.ty)?;
            let Kind::Variable { ty: of, .. } = ty.kind else { continue };
            let symbol = elf.symbol_in(index, &ty.name);
            let damaged = || ObjectError::Damaged(format!("map {} has no symbol", ty.name));
            found.push((ty.name.clone(), of, symbol.ok_or_else(damaged)?.value));
        }
    }
    Ok(found)
}

/// Number of each map by its offset in the section.
pub fn offsets(elf: &Elf, btf: &Btf) -> Result<BTreeMap<u64, usize>, ObjectError> {
    Ok(variables(elf, btf)?.into_iter().enumerate().map(|(index, (_, _, offset))| (offset, index)).collect())
}

/// All maps of the object.
pub fn collect(elf: &Elf, btf: &Btf, layout: &Layout) -> Result<Vec<MapDefinition>, ObjectError> {
    let mut maps = Vec::new();
    for (name, ty, offset) in variables(elf, btf)? {
        let mut map = MapDefinition::read(btf, &name, ty, 0)?;
        if map.inner.is_some() {
            map.values = initial_values(elf, btf, layout, ty, offset)?;
        }
        maps.push(map);
    }
    Ok(maps)
}

/// The relocated pointers behind `.values = {...}`: all up to the next map.
fn initial_values(
    elf: &Elf,
    btf: &Btf,
    layout: &Layout,
    ty: TypeId,
    offset: u64,
) -> Result<Vec<InitialValue>, ObjectError> {
    let Some(section) = elf.section(".maps") else { return Ok(Vec::new()) };
    let member = btf.members(ty)?.iter().find(|member| member.name == "values");
    let from = offset.saturating_add(member.map_or(0, |member| u64::from(member.bit_offset / 8)));
    let until = layout.map_offsets.range(offset.saturating_add(1)..).next().map_or(u64::MAX, |(&next, _)| next);
    let mut values = Vec::new();
    for relocation in section.relocations.iter().filter(|found| (from..until).contains(&found.offset)) {
        if let Target::Map(map) = layout.target(elf, relocation.symbol)? {
            values.push(InitialValue { index: ((relocation.offset - from) / 8) as u32, map });
        }
    }
    Ok(values)
}
