//! The kernel types that a simulated kernel has: what CO-RE relocations are resolved against.
//!
//! The layout is the simulator's own. A program only sees it through CO-RE: it names a field, and gets the offset that
//! stands here.

use std::collections::BTreeMap;

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Signed integers.
    I8,
    /// 16 bits, signed.
    I16,
    /// 32 bits, signed: C `int`.
    I32,
    /// 64 bits, signed: C `long`.
    I64,
    /// Unsigned integers; also C `char`.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, unsigned.
    U64,
    /// C `bool`.
    Bool,
    /// A pointer to anything.
    Pointer,
    /// That many of an element type.
    Array(Box<Type>, u32),
    /// A structure or union of the table, by name.
    Struct(&'static str),
    /// An enumeration of the table, by name.
    Enum(&'static str),
}

impl Type {
    /// An array type.
    pub fn array(element: Type, count: u32) -> Type {
        Type::Array(Box::new(element), count)
    }

    /// An integer type of `size` bytes, or `None`.
    pub fn integer(size: u32, signed: bool) -> Option<Type> {
        Some(match (size, signed) {
            (1, true) => Type::I8,
            (1, false) => Type::U8,
            (2, true) => Type::I16,
            (2, false) => Type::U16,
            (4, true) => Type::I32,
            (4, false) => Type::U32,
            (8, true) => Type::I64,
            (8, false) => Type::U64,
            _ => return None,
        })
    }

    /// Whether it is an integer, `bool` included.
    pub fn is_integer(&self) -> bool {
        !matches!(self, Type::Pointer | Type::Array(..) | Type::Struct(_) | Type::Enum(_))
    }

    /// Whether it is a signed integer.
    pub fn is_signed(&self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// A `char` array of `len` bytes.
    pub fn text(len: u32) -> Type {
        Type::array(Type::U8, len)
    }
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Distance from the start of the structure in bits.
    pub bit_offset: u32,
    /// Width in bits when it is a bit field.
    pub bits: Option<u32>,
    /// Its type; of a bit field the declared one.
    pub ty: Type,
}

/// A structure or a union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// Bytes.
    pub size: u32,
    /// Whether it is a union.
    pub is_union: bool,
    /// Members by name; members of anonymous structures stand here directly.
    pub fields: BTreeMap<String, Field>,
}

impl Structure {
    /// Adds a member at a byte offset.
    ///
    /// # Panics
    /// When two members have one name: the table is written by us.
    pub fn field(&mut self, name: &str, offset: u32, ty: Type) -> &mut Self {
        self.insert(name, Field { bit_offset: offset * 8, bits: None, ty })
    }

    /// Adds a bit field of `bits` bits at a bit offset, declared as `ty`.
    pub fn bit_field(&mut self, name: &str, bit_offset: u32, bits: u32, ty: Type) -> &mut Self {
        self.insert(name, Field { bit_offset, bits: Some(bits), ty })
    }

    fn insert(&mut self, name: &str, field: Field) -> &mut Self {
        let earlier = self.fields.insert(name.to_string(), field);
        assert!(earlier.is_none(), "the type table names the field {name} twice");
        self
    }
}

/// An enumeration: values by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enumeration {
    /// Bytes of a value: 4 or 8.
    pub size: u32,
    /// Value of each enumerator, sign-extended to 64 bits.
    pub values: BTreeMap<String, u64>,
}

impl Enumeration {
    /// Adds an enumerator.
    pub fn value(&mut self, name: &str, value: u64) -> &mut Self {
        self.values.insert(name.to_string(), value);
        self
    }
}

/// All types of a simulated kernel by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeTable {
    structures: BTreeMap<&'static str, Structure>,
    enumerations: BTreeMap<&'static str, Enumeration>,
    aliases: BTreeMap<&'static str, Type>,
}

impl TypeTable {
    /// A table without types.
    pub fn new() -> TypeTable {
        TypeTable::default()
    }

    /// Adds a structure of `size` bytes and gives it back to be filled; a second call with the name adds to it.
    pub fn structure(&mut self, name: &'static str, size: u32) -> &mut Structure {
        let structure = self.structures.entry(name).or_default();
        structure.size = size;
        structure
    }

    /// Adds a union of `size` bytes.
    pub fn union(&mut self, name: &'static str, size: u32) -> &mut Structure {
        let union = self.structure(name, size);
        union.is_union = true;
        union
    }

    /// Adds an enumeration whose values have `size` bytes.
    pub fn enumeration(&mut self, name: &'static str, size: u32) -> &mut Enumeration {
        let enumeration = self.enumerations.entry(name).or_default();
        enumeration.size = size;
        enumeration
    }

    /// Adds a typedef or a plain integer type (`cpumask_t`, `u64`).
    pub fn alias(&mut self, name: &'static str, ty: Type) {
        self.aliases.insert(name, ty);
    }

    /// Looks a structure or union up.
    pub fn find_structure(&self, name: &str) -> Option<&Structure> {
        self.structures.get(name)
    }

    /// Looks an enumeration up.
    pub fn find_enumeration(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.get(name)
    }

    /// Looks a typedef up.
    pub fn find_alias(&self, name: &str) -> Option<&Type> {
        self.aliases.get(name)
    }

    /// All structures and unions, by name.
    pub(crate) fn structures(&self) -> impl Iterator<Item = (&'static str, &Structure)> {
        self.structures.iter().map(|(name, structure)| (*name, structure))
    }

    /// All enumerations, by name.
    pub(crate) fn enumerations(&self) -> impl Iterator<Item = (&'static str, &Enumeration)> {
        self.enumerations.iter().map(|(name, enumeration)| (*name, enumeration))
    }

    /// All typedefs, by name.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&'static str, &Type)> {
        self.aliases.iter().map(|(name, ty)| (*name, ty))
    }

    /// A structure or union as a type, if the table has it.
    pub(crate) fn structure_type(&self, name: &str) -> Option<Type> {
        self.structures.get_key_value(name).map(|(name, _)| Type::Struct(name))
    }

    /// An enumeration as a type, if the table has it.
    pub(crate) fn enumeration_type(&self, name: &str) -> Option<Type> {
        self.enumerations.get_key_value(name).map(|(name, _)| Type::Enum(name))
    }

    /// Byte offset of a member, or `None`.
    pub fn offset(&self, structure: &str, field: &str) -> Option<u32> {
        Some(self.structures.get(structure)?.fields.get(field)?.bit_offset / 8)
    }

    /// The value of an enumerator whatever enumeration it is in.
    pub fn enumerator(&self, name: &str) -> Option<u64> {
        self.enumerations.values().find_map(|enumeration| enumeration.values.get(name).copied())
    }

    /// Bytes of a type; 0 when it names a structure that is not in the table.
    pub fn size_of(&self, ty: &Type) -> u32 {
        match ty {
            Type::I8 | Type::U8 | Type::Bool => 1,
            Type::I16 | Type::U16 => 2,
            Type::I32 | Type::U32 => 4,
            Type::I64 | Type::U64 | Type::Pointer => 8,
            Type::Array(element, count) => self.size_of(element).saturating_mul(*count),
            Type::Struct(name) => self.structures.get(name).map_or(0, |structure| structure.size),
            Type::Enum(name) => self.enumerations.get(name).map_or(4, |enumeration| enumeration.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let mut table = TypeTable::new();
        table.structure("point", 16).field("x", 0, Type::I32).field("name", 4, Type::text(8));
        table.structure("line", 32).field("from", 0, Type::Struct("point")).field("to", 16, Type::Struct("point"));
        table.enumeration("colour", 4).value("RED", 1).value("BLUE", 2);
        assert_eq!(table.offset("line", "to"), Some(16));
        assert_eq!(table.offset("line", "via"), None);
        assert_eq!(table.enumerator("BLUE"), Some(2));
        assert_eq!(table.size_of(&Type::array(Type::Struct("point"), 3)), 48);
    }
}
