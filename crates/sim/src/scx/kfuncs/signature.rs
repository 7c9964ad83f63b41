//! What kernel functions take and give, as their declarations in C have it.

use super::DECLARATIONS;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How a word is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No result (`void`).
    Nothing,
    /// `bool`.
    Truth,
    /// `s32`, `int`.
    Signed32,
    /// `s64`.
    Signed64,
    /// `u32`.
    Unsigned32,
    /// `u64`, `size_t`.
    Unsigned64,
    /// An address in the guest.
    Pointer,
}

/// A kernel function as C declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name and kind of each argument, in order.
    pub arguments: Vec<(&'static str, Word)>,
    /// What it gives.
    pub result: Word,
}

impl Signature {
    /// That of the kernel function with this name; none where there is no such function.
    pub fn of(name: &str) -> Option<&'static Signature> {
        static ALL: LazyLock<BTreeMap<&str, Signature>> =
            LazyLock::new(|| DECLARATIONS.lines().filter_map(declared).collect());
        ALL.get(name)
    }
}

/// The function that a line declares; none where it declares none.
fn declared(line: &'static str) -> Option<(&'static str, Signature)> {
    let (head, arguments) = line.strip_suffix(");")?.split_once('(')?;
    let (name, result) = variable(head)?;
    let arguments = if arguments == "void" { Some(Vec::new()) } else { arguments.split(", ").map(variable).collect() };
    Some((name, Signature { arguments: arguments?, result }))
}

/// The name and the kind of `type name`.
fn variable(text: &'static str) -> Option<(&'static str, Word)> {
    let at = text.rfind([' ', '*'])?;
    let (kind, name) = text.split_at(at + 1);
    let word = match kind.trim() {
        pointer if pointer.ends_with('*') => Word::Pointer,
        "void" => Word::Nothing,
        "bool" => Word::Truth,
        "s32" | "int" => Word::Signed32,
        "s64" => Word::Signed64,
        "u32" => Word::Unsigned32,
        "u64" | "size_t" => Word::Unsigned64,
        _ => return None,
    };
    Some((name, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_signature_with_its_arguments() {
        for function in super::super::all() {
            let signature = Signature::of(function.name()).unwrap_or_else(|| panic!("{}", function.name()));
            assert_eq!(signature.arguments.len(), usize::from(function.arguments()), "{}", function.name());
        }
        assert_eq!(Signature::of("scx_bpf_no_such"), None);
    }

    #[test]
    fn a_declaration_says_what_its_words_are() {
        let vtime = Signature::of("scx_bpf_dsq_insert_vtime").unwrap();
        assert_eq!(vtime.arguments[0], ("p", Word::Pointer));
        assert_eq!(vtime.arguments[2], ("slice", Word::Unsigned64));
        assert_eq!(vtime.result, Word::Nothing);
        assert_eq!(Signature::of("scx_bpf_dsq_nr_queued").unwrap().result, Word::Signed32);
        assert_eq!(Signature::of("scx_bpf_cpu_rq").unwrap().result, Word::Pointer);
        assert_eq!(Signature::of("bpf_cpumask_populate").unwrap().arguments[2], ("src__sz", Word::Unsigned64));
    }
}
