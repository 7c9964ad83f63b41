//! Queues in the notation of Kendall, as workloads.

use super::estimate::Estimate;
use super::jobs::{Job, Jobs};
use schedlab_model::control_group::ControlGroups;
use schedlab_model::distribution::Distribution;
use schedlab_model::machine::Machine;
use schedlab_model::workload::*;
use schedlab_model::{cpuset::CpuSet, time::Time, trace::Sink};
use schedlab_sim::ideal::{self, Discipline};

/// The seed of all runs.
const SEED: u64 = 1;
/// Jobs before the measured ones, so that the queue has forgotten that it began empty, and after them, so that the last
/// measured ones meet others as all do. At the highest load the queue forgets within a few thousand jobs.
const MARGIN: u64 = 100_000;

/// What serves a queue: a discipline of theory, or a policy.
pub trait Server {
    fn serve(&self, workload: &Workload, sink: &mut dyn Sink);
}

impl Server for Discipline {
    fn serve(&self, workload: &Workload, sink: &mut dyn Sink) {
        ideal::run(workload, *self, workload.run.seed, sink, &mut ()).expect("a run");
    }
}

/// A queue with Poisson arrivals.
#[derive(Clone)]
pub struct Queue {
    pub cpus: u32,
    pub streams: Vec<Stream>,
    /// Jobs to measure.
    pub jobs: u64,
}

/// Jobs of one kind.
#[derive(Clone)]
pub struct Stream {
    /// Jobs in a millisecond.
    pub rate: f64,
    pub size: Distribution,
    pub nice: i8,
}

pub fn ms(length: f64) -> Time {
    Time((length * 1e6 + 0.5) as u64)
}

pub fn deterministic() -> Distribution {
    Distribution::Constant(ms(20.0))
}

pub fn exponential() -> Distribution {
    Distribution::Exponential(ms(20.0))
}

impl Queue {
    /// M/G/c with this load; the mean size is 20.
    pub fn new(cpus: u32, load: f64, size: Distribution) -> Queue {
        let rate = load * f64::from(cpus) / 20.0;
        Queue { cpus, streams: vec![Stream { rate, size, nice: 0 }], jobs: 1_000_000 }
    }

    /// The same with that many million jobs.
    pub fn millions(self, millions: u64) -> Queue {
        Queue { jobs: millions * 1_000_000, ..self }
    }

    pub fn arrival_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rate).sum()
    }

    pub fn workload(&self) -> Workload {
        let role = |(index, stream): (usize, &Stream)| Role {
            name: format!("stream{index}"),
            count: None,
            birth: Birth::Arrivals { first: Time::ZERO, gap: Distribution::Exponential(ms(1.0 / stream.rate)) },
            start_on: None,
            nice: stream.nice,
            slice: None,
            class: Class::Other,
            cpus: CpuSet::first(self.cpus),
            kind: Kind::Thread,
            control: Default::default(),
            program: Program {
                steps: vec![Step::RequestBegin, Step::Compute(stream.size.clone()), Step::RequestEnd],
                repeats: false,
                repeat_depth: 0,
                items: None,
            },
        };
        let all = (self.jobs + 2 * MARGIN) as f64;
        Workload {
            name: "theory".into(),
            about: String::new(),
            machine: Machine::flat(self.cpus),
            roles: self.streams.iter().enumerate().map(role).collect(),
            control_groups: ControlGroups::root_alone(self.cpus),
            objects: Objects::default(),
            sources: Vec::new(),
            hotplug: Vec::new(),
            run: Run {
                duration: ms(all / self.arrival_rate()),
                warmup: Time::ZERO,
                period_phase: Default::default(),
                calls: false,
                seed: SEED,
            },
        }
    }

    /// Hands the measured jobs to `visit`, in the order of their arrival.
    pub fn visit(&self, server: impl Server, mut visit: impl FnMut(&Job)) {
        let measured = MARGIN..MARGIN + self.jobs;
        let mut number = 0;
        let mut jobs = Jobs::new(self.cpus, |job: &Job| {
            if measured.contains(&number) {
                visit(job);
            }
            number += 1;
        });
        server.serve(&self.workload(), &mut jobs);
        drop(jobs);
        assert!(number >= measured.end, "{number} jobs are done");
    }

    /// The mean response time.
    pub fn response(&self, server: impl Server) -> Estimate {
        let mut estimate = Estimate::default();
        self.visit(server, |job| estimate.record(job.response, job.fcfs_wait));
        estimate
    }
}
