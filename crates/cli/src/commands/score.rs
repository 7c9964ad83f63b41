//! `schedlab score`: one number for a policy, for people and for programs that look for better policies.

use crate::args::ScoreArgs;
use crate::commands::gate::beside;
use crate::confined::{self, End, Limits};
use crate::failure::{self, Failure};
use crate::{export, interrupt, kept, output};
use schedlab_boundary::confine::Confined;
use schedlab_campaign::{Runner, threads};
use schedlab_score::{Examiner, Score, ScoreError, ScoreSet, Set, is_fault_of_policy};
use schedlab_venue::{Monitor, Policy};
use std::path::Path;
use std::sync::Arc;

/// Scores a policy in a process that can do little, and prints what it says.
pub fn run(args: ScoreArgs) -> Result<(), Failure> {
    if args.confined {
        return score(&args);
    }
    export::check(&args.export)?;
    let set = read(&args.file)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let score = match confined::run(limits(&args), &monitor)? {
        End::Output(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| Failure::Failed(format!("the confined process says nothing of use: {error}")))?,
        End::Limit(why) => set.report(&args.policy.to_string(), Set::failed(why), None),
        End::Code(code) => return Err(Failure::Command(code)),
    };
    let printed = if args.json { output::print_json(&score) } else { output::print(&score.show(output::style())) };
    failure::all([printed, export::write(&args.export, &score.findings())])
}

fn limits(args: &ScoreArgs) -> Limits {
    Limits { time: args.time_limit, memory_mib: args.memory_limit }
}

/// Reads a score's file.
pub fn read(path: &Path) -> Result<ScoreSet, Failure> {
    let text = super::text_of(path)?;
    super::parsed(ScoreSet::parse(&text, path), (&text, path), "score")
}

/// The same in the confined process, which prints JSON.
fn score(args: &ScoreArgs) -> Result<(), Failure> {
    let how = confined::enter(limits(args), &args.policy, &[&args.file])?;
    if how == Confined::LimitsOnly && !args.quiet {
        output::remark("this kernel has no Landlock: time and memory are limited, files and network are not");
    }
    let set = read(&args.file)?;
    let monitor = Monitor::default();
    let cache = kept::cache(false, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads(args.threads), &monitor);
    let label = args.policy.to_string();
    let examiner = Examiner::new(set, beside(&args.file), args.held_out, &runner)?;
    let score = match Policy::find(&args.policy) {
        Ok(policy) => examiner.score(&policy, &runner)?,
        Err(error) if is_fault_of_policy(&error) => examiner.set.report(&label, Set::failed(error.to_string()), None),
        Err(error) => return Err(error.into()),
    };
    output::print_json(&Score { policy: label, ..score })
}

impl From<ScoreError> for Failure {
    fn from(error: ScoreError) -> Failure {
        match error {
            ScoreError::Venue(error) => error.into(),
            ScoreError::Input(what) => Failure::Input(what),
            ScoreError::Failed(what) => Failure::Failed(what),
            ScoreError::Stopped => Failure::Interrupted,
        }
    }
}
