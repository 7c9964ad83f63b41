//! The BTF of a simulated kernel: what a loader reads in `/sys/kernel/btf/vmlinux` to learn what there is. It is made of
//! the table of types and of declarations in C, and names nothing that is not there.

use std::collections::BTreeMap;

use crate::btf::{Btf, Encoding, TypeId, Writer};
use crate::type_table::{Structure, Type, TypeTable};

/// The declarations of the functions that every BPF program has.
pub(crate) const GENERIC_DECLARATIONS: &str = include_str!("kfuncs/declarations.h");

/// Stands before the name of a tracepoint in that of its type.
const TRACEPOINT: &str = "btf_trace_";

/// What a member of a table of operations is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationMember {
    /// An operation.
    Function,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// A text, with its size in bytes.
    Text(u32),
    /// A pointer for the kernel's own use.
    Pointer,
}

/// A table of operations that programs implement: its name and its members in order.
pub type Operations<'a> = (&'a str, &'a [(&'a str, OperationMember)]);

/// The types of a kernel as a loader reads them.
#[derive(Clone, Debug)]
pub struct KernelBtf {
    /// As a file.
    pub bytes: Vec<u8>,
    /// The same, read.
    pub(crate) types: Btf,
    /// Name and number of parameters of each function, by the number of its type.
    pub(crate) functions: BTreeMap<TypeId, (String, usize)>,
    /// Name of each variable, likewise.
    pub(crate) variables: BTreeMap<TypeId, String>,
}

impl KernelBtf {
    /// Makes it. Each line of `declarations` is C: a function or a variable. `watched` are functions, and tracepoints by
    /// `tp:NAME`, to which programs may attach and which they cannot call.
    ///
    /// # Panics
    ///
    /// A declaration is not understood: they are written by us.
    pub fn new(types: &TypeTable, declarations: &[&str], watched: &[&str], operations: Operations<'_>) -> KernelBtf {
        let mut maker = Maker::new(types, operations.0);
        maker.operations(operations);
        watched.iter().for_each(|name| maker.watched(name));
        let mut functions = BTreeMap::new();
        let mut variables = BTreeMap::new();
        for line in declarations.iter().chain(&[GENERIC_DECLARATIONS]).flat_map(|text| text.lines()) {
            match maker.declare(line) {
                Some(Declared::Function(id, name, arguments)) => _ = functions.insert(id, (name, arguments)),
                Some(Declared::Variable(id, name)) => _ = variables.insert(id, name),
                None => {}
            }
        }
        let bytes = maker.writer.finish();
        let types = Btf::parse(&bytes).expect("what we have written");
        KernelBtf { bytes, types, functions, variables }
    }

    /// The name of a function or a tracepoint that a program may watch, by its type.
    pub(crate) fn watched(&self, ty: TypeId) -> Option<String> {
        let name = &self.types.get(ty).ok()?.name;
        Some(name.strip_prefix(TRACEPOINT).unwrap_or(name).to_string()).filter(|name| !name.is_empty())
    }

    /// The names of the functions that are declared, with the number of their parameters.
    pub fn functions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.functions.values().map(|(name, arguments)| (name.as_str(), *arguments))
    }
}

enum Declared {
    Function(TypeId, String, usize),
    Variable(TypeId, String),
}

struct Maker {
    writer: Writer,
    named: BTreeMap<String, TypeId>,
    pointers: BTreeMap<TypeId, TypeId>,
    arrays: BTreeMap<(TypeId, u32), TypeId>,
}

impl Maker {
    fn new(table: &TypeTable, operations: &str) -> Maker {
        let writer = Writer::new();
        let mut maker = Maker { writer, named: BTreeMap::new(), pointers: BTreeMap::new(), arrays: BTreeMap::new() };
        for (name, size, encoding) in INTEGERS {
            let id = maker.writer.int(name, *size, *encoding);
            maker.named.insert((*name).into(), id);
        }
        for (name, of) in TYPEDEFS {
            let id = maker.writer.typedef(name, maker.named[*of]);
            maker.named.insert((*name).into(), id);
        }
        for (name, enumeration) in table.enumerations() {
            let values = enumeration.values.iter().map(|(name, value)| (name.as_str(), *value));
            let id = maker.writer.enumeration(name, enumeration.size, values);
            maker.named.insert(name.into(), id);
        }
        let structures: Vec<(&str, &Structure)> = table.structures().filter(|(name, _)| *name != operations).collect();
        for (name, _) in &structures {
            let id = maker.writer.reserve();
            maker.named.insert((*name).into(), id);
        }
        for (name, structure) in structures {
            maker.structure(name, structure);
        }
        for (name, ty) in table.aliases() {
            let of = maker.ty(ty);
            maker.writer.typedef(name, of);
        }
        maker
    }

    fn structure(&mut self, name: &str, structure: &Structure) {
        let mut members = Vec::new();
        for (member, field) in &structure.fields {
            members.push((member.clone(), self.ty(&field.ty), field.bit_offset, field.bits));
        }
        members.sort_by_key(|(_, _, at, _)| *at);
        self.writer.composite(self.named[name], name, structure.is_union, structure.size, &members);
    }

    fn pointer(&mut self, to: TypeId) -> TypeId {
        let writer = &mut self.writer;
        *self.pointers.entry(to).or_insert_with(|| writer.pointer(to))
    }

    fn array(&mut self, element: TypeId, count: u32) -> TypeId {
        let (writer, index) = (&mut self.writer, self.named["unsigned int"]);
        *self.arrays.entry((element, count)).or_insert_with(|| writer.array(element, index, count))
    }

    fn ty(&mut self, ty: &Type) -> TypeId {
        let name = match ty {
            Type::Pointer => return self.pointer(0),
            Type::Array(element, count) => {
                let element = self.ty(element);
                return self.array(element, *count);
            }
            Type::I8 => "signed char",
            Type::I16 => "short",
            Type::I32 => "int",
            Type::I64 => "long",
            Type::U8 => "unsigned char",
            Type::U16 => "unsigned short",
            Type::U32 => "unsigned int",
            Type::U64 => "unsigned long",
            Type::Bool => "bool",
            Type::Struct(name) | Type::Enum(name) => name,
        };
        self.named[name]
    }

    /// A structure by name; one of which nothing is known but that it is there.
    fn known(&mut self, name: &str) -> TypeId {
        if let Some(&id) = self.named.get(name) {
            return id;
        }
        let id = self.writer.reserve();
        self.writer.composite(id, name, false, 0, &[]);
        self.named.insert(name.into(), id);
        id
    }

    fn operations(&mut self, (name, members): Operations<'_>) {
        let id = self.writer.reserve();
        self.named.insert(name.into(), id);
        let prototype = self.writer.prototype(0, &[]);
        let (mut written, mut at) = (Vec::new(), 0u32);
        for (member, kind) in members {
            let (ty, size, align) = match kind {
                OperationMember::Function => (self.pointer(prototype), 8, 8),
                OperationMember::Pointer => (self.pointer(0), 8, 8),
                OperationMember::U32 => (self.named["unsigned int"], 4, 4),
                OperationMember::U64 => (self.named["unsigned long"], 8, 8),
                OperationMember::Text(len) => {
                    let char = self.named["char"];
                    (self.array(char, *len), *len, 1)
                }
            };
            at = at.next_multiple_of(align);
            written.push(((*member).to_string(), ty, at * 8, None));
            at += size;
        }
        let size = at.next_multiple_of(8);
        self.writer.composite(id, name, false, size, &written);
        // What a map of such a table holds: two words of the kernel's, in a line of the cache of their own.
        let common = self.known("bpf_struct_ops_common_value");
        let value = self.writer.reserve();
        let members = [("common".into(), common, 0, None), ("data".into(), id, 64 * 8, None)];
        self.writer.composite(value, &format!("bpf_struct_ops_{name}"), false, 64 + size, &members);
    }

    fn watched(&mut self, name: &str) {
        let prototype = self.writer.prototype(0, &[]);
        match name.strip_prefix("tp:") {
            None => _ = self.writer.function(name, prototype),
            Some(name) => {
                let pointer = self.writer.pointer(prototype);
                self.writer.typedef(&format!("{TRACEPOINT}{name}"), pointer);
            }
        }
    }

    fn declare(&mut self, line: &str) -> Option<Declared> {
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") || line.starts_with('#') {
            return None;
        }
        let text = line.strip_suffix(';').unwrap_or_else(|| panic!("no declaration: {line}"));
        match text.split_once('(') {
            None => {
                let (ty, name) = self.declarator(text);
                Some(Declared::Variable(self.writer.variable(&name, ty), name))
            }
            Some((before, parameters)) => {
                let (result, name) = self.declarator(before);
                let parameters = self.parameters(parameters.strip_suffix(')').expect("a list of parameters"));
                let prototype = self.writer.prototype(result, &parameters);
                Some(Declared::Function(self.writer.function(&name, prototype), name, parameters.len()))
            }
        }
    }

    fn parameters(&mut self, text: &str) -> Vec<(String, TypeId)> {
        if text.trim() == "void" {
            return Vec::new();
        }
        split(text).into_iter().map(|part| self.parameter(part)).collect()
    }

    /// A parameter; one that is a function itself is written `bool less(struct node *, struct node *)`.
    fn parameter(&mut self, text: &str) -> (String, TypeId) {
        match text.split_once('(') {
            None => {
                let (ty, name) = self.declarator(text);
                (name, ty)
            }
            Some((before, parameters)) => {
                let (result, name) = self.declarator(before);
                let parameters = self.parameters(parameters.strip_suffix(')').expect("a list of parameters"));
                let prototype = self.writer.prototype(result, &parameters);
                (name, self.pointer(prototype))
            }
        }
    }

    /// A type and the name behind it, if there is one.
    fn declarator(&mut self, text: &str) -> (TypeId, String) {
        let spaced = text.replace('*', " * ");
        let mut words = spaced.split_whitespace().filter(|word| *word != "const").peekable();
        let first = words.next().expect("a type");
        let mut ty = match first {
            "void" => 0,
            "struct" | "union" => self.known(words.next().expect("a name")),
            "enum" => self.named[words.next().expect("a name")],
            word => self.named[word],
        };
        while words.peek() == Some(&"*") {
            words.next();
            ty = self.pointer(ty);
        }
        (ty, words.next().unwrap_or_default().to_string())
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

const INTEGERS: &[(&str, u32, Encoding)] = &[
    ("char", 1, Encoding::Signed),
    ("signed char", 1, Encoding::Signed),
    ("unsigned char", 1, Encoding::Unsigned),
    ("short", 2, Encoding::Signed),
    ("unsigned short", 2, Encoding::Unsigned),
    ("int", 4, Encoding::Signed),
    ("unsigned int", 4, Encoding::Unsigned),
    ("long", 8, Encoding::Signed),
    ("unsigned long", 8, Encoding::Unsigned),
    ("bool", 1, Encoding::Boolean),
];

const TYPEDEFS: &[(&str, &str)] = &[
    ("u8", "unsigned char"),
    ("u16", "unsigned short"),
    ("u32", "unsigned int"),
    ("u64", "unsigned long"),
    ("s8", "signed char"),
    ("s16", "short"),
    ("s32", "int"),
    ("s64", "long"),
    ("size_t", "unsigned long"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_become_types() {
        let mut table = TypeTable::new();
        table.structure("task_struct", 16).field("pid", 8, Type::I32).field("comm", 0, Type::text(8));
        let declarations = "struct task_struct *first(const struct rq *rq, u64 flags);\nstruct rq runqueues;";
        let members = [("go", OperationMember::Function), ("flags", OperationMember::U64)];
        let made = KernelBtf::new(&table, &[declarations], &["tp:wake"], ("ops", &members));
        let structure = |name: &str| made.types.iter().find(|(_, ty)| ty.name == name).unwrap().0;
        let id = structure("task_struct");
        structure("btf_trace_wake");
        assert_eq!(made.types.members(id).unwrap()[1].bit_offset, 64);
        assert!(made.functions().any(|found| found == ("first", 2)));
        assert!(made.variables.values().any(|name| name == "runqueues"));
        let value = structure("bpf_struct_ops_ops");
        assert_eq!(made.types.size_of(value), Ok(64 + 16));
    }

    #[test]
    fn every_generic_function_is_declared_and_no_other() {
        let made = KernelBtf::new(&TypeTable::new(), &[], &[], ("ops", &[]));
        let mut declared: Vec<(&str, usize)> = made.functions().collect();
        let mut there: Vec<(&str, usize)> =
            crate::kfuncs::all().iter().map(|function| (function.name, usize::from(function.arguments))).collect();
        declared.sort_unstable();
        there.sort_unstable();
        assert_eq!(declared, there);
    }
}
