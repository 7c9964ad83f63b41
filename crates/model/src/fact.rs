//! Facts about a machine that a policy has parameters for: how many CPUs there are, which of them share a cache.
//!
//! The simulator and the loader fill these parameters from the [`Layout`] of the machine on which it runs, so that a machine is
//! described in one place: the scenario of a simulation, the kernel of a real run.

use crate::layout::{Layout, Place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A fact that a parameter holds. Its text is what a declaration tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    /// The number of CPUs.
    Cpus,
    /// The number of cores.
    Cores,
    /// The number of last-level caches.
    Llcs,
    /// The number of nodes.
    Nodes,
    /// Threads of each core, of a layout in [ranges](Layout::ranges).
    ThreadsPerCore,
    /// Cores on each last-level cache, of a layout in ranges.
    CoresPerLlc,
    /// Last-level caches of each node, of a layout in ranges.
    LlcsPerNode,
    /// Whether some core has several threads.
    Smt,
    /// Whether there is more than one node.
    Numa,
    /// Whether there is one node only.
    OneNode,
    /// Whether all CPUs are equally fast.
    Uniform,
    /// Whether some CPUs are slower than others.
    Hybrid,
    /// The period of the timer tick, in nanoseconds, where there is one that is known.
    Tick,
    /// For each CPU, its core.
    CoreOfCpu,
    /// For each CPU, its last-level cache.
    LlcOfCpu,
    /// For each CPU, its node.
    NodeOfCpu,
    /// For each CPU, how fast it is, of 1024.
    CapacityOfCpu,
    /// For each last-level cache, its node.
    NodeOfLlc,
    /// A bit for each CPU that is online.
    OnlineCpus,
    /// For each node, a bit for each of its CPUs.
    CpusOfNode,
}

/// How a parameter stores a fact: the number of elements and the bytes of each, in rows of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Bytes of an element.
    pub element_bytes: usize,
    /// How many elements there are; 1 for a plain number.
    pub elements: usize,
    /// How many rows they are in.
    pub rows: usize,
}

/// What a user has set by hand of the facts, by fact.
pub type SetByHand = BTreeMap<Fact, i128>;

/// Each fact with its name and what it is.
const NAMES: [(Fact, &str, &str); 20] = [
    (Fact::Cpus, "cpus", "the number of CPUs of the machine"),
    (Fact::Cores, "cores", "the number of cores of the machine"),
    (Fact::Llcs, "llcs", "the number of last-level caches of the machine"),
    (Fact::Nodes, "nodes", "the number of nodes of the machine"),
    (Fact::ThreadsPerCore, "threads_per_core", "the hardware threads of each core of the machine"),
    (Fact::CoresPerLlc, "cores_per_llc", "the cores on each last-level cache of the machine"),
    (Fact::LlcsPerNode, "llcs_per_node", "the last-level caches of each node of the machine"),
    (Fact::Smt, "smt", "whether a core of the machine has several threads"),
    (Fact::Numa, "numa", "whether the machine has several nodes"),
    (Fact::OneNode, "one_node", "whether the machine has one node only"),
    (Fact::Uniform, "uniform", "whether all CPUs of the machine are equally fast"),
    (Fact::Hybrid, "hybrid", "whether some CPUs of the machine are slower than others"),
    (Fact::Tick, "tick", "the period of the machine's timer tick, in nanoseconds"),
    (Fact::CoreOfCpu, "core_of_cpu", "the core of each CPU of the machine"),
    (Fact::LlcOfCpu, "llc_of_cpu", "the last-level cache of each CPU of the machine"),
    (Fact::NodeOfCpu, "node_of_cpu", "the node of each CPU of the machine"),
    (Fact::CapacityOfCpu, "capacity_of_cpu", "how fast each CPU of the machine is, of 1024"),
    (Fact::NodeOfLlc, "node_of_llc", "the node of each last-level cache of the machine"),
    (Fact::OnlineCpus, "online_cpus", "a bit for each CPU of the machine that is online"),
    (Fact::CpusOfNode, "cpus_of_node", "for each node of the machine a bit for each of its CPUs"),
];

impl Fact {
    /// The fact of a name.
    pub fn from_name(name: &str) -> Option<Fact> {
        NAMES.iter().find(|(_, known, _)| *known == name).map(|(fact, ..)| *fact)
    }

    /// The name that is in a declaration tag.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(fact, ..)| *fact == self).map_or("", |(_, name, _)| name)
    }

    /// What it is, for people.
    pub fn about(self) -> &'static str {
        NAMES.iter().find(|(fact, ..)| *fact == self).map_or("", |(.., about)| about)
    }

    /// Whether it is a number for each of something, which takes an array.
    pub fn is_list(self) -> bool {
        self >= Fact::CoreOfCpu
    }

    /// Whether it exists only where the parts of the machine are ranges of CPUs.
    pub fn needs_ranges(self) -> bool {
        matches!(self, Fact::ThreadsPerCore | Fact::CoresPerLlc | Fact::LlcsPerNode)
    }

    /// The fact as a number or a truth value; none for a list, and where the machine does not have it.
    ///
    /// A user may set some of the three counts of ranges by hand. The others are then such that caches and nodes have
    /// as many CPUs as the machine's: with `threads_per_core` set to 1 on four cores of two threads, eight cores share
    /// the cache.
    pub fn number(self, layout: &Layout, set: &SetByHand) -> Option<i128> {
        let count = |part: fn(&Place) -> u32| i128::from(layout.count(part));
        let ranges = layout.ranges();
        Some(match self {
            Fact::Cpus => layout.cpus().into(),
            Fact::Cores => count(|place| place.core),
            Fact::Llcs => count(|place| place.llc),
            Fact::Nodes => count(|place| place.node),
            Fact::ThreadsPerCore => ranges.core.into(),
            Fact::CoresPerLlc => u64::from(ranges.llc).div_ceil(core_size(layout, set)).into(),
            Fact::LlcsPerNode => u64::from(ranges.node).div_ceil(llc_size(layout, set)).into(),
            Fact::Smt => layout.has_smt().into(),
            Fact::Numa => (layout.count(|place| place.node) > 1).into(),
            Fact::OneNode => (layout.count(|place| place.node) <= 1).into(),
            Fact::Uniform => layout.is_uniform().into(),
            Fact::Hybrid => (!layout.is_uniform()).into(),
            Fact::Tick => layout.tick()?.ns().into(),
            _ => return None,
        })
    }

    /// The bytes of a parameter that holds the fact. What there is no room for is left out, as of an array with fewer
    /// elements than the machine has CPUs.
    pub fn bytes(self, form: Form, layout: &Layout, set: &SetByHand) -> Vec<u8> {
        let mut bytes = vec![0; form.element_bytes * form.elements];
        let number = |value: u32| i128::from(value);
        let per_cpu = |part: fn(&Place) -> u32| layout.online().map(move |(cpu, place)| (cpu.index(), part(&place)));
        let mut put = |index: usize, value: i128| {
            if let Some(element) = bytes.chunks_mut(form.element_bytes).nth(index) {
                element.copy_from_slice(&value.to_le_bytes()[..form.element_bytes]);
            }
        };
        let mut put_all =
            |values: &mut dyn Iterator<Item = (usize, u32)>| values.for_each(|(at, v)| put(at, number(v)));
        match self {
            Fact::CoreOfCpu => put_all(&mut per_cpu(|place| place.core)),
            Fact::LlcOfCpu => put_all(&mut per_cpu(|place| place.llc)),
            Fact::NodeOfCpu => put_all(&mut per_cpu(|place| place.node)),
            Fact::CapacityOfCpu => put_all(&mut per_cpu(|place| place.capacity)),
            Fact::NodeOfLlc => put_all(&mut layout.online().map(|(_, place)| (place.llc as usize, place.node))),
            Fact::OnlineCpus => layout.online().for_each(|(cpu, _)| set_bit(&mut bytes, cpu.index())),
            Fact::CpusOfNode => {
                let row_bytes = bytes.len() / form.rows.max(1);
                for (cpu, place) in layout.online() {
                    if let Some(row) = bytes.chunks_mut(row_bytes).nth(place.node as usize) {
                        set_bit(row, cpu.index());
                    }
                }
            }
            _ => put(0, self.number(layout, set).unwrap_or(0)),
        }
        bytes
    }

    /// The machine's own number where one that was set by hand contradicts it. A count of 0 stands for all there are.
    pub fn contradicted_by(self, value: i128, layout: &Layout) -> Option<i128> {
        let own = self.number(layout, &SetByHand::new())?;
        let is_whole = match self {
            Fact::CoresPerLlc => layout.ranges().llc == layout.cpus(),
            Fact::LlcsPerNode => layout.ranges().node == layout.cpus(),
            _ => false,
        };
        (value != own && !(value == 0 && is_whole)).then_some(own)
    }
}

/// CPUs of a core, as the policy sees it.
fn core_size(layout: &Layout, set: &SetByHand) -> u64 {
    by_hand(Fact::ThreadsPerCore, set).unwrap_or(layout.ranges().core.into()).max(1)
}

/// CPUs on a last-level cache, as the policy sees it.
fn llc_size(layout: &Layout, set: &SetByHand) -> u64 {
    let size = match by_hand(Fact::CoresPerLlc, set) {
        None => layout.ranges().llc.into(),
        Some(0) => layout.cpus().into(),
        Some(cores) => core_size(layout, set).saturating_mul(cores),
    };
    size.max(1)
}

fn by_hand(fact: Fact, set: &SetByHand) -> Option<u64> {
    set.get(&fact).and_then(|value| u64::try_from(*value).ok())
}

fn set_bit(bytes: &mut [u8], bit: usize) {
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte |= 1 << (bit % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Topology;
    use crate::scenario::Notation;
    use crate::time::Time;

    fn layout(text: &str) -> Layout {
        Topology::read(text).unwrap().into()
    }

    fn set(facts: &[(Fact, i128)]) -> SetByHand {
        facts.iter().copied().collect()
    }

    fn shape(layout: &Layout, set: &SetByHand) -> [i128; 3] {
        [Fact::ThreadsPerCore, Fact::CoresPerLlc, Fact::LlcsPerNode].map(|fact| fact.number(layout, set).unwrap())
    }

    #[test]
    fn facts_have_one_name_each() {
        for (fact, name, _) in NAMES {
            assert_eq!((Fact::from_name(name), fact.name()), (Some(fact), name));
            let layout = layout("1n1l1c1t").ticking(Some(Time::from_ms(4)));
            assert_eq!(fact.is_list(), fact.number(&layout, &set(&[])).is_none(), "{name}");
        }
        assert_eq!(Fact::from_name("threads"), None);
    }

    #[test]
    fn a_topology_is_told_as_it_is_written() {
        let none = set(&[]);
        assert_eq!(shape(&layout("2n3l4c2t"), &none), [2, 4, 3]);
        assert_eq!(shape(&layout("1n1l8c1t"), &none), [1, 8, 1]);
        let of = |fact: Fact, text| fact.number(&layout(text), &none).unwrap();
        let counts = [Fact::Cpus, Fact::Cores, Fact::Llcs, Fact::Nodes].map(|fact| of(fact, "2n3l4c2t"));
        assert_eq!(counts, [48, 24, 6, 2]);
        let truths = [Fact::Smt, Fact::Numa, Fact::OneNode, Fact::Uniform, Fact::Hybrid];
        assert_eq!(truths.map(|fact| of(fact, "2n3l4c2t")), [1, 1, 0, 1, 0]);
        assert_eq!(truths.map(|fact| of(fact, "1n1l4c1t")), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn caches_and_nodes_keep_their_cpus_when_a_part_is_set_by_hand() {
        let threads = set(&[(Fact::ThreadsPerCore, 1)]);
        assert_eq!(shape(&layout("2n1l4c2t"), &threads)[1..], [8, 1]);
        let cores = set(&[(Fact::CoresPerLlc, 2)]);
        assert_eq!(shape(&layout("1n1l8c1t"), &cores), [1, 8, 4]);
        let both = set(&[(Fact::ThreadsPerCore, 2), (Fact::CoresPerLlc, 2)]);
        assert_eq!(shape(&layout("1n1l8c1t"), &both)[2], 2);
        let all = set(&[(Fact::CoresPerLlc, 0)]);
        assert_eq!(shape(&layout("4n1l8c1t"), &all)[2], 1);
    }

    #[test]
    fn what_contradicts_the_machine_is_known() {
        let layout = layout("2n1l4c2t");
        assert_eq!(Fact::ThreadsPerCore.contradicted_by(1, &layout), Some(2));
        assert_eq!(Fact::CoresPerLlc.contradicted_by(0, &layout), Some(4));
        assert_eq!(Fact::Cpus.contradicted_by(16, &layout), None);
        let flat = Layout::from(Topology::flat(4));
        assert_eq!(Fact::CoresPerLlc.contradicted_by(0, &flat), None);
        assert_eq!(Fact::LlcsPerNode.contradicted_by(0, &flat), None);
        assert_eq!(Fact::LlcsPerNode.contradicted_by(2, &flat), Some(1));
    }

    #[test]
    fn lists_are_filled_as_far_as_there_is_room() {
        let (layout, none) = (layout("2n2l1c2t"), set(&[]));
        let plain = |element_bytes, elements| Form { element_bytes, elements, rows: 1 };
        let bytes = |fact: Fact, form| fact.bytes(form, &layout, &none);
        assert_eq!(bytes(Fact::LlcOfCpu, plain(1, 10)), [0, 0, 1, 1, 2, 2, 3, 3, 0, 0]);
        assert_eq!(bytes(Fact::NodeOfCpu, plain(2, 3)), [0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(Fact::CoreOfCpu, plain(1, 4)), [0, 0, 1, 1]);
        assert_eq!(bytes(Fact::NodeOfLlc, plain(4, 4))[8..], [1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes(Fact::CapacityOfCpu, plain(2, 1)), [0, 4]);
        assert_eq!(bytes(Fact::OnlineCpus, plain(1, 2)), [0xff, 0]);
        let two_words = Form { element_bytes: 8, elements: 4, rows: 2 };
        let masks = bytes(Fact::CpusOfNode, two_words);
        assert_eq!((masks[0], masks[16], masks.iter().map(|b| b.count_ones()).sum::<u32>()), (0x0f, 0xf0, 8));
        assert_eq!(bytes(Fact::Cpus, plain(4, 1)), [8, 0, 0, 0]);
    }
}
