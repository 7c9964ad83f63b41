//! What requests that are still open say about a setting. They are in no response time, so a setting under which they pile up
//! would look as if it met any target that is longer than the run.
//!
//! An open request of age `a` is a censored value: its response will take at least `a`, as in the estimator of Kaplan and Meier
//! (Nonparametric Estimation from Incomplete Observations, 1958). Little's law (A Proof for the Queuing Formula: L = λW, 1961)
//! says how many are open where as many end as come: the rate at which they end times the mean response. More that are not new
//! are a backlog that grows.

use schedlab_model::outcome::View;

/// The percentiles that a summary has, each with the part of the values that are not less.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.1), ("p99", 0.01), ("p999", 0.001)];

/// A backlog is what exceeds this many times the number of Little's law, by at least this many requests.
const EXCESS: f64 = 1.5;
const LEAST_EXCESS: f64 = 10.0;
/// Requests that came together just before the end are no backlog: these are younger, as a part of the mean response.
const YOUNG: f64 = 0.5;

/// Times of which a summary is known.
#[derive(Debug, Default)]
struct Times {
    count: f64,
    mean: f64,
    max: f64,
    /// Parts of the values, each with what they are at least.
    parts: Vec<(f64, f64)>,
}

impl Times {
    /// The summary at a path, and the number of values in it.
    fn of(metrics: View, path: &str, count: f64) -> Times {
        let get = |key: &str| metrics.get(&format!("{path}.{key}"));
        let (Some(mean), Some(max)) = (get("mean"), get("max")) else { return Times::default() };
        let parts = PERCENTILES.iter().filter_map(|(key, part)| Some((*part, get(key)?)));
        Times { count, mean, max, parts: parts.chain([(1.0 / count.max(1.0), max)]).collect() }
    }

    /// How many are known to be at least as long.
    fn at_least(&self, ns: f64) -> f64 {
        let reaching = self.parts.iter().filter(|(_, least)| *least >= ns);
        self.count * reaching.map(|(part, _)| *part).fold(0.0, f64::max)
    }
}

/// The requests of a role in its runs: those that ended and those that are open.
pub(super) struct Requests {
    ended: Times,
    open: Times,
    /// How many end in a second.
    ending_per_s: f64,
}

impl Requests {
    pub(super) fn of(metrics: View) -> Requests {
        let count = |path: &str| metrics.get(path).unwrap_or(0.0);
        Requests {
            ended: Times::of(metrics, "response_ns", count("requests")),
            open: Times::of(metrics, "open_age_ns", count("requests_open")),
            ending_per_s: count("throughput_per_s"),
        }
    }

    /// What a statistic of all requests is at least, in nanoseconds: an open one counts with its age. Zero where that says
    /// nothing.
    pub(super) fn least(&self, statistic: &str) -> f64 {
        let (ended, open) = (&self.ended, &self.open);
        let all = ended.count + open.count;
        match PERCENTILES.iter().find(|(key, _)| *key == statistic) {
            _ if open.count == 0.0 => 0.0,
            None if statistic == "max" => open.max,
            None => (ended.count * ended.mean + open.count * open.mean) / all,
            Some((_, part)) => {
                let known = ended.parts.iter().chain(&open.parts).map(|(_, least)| *least);
                // The part of all is the sum of the parts of both, but for rounding.
                let wanted = part * all * (1.0 - 1e-9);
                let reached = known.filter(|least| ended.at_least(*least) + open.at_least(*least) >= wanted);
                reached.fold(0.0, f64::max)
            }
        }
    }

    /// Whether more requests are open than the law of Little allows where as many end as come.
    pub(super) fn pile_up(&self) -> bool {
        let (ended, open) = (&self.ended, &self.open);
        if ended.count == 0.0 {
            return false;
        }
        let allowed = self.ending_per_s * ended.mean / 1e9;
        let is_much = open.count > EXCESS * allowed && open.count - allowed >= LEAST_EXCESS;
        is_much && open.mean >= YOUNG * ended.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// Times of which these are the median, the percentiles 90 and 99, and the maximum, in milliseconds.
    fn times(count: f64, mean_ms: f64, [p50, p90, p99, max]: [f64; 4]) -> Times {
        let parts = vec![(0.5, p50 * MS), (0.1, p90 * MS), (0.01, p99 * MS), (1.0 / count, max * MS)];
        Times { count, mean: mean_ms * MS, max: max * MS, parts }
    }

    fn requests(ended: Times, open: Times, seconds: f64) -> Requests {
        let ending_per_s = ended.count / seconds;
        Requests { ended, open, ending_per_s }
    }

    /// A service that needs 1.18 CPUs and has 0.84: no response took a second yet, and 41 % of the requests are open.
    #[test]
    fn a_backlog_is_found_by_its_number_and_its_age() {
        let ended = || times(330.0, 699.0, [700.0, 930.0, 982.0, 1006.0]);
        let full = requests(ended(), times(234.0, 512.0, [495.0, 905.0, 1015.0, 1020.0]), 2.0);
        assert!(full.pile_up());
        // Three open ones are older than 1015 ms, but a hundredth of all would be more than five.
        assert_eq!(full.least("p99"), 982.0 * MS);
        assert_eq!(full.least("max"), 1020.0 * MS);
        assert!((full.least("mean") / MS - 621.4).abs() < 0.1, "{}", full.least("mean"));
        let stuck = requests(ended(), times(234.0, 1800.0, [1500.0, 1900.0, 1990.0, 2000.0]), 2.0);
        assert_eq!(stuck.least("p99"), 1900.0 * MS);
    }

    #[test]
    fn requests_that_have_just_come_are_no_backlog() {
        let ended = || times(463.0, 6.0, [5.0, 8.0, 15.0, 20.0]);
        let one = requests(ended(), times(1.0, 2.0, [2.0, 2.0, 2.0, 2.0]), 2.0);
        assert!(!one.pile_up());
        assert_eq!((one.least("p50"), one.least("max")), (2.0 * MS, 2.0 * MS));
        let together = requests(ended(), times(100.0, 1.0, [1.0, 1.0, 1.0, 1.0]), 2.0);
        assert!(!together.pile_up(), "they came at once");
        let none = requests(ended(), Times::default(), 2.0);
        assert!(!none.pile_up() && none.least("p99") == 0.0);
        assert!(!requests(Times::default(), times(50.0, 500.0, [500.0; 4]), 2.0).pile_up());
    }
}
