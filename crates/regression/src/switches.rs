//! Since which switch two runs of one scenario differ.
//!
//! A run has too many switches to keep. Each run is heard twice: first as a hash of each block of switches, then as the
//! switches of the first block that differs.

use crate::report::Switch;
use schedlab_campaign::{Case, Ear, Errors, Hearing, Keeps, Made, Runner};
use schedlab_model::ids::TaskId;
use schedlab_model::names::Names;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Reason, Sink};
use schedlab_model::workload::Workload;
use schedlab_venue::VenueError;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// How many switches a block has.
const BLOCK: u64 = 1024;

/// Where two runs part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    /// How many switches are the same.
    pub same: u64,
    /// The next one of each; none where a run has no more.
    pub next: [Option<Switch>; 2],
}

/// Where two cases part, in their first runs; none where they do not, or nothing is known of their switches.
///
/// # Errors
///
/// A run fails.
pub(crate) fn parting(cases: [&Case; 2], runner: &Runner) -> Result<Option<Parting>, VenueError> {
    let blocks = heard(cases, runner, None)?;
    let Some(blocks) = blocks else { return Ok(None) };
    let [before, after] = &blocks;
    let longest = before.len().max(after.len());
    let Some(block) = (0..longest).find(|&block| before.get(block) != after.get(block)) else { return Ok(None) };
    let Some([before, after]) = heard(cases, runner, Some(block as u64))? else { return Ok(None) };
    let longest = before.len().max(after.len());
    let at = (0..longest).find(|&at| before.get(at) != after.get(at));
    let switch = |list: &[Value], at: usize| list.get(at).and_then(|value| serde_json::from_value(value.clone()).ok());
    Ok(at.map(|at| Parting { same: block as u64 * BLOCK + at as u64, next: [switch(&before, at), switch(&after, at)] }))
}

/// What is heard of the first run of each case; none where one was stopped.
fn heard(cases: [&Case; 2], runner: &Runner, block: Option<u64>) -> Result<Option<[Vec<Value>; 2]>, VenueError> {
    let ear: Arc<dyn Ear> = Arc::new(SwitchEar { block });
    let name = ear.name();
    let listened = |case: &Case| Case {
        seeds: case.seeds[..1].to_vec(),
        ears: vec![ear.clone()],
        traces: Vec::new(),
        keeps: Keeps::Nothing,
        ..case.clone()
    };
    let mut all = Vec::new();
    for made in runner.carry_out(&cases.map(listened), Errors::EndCases)? {
        match made {
            Made::Ran(seen) if !seen[0].run.result.partial => {
                all.push(seen[0].heard.get(&name).and_then(Value::as_array).cloned().unwrap_or_default());
            }
            Made::Failed(error) => return Err(error),
            _ => return Ok(None),
        }
    }
    Ok(all.try_into().ok())
}

/// Hears hashes of blocks of switches, or the switches of one block.
struct SwitchEar {
    block: Option<u64>,
}

impl Ear for SwitchEar {
    fn name(&self) -> String {
        match self.block {
            None => "blocks of switches".into(),
            Some(block) => format!("switches of block {block}"),
        }
    }

    fn hears_first_only(&self) -> bool {
        true
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        let names = Names::new(workload.roles.iter().map(|role| role.name.clone()));
        Box::new(SwitchHearing { names, wanted: self.block, count: 0, hash: DefaultHasher::new(), heard: Vec::new() })
    }
}

struct SwitchHearing {
    names: Names,
    wanted: Option<u64>,
    /// How many switches there were.
    count: u64,
    /// Of the block that is not yet whole.
    hash: DefaultHasher,
    heard: Vec<Value>,
}

impl SwitchHearing {
    fn switch(&mut self, event: &Event, (previous, reason, next): (Option<TaskId>, Reason, Option<TaskId>)) {
        let block = self.count / BLOCK;
        self.count += 1;
        if let Some(wanted) = self.wanted {
            if wanted == block {
                let name = |task: Option<TaskId>| task.map_or("idle".into(), |task| self.names.task(task));
                self.heard.push(json!(Switch {
                    time_ns: event.time.ns(),
                    cpu: event.cpu.0,
                    previous: name(previous),
                    reason: words(reason).into(),
                    next: name(next),
                }));
            }
            return;
        }
        let task = |task: Option<TaskId>| task.map_or(u32::MAX, |task| task.0);
        (event.time.ns(), event.cpu.0, task(previous), reason, task(next)).hash(&mut self.hash);
        if self.count.is_multiple_of(BLOCK) {
            self.close();
        }
    }

    fn close(&mut self) {
        self.heard.push(json!(format!("{:016x}", std::mem::take(&mut self.hash).finish())));
    }
}

/// Why a task left, in words.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Idle => "no task was there",
        Reason::SliceEnd => "its slice was over",
        Reason::Preempted => "it was preempted",
        Reason::Blocked => "it blocked",
        Reason::Yielded => "it yielded",
        Reason::Exited => "it ended",
    }
}

impl Sink for SwitchHearing {
    fn event(&mut self, event: &Event) {
        self.names.observe(event);
        if let EventKind::Switch { previous, reason, next } = event.kind {
            self.switch(event, (previous, reason, next));
        }
    }
    fn finish(&mut self, _: Time) {}
}

impl Hearing for SwitchHearing {
    fn end(mut self: Box<Self>) -> Value {
        if self.wanted.is_none() && !self.count.is_multiple_of(BLOCK) {
            self.close();
        }
        Value::Array(self.heard)
    }
}

impl Switch {
    /// In words.
    pub fn words(&self) -> String {
        let Switch { time_ns, cpu, previous, reason, next } = self;
        match previous.as_str() {
            "idle" => format!("at {} cpu{cpu} goes from idle to {next}", Time(*time_ns)),
            _ => format!("at {} cpu{cpu} goes from {previous} ({reason}) to {next}", Time(*time_ns)),
        }
    }
}
