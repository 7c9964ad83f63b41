//! When the tasks of open workloads arrive.

use crate::site::Site;
use schedlab_model::distribution::Distribution;
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use schedlab_model::workload::Birth;

/// The arrivals of all roles in the order of time, drawn as the simulator draws them.
pub struct Arrivals<'a> {
    streams: Vec<Stream<'a>>,
}

struct Stream<'a> {
    role: u32,
    gaps: Gaps<'a>,
    rng: Rng,
    start: u64,
    left: u32,
    next_ns: u64,
}

/// Where the instants come from.
enum Gaps<'a> {
    Drawn(&'a Distribution),
    Listed(&'a [Time]),
}

impl<'a> Arrivals<'a> {
    /// Those of a run that begins at `start`.
    pub fn new(site: &'a Site, start: u64) -> Arrivals<'a> {
        let roles = site.workload.roles.iter().enumerate();
        let streams = roles.filter_map(|(index, role)| {
            let (first, gaps) = match &role.birth {
                Birth::Arrivals { first, gap } => (*first, Gaps::Drawn(gap)),
                Birth::Listed(times) => (Time::ZERO, Gaps::Listed(times)),
                Birth::At(_) | Birth::Spawned => return None,
            };
            let rng = Rng::split(site.seed, &format!("arrivals/{}", role.name));
            let left = role.count.unwrap_or(u32::MAX);
            let mut stream = Stream { role: index as u32, gaps, rng, start, left, next_ns: start + first.ns() };
            stream.advance();
            Some(stream)
        });
        Arrivals { streams: streams.collect() }
    }

    fn first(&mut self) -> Option<&mut Stream<'a>> {
        self.streams.iter_mut().min_by_key(|stream| stream.next_ns)
    }

    /// When the next task arrives, `u64::MAX` when none does.
    pub fn next_ns(&mut self) -> u64 {
        self.first().map_or(u64::MAX, |stream| stream.next_ns)
    }

    /// Takes the next arrival: its role and its instant.
    pub fn pop(&mut self) -> (u32, u64) {
        let stream = self.first().expect("there is an arrival");
        let arrival = (stream.role, stream.next_ns);
        stream.advance();
        arrival
    }
}

impl Stream<'_> {
    fn advance(&mut self) {
        let Some(left) = self.left.checked_sub(1) else {
            self.next_ns = u64::MAX;
            return;
        };
        self.left = left;
        self.next_ns = match self.gaps {
            Gaps::Drawn(gap) => self.next_ns.saturating_add(gap.sample(&mut self.rng).ns()),
            Gaps::Listed(times) => self.start.saturating_add(times[times.len() - left as usize - 1].ns()),
        };
    }
}
