//! A model's report, as a page and as JSON.

use crate::cause::Cause;
use crate::report::{Edge, Report, RoleReport, Weight};
use schedlab_model::count::counted;
use schedlab_model::time::Time;
use schedlab_report::{Column, Style, Table, wrap};
use serde_json::{Value, json};

impl Report {
    /// What a model says about itself, as a page for a terminal.
    pub fn show(&self, style: Style) -> String {
        let report = self;
        let mut page = wrap(
            "",
            0,
            &format!(
                "{}: {} recorded on {} under {}, {}",
                report.name,
                Time(report.length_ns),
                counted(report.cpus, "CPU"),
                report.policy,
                counted(report.wakeups, "wake-up")
            ),
        );
        page += "\n";
        page += &report.table().show(style);
        page += "\n";
        page += &wrap("time slept  ", 12, &report.slept());
        if !report.edges.is_empty() {
            let edge = |edge: &Edge| format!("{} → {} {}", edge.from, edge.to, edge.wakes);
            page += &wrap("wake-ups    ", 12, &report.edges.iter().map(edge).collect::<Vec<_>>().join(", "));
        }
        for doubt in &report.doubts {
            let (code, what) = (doubt.code, &doubt.what);
            page += &match doubt.weight {
                Weight::Note => wrap("note        ", 12, &format!("{code}: {what}")),
                Weight::Refusal => wrap("caution     ", 12, &format!("`predict` would refuse this. {code}: {what}")),
            };
        }
        page
    }

    /// Its roles.
    pub fn table(&self) -> Table {
        roles(&self.roles)
    }

    /// What ended the time that tasks slept: each cause with its part, and what is not known.
    pub fn slept(&self) -> String {
        let all: u64 = self.slept_ns.values().sum();
        let part = |cause: &Cause| {
            let ns = self.slept_ns.get(cause).copied().unwrap_or(0);
            (ns > 0 || *cause == Cause::Unexplained)
                .then(|| format!("{} {:.1} %", cause.word(), 100.0 * ns as f64 / all.max(1) as f64))
        };
        Cause::ALL.iter().filter_map(part).collect::<Vec<_>>().join(", ")
    }

    /// The same as JSON, `schedlab.model/1`.
    pub fn to_json(&self) -> Value {
        let report = self;
        let role = |role: &RoleReport| {
            json!({
                "name": role.name, "tasks": role.tasks, "items": role.items, "kept": role.level.word(),
                "constant": role.constant, "work_p50_ns": role.work_ns.map(|work| work[0]),
                "work_p99_ns": role.work_ns.map(|work| work[1]), "cpu_frac": role.share, "waits_for": role.waits_for,
            })
        };
        let slept: serde_json::Map<String, Value> =
            report.slept_ns.iter().map(|(cause, ns)| (format!("{}_ns", cause.word()), json!(ns))).collect();
        json!({
            "schema": "schedlab.model/1",
            "name": report.name, "duration_ns": report.length_ns, "cpus": report.cpus, "policy": report.policy,
            "events": report.events, "wakeups": report.wakeups, "lost": report.lost,
            "roles": report.roles.iter().map(role).collect::<Vec<_>>(),
            "edges": report.edges.iter().map(|e| json!({ "from": e.from, "to": e.to, "wakes": e.wakes })).collect::<Vec<_>>(),
            "slept": slept, "unexplained_frac": report.unexplained(), "others_frac": report.others, "kept_frac": report.kept,
            "doubts": report.doubts.iter().map(|doubt| json!({
                "code": doubt.code, "refuses": doubt.weight == Weight::Refusal, "what": doubt.what,
            })).collect::<Vec<_>>(),
        })
    }
}

fn roles(roles: &[RoleReport]) -> Table {
    let time = |at: usize| roles.iter().map(move |role| role.work_ns.map(|work| work[at] as f64));
    Table::new([
        Column::words("role", roles.iter().map(|role| role.name.clone())),
        Column::numbers("tasks", roles.iter().map(|role| role.tasks.to_string())),
        Column::numbers("items", roles.iter().map(|role| role.items.to_string())),
        Column::words("kept", roles.iter().map(|role| role.level.word().into())),
        Column::times("p50", time(0)).under("work of an item"),
        Column::times("p99", time(1)).under("work of an item"),
        Column::numbers("CPU %", roles.iter().map(|role| format!("{:.1}", 100.0 * role.share))),
        Column::words("waits for", roles.iter().map(|role| role.waits_for.join(", "))),
    ])
}
