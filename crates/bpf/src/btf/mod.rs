//! BTF, the type information inside an object: its own parser, because CO-RE needs numbered types with all their
//! raw parts and every index checked, so that a damaged file is an error and never a panic.

mod ext;
mod parse;
mod query;
mod write;

pub use ext::{CoreRelocation, Ext, LineInfo};
pub use parse::printable;
pub use query::essential_name;
pub use write::{Encoding, Writer};

/// Number of a type in its BTF; 0 is `void`.
pub type TypeId = u32;

/// A BTF section that cannot be read; the text says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BtfError(pub String);

/// A member of a structure or union, or a parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BtfMember {
    /// Name; empty when anonymous.
    pub name: String,
    /// Type.
    pub ty: TypeId,
    /// Distance from the start in bits.
    pub bit_offset: u32,
    /// Width of a bit field, else 0.
    pub bits: u32,
}

/// A variable in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionVariable {
    /// Its `Variable` or `Function` type.
    pub ty: TypeId,
    /// Byte offset, which a compiler leaves to the loader.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No type.
    Void,
    /// An integer, with its size in bytes.
    Int {
        /// Bytes.
        size: u32,
        /// Whether it has a sign.
        signed: bool,
        /// Whether it is C `bool`.
        boolean: bool,
    },
    /// A pointer.
    Pointer(TypeId),
    /// An array.
    Array {
        /// Element.
        element: TypeId,
        /// Number of elements.
        count: u32,
    },
    /// A structure or union.
    Composite {
        /// Whether it is a union.
        union: bool,
        /// Bytes.
        size: u32,
        /// Members.
        members: Vec<BtfMember>,
    },
    /// An enumeration; values are sign-extended.
    Enum {
        /// Bytes.
        size: u32,
        /// Whether values have a sign.
        signed: bool,
        /// Name and value of each enumerator.
        values: Vec<(String, u64)>,
    },
    /// A declaration without content.
    Forward,
    /// A typedef.
    Typedef(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `const`.
    Const(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// A type tag (`__kptr`), which is the type's name.
    TypeTag(TypeId),
    /// A function of a prototype.
    Function(TypeId),
    /// A prototype: result and parameters.
    Prototype {
        /// Type of the result.
        result: TypeId,
        /// Parameters.
        parameters: Vec<BtfMember>,
    },
    /// A variable.
    Variable {
        /// Its type.
        ty: TypeId,
        /// Whether it is declared only.
        external: bool,
    },
    /// A section with its variables; the name is the section's.
    DataSection(Vec<SectionVariable>),
    /// A floating-point number, with its size in bytes.
    Float(u32),
    /// A declaration tag, whose text is the name.
    DeclTag {
        /// What it is put to.
        ty: TypeId,
        /// Member or parameter, or -1 for the thing itself.
        component: i32,
    },
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BtfType {
    /// Name, empty when it has none.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// All types of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Btf {
    types: Vec<BtfType>,
    strings: Vec<u8>,
}
