//! Code and data sections with their relocations turned into indexes.

use std::collections::BTreeMap;

use super::elf::{Elf, ElfSection, SymbolKind};
use super::externs::Extern;
use super::{ObjectError, map_definition};
use crate::btf::{Btf, CoreRelocation, Ext, LineInfo};

/// An instruction slot as it is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawInsn {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub offset: i16,
    pub imm: i32,
}

impl RawInsn {
    pub fn parse(bytes: &[u8]) -> RawInsn {
        RawInsn {
            code: bytes[0],
            dst: bytes[1] & 0xF,
            src: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }
}

/// What a relocation of an instruction points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A byte of a data section; the instruction's own constant is still to be added.
    Data {
        section: usize,
        offset: u64,
    },
    Map(usize),
    /// A byte of guest memory.
    Address(u64),
    /// A byte of a code section, likewise.
    Code {
        section: usize,
        offset: u64,
    },
    Extern(usize),
}

/// A function inside a code section: slots from `start` to `end`.
#[derive(Clone, Debug)]
pub struct CodeFunction {
    pub name: String,
    pub start: u32,
    pub end: u32,
}

/// A section of code.
#[derive(Clone, Debug)]
pub struct CodeSection {
    pub name: String,
    pub insns: Vec<RawInsn>,
    pub functions: Vec<CodeFunction>,
    /// Relocations by slot.
    pub targets: BTreeMap<u32, Target>,
    /// CO-RE relocations by slot.
    pub core: BTreeMap<u32, CoreRelocation>,
    pub lines: Vec<LineInfo>,
}

impl CodeSection {
    /// Whether its functions are programs of their own, not subprograms.
    pub fn is_program(&self) -> bool {
        self.name != ".text"
    }

    /// Whether the program implements an operation that the environment calls.
    pub fn is_operation(&self) -> bool {
        self.name.trim_start_matches('?').starts_with("struct_ops")
    }

    /// Numbers of the helpers that are called.
    pub fn helper_numbers(&self) -> impl Iterator<Item = u32> {
        let numbered = self.insns.iter().enumerate();
        numbered
            .filter(|&(slot, insn)| {
                let second_half = slot > 0 && self.insns[slot - 1].code == 0x18;
                insn.code == 0x85 && insn.src == 0 && !second_half && !self.targets.contains_key(&(slot as u32))
            })
            .map(|(_, insn)| insn.imm as u32)
    }

    /// The function that begins at a slot.
    pub fn function_at(&self, slot: u32) -> Option<usize> {
        self.functions.iter().position(|function| function.start == slot)
    }
}

/// What a data section is at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Constants once loaded.
    ReadOnly,
    /// Variables.
    ReadWrite,
    /// Variables in the arena.
    Arena,
}

/// A section of data.
#[derive(Clone, Debug)]
pub struct DataSection {
    pub name: String,
    pub kind: DataKind,
    /// Initial content, shorter than `size` for `.bss`.
    pub bytes: Vec<u8>,
    pub size: u64,
    /// Name, offset and size of the variables in it.
    pub variables: Vec<(String, u64, u64)>,
}

/// Which ELF section is what: indexes into the lists of the object.
pub struct Layout {
    /// By ELF section.
    roles: Vec<Role>,
    /// Extern index by ELF symbol.
    externs: BTreeMap<usize, usize>,
    /// Map index by offset in `.maps`.
    pub map_offsets: BTreeMap<u64, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Code(usize),
    Data(usize),
    Maps,
    Other,
}

fn data_kind(name: &str) -> Option<DataKind> {
    let is = |prefix: &str| name == prefix || name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    match name {
        _ if is(".rodata") => Some(DataKind::ReadOnly),
        _ if is(".data") || is(".bss") => Some(DataKind::ReadWrite),
        ".addr_space.1" => Some(DataKind::Arena),
        _ if name.starts_with(".struct_ops") || name.starts_with("?.struct_ops") => Some(DataKind::ReadOnly),
        _ => None,
    }
}

impl Layout {
    /// Gives every section its role.
    pub fn new(elf: &Elf, btf: &Btf, externs: &[Extern]) -> Result<Layout, ObjectError> {
        let (mut code, mut data) = (0, 0);
        let take = |counter: &mut usize| {
            *counter += 1;
            *counter - 1
        };
        let role = |section: &ElfSection| match data_kind(&section.name) {
            Some(_) => Role::Data(take(&mut data)),
            None if section.executable && !section.bytes.is_empty() => Role::Code(take(&mut code)),
            None if section.name == ".maps" => Role::Maps,
            None => Role::Other,
        };
        let roles = elf.sections.iter().map(role).collect();
        let by_name: BTreeMap<&str, usize> =
            externs.iter().enumerate().map(|(index, found)| (found.name.as_str(), index)).collect();
        let undefined = elf.symbols.iter().enumerate().filter(|(_, symbol)| symbol.section.is_none());
        let externs = undefined.filter_map(|(at, symbol)| Some((at, *by_name.get(symbol.name.as_str())?))).collect();
        Ok(Layout { roles, externs, map_offsets: map_definition::offsets(elf, btf)? })
    }

    /// What a symbol points at.
    pub fn target(&self, elf: &Elf, symbol: usize) -> Result<Target, ObjectError> {
        let found = &elf.symbols[symbol];
        let Some(section) = found.section else {
            let index = self.externs.get(&symbol);
            let unknown = || ObjectError::Damaged(format!("it uses `{}`, which nothing declares", found.name));
            return index.map(|&index| Target::Extern(index)).ok_or_else(unknown);
        };
        match self.roles[section] {
            Role::Code(section) => Ok(Target::Code { section, offset: found.value }),
            Role::Data(section) => Ok(Target::Data { section, offset: found.value }),
            Role::Maps => {
                let index = self.map_offsets.get(&found.value);
                let unknown = || ObjectError::Damaged(format!("`{}` is not a map", found.name));
                index.map(|&index| Target::Map(index)).ok_or_else(unknown)
            }
            Role::Other => Err(ObjectError::Damaged(format!(
                "it uses `{}` of section {}, which is neither code nor data",
                found.name, elf.sections[section].name
            ))),
        }
    }
}

/// All code sections.
pub fn sections(elf: &Elf, layout: &Layout, mut ext: Ext) -> Result<Vec<CodeSection>, ObjectError> {
    let is_code = |index: &usize| matches!(layout.roles[*index], Role::Code(_));
    let mut sections = Vec::new();
    for index in (0..elf.sections.len()).filter(is_code) {
        let section = &elf.sections[index];
        if !section.bytes.len().is_multiple_of(8) {
            return Err(ObjectError::Damaged(format!(
                "section {} is not a whole number of instructions",
                section.name
            )));
        }
        let mut targets = BTreeMap::new();
        for relocation in &section.relocations {
            targets.insert((relocation.offset / 8) as u32, layout.target(elf, relocation.symbol)?);
        }
        let core = ext.relocations.remove(&section.name).unwrap_or_default();
        sections.push(CodeSection {
            name: section.name.clone(),
            insns: section.bytes.chunks_exact(8).map(RawInsn::parse).collect(),
            functions: functions(elf, index)?,
            targets,
            core: core.into_iter().map(|relocation| (relocation.offset / 8, relocation)).collect(),
            lines: ext.lines.remove(&section.name).unwrap_or_default(),
        });
    }
    Ok(sections)
}

fn functions(elf: &Elf, section: usize) -> Result<Vec<CodeFunction>, ObjectError> {
    let slots = (elf.sections[section].bytes.len() / 8) as u32;
    let is_here = |symbol: &&super::elf::ElfSymbol| {
        symbol.section == Some(section) && symbol.kind == SymbolKind::Function && symbol.size > 0
    };
    let mut functions = Vec::new();
    for symbol in elf.symbols.iter().filter(is_here) {
        let (start, end) = (symbol.value / 8, symbol.value.saturating_add(symbol.size) / 8);
        if start >= end || end > u64::from(slots) {
            return Err(ObjectError::Damaged(format!("function {} lies outside of its section", symbol.name)));
        }
        functions.push(CodeFunction { name: symbol.name.clone(), start: start as u32, end: end as u32 });
    }
    functions.sort_by_key(|function| function.start);
    Ok(functions)
}

/// All data sections.
pub fn data_sections(elf: &Elf, layout: &Layout) -> Result<Vec<DataSection>, ObjectError> {
    let mut sections = Vec::new();
    for (index, section) in elf.sections.iter().enumerate() {
        let (Role::Data(_), Some(kind)) = (layout.roles[index], data_kind(&section.name)) else { continue };
        let here = elf.symbols.iter().filter(|symbol| symbol.section == Some(index) && symbol.size > 0);
        sections.push(DataSection {
            name: section.name.clone(),
            kind,
            bytes: section.bytes.to_vec(),
            size: if section.nobits { section.size } else { section.bytes.len() as u64 },
            variables: here.map(|symbol| (symbol.name.clone(), symbol.value, symbol.size)).collect(),
        });
    }
    Ok(sections)
}
