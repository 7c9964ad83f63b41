//! The questions about each role: which policy serves it best, and by which metric.

use crate::comparison::Candidate;
use schedlab_model::metric::{Better, Metric, known};
use schedlab_model::outcome::RoleView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question about each role under each policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Which policy has the shortest mean response?
    MeanResponse,
    /// Which policy has the shortest slow responses?
    TailResponse,
    /// Which policy gets most requests done?
    Throughput,
    /// Which policy gives the tasks of the role the same?
    Fairness,
    /// Which policy lets no task starve?
    LongestWait,
    /// Under which policy do tasks wait least for a CPU?
    MeanWait,
    /// Under which policy are long waits for a CPU shortest?
    TailWait,
    /// Under which policy do tasks run soonest after a wake-up?
    MeanWakeup,
    /// Under which policy are slow wake-ups fastest?
    TailWakeup,
    /// How much does each policy give the role? There is no best to this one.
    CpuShare,
}

/// A question with the metric that answers it.
pub(crate) type Asked = (Question, &'static str);

/// The questions about a role with requests.
const OF_REQUESTS: [Question; 5] =
    [Question::MeanResponse, Question::TailResponse, Question::Throughput, Question::Fairness, Question::LongestWait];

/// And of one that has none, as in a recording: how its tasks wait, and what they got. Its tasks do different things,
/// so they are not owed the same.
const OF_WAITS: [Question; 6] = [
    Question::MeanWait,
    Question::TailWait,
    Question::MeanWakeup,
    Question::TailWakeup,
    Question::LongestWait,
    Question::CpuShare,
];

/// Quantiles that can stand for a tail, the furthest out first: how many of a hundred values lie beyond.
const TAILS: [(&str, f64); 3] = [("p99", 1.0), ("p90", 10.0), ("p50", 50.0)];

/// The fewest values of a run beyond a quantile that is compared: with fewer, one request more or less decides.
const LEAST_BEYOND: f64 = 3.0;

/// Which of the tails a sample of this size bears.
fn tail_of(values: f64) -> Option<usize> {
    TAILS.iter().position(|(_, beyond)| values * beyond / 100.0 >= LEAST_BEYOND)
}

/// The furthest quantile that a sample of this size bears, by its name in metrics, and how many of a hundred values lie beyond it.
pub fn furthest_tail(values: f64) -> Option<(&'static str, f64)> {
    tail_of(values).map(|place| TAILS[place])
}

impl Question {
    /// Whether it is about how long requests took that have ended.
    pub fn is_of_responses(self) -> bool {
        matches!(self, Question::MeanResponse | Question::TailResponse)
    }

    /// Whether it is about how soon something comes, which matters more to people than all else.
    pub(super) fn is_how_soon(self) -> bool {
        !matches!(self, Question::Throughput | Question::Fairness | Question::LongestWait | Question::CpuShare)
    }

    /// The sample whose values answer it, where a few of these would not do.
    pub(super) fn sample(self) -> Option<&'static str> {
        match self {
            Question::TailResponse => Some("response_ns.count"),
            Question::TailWait => Some("run_delay_ns.count"),
            Question::TailWakeup => Some("wakeup_latency_ns.count"),
            _ => None,
        }
    }

    /// Whether a few values decide it.
    pub fn is_of_extremes(self) -> bool {
        matches!(self, Question::TailResponse | Question::LongestWait | Question::TailWait | Question::TailWakeup)
    }

    /// The metric that answers it, where a run has `values` in its sample; none where these are too few.
    fn path(self, values: f64) -> Option<&'static str> {
        let tail = |paths: [&'static str; 3]| tail_of(values).map(|place| paths[place]);
        Some(match self {
            Question::MeanResponse => "response_ns.mean",
            Question::Throughput => "throughput_per_s",
            Question::Fairness => "jain_of_tasks",
            Question::LongestWait => "longest_wait_ns",
            Question::MeanWait => "run_delay_ns.mean",
            Question::MeanWakeup => "wakeup_latency_ns.mean",
            Question::CpuShare => "cpu_share",
            Question::TailResponse => tail(["response_ns.p99", "response_ns.p90", "response_ns.p50"])?,
            Question::TailWait => tail(["run_delay_ns.p99", "run_delay_ns.p90", "run_delay_ns.p50"])?,
            Question::TailWakeup => tail(["wakeup_latency_ns.p99", "wakeup_latency_ns.p90", "wakeup_latency_ns.p50"])?,
        })
    }

    /// Whether a sample of this size bears the metric at this path.
    pub(super) fn is_borne(self, path: &str, values: f64) -> bool {
        let tail = TAILS.iter().find(|(name, _)| self.sample().is_some() && path.ends_with(name));
        tail.is_none_or(|(_, beyond)| values * beyond / 100.0 >= LEAST_BEYOND)
    }

    /// What the best has, before what it is of: `the shortest mean response`.
    pub(super) fn praise(self, metric: &Metric) -> String {
        match (self, metric.better) {
            (Question::Fairness, _) => "the most even shares of CPU time".into(),
            (Question::LongestWait, _) => "the shortest worst-case wait for a CPU".into(),
            (_, Better::Lower) => format!("the shortest {}", metric.name),
            (_, _) => format!("the highest {}", metric.name),
        }
    }
}

/// Whether a role has requests, ended or not.
pub(crate) fn has_requests(role: &RoleView) -> bool {
    ["requests", "requests_open"].iter().any(|path| role.metrics.get(path) > Some(0.0))
}

/// The questions for a role, by its number. `counted` marks the candidates with enough samples: the tail is the farthest
/// percentile that more than half of them support.
pub(crate) fn of_role(candidates: &[Candidate], role: usize, counted: &[bool]) -> Vec<Asked> {
    let views: Vec<RoleView> = candidates.iter().map(|candidate| candidate.result.roles()[role]).collect();
    let questions: &[Question] = if views.iter().any(has_requests) { &OF_REQUESTS } else { &OF_WAITS };
    let values = |sample: &str| {
        let mut values: Vec<f64> = views
            .iter()
            .zip(counted)
            .filter(|(_, counted)| **counted)
            .map(|(view, _)| view.metrics.get(sample).unwrap_or(0.0))
            .collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.get(values.len() / 2).or(values.last()).copied().unwrap_or(0.0)
    };
    // What tasks got that come and go is a matter of when they came.
    let come_and_go = views.iter().any(|view| view.metrics.get("turnaround_ns.count") > Some(0.0));
    let asked = questions.iter().filter(|question| !(come_and_go && **question == Question::Fairness));
    asked.filter_map(|question| Some((*question, question.path(question.sample().map_or(0.0, values))?))).collect()
}

/// The metric at a path of a question.
pub(super) fn metric(path: &str) -> &'static Metric {
    known(path).metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_as_far_out_as_its_sample_bears() {
        let tail = |count: f64| Question::TailResponse.path(count);
        assert_eq!(tail(300.0), Some("response_ns.p99"));
        assert_eq!([tail(299.0), tail(30.0)], [Some("response_ns.p90"); 2]);
        let is_borne = |values| Question::TailResponse.is_borne("response_ns.p99", values);
        assert_eq!((is_borne(300.0), is_borne(299.0)), (true, false));
        assert!(Question::MeanResponse.is_borne("response_ns.mean", 0.0));
        assert_eq!([tail(29.0), tail(6.0), tail(5.0)], [Some("response_ns.p50"), Some("response_ns.p50"), None]);
    }

    #[test]
    fn every_question_has_a_metric_and_all_but_one_a_best() {
        for question in OF_REQUESTS.into_iter().chain(OF_WAITS) {
            let metric = metric(question.path(1e3).unwrap());
            assert_eq!(metric.better == Better::Neither, question == Question::CpuShare, "{}", metric.path);
        }
    }
}
