//! The jobs of a run, and what first come, first served would have done with each.

use schedlab_model::ids::TaskId;
use schedlab_model::trace::{Event, EventKind, Sink};
use std::collections::VecDeque;

/// A job that is done; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The stream it is of.
    pub stream: usize,
    /// Its work.
    pub size: f64,
    /// From its arrival to its end.
    pub response: f64,
    /// How long it would have waited under first come, first served. Does not depend on its own size.
    pub fcfs_wait: f64,
}

impl Job {
    pub fn is_fcfs(&self) -> bool {
        (self.response - self.fcfs_wait - self.size).abs() < 0.5e-6
    }
}

struct Pending {
    stream: usize,
    arrival_ns: u64,
    done: Option<(u64, u64)>,
}

/// Hands on jobs in the order of arrival.
pub struct Jobs<F> {
    pending: VecDeque<Pending>,
    /// The task of the first of them.
    first: u32,
    /// When each server of the first come, first served queue is free, ascending (Kiefer and Wolfowitz 1955; with one
    /// server Lindley's recursion).
    free_at_ns: Vec<u64>,
    visit: F,
}

impl<F: FnMut(&Job)> Jobs<F> {
    pub fn new(cpus: u32, visit: F) -> Jobs<F> {
        Jobs { pending: VecDeque::new(), first: 0, free_at_ns: vec![0; cpus as usize], visit }
    }

    fn end(&mut self, task: TaskId, end_ns: u64, size_ns: u64) {
        self.pending[(task.0 - self.first) as usize].done = Some((end_ns, size_ns));
        while let Some(&Pending { stream, arrival_ns, done: Some((end_ns, size_ns)) }) = self.pending.front() {
            self.pending.pop_front();
            self.first += 1;
            let start_ns = self.free_at_ns[0].max(arrival_ns);
            self.occupy_first_until(start_ns + size_ns);
            let ms = |ns: u64| ns as f64 / 1e6;
            let (response, fcfs_wait) = (ms(end_ns - arrival_ns), ms(start_ns - arrival_ns));
            (self.visit)(&Job { stream, size: ms(size_ns), response, fcfs_wait });
        }
    }

    fn occupy_first_until(&mut self, free_ns: u64) {
        let place = self.free_at_ns.partition_point(|&at| at < free_ns).max(1);
        self.free_at_ns.copy_within(1..place, 0);
        self.free_at_ns[place - 1] = free_ns;
    }
}

impl<F: FnMut(&Job)> Sink for Jobs<F> {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { task, role, .. } => {
                assert_eq!(task.0, self.first + self.pending.len() as u32, "tasks are numbered as they come");
                self.pending.push_back(Pending { stream: role.index(), arrival_ns: event.time.ns(), done: None });
            }
            EventKind::RequestEnd { task, demand, .. } => self.end(task, event.time.ns(), demand.ns()),
            _ => {}
        }
    }
}
