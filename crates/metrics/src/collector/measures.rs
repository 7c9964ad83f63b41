//! What is counted and sampled, for a task or for a role.

use super::jobs::Jobs;
use super::requests::PartSamples;
use super::samples::Samples;
use super::task::Task;
use crate::curve::{Curve, RoleCurves};
use crate::histogram::Histogram;
use schedlab_model::result::{Measures, RatioSummary, Summary, SwitchCounts, TaskMeansCv, TimeSummary};

/// Slowdowns are sampled as integers of this fineness: millionths.
pub(super) const SLOWDOWN_SCALE: f64 = 1e6;

/// The samples of a task or a role. Times in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    pub response: Samples,
    pub response_from_first_run: Samples,
    pub open_age: Samples,
    pub wakeup_latency: Samples,
    pub preempt_wait: Samples,
    pub turnaround: Samples,
    /// In units of 1 / [`SLOWDOWN_SCALE`].
    pub slowdown: Samples,
    /// Where response times went; none where it is not known which task ran when.
    pub parts: PartSamples,
    /// Of periodic tasks alone.
    pub jobs: Option<Box<Jobs>>,
}

impl Observations {
    fn all_mut(&mut self) -> [&mut Samples; 11] {
        let [worker_wait, cpu_wait, running, blocked] = self.parts.all_mut();
        [
            &mut self.response,
            &mut self.response_from_first_run,
            &mut self.open_age,
            &mut self.wakeup_latency,
            &mut self.preempt_wait,
            &mut self.turnaround,
            &mut self.slowdown,
            worker_wait,
            cpu_wait,
            running,
            blocked,
        ]
    }

    pub fn merge(&mut self, other: &mut Observations) {
        self.all_mut().into_iter().zip(other.all_mut()).for_each(|(mine, theirs)| mine.merge(theirs));
        if let Some(jobs) = &mut other.jobs {
            self.jobs.get_or_insert_default().merge(jobs);
        }
    }

    pub fn curves(&mut self) -> RoleCurves {
        let curve = |samples: &mut Samples| Curve::of(samples.histogram());
        RoleCurves { response: curve(&mut self.response), wakeup_latency: curve(&mut self.wakeup_latency) }
    }

    pub fn clear(&mut self) {
        self.all_mut().into_iter().for_each(Samples::clear);
        self.jobs = None;
    }
}

/// The counts of a task or a role.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub cpu_ns: u64,
    pub longest_wait: Option<u64>,
    pub migrations: u64,
    pub switches: SwitchCounts,
}

impl Totals {
    pub fn of(task: &Task) -> Totals {
        Totals {
            cpu_ns: task.cpu_ns,
            longest_wait: task.longest_wait(),
            migrations: u64::from(task.migrations),
            switches: SwitchCounts { voluntary: u64::from(task.voluntary), involuntary: u64::from(task.involuntary) },
        }
    }

    pub fn add(&mut self, other: &Totals) {
        self.cpu_ns += other.cpu_ns;
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self.migrations += other.migrations;
        self.switches.voluntary += other.switches.voluntary;
        self.switches.involuntary += other.switches.involuntary;
    }

    /// The metrics, of `window_ns` measured nanoseconds on `cpus` CPUs.
    pub fn measures(&self, observations: &mut Observations, window_ns: u64, cpus: u32) -> Measures {
        let mut run_delay = observations.wakeup_latency.histogram().clone();
        run_delay.merge(observations.preempt_wait.histogram());
        let per = |amount: f64, whole: f64| if whole > 0.0 { amount / whole } else { 0.0 };
        let requests = observations.response.histogram().count();
        let mut measures = Measures {
            requests,
            requests_open: observations.open_age.histogram().count(),
            requests_late: None,
            requests_dropped: None,
            cpu_ns: self.cpu_ns,
            cpu_share: per(self.cpu_ns as f64, window_ns as f64 * f64::from(cpus)),
            throughput_per_s: per(requests as f64 * 1e9, window_ns as f64),
            response_ns: times(observations.response.histogram()),
            response_from_first_run_ns: times(observations.response_from_first_run.histogram()),
            response_worker_wait_ns: times(observations.parts.worker_wait.histogram()),
            response_cpu_wait_ns: times(observations.parts.cpu_wait.histogram()),
            response_running_ns: times(observations.parts.running.histogram()),
            response_blocked_ns: times(observations.parts.blocked.histogram()),
            open_age_ns: times(observations.open_age.histogram()),
            wakeup_latency_ns: times(observations.wakeup_latency.histogram()),
            preempt_wait_ns: times(observations.preempt_wait.histogram()),
            run_delay_ns: times(&run_delay),
            turnaround_ns: times(observations.turnaround.histogram()),
            slowdown: ratios(observations.slowdown.histogram()),
            longest_wait_ns: self.longest_wait,
            migrations: self.migrations,
            switches: self.switches,
            ..Measures::default()
        };
        if let Some(jobs) = &mut observations.jobs {
            jobs.measure(&mut measures);
        }
        measures
    }
}

/// A histogram summed up; each number goes through one of the two functions, exact integers and computed means.
fn summary<V>(h: &Histogram, exact: impl Fn(u64) -> V, computed: impl Fn(f64) -> V) -> Option<Summary<V>> {
    let mean = h.mean()?;
    let sd = h.sd();
    let quantile = |q| h.quantile(q).map(&exact);
    Some(Summary {
        count: h.count(),
        mean: computed(mean),
        cv: sd.filter(|_| mean > 0.0).map(|sd| sd / mean),
        sd: sd.map(computed),
        min: exact(h.min()?),
        p50: quantile(0.5)?,
        p90: quantile(0.9)?,
        p99: quantile(0.99)?,
        p999: quantile(0.999)?,
        max: exact(h.max()?),
    })
}

/// A histogram of times summed up.
pub fn times(h: &Histogram) -> Option<TimeSummary> {
    summary(h, |ns| ns, |ns| (ns + 0.5) as u64)
}

fn ratios(h: &Histogram) -> Option<RatioSummary> {
    summary(h, |x| x as f64 / SLOWDOWN_SCALE, |x| x / SLOWDOWN_SCALE)
}

/// Mean and spread of numbers that come one by one (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    count: u64,
    mean: f64,
    squared_deviations: f64,
}

impl Spread {
    pub fn record(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squared_deviations += before * (value - self.mean);
    }

    /// Standard deviation over mean, of a population and of a sample.
    pub fn cv(&self) -> Option<TaskMeansCv> {
        let n = self.count as f64;
        (self.count > 0 && self.mean > 0.0).then(|| TaskMeansCv {
            population: (self.squared_deviations / n).sqrt() / self.mean,
            sample: (self.count > 1).then(|| (self.squared_deviations / (n - 1.0)).sqrt() / self.mean),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_round_and_leave_out_what_is_unknown() {
        let mut h = Histogram::default();
        assert_eq!(times(&h), None);
        h.record(3);
        assert_eq!((times(&h).unwrap().sd, times(&h).unwrap().mean), (None, 3));
        h.record(4);
        let both = times(&h).unwrap();
        assert_eq!((both.mean, both.sd, both.p50, both.p999), (4, Some(1), 3, 4));
        h.record(2_500_000);
        assert_eq!(ratios(&h).unwrap().max, 2.5);
    }

    /// The static 4/3 split of the study.
    #[test]
    fn spread_of_task_means() {
        let mut spread = Spread::default();
        [750.0, 750.0, 750.0, 1000.0, 1000.0, 1000.0, 1000.0].iter().for_each(|&x| spread.record(x));
        let cv = spread.cv().unwrap();
        assert!((cv.population - 0.138564).abs() < 1e-6 && (cv.sample.unwrap() - 0.149666).abs() < 1e-6);
    }
}
