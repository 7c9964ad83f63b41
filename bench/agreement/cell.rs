//! One scenario under one policy, simulated and real.

use schedlab_model::result::{CpuResult, RunResult, TimeSummary};

/// How far apart simulator and kernel may be.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Mean and median response time, as a share.
    pub mean: f64,
    /// The 99th percentile, as a share.
    pub p99: f64,
    /// A group's part of the CPU time that tasks got, as a difference.
    pub share: f64,
}

/// What is compared: of the groups always the one that is furthest apart.
#[derive(Debug)]
pub struct Cell {
    pair: String,
    scenario: String,
    mean_ms: [f64; 2],
    mean: f64,
    p50: f64,
    p99: f64,
    share: f64,
    /// How many tasks were on each CPU most of the time, in ascending order.
    lengths: [Vec<u32>; 2],
}

impl Cell {
    /// The table's first two lines.
    pub const HEAD: &str = "| policy | scenario | mean, sim | mean, kernel | mean | p50 | p99 | CPU share | tasks on CPUs | agree |\n\
                            |---|---|---|---|---|---|---|---|---|---|";

    /// Compares two results.
    pub fn of(pair: &str, simulated: &RunResult, real: &RunResult) -> Cell {
        let results = [simulated, real];
        let furthest = |of: fn(&TimeSummary) -> u64| {
            let groups = simulated.groups.iter().zip(&real.groups);
            let apart = groups.map(|(s, r)| match (&s.measures.response_ns, &r.measures.response_ns) {
                (Some(s), Some(r)) => of(s) as f64 / of(r) as f64 - 1.0,
                (None, None) => 0.0,
                // No request ended in one of the two.
                _ => f64::INFINITY,
            });
            apart.fold(0.0, |most: f64, next| if next.abs() > most.abs() { next } else { most })
        };
        Cell {
            pair: pair.into(),
            scenario: simulated.scenario.name.clone(),
            mean_ms: results.map(mean_ms),
            mean: furthest(|response| response.mean),
            p50: furthest(|response| response.p50),
            p99: furthest(|response| response.p99),
            share: share_apart(simulated, real),
            lengths: results.map(|result| lengths(&result.cpus)),
        }
    }

    /// Whether everything is as near as asked.
    pub fn agrees(&self, tolerance: Tolerance) -> bool {
        self.verdicts(tolerance).into_iter().all(|(_, near)| near)
    }

    fn verdicts(&self, tolerance: Tolerance) -> [(&'static str, bool); 5] {
        [
            ("mean", self.mean.abs() <= tolerance.mean),
            ("p50", self.p50.abs() <= tolerance.mean),
            ("p99", self.p99.abs() <= tolerance.p99),
            ("share", self.share <= tolerance.share),
            ("tasks on CPUs", self.lengths[0] == self.lengths[1]),
        ]
    }

    /// The table's line.
    pub fn row(&self, tolerance: Tolerance) -> String {
        let failed: Vec<&str> =
            self.verdicts(tolerance).iter().filter(|(_, near)| !near).map(|(name, _)| *name).collect();
        let verdict = if failed.is_empty() { "yes".into() } else { format!("**no**: {}", failed.join(", ")) };
        let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
        let [simulated, real] = &self.lengths.each_ref().map(|lengths| format!("{lengths:?}"));
        let lengths = if simulated == real { simulated.clone() } else { format!("{simulated}, kernel {real}") };
        format!(
            "| {} | {} | {:.2} ms | {:.2} ms | {} | {} | {} | {:.1} points | {} | {} |",
            self.pair,
            self.scenario,
            self.mean_ms[0],
            self.mean_ms[1],
            percent(self.mean),
            percent(self.p50),
            percent(self.p99),
            100.0 * self.share,
            lengths,
            verdict,
        )
    }
}

/// The mean response time of all requests.
fn mean_ms(result: &RunResult) -> f64 {
    let responses = result.groups.iter().filter_map(|group| group.measures.response_ns.as_ref());
    let (count, sum) = responses.fold((0.0, 0.0), |(count, sum), response| {
        (count + response.count as f64, sum + response.count as f64 * response.mean as f64)
    });
    sum / count / 1e6
}

/// The greatest difference between a group's parts of what the tasks got.
fn share_apart(simulated: &RunResult, real: &RunResult) -> f64 {
    let shares = |result: &RunResult| -> Vec<f64> {
        let all: u64 = result.groups.iter().map(|group| group.measures.cpu_ns).sum();
        result.groups.iter().map(|group| group.measures.cpu_ns as f64 / all.max(1) as f64).collect()
    };
    let both = shares(simulated).into_iter().zip(shares(real));
    both.map(|(simulated, real)| (simulated - real).abs()).fold(0.0, f64::max)
}

/// The number of tasks that were on each CPU for the longest time.
fn lengths(cpus: &[CpuResult]) -> Vec<u32> {
    let usual =
        |cpu: &CpuResult| cpu.runnable.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(length, _)| *length);
    let mut lengths: Vec<u32> = cpus.iter().map(usual).collect();
    lengths.sort_unstable();
    lengths
}
