//! What the object expects from the kernel, resolved.

use crate::btf::essential_name;
use crate::kernel::{Environment, RawFunction, Routine};
use crate::kfuncs;
use crate::memory::{Access, GuestMemory, HANDLE_BASE, Region};
use crate::object::{Extern, ExternKind, LoadError, Object};
use crate::program::Intrinsic;

/// Where handles of kernel functions begin: a program may ask whether one exists.
const HOST_HANDLE_BASE: u64 = HANDLE_BASE + 0x0800_0000;

/// What an expected thing turned out to be.
#[derive(Clone, Debug)]
pub enum Symbol {
    /// A kernel function.
    Function {
        name: String,
        routine: Routine,
        intrinsic: Option<Intrinsic>,
        /// The value of a pointer to it.
        handle: u64,
    },
    /// Something in guest memory.
    Address(u64),
    /// The object can do without: its address is NULL.
    Absent(String),
    /// The object needs it: the text says what.
    Missing(String),
    /// It is defined in another object.
    Unlinked(String),
}

/// All symbols, in the order of the object's externs.
pub struct Symbols(pub Vec<Symbol>);

impl Symbols {
    /// Resolves all. What is missing is only an error where a program needs it.
    pub fn resolve(object: &Object, kernel: &Environment<'_>, memory: &GuestMemory) -> Result<Symbols, LoadError> {
        let configs = object.externs.iter().filter(|found| matches!(found.kind, ExternKind::Config { .. })).count();
        let region = Region::array("kernel configuration", 8, 8, Access::ReadOnly);
        let mut next_config = memory.alloc(8 * configs as u64, 8, region)?;
        let mut symbols = Vec::new();
        for (index, found) in object.externs.iter().enumerate() {
            symbols.push(match found.kind {
                ExternKind::Function { arguments } => function(kernel, found, arguments, index),
                ExternKind::Variable => variable(kernel, found),
                ExternKind::Config { .. } => {
                    next_config += 8;
                    config(kernel, found, next_config - 8, memory)
                }
                ExternKind::Unlinked if found.weak => Symbol::Absent(format!("`{}`", found.name)),
                ExternKind::Unlinked => Symbol::Unlinked(format!("`{}`", found.name)),
            });
        }
        Ok(Symbols(symbols))
    }
}

/// What is not there: weak or not.
fn absent(found: &Extern, what: &str) -> Symbol {
    let text = format!("{what} {}", found.name);
    if found.weak { Symbol::Absent(text) } else { Symbol::Missing(text) }
}

/// A kernel function by its exact name or by its name without flavour, of the declared number of arguments.
fn function(kernel: &Environment<'_>, found: &Extern, arguments: usize, index: usize) -> Symbol {
    let handle = HOST_HANDLE_BASE + 8 * index as u64;
    for name in [found.name.as_str(), essential_name(&found.name)] {
        let of_kernel = kernel.functions.iter().find(|function| function.is(name, arguments));
        let found = of_kernel.or_else(|| kfuncs::find(name, arguments));
        if let Some(&RawFunction { routine, intrinsic, .. }) = found {
            return Symbol::Function { name: name.to_string(), routine, intrinsic, handle };
        }
    }
    absent(found, "kernel function")
}

fn variable(kernel: &Environment<'_>, found: &Extern) -> Symbol {
    let variable = kernel.variables.iter().find(|variable| variable.name == found.name);
    match variable {
        Some(variable) => Symbol::Address(variable.address),
        None => absent(found, "kernel variable"),
    }
}

fn config(kernel: &Environment<'_>, found: &Extern, address: u64, memory: &GuestMemory) -> Symbol {
    let value = match found.name.as_str() {
        "LINUX_KERNEL_VERSION" => Some(u64::from(kernel.version)),
        name => kernel.configs.iter().find(|(config, _)| *config == name).map(|&(_, value)| value),
    };
    match value {
        Some(value) => memory.write(address, value),
        None if found.weak => {}
        None => return Symbol::Missing(format!("kernel configuration {}", found.name)),
    }
    Symbol::Address(address)
}
