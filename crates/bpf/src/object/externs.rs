//! What an object expects from outside: kernel functions, kernel variables, kernel configuration.

use std::collections::BTreeMap;

use super::ObjectError;
use super::elf::Elf;
use crate::btf::{Btf, Kind, TypeId};

/// What kind of thing is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternKind {
    /// A kernel function, with the number of its declared arguments.
    Function { arguments: usize },
    /// A kernel variable.
    Variable,
    /// A value of the kernel's configuration, with its size in bytes.
    Config { size: u32 },
    /// A function or variable of another object that was not linked in.
    Unlinked,
}

/// Something that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extern {
    pub name: String,
    pub weak: bool,
    pub kind: ExternKind,
}

/// All undefined symbols, in the order of the symbol table.
pub fn collect(elf: &Elf, btf: &Btf) -> Result<Vec<Extern>, ObjectError> {
    let mut declared = BTreeMap::new();
    for (_, ty) in btf.iter() {
        let Kind::DataSection(variables) = &ty.kind else { continue };
        for variable in variables {
            let (name, kind) = declaration(btf, &ty.name, variable.ty)?;
            declared.insert(name, kind);
        }
    }
    let undefined = elf.symbols.iter().filter(|symbol| symbol.section.is_none() && !symbol.local);
    let found = undefined.filter(|symbol| !symbol.name.is_empty()).map(|symbol| Extern {
        name: symbol.name.clone(),
        weak: symbol.weak,
        kind: declared.get(&symbol.name).cloned().unwrap_or(ExternKind::Unlinked),
    });
    Ok(found.collect())
}

fn declaration(btf: &Btf, section: &str, id: TypeId) -> Result<(String, ExternKind), ObjectError> {
    let ty = btf.get(id)?;
    let kind = match (section, &ty.kind) {
        (".ksyms", Kind::Function(_)) => ExternKind::Function { arguments: btf.parameter_count(id)? },
        (".ksyms", _) => ExternKind::Variable,
        (".kconfig", Kind::Variable { ty, .. }) => {
            ExternKind::Config { size: u32::try_from(btf.size_of(*ty)?).unwrap_or(u32::MAX) }
        }
        _ => ExternKind::Unlinked,
    };
    Ok((ty.name.clone(), kind))
}
