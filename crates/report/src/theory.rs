//! What queueing theory says about a scenario that is one of its queues.
//!
//! That is a single role whose tasks arrive by a Poisson process and compute once, or a pool of workers that answers what
//! comes from outside by a Poisson process, on CPUs where nothing costs time.
//! The formulas are those of `schedlab_metrics::theory`.

use schedlab_metrics::theory::multi_server::{lee_longton, mmc};
use schedlab_metrics::theory::size::{Atoms, Exponential, Size};
use schedlab_metrics::theory::{single_server, size_based};
use schedlab_model::distribution::Distribution;
use schedlab_model::ids::ObjectId;
use schedlab_model::machine::Costs;
use schedlab_model::result::{Parameter, PolicyInfo};
use schedlab_model::time::Time;
use schedlab_model::workload::{Birth, Class, Schedule, Source, Step, Workload};

/// A queue with Poisson arrivals.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Arrivals per nanosecond.
    arrival_rate: f64,
    /// What a job takes.
    size: Distribution,
    servers: u32,
    /// Whether only a number of jobs can be served at a time, as by a pool of workers.
    is_pool: bool,
}

/// What theory says about the mean response time.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The queue and its discipline, as in `M/D/1 FCFS`.
    pub model: String,
    /// The mean response time, in nanoseconds.
    pub response_mean_ns: f64,
    /// Whether the formula is an approximation.
    pub approximate: bool,
}

/// A discipline that the formulas know.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Fcfs,
    Ps,
    Srpt,
    Psjf,
    Sjf,
    Las,
    /// Any that does not look at sizes and leaves no CPU idle despite work.
    Blind,
}

impl Known {
    /// What a discipline is for a pool, which shares its CPUs among as many jobs as it has workers: no share is smaller.
    fn of_pool(self) -> Known {
        match self {
            Known::Ps => Known::Blind,
            other => other,
        }
    }
}

/// The mean time between the messages that come into a channel from outside one by one, by a Poisson process.
fn poisson_into(workload: &Workload, channel: ObjectId) -> Option<&Time> {
    let [Source { channel: into, messages: 1, schedule, .. }] = workload.sources.as_slice() else { return None };
    match schedule {
        Schedule::Drawn { gap: Distribution::Exponential(gap), limit: None, .. } if *into == channel => Some(gap),
        _ => None,
    }
}

impl Queue {
    /// The queue that a workload is, if it is one.
    pub fn of(workload: &Workload) -> Option<Queue> {
        let [role] = workload.roles.as_slice() else { return None };
        let cpus = workload.machine.cpus();
        let plain = matches!(role.class, Class::Other | Class::Batch) && role.cpus.len() == cpus;
        let free = workload.machine.costs == Costs::default();
        let (gap, size, workers) = match (role.program.steps.as_slice(), &role.birth) {
            (
                [Step::RequestBegin, Step::Compute(size), Step::RequestEnd],
                Birth::Arrivals { gap: Distribution::Exponential(gap), .. },
            ) => (gap, size, None),
            ([Step::Recv(channel, 1), Step::Compute(size), Step::Answer], Birth::At(_)) if role.program.repeats => {
                (poisson_into(workload, *channel)?, size, Some(role.count?))
            }
            _ => return None,
        };
        let servers = workers.map_or(cpus, |workers| workers.min(cpus));
        let (arrival_rate, size, is_pool) = (1.0 / gap.ns() as f64, size.clone(), workers.is_some());
        (plain && free).then_some(Queue { arrival_rate, size, servers, is_pool })
    }

    /// The share of the servers' time that the jobs need.
    pub fn load(&self) -> f64 {
        self.arrival_rate * self.size.mean_ns() / f64::from(self.servers)
    }

    /// What theory says about this policy here, if it says anything.
    pub fn predict(&self, policy: &PolicyInfo) -> Option<Prediction> {
        let known = self.known(policy).map(|known| if self.is_pool { known.of_pool() } else { known })?;
        let response_mean_ns = self.response_mean_ns(known)?;
        let discipline = match known {
            Known::Fcfs => "FCFS",
            Known::Ps => "PS",
            Known::Srpt => "SRPT",
            Known::Psjf => "PSJF",
            Known::Sjf => "SJF",
            Known::Las => "LAS",
            Known::Blind => "blind to sizes",
        };
        let letter = match &self.size {
            Distribution::Constant(_) => 'D',
            Distribution::Exponential(_) => 'M',
            _ => 'G',
        };
        let approximate = known == Known::Fcfs && self.servers > 1 && letter != 'M';
        Some(Prediction { model: format!("M/{letter}/{} {discipline}", self.servers), response_mean_ns, approximate })
    }

    /// The discipline that a policy is on this queue, where all jobs are alike except for their size.
    fn known(&self, policy: &PolicyInfo) -> Option<Known> {
        let name = policy.name.trim_start_matches("ideal-");
        let equal_sizes = matches!(self.size, Distribution::Constant(_));
        match name {
            "fcfs" | "prio" | "prio-np" => Some(Known::Fcfs),
            "srpt" | "psjf" | "sjf" if equal_sizes => Some(Known::Fcfs),
            "ps" => Some(Known::Ps),
            "srpt" | "psjf" | "sjf" | "fb" if self.is_pool => None,
            "srpt" => Some(Known::Srpt),
            "psjf" => Some(Known::Psjf),
            "sjf" => Some(Known::Sjf),
            "fb" => Some(Known::Las),
            "rr" if self.never_cut(policy) => Some(Known::Fcfs),
            "rr" | "mlfq" => Some(Known::Blind),
            _ => None,
        }
    }

    /// Whether every job fits into the policy's quantum.
    fn never_cut(&self, policy: &PolicyInfo) -> bool {
        let largest = match &self.size {
            Distribution::Constant(size) | Distribution::Uniform(_, size) => size.ns(),
            Distribution::Choice(sizes) => sizes.iter().map(|(size, _)| size.ns()).max().unwrap_or(0),
            Distribution::Exponential(_) | Distribution::Lognormal(..) => return false,
        };
        matches!(policy.parameters.get("quantum"), Some(Parameter::Unsigned(quantum)) if *quantum >= largest)
    }

    fn response_mean_ns(&self, known: Known) -> Option<f64> {
        let (rate, mean) = (self.arrival_rate, self.size.mean_ns());
        let exponential = matches!(self.size, Distribution::Exponential(_));
        match known {
            Known::Fcfs => lee_longton(rate, mean, self.squared_cv(), self.servers),
            // With exponential sizes every discipline that is blind to them has the same mean.
            Known::Ps | Known::Blind if exponential => mmc(rate, mean, self.servers),
            _ if self.servers > 1 => None,
            Known::Ps => single_server::ps(rate, &Atoms::deterministic(mean)),
            Known::Las => single_server::las(rate, &*self.known_size()?),
            Known::Srpt if exponential => size_based::srpt(rate, &Exponential(mean)),
            Known::Psjf if exponential => size_based::psjf(rate, &Exponential(mean)),
            Known::Sjf if exponential => size_based::sjf(rate, &Exponential(mean)),
            Known::Blind | Known::Srpt | Known::Psjf | Known::Sjf => None,
        }
    }

    /// The sizes, where the formulas can look into their distribution.
    fn known_size(&self) -> Option<Box<dyn Size>> {
        match &self.size {
            Distribution::Constant(size) => Some(Box::new(Atoms::deterministic(size.ns() as f64))),
            Distribution::Exponential(mean) => Some(Box::new(Exponential(mean.ns() as f64))),
            Distribution::Choice(sizes) => {
                Some(Box::new(Atoms(sizes.iter().map(|(size, p)| (size.ns() as f64, *p)).collect())))
            }
            Distribution::Uniform(..) | Distribution::Lognormal(..) => None,
        }
    }

    /// Variance over squared mean of the sizes.
    fn squared_cv(&self) -> f64 {
        let mean = self.size.mean_ns();
        match &self.size {
            Distribution::Constant(_) => 0.0,
            Distribution::Exponential(_) => 1.0,
            Distribution::Uniform(low, high) => {
                let width = (high.ns() - low.ns()) as f64;
                width * width / 12.0 / (mean * mean)
            }
            Distribution::Lognormal(_, sigma) => (sigma * sigma).exp_m1(),
            Distribution::Choice(sizes) => {
                let second: f64 = sizes.iter().map(|(size, p)| size.ns() as f64 * size.ns() as f64 * p).sum();
                second / (mean * mean) - 1.0
            }
        }
    }
}

/// Whether anything that the tasks do is drawn at random.
pub fn draws(workload: &Workload) -> bool {
    let drawn = |distribution: &Distribution| !matches!(distribution, Distribution::Constant(_));
    let comes = |source: &Source| matches!(&source.schedule, Schedule::Drawn { gap, .. } if drawn(gap));
    workload.sources.iter().any(comes)
        || workload.roles.iter().any(|role| {
            let arrivals = matches!(&role.birth, Birth::Arrivals { gap, .. } if drawn(gap));
            let steps = role.program.steps.iter().any(|step| match step {
                Step::Compute(time) | Step::Busy(time) | Step::Sleep(time) | Step::Io(_, time) => drawn(time),
                Step::Yield
                | Step::Wait(_)
                | Step::Post(..)
                | Step::Lock(_)
                | Step::ReadLock(_)
                | Step::Unlock(_)
                | Step::CondWait(..)
                | Step::Relock(_)
                | Step::Signal(_)
                | Step::Broadcast(_)
                | Step::Send(..)
                | Step::Recv(..)
                | Step::Barrier(_)
                | Step::Period(_)
                | Step::Set(_)
                | Step::Join(_)
                | Step::Adjust(..)
                | Step::Spawn(..)
                | Step::Command(_)
                | Step::Exit
                | Step::RepeatBegin { .. }
                | Step::RepeatEnd { .. }
                | Step::RequestBegin
                | Step::RequestEnd
                | Step::Answer
                | Step::Until(_)
                | Step::Item
                | Step::ItemEnd => false,
            });
            arrivals || steps
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;
    use std::collections::BTreeMap;

    fn workload(cpus: u32, compute: &str) -> Workload {
        let text = format!(
            "name = \"q\"\n[machine]\ncpus = {cpus}\n[[task]]\nname = \"job\"\narrivals = \"exp(21ms)\"\n\
             once = [{{ compute = \"{compute}\" }}]\n[run]\nduration = \"1s\"\n"
        );
        Scenario::parse(&text, "test").unwrap().compile().unwrap()
    }

    fn policy(name: &str) -> PolicyInfo {
        let parameters = BTreeMap::from([("quantum".to_string(), Parameter::Unsigned(100_000_000))]);
        PolicyInfo { name: name.into(), parameters }
    }

    fn ms(cpus: u32, compute: &str, name: &str) -> Option<f64> {
        let prediction = Queue::of(&workload(cpus, compute))?.predict(&policy(name))?;
        Some((prediction.response_mean_ns / 1e4).round() / 1e2)
    }

    /// The experiment of Happe et al., and other vectors of the same queues.
    #[test]
    fn policies_have_the_means_of_theory() {
        for (name, mean) in [("fcfs", 220.0), ("rr", 220.0), ("srpt", 220.0), ("ps", 420.0), ("fb", 4620.0)] {
            assert_eq!(ms(1, "20ms", name), Some(mean), "{name}");
        }
        for (name, mean) in [("fcfs", 420.0), ("rr", 420.0), ("mlfq", 420.0), ("ps", 420.0), ("srpt", 114.49)] {
            assert_eq!(ms(1, "exp(20ms)", name), Some(mean), "{name}");
        }
        assert_eq!(ms(2, "exp(20ms)", "ideal-fcfs"), Some(25.87));
        assert_eq!(ms(1, "lognormal(10ms, 1)", "mlfq"), None);
        assert_eq!(ms(1, "21ms", "fcfs"), None);
        assert_eq!(ms(1, "20ms", "mine"), None);
    }

    /// A pool that is larger than the machine has the machine's CPUs for servers, a smaller one its workers.
    #[test]
    fn a_pool_fed_from_outside_is_a_queue() {
        let pool = |workers: u32, compute: &str, name: &str| {
            let text = format!(
                "name = \"p\"\n[machine]\ncpus = 4\n[[source]]\nchannel = \"q\"\narrivals = \"exp(1250us)\"\n\
                 [[task]]\nname = \"worker\"\ncount = {workers}\nloop = [{{ recv = \"q\" }}, {{ compute = \"{compute}\" }}]\n\
                 [run]\nduration = \"1s\"\n"
            );
            let workload = Scenario::parse(&text, "test").unwrap().compile().unwrap();
            assert!(draws(&workload));
            let prediction = Queue::of(&workload)?.predict(&policy(name))?;
            Some((prediction.model, (prediction.response_mean_ns / 1e4).round() / 1e2))
        };
        let expected = |model: &str, mean| Some((model.to_string(), mean));
        assert_eq!(pool(8, "exp(4ms)", "fcfs"), expected("M/M/4 FCFS", 6.98));
        assert_eq!(pool(8, "exp(4ms)", "rr"), expected("M/M/4 blind to sizes", 6.98));
        assert_eq!(pool(2, "exp(2ms)", "fcfs"), expected("M/M/2 FCFS", 5.56));
        assert_eq!((pool(8, "exp(4ms)", "srpt"), pool(8, "4ms", "ps")), (None, None));
    }

    #[test]
    fn only_queues_are_queues() {
        let mut other = workload(1, "20ms");
        assert_eq!(Queue::of(&other).map(|queue| (queue.load() * 21.0).round()), Some(20.0));
        assert!(draws(&other));
        other.machine.costs.switch = schedlab_model::time::Time(1);
        assert!(Queue::of(&other).is_none());
        let closed = "name = \"c\"\n[machine]\ncpus = 1\n[[task]]\nname = \"t\"\nloop = [{ compute = \"1ms\" }]\n\
                      [run]\nduration = \"1s\"\n";
        let closed = Scenario::parse(closed, "test").unwrap().compile().unwrap();
        assert!(Queue::of(&closed).is_none() && !draws(&closed));
    }
}
