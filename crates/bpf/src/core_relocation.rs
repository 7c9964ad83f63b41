//! CO-RE: what a program asks about kernel types, answered from the type table.
//!
//! The rules are libbpf's: a local type stands for the kernel type of the same name without its `___flavour`; fields
//! are found by name at each step of the access path; what cannot be found makes an existence question "no" and any
//! other question an instruction that must not be executed.

use crate::btf::{Btf, BtfError, CoreRelocation, Kind, TypeId, essential_name};
use crate::core_match;
use crate::type_table::{Field, Type, TypeTable};

/// `enum bpf_core_relo_kind`.
mod kind {
    pub const FIELD_BYTE_OFFSET: u32 = 0;
    pub const FIELD_BYTE_SIZE: u32 = 1;
    pub const FIELD_EXISTS: u32 = 2;
    pub const FIELD_SIGNED: u32 = 3;
    pub const FIELD_LSHIFT_U64: u32 = 4;
    pub const FIELD_RSHIFT_U64: u32 = 5;
    pub const TYPE_ID_LOCAL: u32 = 6;
    pub const TYPE_ID_TARGET: u32 = 7;
    pub const TYPE_EXISTS: u32 = 8;
    pub const TYPE_SIZE: u32 = 9;
    pub const ENUMVAL_EXISTS: u32 = 10;
    pub const ENUMVAL_VALUE: u32 = 11;
    pub const TYPE_MATCHES: u32 = 12;
}

/// The answer to a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The value to put into the instruction.
    Value(u64),
    /// The offset of a field, and how many bytes it has when an access has to be widened or narrowed.
    Offset(u64, Option<u32>),
    /// The kernel does not have it: what, as text.
    Missing(String),
}

/// Whether a relocation is about the place of a field of a kernel type.
pub fn is_field_offset(relocation: &CoreRelocation) -> bool {
    relocation.kind == kind::FIELD_BYTE_OFFSET
}

/// Answers a relocation. An error means that the object is damaged.
pub fn answer(btf: &Btf, types: &TypeTable, relocation: &CoreRelocation) -> Result<Answer, BtfError> {
    let path = path(&relocation.access)?;
    match relocation.kind {
        kind::TYPE_ID_LOCAL => Ok(Answer::Value(u64::from(relocation.ty))),
        kind::TYPE_ID_TARGET | kind::TYPE_EXISTS | kind::TYPE_SIZE | kind::TYPE_MATCHES => {
            answer_type(btf, types, relocation)
        }
        kind::ENUMVAL_EXISTS | kind::ENUMVAL_VALUE => answer_enumerator(btf, types, relocation, &path),
        kind::FIELD_BYTE_OFFSET..=kind::FIELD_RSHIFT_U64 => answer_field(btf, types, relocation, &path),
        other => Err(BtfError(format!("a CO-RE relocation has the unknown kind {other}"))),
    }
}

fn path(access: &str) -> Result<Vec<u32>, BtfError> {
    let parsed: Result<Vec<u32>, _> = access.split(':').map(str::parse).collect();
    let parsed = parsed.map_err(|_| BtfError(format!("`{access}` is no CO-RE access path")))?;
    if parsed.len() > 64 { Err(BtfError(format!("the CO-RE access path {access} is too long"))) } else { Ok(parsed) }
}

/// The kernel's type for a type of the object.
fn counterpart(btf: &Btf, types: &TypeTable, id: TypeId) -> Result<Option<Type>, BtfError> {
    let (_, ty) = btf.strip(id)?;
    let name = essential_name(&ty.name);
    Ok(match &ty.kind {
        Kind::Composite { .. } | Kind::Forward => types.structure_type(name),
        Kind::Enum { .. } => types.enumeration_type(name),
        Kind::Typedef(to) => match types.find_alias(name) {
            Some(found) => Some(found.clone()),
            None if name != ty.name => None,
            None => plain(btf, *to)?,
        },
        _ => plain(btf, id)?,
    })
}

/// Types that every kernel has: integers and pointers.
fn plain(btf: &Btf, id: TypeId) -> Result<Option<Type>, BtfError> {
    Ok(match btf.resolve(id)?.1.kind {
        Kind::Int { boolean: true, .. } => Some(Type::Bool),
        Kind::Int { size, signed, .. } => Type::integer(size, signed),
        Kind::Pointer(_) => Some(Type::Pointer),
        _ => None,
    })
}

fn answer_type(btf: &Btf, types: &TypeTable, relocation: &CoreRelocation) -> Result<Answer, BtfError> {
    let found = counterpart(btf, types, relocation.ty)?;
    Ok(match (relocation.kind, found) {
        (kind::TYPE_EXISTS, found) => Answer::Value(u64::from(found.is_some())),
        (kind::TYPE_MATCHES, Some(kernel)) => {
            Answer::Value(u64::from(core_match::matches(btf, types, relocation.ty, &kernel)?))
        }
        (kind::TYPE_SIZE, Some(ty)) => Answer::Value(u64::from(types.size_of(&ty))),
        // The number of a kernel type means nothing here; it only has to exist.
        (_, Some(_)) => Answer::Value(u64::from(relocation.ty)),
        (_, None) => Answer::Value(0),
    })
}

fn answer_enumerator(
    btf: &Btf,
    types: &TypeTable,
    relocation: &CoreRelocation,
    path: &[u32],
) -> Result<Answer, BtfError> {
    let (_, ty) = btf.resolve(relocation.ty)?;
    let Kind::Enum { values, .. } = &ty.kind else {
        return Err(BtfError(format!("CO-RE asks for an enumerator of type {}", relocation.ty)));
    };
    let local = path.first().and_then(|&index| values.get(index as usize));
    let (name, _) = local.ok_or_else(|| BtfError(format!("CO-RE asks for enumerator {path:?} of {}", ty.name)))?;
    let enumeration = types.find_enumeration(essential_name(&ty.name));
    let found = enumeration.and_then(|found| found.values.get(essential_name(name)).copied());
    Ok(match (relocation.kind, found) {
        (kind::ENUMVAL_EXISTS, found) => Answer::Value(u64::from(found.is_some())),
        (_, Some(value)) => Answer::Value(value),
        (_, None) => Answer::Missing(format!("enumerator {name}")),
    })
}

/// A field in the kernel: where it is and what it is.
struct Place {
    bit_offset: u64,
    /// Width of a bit field.
    bits: Option<u32>,
    ty: Type,
}

fn answer_field(btf: &Btf, types: &TypeTable, relocation: &CoreRelocation, path: &[u32]) -> Result<Answer, BtfError> {
    let (local, name) = walk_local(btf, relocation.ty, path)?;
    let Some(place) = find_place(btf, types, relocation.ty, path)? else {
        return Ok(match relocation.kind {
            kind::FIELD_EXISTS => Answer::Value(0),
            _ => Answer::Missing(format!("field {name}")),
        });
    };
    if relocation.kind == kind::FIELD_EXISTS {
        return Ok(Answer::Value(1));
    }
    let size = types.size_of(&place.ty);
    let (byte_offset, byte_size) = storage(&place, size);
    let bits = u64::from(place.bits.unwrap_or(size.saturating_mul(8)));
    let lost = 64u64.saturating_sub(place.bit_offset + bits - byte_offset * 8);
    Ok(match relocation.kind {
        kind::FIELD_BYTE_OFFSET => Answer::Offset(byte_offset, resized(btf, local, &place, byte_size)?),
        kind::FIELD_BYTE_SIZE => Answer::Value(u64::from(byte_size)),
        kind::FIELD_SIGNED => Answer::Value(u64::from(place.ty.is_signed())),
        kind::FIELD_LSHIFT_U64 => Answer::Value(lost),
        _ => Answer::Value(64u64.saturating_sub(bits)),
    })
}

/// The bytes that have to be loaded for a field: offset and number. A bit field is loaded in units of its declared
/// type, doubled until it is inside.
fn storage(place: &Place, size: u32) -> (u64, u32) {
    let Some(bits) = place.bits else { return (place.bit_offset / 8, size) };
    let mut unit = u64::from(size.clamp(1, 8));
    loop {
        let start = place.bit_offset / 8 / unit * unit;
        if place.bit_offset + u64::from(bits) <= (start + unit) * 8 || unit >= 8 {
            return (start, unit as u32);
        }
        unit *= 2;
    }
}

/// The size of an access to a field whose size in the kernel is not the local one, when it can be changed: unsigned
/// integers and pointers only.
fn resized(btf: &Btf, local: TypeId, place: &Place, size: u32) -> Result<Option<u32>, BtfError> {
    if place.bits.is_some() || btf.size_of(local)? == u64::from(size) {
        return Ok(None);
    }
    let changes = match btf.resolve(local)?.1.kind {
        Kind::Int { signed, .. } => !signed && place.ty.is_integer() && !place.ty.is_signed(),
        Kind::Enum { .. } => matches!(place.ty, Type::Enum(_)),
        Kind::Pointer(_) => place.ty == Type::Pointer,
        _ => false,
    };
    Ok(changes.then_some(size))
}

/// The local type at the end of a path, and the path as C writes it.
fn walk_local(btf: &Btf, root: TypeId, path: &[u32]) -> Result<(TypeId, String), BtfError> {
    let mut text = essential_name(&btf.resolve(root)?.1.name).to_string();
    let mut id = root;
    for &index in path.iter().skip(1) {
        let (found, ty) = btf.resolve(id)?;
        match &ty.kind {
            Kind::Composite { members, .. } => {
                let member = members.get(index as usize);
                let member =
                    member.ok_or_else(|| BtfError(format!("CO-RE asks for member {index} of type {found}")))?;
                if !member.name.is_empty() {
                    text = format!("{text}.{}", member.name);
                }
                id = member.ty;
            }
            Kind::Array { element, .. } => {
                text = format!("{text}[{index}]");
                id = *element;
            }
            _ => return Err(BtfError(format!("CO-RE asks for a part of type {found}, which has none"))),
        }
    }
    Ok((id, text))
}

/// Walks the path through the kernel's types.
fn find_place(btf: &Btf, types: &TypeTable, root: TypeId, path: &[u32]) -> Result<Option<Place>, BtfError> {
    let Some(ty) = counterpart(btf, types, root)? else { return Ok(None) };
    let first = u64::from(path.first().copied().unwrap_or(0)) * u64::from(types.size_of(&ty));
    let mut place = Place { bit_offset: first.saturating_mul(8), bits: None, ty };
    let mut local = root;
    for &index in path.iter().skip(1) {
        match &btf.resolve(local)?.1.kind {
            Kind::Composite { members, .. } => {
                let Some(member) = members.get(index as usize) else { return Ok(None) };
                local = member.ty;
                // Members of anonymous structures stand directly in the type table.
                if member.name.is_empty() {
                    continue;
                }
                let Some(field) = field(types, &place.ty, &member.name) else { return Ok(None) };
                if !compatible(btf, local, &field.ty, types)? {
                    return Ok(None);
                }
                place.bit_offset = place.bit_offset.saturating_add(u64::from(field.bit_offset));
                (place.bits, place.ty) = (field.bits, field.ty.clone());
            }
            Kind::Array { element, .. } => {
                local = *element;
                let Type::Array(kernel_element, count) = &place.ty else { return Ok(None) };
                // An array of no elements is a flexible one.
                if index >= *count && *count != 0 {
                    return Ok(None);
                }
                let step = u64::from(index) * u64::from(types.size_of(kernel_element)) * 8;
                place.bit_offset = place.bit_offset.saturating_add(step);
                place.ty = (**kernel_element).clone();
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(place))
}

fn field<'a>(types: &'a TypeTable, ty: &Type, name: &str) -> Option<&'a Field> {
    let Type::Struct(structure) = ty else { return None };
    types.find_structure(structure)?.fields.get(name)
}

/// Whether a local field may stand for a field of the kernel: same sort of thing, integers of any size,
/// enumerations as integers.
fn compatible(btf: &Btf, local: TypeId, kernel: &Type, types: &TypeTable) -> Result<bool, BtfError> {
    let mut kernel = kernel;
    let mut local = local;
    for _ in 0..16 {
        let (_, ty) = btf.resolve(local)?;
        return Ok(match (&ty.kind, kernel) {
            (Kind::Array { element, .. }, Type::Array(kernel_element, _)) => {
                (local, kernel) = (*element, kernel_element);
                continue;
            }
            (Kind::Int { .. }, kernel) => kernel.is_integer() || matches!(kernel, Type::Enum(_)),
            (Kind::Enum { .. }, kernel) if kernel.is_integer() => true,
            (Kind::Composite { .. }, Type::Struct(_)) | (Kind::Pointer(_), Type::Pointer) => true,
            (Kind::Enum { .. }, Type::Enum(name)) => {
                ty.name.is_empty()
                    || types.find_enumeration(name).is_none()
                    || essential_name(&ty.name) == essential_name(name)
            }
            _ => false,
        });
    }
    Ok(false)
}
