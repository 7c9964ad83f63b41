//! From records on disk to a trace file and a result.

use super::RecordError;
use super::programs::{Programs, RoleBy};
use crate::VenueError;
use crate::replay::{unknown_time, workload};
use schedlab_import::Place;
use schedlab_metrics::collector::{Collector, RunIdentity};
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::RoleId;
use schedlab_model::result::{PolicyInfo, Provenance, RunResult};
use schedlab_model::time::Time;
use schedlab_model::trace::Sink;
use schedlab_record::{Comm, Converter, Gaps, Record, Spool, Spooled, Summary, Thread};
use schedlab_simulation::{RunFailure, is_lawful, scenario_info};
use schedlab_trace::{Error, Header, Role, Writer};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The scheduler of every recording: that of the kernel.
const POLICY: &str = crate::KERNEL;

/// What a recording cannot know.
const UNKNOWN: &str = "requests and their response times, which only a scenario's tasks tell; fairness, balance and \
                       idleness beside work, which need to know what each task may and should get";

/// All that was recorded.
pub struct Tape {
    pub spooled: Spooled,
    /// After the first pass over the records.
    pub look: FirstLook,
    /// Records that come right before the start: the state in which a recording begins that does not tell it itself.
    pub before: Vec<Record>,
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpus: u32,
    /// Events that are missing.
    pub lost: u64,
}

/// What a first pass over the records learns.
#[derive(Default)]
pub struct FirstLook {
    pub programs: Programs,
    pub gaps: Gaps,
}

impl FirstLook {
    /// One that roles threads in this way.
    pub fn by(role_by: RoleBy) -> FirstLook {
        FirstLook { programs: Programs::by(role_by), ..FirstLook::default() }
    }

    /// Takes the next record.
    pub fn note(&mut self, record: &Record) {
        self.programs.note(record);
        self.gaps.note(record);
    }
}

/// Hands on all records in their order: those of the time before the start, the state at the start, and the rest.
pub fn in_order(
    spooled: &mut Spooled,
    before: &[Record],
    start_ns: u64,
    mut each: impl FnMut(&Record),
) -> std::io::Result<()> {
    let mut before = Some(before);
    spooled.each(|record| {
        if record.time_ns >= start_ns
            && let Some(before) = before.take()
        {
            before.iter().for_each(&mut each);
        }
        each(record);
    })?;
    before.into_iter().flatten().for_each(each);
    Ok(())
}

/// What else a reader needs to know.
pub struct Label<'a> {
    pub name: String,
    /// The recording of another tool from which the records are.
    pub source: Option<&'a Place>,
    pub venue: &'static str,
    pub kernel: Option<String>,
    pub partial: bool,
    pub missing: Vec<String>,
}

/// A place for the records on the disk where the trace will be, and its folder. Whatever would keep the trace from
/// being written there and can be seen now, is an error now.
pub fn spool_for(trace: &Path) -> Result<(Spool, PathBuf), VenueError> {
    Writer::check(trace)?;
    let folder = folder_of(trace);
    let failed = |source| VenueError::from(Error::Write { path: trace.into(), source });
    Ok((Spool::create_in(folder).map_err(failed)?, folder.into()))
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Tape {
    /// Writes the trace and gives what it says, what had to be done to the records, and why the trace could not be written
    /// if it could not.
    pub fn convert(
        mut self,
        label: &Label,
        trace: &Path,
    ) -> Result<(RunResult, Summary, Option<VenueError>), VenueError> {
        let (names, of_life) = self.look.programs.roles();
        let header = self.header(names, label);
        let workload = workload(&header);
        let lost_events = self.lost > 0;
        let expectations = Expectations { workload: Some(&workload), lost_events, ..Expectations::default() };
        let writer = Writer::create(trace, &header)?;
        let mut sinks = (Collector::new(&workload), (Validator::new(expectations), writer));
        let summary = self.replay(&of_life, label.source.is_some(), &mut sinks).map_err(|error| {
            let folder = folder_of(trace).into();
            RecordError::Spool { folder, error }
        })?;
        let (collector, (validator, writer)) = sinks;
        // Whatever the records were, the converter's events are lawful.
        is_lawful((POLICY, 0), &collector, Some(validator)).map_err(|error| match (label.source, error) {
            // Our own recorder must not report such a thing; a recording of another tool may have been changed.
            (Some(place), RunFailure::NotConserved { violation, .. }) => impossible(place, &violation),
            (Some(place), RunFailure::Unlawful { violation, .. }) => impossible(place, &violation),
            (_, error) => error.into(),
        })?;
        let unwritten = writer.close().err().map(VenueError::from);
        let result = collector.into_measures().into_result(RunIdentity {
            scenario: scenario_info(&workload),
            policy: PolicyInfo { name: POLICY.into(), parameters: BTreeMap::new() },
            venue: label.venue.into(),
            seed: header.seed,
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").into(),
                scenario_hash: String::new(),
                policy_hash: None,
                kernel: label.kernel.clone(),
                engine: None,
            },
            lost: self.lost,
            partial: label.partial,
            calibration: None,
            kernel_run_delay_ns: None,
            missing: [UNKNOWN.to_string()].into_iter().chain(label.missing.iter().cloned()).collect(),
            cautions: Vec::new(),
        });
        let mut result = known(result);
        result.missing.extend(unknown_time(&result.cpus, result.duration_ns));
        Ok((result, summary, unwritten))
    }

    fn header(&self, names: Vec<String>, label: &Label) -> Header {
        let role = |name| Role { name, cpus: CpuSet::first(self.cpus) };
        Header {
            scenario: label.name.clone(),
            policy: POLICY.into(),
            venue: label.venue.into(),
            seed: 0,
            cpus: self.cpus,
            roles: names.into_iter().map(role).collect(),
            control_groups: Vec::new(),
            end: Time(self.end_ns - self.start_ns),
            lost: self.lost,
            setting: None,
        }
    }

    /// The second pass over the records. A recording of another tool does not begin with a look at each CPU.
    fn replay(&mut self, of_life: &[RoleId], is_foreign: bool, sink: &mut impl Sink) -> std::io::Result<Summary> {
        let programs = RefCell::new(Programs::by(self.look.programs.role_by()));
        let role_of = |thread: &Thread, _: &Comm| programs.borrow().life(thread).map(|life| of_life[life]);
        let gaps = std::mem::take(&mut self.look.gaps);
        let converter = Converter::new(self.start_ns, role_of).with_gaps(gaps);
        let mut converter = if is_foreign { converter.with_unheard_cpus(self.cpus) } else { converter };
        in_order(&mut self.spooled, &self.before, self.start_ns, |record| {
            programs.borrow_mut().note(record);
            converter.record(record, sink);
        })?;
        Ok(converter.finish(self.end_ns, sink))
    }
}

fn impossible(place: &Place, violation: &dyn std::fmt::Display) -> VenueError {
    RecordError::Impossible { place: place.clone(), violation: violation.to_string() }.into()
}

/// Only what a recording can know. Programs that were gone when it began have no task in it.
fn known(mut result: RunResult) -> RunResult {
    (result.jain, result.time_to_balance_ns, result.work_conservation_violation) = (None, None, None);
    // A recording does not tell which tasks wait that were there before.
    result.imbalance = None;
    // What the kernel takes for itself is in the tasks' time.
    result.overhead_ns = None;
    result.roles.retain(|role| role.count > 0);
    result
}
