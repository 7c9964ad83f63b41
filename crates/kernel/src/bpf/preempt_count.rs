//! Where the kernel counts, for each CPU, the interrupts on top of the current task.

use libbpf_rs::btf::types::{Composite, DataSec, MemberAttr};
use libbpf_rs::btf::{Btf, BtfType};

/// How far it is from a CPU's run queue to its preemption count, in bytes. All per-CPU variables of one CPU lie
/// together, and the kernel's types tell the place of each; none when they do not tell these two.
pub fn from_run_queue() -> Option<i64> {
    let btf = Btf::from_vmlinux().ok()?;
    let section: DataSec<'_> = btf.type_by_name(".data..percpu")?;
    let place = |wanted: &str| {
        section.iter().find_map(|variable| {
            let name = btf.type_by_id::<BtfType<'_>>(variable.ty)?.name()?;
            (name == wanted).then_some(i64::from(variable.offset))
        })
    };
    let own = || place("__preempt_count");
    // From 6.2 to 6.14 x86 kept it in a structure with other busy variables.
    let shared = || Some(place("pcpu_hot")? + member(&btf, "pcpu_hot", "preempt_count")?);
    Some(own().or_else(shared)? - place("runqueues")?)
}

/// The offset of a structure's member, also of one in an unnamed structure or union inside of it.
fn member(btf: &Btf<'_>, structure: &str, wanted: &str) -> Option<i64> {
    let bits = search(btf, btf.type_by_name(structure)?, wanted)?;
    Some(i64::from(bits / 8))
}

/// The same in bits.
fn search(btf: &Btf<'_>, of: Composite<'_>, wanted: &str) -> Option<u32> {
    of.iter().find_map(|member| {
        let MemberAttr::Normal { offset } = member.attr else { return None };
        match member.name {
            Some(name) if name == wanted => Some(offset),
            Some(name) if !name.is_empty() => None,
            _ => Some(offset + search(btf, btf.type_by_id(member.ty)?, wanted)?),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_this_kernel() {
        let btf = Btf::from_vmlinux().unwrap();
        assert_eq!(member(&btf, "list_head", "prev"), Some(8));
        assert_eq!(member(&btf, "list_head", "no_such"), None);
        assert_eq!(member(&btf, "no_such", "prev"), None);
        // Inside of an unnamed union.
        assert!(member(&btf, "page", "_mapcount").is_some_and(|offset| offset > 0));
    }
}
