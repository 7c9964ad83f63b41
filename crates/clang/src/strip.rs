//! Removes what only a debugger reads, and what depends on the machine.

use crate::canonical::canonical;
use object::build::elf::{Builder, SectionData};
use object::elf::SHT_STRTAB;

/// The object without its DWARF sections, which are nine tenths of what clang writes. BTF, which the kernel, the
/// simulator and error messages read, stays, in one order.
pub fn strip(object: &[u8]) -> Result<Vec<u8>, object::build::Error> {
    let mut builder = Builder::read(object)?;
    for section in &mut builder.sections {
        let name = section.name.to_string();
        section.delete = name.starts_with(".debug_") || name.starts_with(".rel.debug_");
        if let (".BTF", SectionData::Data(types)) = (name.as_str(), &mut section.data) {
            *types = canonical(types).into();
        }
    }
    // clang keeps the names of sections and symbols in one section, the writer wants two.
    if !builder.sections.iter().any(|section| matches!(section.data, SectionData::SectionString)) {
        let names = builder.sections.add();
        names.name = ".shstrtab".into();
        names.sh_type = SHT_STRTAB;
        names.data = SectionData::SectionString;
    }
    builder.delete_orphan_symbols();
    builder.delete_orphan_relocations();
    let mut bytes = Vec::new();
    builder.write(&mut bytes)?;
    Ok(bytes)
}
