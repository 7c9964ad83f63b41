//! Writes BTF: the types of a kernel as a loader reads them.

use std::collections::BTreeMap;

use super::TypeId;

/// Kinds of types by their numbers in the format.
mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const ENUM64: u32 = 19;
}

/// How an integer is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Without a sign.
    Unsigned = 0,
    /// With one.
    Signed = 1,
    /// C `bool`.
    Boolean = 4,
}

/// A member to be written: name, type, place in bits, width in bits if it is a bit field.
pub type NewMember = (String, TypeId, u32, Option<u32>);

/// BTF in the making. Types are numbered from 1 in the order in which they are added.
#[derive(Debug)]
pub struct Writer {
    types: Vec<Vec<u32>>,
    strings: Vec<u8>,
    known: BTreeMap<String, u32>,
}

impl Writer {
    /// Without types.
    pub fn new() -> Writer {
        Writer { types: Vec::new(), strings: vec![0], known: BTreeMap::new() }
    }

    fn text(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        self.known.insert(text.into(), at);
        at
    }

    fn add(&mut self, words: Vec<u32>) -> TypeId {
        self.types.push(words);
        self.types.len() as TypeId
    }

    fn head(&mut self, name: &str, kind: u32, count: usize, flag: bool, size_or_type: u32) -> Vec<u32> {
        vec![self.text(name), u32::from(flag) << 31 | kind << 24 | count as u32, size_or_type]
    }

    /// A number for a type that is written later.
    pub fn reserve(&mut self) -> TypeId {
        self.add(Vec::new())
    }

    /// An integer.
    pub fn int(&mut self, name: &str, size: u32, encoding: Encoding) -> TypeId {
        let mut words = self.head(name, kind::INT, 0, false, size);
        words.push(((encoding as u32) << 24) | (size * 8));
        self.add(words)
    }

    /// A pointer.
    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        let words = self.head("", kind::POINTER, 0, false, to);
        self.add(words)
    }

    /// An array, whose index has an integer type.
    pub fn array(&mut self, element: TypeId, index: TypeId, count: u32) -> TypeId {
        let mut words = self.head("", kind::ARRAY, 0, false, 0);
        words.extend([element, index, count]);
        self.add(words)
    }

    /// The content of a structure or union for which there is a number.
    pub fn composite(&mut self, id: TypeId, name: &str, is_union: bool, size: u32, members: &[NewMember]) {
        let has_bits = members.iter().any(|(.., bits)| bits.is_some());
        let kind = if is_union { kind::UNION } else { kind::STRUCT };
        let mut words = self.head(name, kind, members.len(), has_bits, size);
        for (name, ty, at, bits) in members {
            words.extend([self.text(name), *ty, at | bits.unwrap_or(0) << 24]);
        }
        self.types[id as usize - 1] = words;
    }

    /// An enumeration of values of 4 or 8 bytes.
    pub fn enumeration<'a>(&mut self, name: &str, size: u32, values: impl Iterator<Item = (&'a str, u64)>) -> TypeId {
        let values: Vec<(&str, u64)> = values.collect();
        let kind = if size == 8 { kind::ENUM64 } else { kind::ENUM };
        let mut words = self.head(name, kind, values.len(), false, size);
        for (name, value) in values {
            words.extend([self.text(name), value as u32]);
            words.extend((size == 8).then_some((value >> 32) as u32));
        }
        self.add(words)
    }

    /// Another name.
    pub fn typedef(&mut self, name: &str, of: TypeId) -> TypeId {
        let words = self.head(name, kind::TYPEDEF, 0, false, of);
        self.add(words)
    }

    /// What a function takes and gives.
    pub fn prototype(&mut self, result: TypeId, parameters: &[(String, TypeId)]) -> TypeId {
        let mut words = self.head("", kind::PROTOTYPE, parameters.len(), false, result);
        for (name, ty) in parameters {
            words.extend([self.text(name), *ty]);
        }
        self.add(words)
    }

    /// A function that others can call.
    pub fn function(&mut self, name: &str, prototype: TypeId) -> TypeId {
        // Its linkage stands where others have a count.
        let words = self.head(name, kind::FUNCTION, 1, false, prototype);
        self.add(words)
    }

    /// A variable that others can see.
    pub fn variable(&mut self, name: &str, ty: TypeId) -> TypeId {
        let mut words = self.head(name, kind::VARIABLE, 0, false, ty);
        words.push(1);
        self.add(words)
    }

    /// All of it.
    pub fn finish(self) -> Vec<u8> {
        let types: Vec<u8> = self.types.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let (types_len, strings_len) = (types.len() as u32, self.strings.len() as u32);
        let head = [0x0001_EB9F, 24, 0, types_len, types_len, strings_len];
        [head.iter().flat_map(|word: &u32| word.to_le_bytes()).collect(), types, self.strings].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::{Btf, Kind};

    #[test]
    fn what_is_written_reads_back() {
        let mut writer = Writer::new();
        let point = writer.reserve();
        let int = writer.int("int", 4, Encoding::Signed);
        let row = writer.array(int, int, 3);
        writer.composite(point, "point", false, 16, &[("x".into(), int, 0, None), ("row".into(), row, 32, None)]);
        let wide = writer.enumeration("flags", 8, [("ALL", u64::MAX - 1)].into_iter());
        let to = writer.pointer(point);
        let prototype = writer.prototype(0, &[("p".into(), to)]);
        let function = writer.function("move_point", prototype);
        let variable = writer.variable("origin", point);
        let btf = Btf::parse(&writer.finish()).unwrap();
        assert_eq!((btf.members(point).unwrap()[1].bit_offset, btf.size_of(point)), (32, Ok(16)));
        assert_eq!((btf.type_name(to), btf.parameter_count(function)), ("struct point *".into(), Ok(1)));
        let Kind::Enum { size: 8, values, .. } = &btf.get(wide).unwrap().kind else { panic!() };
        assert_eq!(values[0], ("ALL".into(), u64::MAX - 1));
        assert_eq!(btf.get(variable).unwrap().kind, Kind::Variable { ty: point, external: false });
    }
}
