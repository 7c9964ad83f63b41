//! Globals: data sections in guest memory, with the settings of the user and the constants of the kernel put in.

use std::collections::BTreeMap;

use super::Addresses;
use crate::btf::{Btf, Kind};
use crate::constants::Constants;
use crate::kernel::Environment;
use crate::maps::{Map, Storage};
use crate::memory::{Access, Content, GuestMemory, PAGE_SIZE, Region};
use crate::object::{DataKind, DataSection, LoadError, Object};
use crate::options::Value;

/// The data of an object in guest memory.
#[derive(Default)]
pub struct Data {
    /// Address of each data section.
    pub sections: Addresses,
    /// Address and size of each variable.
    pub globals: BTreeMap<String, (u64, u32)>,
}

impl Data {
    /// Makes a region of each section and writes the initial values. `cpus` is how many elements there is room for in
    /// an array that the loader is to size.
    pub fn place(
        object: &Object,
        kernel: &Environment<'_>,
        settings: &[(String, Value)],
        cpus: u32,
        maps: &mut [Map],
        memory: &GuestMemory,
    ) -> Result<Data, LoadError> {
        let mut data = Data { sections: BTreeMap::new(), globals: BTreeMap::new() };
        for (index, section) in object.data.iter().enumerate() {
            let room = section.size * if is_resizable(section, &object.btf) { u64::from(cpus) } else { 1 };
            let base = place_section(section, index as u32, room, maps, memory)?;
            data.sections.insert(index, base);
            for (name, offset, size) in &section.variables {
                if offset.checked_add(*size).is_some_and(|end| end <= section.size) {
                    data.globals.insert(name.clone(), (base + offset, *size as u32));
                }
            }
        }
        data.fill_enumerators(object, kernel, memory);
        data.apply(object, settings, memory)?;
        Ok(data)
    }

    /// The sections of constants as they are now, to be asked for when the settings are in.
    pub fn constants(&self, object: &Object, memory: &GuestMemory) -> Constants {
        let mut constants = Constants::default();
        for (&index, &address) in &self.sections {
            let section = &object.data[index];
            if section.kind == DataKind::ReadOnly && section.name.starts_with(".rodata") {
                let mut bytes = vec![0; section.size as usize];
                memory.read_bytes(address, &mut bytes);
                constants.add(address, bytes);
            }
        }
        constants
    }

    /// Fills the constants that stand for enumerators of the kernel; what the kernel does not have stays 0.
    fn fill_enumerators(&self, object: &Object, kernel: &Environment<'_>, memory: &GuestMemory) {
        for constant in &object.constants {
            let value = constant.enumerator().and_then(|name| kernel.types.enumerator(name));
            if let (Some(value), Some(&(address, _))) = (value, self.globals.get(&constant.info.name)) {
                memory.write(address, value);
            }
        }
    }

    fn apply(&self, object: &Object, settings: &[(String, Value)], memory: &GuestMemory) -> Result<(), LoadError> {
        for (name, value) in settings {
            let known = || object.constants.iter().filter(|constant| constant.is_parameter());
            let constant = object.constants.iter().find(|constant| constant.info.name == *name);
            let (Some(constant), Some(&(address, _))) = (constant, self.globals.get(name)) else {
                let known = known().map(|constant| constant.info.name.clone()).collect();
                return Err(LoadError::UnknownSetting { name: name.clone(), known });
            };
            memory.write_bytes(address, &constant.encode(value)?);
        }
        Ok(())
    }
}

/// Whether a section holds one array of one element that has the section's name: upstream's `RESIZABLE_ARRAY`, which
/// every loader makes as long as the machine has CPUs.
fn is_resizable(section: &DataSection, btf: &Btf) -> bool {
    let Some((_, ty)) = btf.iter().find(|(_, ty)| ty.name == section.name) else { return false };
    let Kind::DataSection(variables) = &ty.kind else { return false };
    let [only] = variables.as_slice() else { return false };
    let Ok(variable) = btf.get(only.ty) else { return false };
    let own_section = section.name.rsplit_once('.').is_some_and(|(_, last)| last == variable.name);
    match variable.kind {
        Kind::Variable { ty, .. } if own_section => {
            btf.resolve(ty).is_ok_and(|(_, ty)| matches!(ty.kind, Kind::Array { count: 1, .. }))
        }
        _ => false,
    }
}

fn place_section(
    section: &DataSection,
    index: u32,
    room: u64,
    maps: &mut [Map],
    memory: &GuestMemory,
) -> Result<u64, LoadError> {
    let access = if section.kind == DataKind::ReadOnly { Access::ReadOnly } else { Access::ReadWrite };
    let base = match section.kind {
        DataKind::Arena => place_in_arena(section, maps, memory)?,
        _ => {
            memory.charge(&section.name, room)?;
            memory.alloc(room, 16, Region::whole(section.name.clone(), access).with(Content::Section(index)))?
        }
    };
    memory.write_bytes(base, &section.bytes);
    Ok(base)
}

/// Variables of the arena are in its first pages.
fn place_in_arena(section: &DataSection, maps: &mut [Map], memory: &GuestMemory) -> Result<u64, LoadError> {
    let arena = maps.iter_mut().find_map(|map| match &mut map.storage {
        Storage::Arena(arena) => Some((&map.name, arena)),
        _ => None,
    });
    let pages = u32::try_from(section.size.div_ceil(PAGE_SIZE)).unwrap_or(u32::MAX);
    let refuse = |name: &str, reason: String| Err(LoadError::Map { name: name.to_string(), reason });
    match arena {
        Some((_, arena)) if pages == 0 => Ok(arena.base),
        Some((name, arena)) => match arena.take(memory, 0, pages)? {
            (0, _) => refuse(name, format!("its variables need {pages} pages, which it does not have")),
            (base, _) => Ok(base),
        },
        // A variable of the arena without an arena: an empty library header, say. Nothing can use it.
        None => Ok(memory.alloc(section.size, 16, Region::whole(section.name.clone(), Access::ReadWrite))?),
    }
}
