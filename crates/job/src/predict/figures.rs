//! The figures of a run that are predicted and by which a model is checked.

use schedlab_infer::Report;
use schedlab_model::result::{Measures, RunResult};
use std::collections::BTreeMap;

/// A figure of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Mean response time.
    MeanResponse,
    /// The 99th percentile of response times, from enough requests on.
    P99Response,
    /// Requests per second.
    Throughput,
    /// The part of CPU time.
    CpuShare,
    /// Mean wait after a wake-up.
    WakeupLatency,
    /// Switches, of its own and forced.
    Switches,
}

/// The fewest requests for which a 99th percentile has an upper limit (1 − 0.99ⁿ ≥ 0.95).
const P99_FROM: u64 = 299;

impl Figure {
    /// All.
    pub const ALL: [Figure; 6] = [
        Figure::MeanResponse,
        Figure::P99Response,
        Figure::Throughput,
        Figure::CpuShare,
        Figure::WakeupLatency,
        Figure::Switches,
    ];

    /// As people call it.
    pub fn words(self) -> &'static str {
        match self {
            Figure::MeanResponse => "mean response",
            Figure::P99Response => "p99 of response",
            Figure::Throughput => "throughput",
            Figure::CpuShare => "CPU share",
            Figure::WakeupLatency => "wake-up latency",
            Figure::Switches => "switches",
        }
    }

    /// As programs call it.
    pub fn key(self) -> &'static str {
        match self {
            Figure::MeanResponse => "response_mean_ns",
            Figure::P99Response => "response_p99_ns",
            Figure::Throughput => "throughput_per_s",
            Figure::CpuShare => "cpu_frac",
            Figure::WakeupLatency => "wakeup_latency_mean_ns",
            Figure::Switches => "switches",
        }
    }

    /// Whether that of several roles together is the sum of theirs.
    fn is_sum(self) -> bool {
        matches!(self, Figure::Throughput | Figure::CpuShare | Figure::Switches)
    }

    /// What it is at most, where it has an end.
    pub fn most(self) -> Option<f64> {
        (self == Figure::CpuShare).then_some(1.0)
    }

    /// Whether it is a time in nanoseconds.
    pub fn is_time(self) -> bool {
        matches!(self, Figure::MeanResponse | Figure::P99Response | Figure::WakeupLatency)
    }

    fn of(self, measures: &Measures) -> Option<f64> {
        let response = measures.response_ns.as_ref();
        match self {
            Figure::MeanResponse => response.map(|response| response.mean as f64),
            Figure::P99Response => {
                response.filter(|_| measures.requests >= P99_FROM).map(|response| response.p99 as f64)
            }
            Figure::Throughput => (measures.requests > 0).then_some(measures.throughput_per_s),
            Figure::CpuShare => Some(measures.cpu_share),
            Figure::WakeupLatency => measures.wakeup_latency_ns.as_ref().map(|latency| latency.mean as f64),
            Figure::Switches => Some((measures.switches.voluntary + measures.switches.involuntary) as f64),
        }
    }
}

/// Figures by role.
pub type Figures = BTreeMap<(String, Figure), f64>;

/// The figures of a run.
pub fn figures(result: &RunResult) -> Figures {
    let of_role = result.roles.iter().flat_map(|role| {
        Figure::ALL.into_iter().filter_map(|figure| Some(((role.name.clone(), figure), figure.of(&role.measures)?)))
    });
    of_role.collect()
}

/// The figures of a model by the roles of the recording: of one that is several in the model there are only those that are sums.
pub fn by_recorded_role(modelled: &Figures, report: &Report) -> Figures {
    let parts = |recorded: &str| report.roles.iter().filter(|role| role.recorded == recorded).count();
    let mut figures = Figures::new();
    for ((name, figure), value) in modelled {
        let role = report.roles.iter().find(|role| role.name == *name);
        let recorded = role.map_or(name.as_str(), |role| &role.recorded);
        if figure.is_sum() || parts(recorded) <= 1 {
            *figures.entry((recorded.to_string(), *figure)).or_insert(0.0) += value;
        }
    }
    figures
}
