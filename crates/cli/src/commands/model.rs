//! `schedlab model`: from a recording to a scenario.

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::{files, output};
use schedlab_infer::{Cause, Model, Price, Report, RoleReport, Weight};
use schedlab_model::time::Time;
use schedlab_report::{Column, Table, wrap};
use schedlab_trace::{Error, Reader};
use schedlab_venue::{Place, RoleBy};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Makes the model, writes it and says what it is.
pub fn run(args: &ModelArgs) -> Result<(), Failure> {
    let steps = steps_beside(&args.output);
    files::check([args.output.as_path(), &steps])?;
    let trace = Trace::of(&args.recording)?;
    let model = schedlab_infer::model(trace.path(), &steps, Price::default())?;
    files::write(&args.output, text(&model).as_bytes())?;
    match args.json {
        true => output::print_json(&as_json(&model.report)),
        false => output::print(&show(&model.report)),
    }
}

/// The file of steps of a scenario.
fn steps_beside(scenario: &Path) -> PathBuf {
    scenario.with_extension("steps.parquet")
}

/// A trace, which may have to be made first of what another tool recorded.
pub enum Trace {
    /// One of ours.
    Own(PathBuf),
    /// One that was made, and goes with this.
    Made(tempfile::NamedTempFile),
}

impl Trace {
    /// The trace of a recording.
    ///
    /// # Errors
    ///
    /// It is none that can be read.
    pub fn of(recording: &Path) -> Result<Trace, Failure> {
        match Reader::open(recording) {
            Ok(_) => return Ok(Trace::Own(recording.into())),
            Err(Error::Foreign { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = tempfile::Builder::new().suffix(".parquet").tempfile_in(folder);
        let made = made.map_err(|error| Failure::Failed(format!("cannot write into {}: {error}", folder.display())))?;
        let recorded = schedlab_venue::import(&Place::of(recording), made.path(), RoleBy::Program)?;
        match recorded.unwritten {
            Some(error) => Err(error.into()),
            None => Ok(Trace::Made(made)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Trace::Own(path) => path,
            Trace::Made(file) => file.path(),
        }
    }
}

/// The scenario as a text, with what is known of its roles above.
fn text(model: &Model) -> String {
    let mut text = String::from("# Modelled by `schedlab model`.\n");
    for role in &model.report.roles {
        let waits = if role.waits_for.is_empty() { "nothing".into() } else { role.waits_for.join(", ") };
        let what = format!("# {}: {} items of {} tasks; waits for {waits}\n", role.name, role.items, role.tasks);
        text += &what;
    }
    text + "\n" + &model.scenario.to_toml()
}

/// What a model says about itself, for people.
pub fn show(report: &Report) -> String {
    let mut page = wrap(
        "",
        0,
        &format!(
            "{}: {} recorded on {} CPUs under {}, {} wake-ups",
            report.name,
            Time(report.length_ns),
            report.cpus,
            report.policy,
            report.wakeups
        ),
    );
    page += "\n";
    page += &roles(&report.roles).show(output::style());
    page += "\n";
    let all: u64 = report.slept_ns.values().sum();
    let part = |cause: &Cause| {
        let ns = report.slept_ns.get(cause).copied().unwrap_or(0);
        (ns > 0 || *cause == Cause::Unexplained)
            .then(|| format!("{} {:.1} %", cause.word(), 100.0 * ns as f64 / all.max(1) as f64))
    };
    let parts: Vec<String> = Cause::ALL.iter().filter_map(part).collect();
    page += &wrap("time slept  ", 12, &parts.join(", "));
    if !report.edges.is_empty() {
        let edge = |edge: &schedlab_infer::Edge| format!("{} → {} {}", edge.from, edge.to, edge.wakes);
        page += &wrap("wake-ups    ", 12, &report.edges.iter().map(edge).collect::<Vec<_>>().join(", "));
    }
    for doubt in &report.doubts {
        let first = if doubt.weight == Weight::Refusal { "refused     " } else { "note        " };
        page += &wrap(first, 12, &format!("{}: {}", doubt.code, doubt.what));
    }
    page
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

/// The same for programs.
pub fn as_json(report: &Report) -> Value {
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
