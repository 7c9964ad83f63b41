//! Pressure stall information of control groups (`kernel/sched/psi.c`).
//!
//! On each CPU a group is *some* while more of its tasks are runnable there than run, *full* while some are runnable and none
//! runs, and *nonidle* while any is runnable. Every two seconds the CPUs' times are averaged, each weighted by its nonidle
//! time in them (`collect_percpu_times`), and added to the totals.

use super::Place;
use schedlab_model::ids::{ControlGroupId, CpuId};

/// `PSI_FREQ`.
const WINDOW_NS: u64 = 2_000_000_000;

#[derive(Debug)]
pub(super) struct Pressure {
    cpus: usize,
    /// For each group its CPUs.
    states: Vec<State>,
    /// Numbers of the states that are nonidle.
    active: Vec<usize>,
    totals: Vec<(u64, u64)>,
    /// What is in the totals of each window so far ends here.
    window_end: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    runnable: u32,
    running: u32,
    some_ns: u64,
    full_ns: u64,
    nonidle_ns: u64,
    /// Its place in `active`, plus one; zero where it is not there.
    place: usize,
}

impl Pressure {
    pub fn new(groups: usize, cpus: u32) -> Pressure {
        let cpus = cpus as usize;
        Pressure {
            cpus,
            states: vec![State::default(); groups * cpus],
            active: Vec::new(),
            totals: vec![(0, 0); groups],
            window_end: WINDOW_NS,
        }
    }

    /// A task of these groups goes from one place to another.
    pub fn moves(&mut self, groups: impl Iterator<Item = ControlGroupId>, from: (Place, CpuId), to: (Place, CpuId)) {
        for group in groups {
            self.count(group, from, -1);
            self.count(group, to, 1);
        }
    }

    fn count(&mut self, group: ControlGroupId, (place, cpu): (Place, CpuId), by: i32) {
        if place == Place::Off || cpu.index() >= self.cpus {
            return;
        }
        let number = group.index() * self.cpus + cpu.index();
        let state = &mut self.states[number];
        state.runnable = state.runnable.wrapping_add_signed(by);
        if place == Place::Running {
            state.running = state.running.wrapping_add_signed(by);
        }
        match (state.runnable, state.place) {
            (1.., 0) => {
                self.active.push(number);
                state.place = self.active.len();
            }
            (0, place @ 1..) => {
                state.place = 0;
                self.active.swap_remove(place - 1);
                if let Some(&moved) = self.active.get(place - 1) {
                    self.states[moved].place = place;
                }
            }
            _ => {}
        }
    }

    /// Time passes with everything as it is.
    pub fn pass(&mut self, from: u64, to: u64) {
        let mut from = from;
        while to >= self.window_end {
            self.add(self.window_end - from);
            from = self.window_end;
            self.settle();
            self.window_end += WINDOW_NS;
        }
        self.add(to - from);
    }

    fn add(&mut self, length: u64) {
        for &number in &self.active {
            let state = &mut self.states[number];
            state.nonidle_ns += length;
            if state.runnable > state.running {
                state.some_ns += length;
            }
            if state.running == 0 {
                state.full_ns += length;
            }
        }
    }

    /// A window is over.
    fn settle(&mut self) {
        for (states, total) in self.states.chunks_mut(self.cpus).zip(&mut self.totals) {
            let nonidle: u128 = states.iter().map(|state| u128::from(state.nonidle_ns)).sum();
            if nonidle == 0 {
                continue;
            }
            let mean = |time: fn(&State) -> u64| {
                let sum: u128 = states.iter().map(|state| u128::from(time(state)) * u128::from(state.nonidle_ns)).sum();
                (sum / nonidle) as u64
            };
            total.0 += mean(|state| state.some_ns);
            total.1 += mean(|state| state.full_ns);
            for state in states {
                (state.some_ns, state.full_ns, state.nonidle_ns) = (0, 0, 0);
            }
        }
    }

    /// Some and full of each group.
    pub fn totals(&mut self) -> Vec<(u64, u64)> {
        self.settle();
        self.totals.clone()
    }

    pub fn clear(&mut self) {
        self.settle();
        self.totals.fill((0, 0));
    }
}
