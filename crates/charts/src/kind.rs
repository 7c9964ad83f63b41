//! What can be drawn, and the rows that it is drawn from.

/// A kind of chart. Every row has a `scheduler` where not said otherwise: a label such as `rr:quantum=5ms` or `cfs@vm`.
/// Where one scheduler was in several venues, its labels must tell these apart: what has the same label shares a place.
/// A `venue` is `sim`, `vm`, `host` or `import`. A field with a question mark may be absent; so may `panel`, which says
/// what a small multiple is about, when all rows are about the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// How many tasks share a CPU: `venue`, `load` (whole tasks, or `3 to 4`), `least` (the first of
    /// them), `fraction` of 1, `seen` (`true` for what the run
    /// queues say, `estimated` for what response times suggest).
    Load,
    /// Percentiles of times: `venue`, `panel`, `percentile` (`p50`), `time_ms`, `low_ms`?, `high_ms`?.
    Percentiles,
    /// Cumulative distributions of times: `venue`, `panel`, `time_ms`, `fraction` of 1.
    Distribution,
    /// Tasks on each CPU as time goes by: `from_s`, `to_s`, `cpu`, `tasks`.
    CpuLoad,
    /// How roles share CPU time as time goes by: `from_s`, `role`, `share` of 1.
    RoleShare,
    /// The number that a scheduler publishes about each task, as time goes by: `time_s`, `task`, `word`. A dozen numbers have a
    /// row each; more are on an axis of numbers.
    Status,
    /// Requests per second: `venue`, `role`, `nice`?, `per_s`, `low`?, `high`?.
    Throughput,
    /// Overhead by number of tasks: `venue`, `tasks`, `percent`, `low`?, `high`?.
    Overhead,
    /// A map of a value over two things that are varied: `panel`, `x`, `y`, `value`; no scheduler. Both axes keep the
    /// order of the rows.
    Boundary,
    /// A value over a number that is varied: `venue`, `panel`, `x`, `value`, `low`?, `high`?. A row of `panel` and `target`
    /// alone is a dashed line across.
    Lines,
    /// A value of each scheduler: `venue`, `panel`, `value`, `low`?, `high`?.
    Bars,
    /// How often times are of which length: `venue`, `panel`, `from`, `to` (in milliseconds), `percent`.
    Histogram,
    /// Values as time goes by: `panel`, `series`, `x` (in seconds), `value`, `order` (in which a line goes through its
    /// points); no scheduler.
    Course,
    /// Bars side by side: `panel`, `x` (a word), `series`, `value`; no scheduler. What goes across keeps the order of the
    /// rows.
    Grouped,
    /// Published values: `what`, `ratio`? (seen over published), `low_ratio`?, `high_ratio`?, `verdict` (`holds`,
    /// `fitted`, `differs`, `cannot tell`; any words without a ratio), `published`, `seen`, `unit`; no scheduler.
    Published,
    /// Values over revisions: `panel`, `revision` (a word; rows are in order), `subject`, `value`, `change` (`first`, `higher`,
    /// `lower`, `same`), `verdict`.
    History,
    /// How far values are from where they should be: `what`, `verdict`, `percent`? (off by), `low`?, `high`? (its interval),
    /// `least`?, `most`? (what is allowed; open where absent), `first`, `last` (the ends of the axis, where what is further
    /// off is drawn), `shown` (the values in words); no scheduler.
    Deviation,
    /// Who does something to whom: a node has `role`, `about`, `x`, `y`, `role_y`, `about_y`; an arrow `from`, `to`, `times`, `weight` (of 1), `x`, `y`,
    /// `x2`, `y2`, `head_x`, `head_y`, `angle`, `label_x`, `label_y`. [`crate::ring`] makes them; no scheduler.
    Graph,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 18] = [
        Kind::Load,
        Kind::Percentiles,
        Kind::Distribution,
        Kind::CpuLoad,
        Kind::RoleShare,
        Kind::Status,
        Kind::Throughput,
        Kind::Overhead,
        Kind::Boundary,
        Kind::Lines,
        Kind::Bars,
        Kind::Histogram,
        Kind::Course,
        Kind::Grouped,
        Kind::Published,
        Kind::History,
        Kind::Deviation,
        Kind::Graph,
    ];

    /// The name of its file, without `.vl.json`.
    pub const fn name(self) -> &'static str {
        self.file().0
    }

    /// The file as it is.
    pub const fn specification(self) -> &'static str {
        self.file().1
    }

    const fn file(self) -> (&'static str, &'static str) {
        match self {
            Kind::Load => ("load", include_str!("../specs/load.vl.json")),
            Kind::Percentiles => ("percentiles", include_str!("../specs/percentiles.vl.json")),
            Kind::Distribution => ("distribution", include_str!("../specs/distribution.vl.json")),
            Kind::CpuLoad => ("cpu-load", include_str!("../specs/cpu-load.vl.json")),
            Kind::RoleShare => ("role-share", include_str!("../specs/role-share.vl.json")),
            Kind::Status => ("status", include_str!("../specs/status.vl.json")),
            Kind::Throughput => ("throughput", include_str!("../specs/throughput.vl.json")),
            Kind::Overhead => ("overhead", include_str!("../specs/overhead.vl.json")),
            Kind::Boundary => ("boundary", include_str!("../specs/boundary.vl.json")),
            Kind::Lines => ("lines", include_str!("../specs/lines.vl.json")),
            Kind::Bars => ("bars", include_str!("../specs/bars.vl.json")),
            Kind::Histogram => ("histogram", include_str!("../specs/histogram.vl.json")),
            Kind::Course => ("course", include_str!("../specs/course.vl.json")),
            Kind::Grouped => ("grouped", include_str!("../specs/grouped.vl.json")),
            Kind::Published => ("published", include_str!("../specs/published.vl.json")),
            Kind::History => ("history", include_str!("../specs/history.vl.json")),
            Kind::Deviation => ("deviation", include_str!("../specs/deviation.vl.json")),
            Kind::Graph => ("graph", include_str!("../specs/graph.vl.json")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn files_are_whole_but_for_their_rows() {
        for kind in Kind::ALL {
            let file: Value = serde_json::from_str(kind.specification()).unwrap();
            assert_eq!(file["$schema"], "https://vega.github.io/schema/vega-lite/v6.json", "{kind:?}");
            assert_eq!(file["data"], serde_json::json!({"name": "rows"}), "{kind:?}");
        }
    }

    #[test]
    fn every_mark_has_a_tooltip() {
        for kind in Kind::ALL {
            let file: Value = serde_json::from_str(kind.specification()).unwrap();
            assert!(marks(&file) > 0);
            assert_eq!(marks(&file), kind.specification().matches("\"tooltip\": [").count(), "{kind:?}");
        }
    }

    fn marks(value: &Value) -> usize {
        match value {
            Value::Object(map) => usize::from(map.contains_key("mark")) + map.values().map(marks).sum::<usize>(),
            Value::Array(list) => list.iter().map(marks).sum(),
            _ => 0,
        }
    }
}
