//! Whether a type of an object is that of the kernel, member by member (`bpf_core_type_matches`).
//!
//! The rules are libbpf's (`__bpf_core_types_match`): the same kind and name, integers of the same size and sign, arrays of the
//! same length, every member and every enumerator there. What a pointer points to the type table does not say, so any pointer
//! matches one.

use crate::btf::{Btf, BtfError, BtfMember, Kind, TypeId, essential_name};
use crate::type_table::{Structure, Type, TypeTable};

/// How deep types may be in each other, as in libbpf.
const DEPTH: u32 = 32;

/// Whether the local type is the kernel's.
pub fn matches(btf: &Btf, types: &TypeTable, local: TypeId, kernel: &Type) -> Result<bool, BtfError> {
    Matcher { btf, types }.types(local, kernel, DEPTH)
}

struct Matcher<'a> {
    btf: &'a Btf,
    types: &'a TypeTable,
}

impl Matcher<'_> {
    fn types(&self, local: TypeId, kernel: &Type, depth: u32) -> Result<bool, BtfError> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        let (_, ty) = self.btf.resolve(local)?;
        Ok(match (&ty.kind, kernel) {
            (Kind::Pointer(_), Type::Pointer) => true,
            // The table does not say of a byte whether it is a `char`, which has the sign that a compiler gives it.
            (Kind::Int { size, signed, .. }, kernel) if kernel.is_integer() => {
                *size == self.types.size_of(kernel) && (*size == 1 || *signed == kernel.is_signed())
            }
            (Kind::Array { element, count }, Type::Array(kernel, length)) => {
                count == length && self.types(*element, kernel, depth)?
            }
            (Kind::Enum { values, .. }, Type::Enum(name)) => {
                let known = self.types.find_enumeration(name);
                let is_known = |name: &str| known.is_some_and(|known| known.values.contains_key(essential_name(name)));
                essential_name(&ty.name) == *name && values.iter().all(|(name, _)| is_known(name))
            }
            (Kind::Composite { union, members, .. }, Type::Struct(name)) => match self.types.find_structure(name) {
                Some(known) if essential_name(&ty.name) == *name && *union == known.is_union => {
                    self.members(members, known, depth)?
                }
                _ => false,
            },
            _ => false,
        })
    }

    fn members(&self, members: &[BtfMember], kernel: &Structure, depth: u32) -> Result<bool, BtfError> {
        for member in members {
            let is_there = match (kernel.fields.get(&member.name), &self.btf.resolve(member.ty)?.1.kind) {
                (Some(field), _) => self.types(member.ty, &field.ty, depth)?,
                // Members of anonymous structures stand directly in the type table.
                (None, Kind::Composite { members, .. }) if member.name.is_empty() && depth > 0 => {
                    self.members(members, kernel, depth - 1)?
                }
                _ => false,
            };
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
