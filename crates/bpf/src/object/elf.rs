//! The ELF side of an object: sections, symbols, relocations, all indexes checked.

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{FileHeader, Rel, SectionHeader, Sym};

use super::ObjectError;
use crate::btf::printable;

/// A section.
#[derive(Clone, Debug)]
pub struct ElfSection<'a> {
    pub name: String,
    /// Content; empty for `.bss`.
    pub bytes: &'a [u8],
    /// Bytes in memory.
    pub size: u64,
    pub executable: bool,
    /// Has content only at run time.
    pub nobits: bool,
    pub relocations: Vec<ElfRelocation>,
}

/// A relocation of a section.
#[derive(Clone, Copy, Debug)]
pub struct ElfRelocation {
    /// Byte offset in the section.
    pub offset: u64,
    /// Index of the symbol.
    pub symbol: usize,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Function,
    Section,
    Other,
}

/// A symbol.
#[derive(Clone, Debug)]
pub struct ElfSymbol {
    pub name: String,
    /// Section that defines it; `None` when undefined.
    pub section: Option<usize>,
    pub value: u64,
    pub size: u64,
    pub kind: SymbolKind,
    pub weak: bool,
    pub local: bool,
}

/// All of an ELF file that matters here.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    pub sections: Vec<ElfSection<'a>>,
    pub symbols: Vec<ElfSymbol>,
}

impl<'a> Elf<'a> {
    /// Reads an ELF64 little-endian relocatable file of the BPF machine.
    pub fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, ObjectError> {
        check_identity(bytes)?;
        let damaged = |what: &str, error: object::read::Error| ObjectError::Damaged(format!("{what}: {error}"));
        let header = elf::FileHeader64::<LE>::parse(bytes).map_err(|_| ObjectError::Truncated { len: bytes.len() })?;
        match (header.e_machine(LE), header.e_type(LE)) {
            (elf::EM_BPF, elf::ET_REL) => {}
            (elf::EM_BPF, _) => return Err(ObjectError::NotRelocatable),
            (machine, _) => return Err(ObjectError::OtherMachine { machine: machine_name(machine.0) }),
        }
        if header.e_shoff(LE) == 0 || header.e_shoff(LE) >= bytes.len() as u64 {
            return Err(ObjectError::Truncated { len: bytes.len() });
        }
        let table = header.sections(LE, bytes).map_err(|error| damaged("section table", error))?;
        let mut elf = Elf { sections: Vec::new(), symbols: Vec::new() };
        for section in table.iter() {
            let name = table.section_name(LE, section).map_err(|error| damaged("section name", error))?;
            let nobits = section.sh_type(LE) == elf::SHT_NOBITS;
            let content = section.data(LE, bytes).map_err(|_| ObjectError::Truncated { len: bytes.len() })?;
            elf.sections.push(ElfSection {
                name: printable(&String::from_utf8_lossy(name)),
                bytes: content,
                size: section.sh_size(LE),
                executable: section.sh_flags(LE).0 & elf::SHF_EXECINSTR.0 != 0,
                nobits,
                relocations: Vec::new(),
            });
        }
        let symbols = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(|error| damaged("symbol table", error))?;
        for symbol in symbols.iter() {
            let name = symbol.name(LE, symbols.strings()).map_err(|error| damaged("symbol name", error))?;
            let section = usize::from(symbol.st_shndx(LE).0);
            elf.symbols.push(ElfSymbol {
                name: printable(&String::from_utf8_lossy(name)),
                section: (section != 0 && section < elf.sections.len()).then_some(section),
                value: symbol.st_value(LE),
                size: symbol.st_size(LE),
                kind: match symbol.st_type() {
                    elf::STT_FUNC => SymbolKind::Function,
                    elf::STT_SECTION => SymbolKind::Section,
                    _ => SymbolKind::Other,
                },
                weak: symbol.st_bind() == elf::STB_WEAK,
                local: symbol.st_bind() == elf::STB_LOCAL,
            });
        }
        for section in table.iter() {
            let target = section.sh_info(LE) as usize;
            let Some((relocations, _)) = section.rel(LE, bytes).map_err(|error| damaged("relocations", error))? else {
                continue;
            };
            for relocation in relocations {
                let (offset, symbol) = (relocation.r_offset(LE), relocation.r_sym(LE) as usize);
                if symbol >= elf.symbols.len() {
                    return Err(ObjectError::Damaged(format!("a relocation names symbol {symbol}")));
                }
                let into = elf.sections.get_mut(target);
                let into = into.ok_or_else(|| ObjectError::Damaged(format!("relocations for section {target}")))?;
                into.relocations.push(ElfRelocation { offset, symbol });
            }
        }
        Ok(elf)
    }

    /// The section of a name.
    pub fn section(&self, name: &str) -> Option<&ElfSection<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The symbol that defines a name in a section.
    pub fn symbol_in(&self, section: usize, name: &str) -> Option<&ElfSymbol> {
        self.symbols.iter().find(|symbol| symbol.section == Some(section) && symbol.name == name)
    }
}

fn check_identity(bytes: &[u8]) -> Result<(), ObjectError> {
    match bytes {
        [] => Err(ObjectError::Empty),
        [0x7F, b'E', b'L', b'F', class, data, ..] => match (class, data) {
            (2, 1) => Ok(()),
            (1, _) => Err(ObjectError::OtherMachine { machine: "a 32-bit machine".to_string() }),
            (2, 2) => Err(ObjectError::OtherMachine { machine: "a big-endian machine".to_string() }),
            _ => Err(ObjectError::Damaged(format!("ELF class {class}, byte order {data}"))),
        },
        _ if b"\x7FELF".starts_with(&bytes[..bytes.len().min(4)])
            || bytes.len() < 6 && bytes.starts_with(b"\x7FELF") =>
        {
            Err(ObjectError::Truncated { len: bytes.len() })
        }
        _ => Err(ObjectError::NotElf),
    }
}

fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".to_string(),
        40 => "ARM".to_string(),
        62 => "x86-64".to_string(),
        183 => "AArch64".to_string(),
        243 => "RISC-V".to_string(),
        other => format!("machine {other}"),
    }
}
