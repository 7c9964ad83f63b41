//! The initialised `struct sched_ext_ops` and its like.

use super::elf::{Elf, SymbolKind};
use super::{Member, ObjectError, StructOps};
use crate::btf::{Btf, BtfMember, Kind, TypeId};

/// All variables of the `.struct_ops` sections.
pub fn collect(elf: &Elf, btf: &Btf) -> Result<Vec<StructOps>, ObjectError> {
    let mut found = Vec::new();
    for (_, section) in btf.iter() {
        let Kind::DataSection(variables) = &section.kind else { continue };
        if !section.name.trim_start_matches('?').starts_with(".struct_ops") {
            continue;
        }
        for variable in variables {
            let Kind::Variable { ty, .. } = btf.get(variable.ty)?.kind else { continue };
            found.push(read(elf, btf, &section.name, &btf.get(variable.ty)?.name, ty)?);
        }
    }
    Ok(found)
}

fn read(elf: &Elf, btf: &Btf, section: &str, name: &str, ty: TypeId) -> Result<StructOps, ObjectError> {
    let damaged = || ObjectError::Damaged(format!("the struct_ops variable {name} is not in section {section}"));
    let index = elf.sections.iter().position(|found| found.name == section).ok_or_else(damaged)?;
    let start = elf.symbol_in(index, name).ok_or_else(damaged)?.value;
    let type_name = btf.resolve(ty)?.1.name.clone();
    let mut members = Vec::new();
    for member in btf.members(ty)? {
        if let Some(value) = read_member(elf, btf, index, start, member)? {
            members.push((member.name.clone(), value));
        }
    }
    Ok(StructOps { name: name.to_string(), type_name, members })
}

/// The value of a member; `None` for operations that are not set and for what has no meaning outside of a kernel.
fn read_member(
    elf: &Elf,
    btf: &Btf,
    section: usize,
    start: u64,
    member: &BtfMember,
) -> Result<Option<Member>, ObjectError> {
    let offset = start.saturating_add(u64::from(member.bit_offset / 8));
    let size = btf.size_of(member.ty)?;
    let bytes = usize::try_from(offset)
        .ok()
        .and_then(|from| elf.sections[section].bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?));
    let short = || ObjectError::Damaged(format!("the struct_ops member {} lies outside of its section", member.name));
    let bytes = bytes.ok_or_else(short)?;
    Ok(match &btf.resolve(member.ty)?.1.kind {
        Kind::Pointer(_) => {
            let relocation = elf.sections[section].relocations.iter().find(|found| found.offset == offset);
            relocation.and_then(|found| function_name(elf, found.symbol, bytes)).map(Member::Program)
        }
        Kind::Int { .. } | Kind::Enum { .. } if size <= 8 => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            Some(Member::Integer(u64::from_le_bytes(word)))
        }
        Kind::Array { element, .. } if btf.size_of(*element)? == 1 => {
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            Some(Member::Text(String::from_utf8_lossy(&bytes[..len]).into_owned()))
        }
        _ => None,
    })
}

/// The function that a pointer in a data section points at: by its own symbol, or by its place in a code section.
fn function_name(elf: &Elf, symbol: usize, addend: &[u8]) -> Option<String> {
    let found = &elf.symbols[symbol];
    if found.kind == SymbolKind::Function {
        return Some(found.name.clone());
    }
    let offset = found.value.checked_add(u64::from_le_bytes(addend.try_into().ok()?))?;
    let is_it = |other: &&super::elf::ElfSymbol| {
        other.kind == SymbolKind::Function && other.section == found.section && other.value == offset
    };
    elf.symbols.iter().find(is_it).map(|function| function.name.clone())
}
