//! The table as a page of the documentation.

use super::{Combine, Level, Metric, Read, Statistic, all, known};
use std::fmt::Write as _;

/// `docs/reference/metrics.md`.
pub fn page() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         Every number of a result. Tables, charts, pages, `measures` of a sweep, `metric` of a study and the Python package \
         read this list; `schedlab schema metrics` prints it as JSON.\n\n\
         A metric has a path in its part of a result. In a whole result a path begins with its part: \
         `roles.worker.response_ns.p99`, `tasks.3.cpu_share`, `cpus.0.busy_frac`; `*` instead of a name is the greatest of \
         all. A metric of the run stands alone: `jain`.\n\n\
         *Several runs* (`--runs N`) are a result of their own (`schedlab schema runs`): each metric is the mean of the runs \
         that know it, with a bootstrap interval, their number and the value of each. A distribution is the mean of each of \
         its fractions. Lost events are added up. Tasks are those of one run: other runs have other tasks.\n",
    );
    let parts = [
        (&[Level::Role, Level::Task][..], "Of a role", "With a dot also of each task."),
        (&[Level::Cpu], "Of a CPU", ""),
        (&[Level::Run], "Of the run", ""),
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
    /// Whether it has a line of its own: a summary has one for all its statistics.
    fn leads(&self) -> bool {
        !matches!(self.read, Read::Times(_, statistic) | Read::Ratios(_, statistic) if statistic != Statistic::Mean)
    }
}

fn line(metric: &Metric) -> String {
    let is_summary = matches!(metric.read, Read::Times(..) | Read::Ratios(..));
    let path = if is_summary { format!("{}.…", metric.property()) } else { metric.path.clone() };
    let dot = if metric.level == Level::Task { " ·" } else { "" };
    let sum = if metric.combine == Combine::Sum { " Of several runs the sum." } else { "" };
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
        "\n## Statistics\n\nA path with `…` is a sample, summed up. Quantiles are by the nearest rank (Hyndman and Fan 1996, \
         definition 1), of a histogram that keeps them within 1/256 of the true value; all else is exact.\n\n\
         | path | what it is |\n|---|---|\n",
    );
    let of = known("response_ns.mean").metric.property();
    let whole = super::schema::description(Level::Task, of).unwrap_or_default();
    for statistic in Statistic::ALL {
        let meaning = super::schema::description(Level::Task, &format!("{of}.{}", statistic.key())).unwrap_or_default();
        let own = meaning.strip_prefix(&whole).unwrap_or(&meaning).trim();
        let _ = writeln!(text, "| `….{}` | {own} |", statistic.key());
    }
    text
}
