//! The numbers of the running kernel's enumerators, by its own description of its types.
//!
//! Upstream's `<scx/common.bpf.h>` makes a constant `__SCX_SLICE_DFL` of `SCX_SLICE_DFL` and so on, 0 in the object, which
//! a loader fills before it loads: the numbers are the kernel's and not those of the headers. As with upstream's loaders
//! (`SCX_ENUM_INIT`, `scx_utils::import_enums!`) what a kernel does not have stays 0, by which a policy can tell.

use crate::policy::{Enumerator, SchedulerError, Setting};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64};
use std::collections::BTreeMap;

/// What to put into an object's data for its enumerators.
pub fn fill(wanted: &[Enumerator]) -> Result<Vec<Setting>, SchedulerError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let untold = |error| SchedulerError::Refused(format!("the kernel does not tell its types: {error:#}"));
    Ok(settings(wanted, &Btf::from_vmlinux().map_err(untold)?))
}

fn settings(wanted: &[Enumerator], types: &Btf) -> Vec<Setting> {
    let known = numbers(types, |name| wanted.iter().any(|enumerator| enumerator.name == name));
    let setting = |enumerator: &Enumerator| {
        let number = known.get(&enumerator.name)?;
        Some((enumerator.section.clone(), enumerator.offset, number.to_le_bytes().to_vec()))
    };
    wanted.iter().filter_map(setting).collect()
}

/// The enumerators of these names, each as the 64 bits of its number.
fn numbers(types: &Btf, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut note = |name: Option<&std::ffi::OsStr>, number: u64| {
        if let Some(name) = name.and_then(|name| name.to_str()).filter(|name| is_wanted(name)) {
            found.entry(name.to_string()).or_insert(number);
        }
    };
    for one in types.type_by_kind::<Enum>() {
        one.iter().for_each(|member| note(member.name, member.value as u64));
    }
    for one in types.type_by_kind::<Enum64>() {
        one.iter().for_each(|member| note(member.name, member.value as u64));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const KIND_ENUM: u32 = 6;
    const KIND_ENUM64: u32 = 19;
    const SIGNED: u32 = 1 << 31;

    /// An enumeration: kind, bytes, and the enumerators.
    type Enumeration<'a> = (u32, u32, &'a [(&'a str, u64)]);

    /// A kernel's description of its types (BTF) that has these enumerations.
    fn types(enumerations: &[Enumeration]) -> tempfile::NamedTempFile {
        let (mut types, mut strings): (Vec<u32>, Vec<u8>) = (Vec::new(), vec![0]);
        let mut text = |text: &str| {
            let offset = strings.len() as u32;
            strings.extend(text.bytes().chain([0]));
            offset
        };
        for (kind, size, enumerators) in enumerations {
            let info = (kind & !SIGNED) << 24 | kind & SIGNED | enumerators.len() as u32;
            types.extend([text("flags"), info, *size]);
            for (name, number) in *enumerators {
                types.extend([text(name), *number as u32]);
                types.extend((kind & !SIGNED == KIND_ENUM64).then_some((number >> 32) as u32));
            }
        }
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let length = 4 * types.len() as u32;
        // The header: magic and version, its length, and where types and strings are.
        let header = [0x0001_eb9f, 24, 0, length, length, strings.len() as u32];
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[bytes(&header), bytes(&types), strings].concat()).unwrap();
        file
    }

    fn wanted(name: &str, offset: u64) -> Enumerator {
        Enumerator { name: name.into(), section: ".rodata".into(), offset }
    }

    #[test]
    fn constants_get_the_numbers_of_the_kernel_and_what_it_lacks_is_left_alone() {
        let file = types(&[
            (KIND_ENUM, 4, &[("SCX_SLICE_DFL", 20_000_000), ("SCX_DSQ_FLAG", 0xffff_fff0)]),
            (KIND_ENUM64, 8, &[("SCX_DSQ_GLOBAL", 1 << 63 | 1), ("SCX_SLICE_INF", u64::MAX)]),
            (KIND_ENUM | SIGNED, 4, &[("SCX_MINUS", -5_i64 as u64)]),
        ]);
        let types = Btf::from_path(file.path()).unwrap();
        let names = ["SCX_SLICE_DFL", "SCX_DSQ_GLOBAL", "SCX_NEVER", "SCX_SLICE_INF", "SCX_DSQ_FLAG", "SCX_MINUS"];
        let wanted: Vec<_> = names.iter().zip(0..).map(|(name, at)| wanted(name, 8 * at)).collect();
        let found: Vec<(u64, u64)> = settings(&wanted, &types)
            .into_iter()
            .map(|(_, offset, bytes)| (offset, u64::from_le_bytes(bytes.try_into().unwrap())))
            .collect();
        let right = [(0, 20_000_000), (8, 1 << 63 | 1), (24, u64::MAX), (32, 0xffff_fff0), (40, -5_i64 as u64)];
        assert_eq!(found, right);
    }

    #[test]
    fn nothing_is_asked_of_the_kernel_for_nothing() {
        assert_eq!(fill(&[]), Ok(Vec::new()));
    }
}
