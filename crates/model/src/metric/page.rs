//! The table as a page of the documentation.

use super::{Combine, Level, Metric, Read, Statistic, all, known};
use std::fmt::Write as _;

/// `docs/reference/metrics.md`.
pub fn page() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         This page lists every number in a result. Tables, charts, pages, `measures` of a sweep, `metric` of a study and the \
         Python package all use this list; `schedlab schema metrics` prints it as JSON.\n\n\
         Each metric has a path in its part of a result. In a whole result a path starts with the part: \
         `roles.worker.response_ns.p99`, `tasks.3.cpu_share`, `cpus.0.busy_frac`. With `*` instead of a name it is the \
         maximum of all. A metric of the run has no prefix: `jain`.\n\n\
         *Several runs* (`--runs N`) form a separate kind of result (`schedlab schema runs`). Each metric is the mean of the \
         runs that have it, with its 95 % interval (Student's t), their number and the value of each. A distribution is the mean of each \
         of its fractions. Lost events are added up. Tasks are those of one run, because other runs have other tasks.\n",
    );
    let parts = [
        (&[Level::Role, Level::Task][..], "Of a role", "Metrics with a dot also exist for each task."),
        (&[Level::ControlGroup], "Of a control group", ""),
        (&[Level::Cpu], "Of a CPU", ""),
        (
            &[Level::Run],
            "Of the run",
            "`costs` is what the scheduler costs, measured after the run in venues where time counts instructions and is therefore \
             exact. `others` is what others took from the CPUs, in the venue `host`. `scheduler_program` is about the program of a \
             policy `exec:`.",
        ),
    ];
    for (levels, title, remark) in parts {
        let _ = write!(text, "\n## {title}\n\n");
        if !remark.is_empty() {
            let _ = write!(text, "{remark}\n\n");
        }
        text += "| path | unit | what it is | better | source |\n|---|---|---|---|---|\n";
        all()
            .iter()
            .filter(|metric| levels.contains(&metric.level) && metric.leads())
            .for_each(|metric| text += &line(metric));
    }
    text + &statistics()
}

impl Metric {
    /// Whether it has its own line: a summary has one for all its statistics.
    fn leads(&self) -> bool {
        !matches!(
            self.read,
            Read::Times(_, statistic) | Read::Ratios(_, statistic) | Read::ControlGroupTimes(_, statistic)
                if statistic != Statistic::Mean
        )
    }
}

fn line(metric: &Metric) -> String {
    let is_summary = matches!(metric.read, Read::Times(..) | Read::Ratios(..) | Read::ControlGroupTimes(..));
    let path = if is_summary { format!("{}.…", metric.property()) } else { metric.path.clone() };
    let dot = if metric.level == Level::Task { " ·" } else { "" };
    let sum = if metric.combine == Combine::Sum { " With several runs, the sum." } else { "" };
    let better = metric.better.words().unwrap_or("");
    let meaning = super::schema::description(metric.level, metric.property()).unwrap_or_default();
    format!(
        "| `{path}`{dot} | {} | {meaning}{sum} | {better} | {} |\n",
        metric.unit.words(),
        metric.source.unwrap_or("")
    )
}

/// What `…` stands for.
fn statistics() -> String {
    let mut text = String::from(
        "\n## Statistics\n\nA path with `…` is a summary of a sample. Quantiles are by the nearest rank (Hyndman and Fan 1996, \
         definition 1), from a histogram that keeps them within 1/256 of the true value; everything else is exact.\n\n\
         | path | what it is |\n|---|---|\n",
    );
    let of = known("response_ns.mean").metric.property();
    for statistic in Statistic::ALL {
        let meaning = super::schema::description(Level::Task, &format!("{of}.{}", statistic.key())).unwrap_or_default();
        let _ = writeln!(text, "| `….{}` | {meaning} |", statistic.key());
    }
    text
}
