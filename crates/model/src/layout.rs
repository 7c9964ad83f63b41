//! How the CPUs of a machine hang together, CPU by CPU: what a policy learns about the machine on which it runs.
//!
//! A scenario's [`Topology`] is regular. A real machine need not be: CPUs may be offline, cores may differ, and the
//! threads of a core may have numbers that are far apart.

use crate::count::counted;
use crate::ids::CpuId;
use crate::machine::{Machine, Topology};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The capacity of a CPU that is as fast as any other, as the kernel counts it.
pub const FULL_CAPACITY: u32 = 1024;

/// Where a CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its core, numbered over the machine.
    pub core: u32,
    /// Its last-level cache, numbered over the machine.
    pub llc: u32,
    /// Its NUMA node, by the kernel's number.
    pub node: u32,
    /// How fast it is, of [`FULL_CAPACITY`].
    pub capacity: u32,
}

/// The CPUs of a machine in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// A CPU that is offline has no place.
    places: Vec<Option<Place>>,
    /// The period of the timer tick; none where there is none, or it is unknown.
    tick: Option<Time>,
}

/// The layout as ranges of CPUs, for policies that know nothing else: how many CPUs are in each core, cache and node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// CPUs of a core.
    pub core: u32,
    /// CPUs on a last-level cache.
    pub llc: u32,
    /// CPUs of a node.
    pub node: u32,
}

impl From<Topology> for Layout {
    fn from(topology: Topology) -> Layout {
        let place = |cpu| Place {
            core: topology.core_of(cpu),
            llc: topology.llc_of(cpu),
            node: topology.node_of(cpu),
            capacity: FULL_CAPACITY,
        };
        Layout { places: (0..topology.cpus()).map(|cpu| Some(place(CpuId(cpu)))).collect(), tick: None }
    }
}

impl From<&Machine> for Layout {
    fn from(machine: &Machine) -> Layout {
        Layout::from(machine.topology).ticking(Some(machine.tick).filter(|tick| *tick > Time::ZERO))
    }
}

impl Layout {
    /// From a place for each CPU, none for those that are offline. Cores and caches may have any numbers; they get new
    /// ones in the order of their first CPU.
    pub fn new(mut places: Vec<Option<Place>>) -> Layout {
        renumber(&mut places, |place| &mut place.core);
        renumber(&mut places, |place| &mut place.llc);
        Layout { places, tick: None }
    }

    /// The same, with that period of the timer tick.
    pub fn ticking(self, tick: Option<Time>) -> Layout {
        Layout { tick, ..self }
    }

    /// The period of the timer tick, if there is one that is known.
    pub fn tick(&self) -> Option<Time> {
        self.tick
    }

    /// The number of CPUs, with those that are offline.
    pub fn cpus(&self) -> u32 {
        self.places.len() as u32
    }

    /// The CPUs that are online, each with its place.
    pub fn online(&self) -> impl Iterator<Item = (CpuId, Place)> {
        self.places.iter().zip(0..).filter_map(|(place, cpu)| Some((CpuId(cpu), (*place)?)))
    }

    /// How many cores, caches or nodes there are.
    pub fn count(&self, part: fn(&Place) -> u32) -> u32 {
        let mut parts: Vec<u32> = self.online().map(|(_, place)| part(&place)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.len() as u32
    }

    /// How many there are of each: `8 CPUs in 4 cores, 1 last-level cache and 1 node`.
    pub fn in_words(&self) -> String {
        let (cores, llcs) = (self.count(|place| place.core), self.count(|place| place.llc));
        let nodes = self.count(|place| place.node);
        let [cpus, cores] = [counted(self.cpus(), "CPU"), counted(cores, "core")];
        let [llcs, nodes] = [counted(llcs, "last-level cache"), counted(nodes, "node")];
        format!("{cpus} in {cores}, {llcs} and {nodes}")
    }

    /// Whether some core has more than one thread.
    pub fn has_smt(&self) -> bool {
        (self.count(|place| place.core) as usize) < self.online().count()
    }

    /// Whether all CPUs are equally fast.
    pub fn is_uniform(&self) -> bool {
        self.count(|place| place.capacity) <= 1
    }

    /// The layout as ranges of equal length. A level that is none is left out: threads count as cores of their own, the
    /// caches of a node as one, the nodes as one.
    pub fn ranges(&self) -> Ranges {
        let node = self.range(|place| place.node).unwrap_or(self.cpus());
        let llc = self.range(|place| place.llc).unwrap_or(node);
        Ranges { core: self.range(|place| place.core).unwrap_or(1), llc, node }
    }

    /// The levels that [`Self::ranges`] leaves out.
    pub fn left_out(&self) -> Vec<&'static str> {
        let levels = [
            ("cores", self.range(|place| place.core)),
            ("last-level caches", self.range(|place| place.llc)),
            ("nodes", self.range(|place| place.node)),
        ];
        levels.into_iter().filter(|(_, length)| length.is_none()).map(|(name, _)| name).collect()
    }

    /// How many CPUs each part has, where each is a range of CPUs and all are of one length.
    fn range(&self, part: fn(&Place) -> u32) -> Option<u32> {
        let parts: Option<Vec<u32>> = self.places.iter().map(|place| Some(part(place.as_ref()?))).collect();
        let parts = parts.filter(|parts| !parts.is_empty())?;
        let length = parts.iter().take_while(|part| **part == parts[0]).count();
        let mut seen: Vec<u32> = parts.chunks(length).map(|range| range[0]).collect();
        let whole = parts.len() % length == 0 && parts.chunks(length).all(|range| range.iter().all(|p| *p == range[0]));
        seen.sort_unstable();
        (whole && seen.windows(2).all(|pair| pair[0] != pair[1])).then_some(length as u32)
    }
}

fn renumber(places: &mut [Option<Place>], part: fn(&mut Place) -> &mut u32) {
    let mut known: Vec<u32> = Vec::new();
    for place in places.iter_mut().flatten() {
        let number = part(place);
        let index = known.iter().position(|seen| seen == number).unwrap_or_else(|| {
            known.push(*number);
            known.len() - 1
        });
        *number = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Notation;

    /// CPUs as (core, cache, node).
    fn layout(cpus: &[(u32, u32, u32)]) -> Layout {
        let place = |&(core, llc, node)| Some(Place { core, llc, node, capacity: FULL_CAPACITY });
        Layout::new(cpus.iter().map(place).collect())
    }

    #[test]
    fn a_regular_topology_is_its_ranges() {
        for (text, ranges) in [("2n2l4c2t", (2, 8, 16)), ("1n1l4c2t", (2, 8, 8)), ("4n1l8c1t", (1, 8, 8))] {
            let layout = Layout::from(Topology::read(text).unwrap());
            let Ranges { core, llc, node } = layout.ranges();
            assert_eq!(((core, llc, node), layout.left_out().len()), (ranges, 0), "{text}");
        }
        let layout = Layout::from(Topology::read("2n2l4c2t").unwrap());
        let counts = [layout.count(|p| p.core), layout.count(|p| p.llc), layout.count(|p| p.node)];
        assert_eq!((counts, layout.cpus(), layout.has_smt(), layout.is_uniform()), ([16, 4, 2], 32, true, true));
        assert_eq!(layout.in_words(), "32 CPUs in 16 cores, 4 last-level caches and 2 nodes");
    }

    #[test]
    fn what_is_no_range_is_left_out() {
        // The second threads of four cores come after the first ones, as most machines number them.
        let apart = layout(&[(0, 7, 0), (1, 7, 0), (2, 9, 0), (3, 9, 0), (0, 7, 0), (1, 7, 0), (2, 9, 0), (3, 9, 0)]);
        assert_eq!(apart.ranges(), Ranges { core: 1, llc: 8, node: 8 });
        assert_eq!(apart.left_out(), ["cores", "last-level caches"]);
        assert_eq!((apart.has_smt(), apart.count(|p| p.llc)), (true, 2));
        // Two fast cores with two threads and two slow ones with one, on one cache.
        let hybrid = layout(&[(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]);
        assert_eq!((hybrid.ranges(), hybrid.left_out()), (Ranges { core: 1, llc: 6, node: 6 }, vec!["cores"]));
        // A cache that comes back, and caches of different sizes.
        let again = layout(&[(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]);
        let odd = layout(&[(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0)]);
        for layout in [again, odd] {
            assert_eq!((layout.ranges().llc, layout.left_out()), (4, vec!["last-level caches"]));
        }
    }

    #[test]
    fn an_offline_cpu_counts_as_a_cpu_and_breaks_every_range() {
        let mut places = layout(&[(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0)]).places;
        places[3] = None;
        let layout = Layout::new(places);
        assert_eq!((layout.cpus(), layout.count(|p| p.core), layout.left_out().len()), (4, 2, 3));
        assert_eq!(layout.ranges(), Ranges { core: 1, llc: 4, node: 4 });
    }
}
