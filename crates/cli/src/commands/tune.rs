//! `schedlab tune`: parameters of a policy that score higher, also in scenarios held out of the search.

use crate::args::TuneArgs;
use crate::commands::gate::beside;
use crate::commands::score;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, output, progress};
use schedlab_campaign::{Runner, threads};
use schedlab_model::count::counted;
use schedlab_score::{Examiner, Options, ScoreError, Space, Tuned, Verdict, tune};
use schedlab_venue::Monitor;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the trials are written: an interruption costs no more.
const PERIOD: Duration = Duration::from_secs(1);

/// Tunes and prints.
pub fn run(args: TuneArgs) -> Result<(), Failure> {
    export::check(&args.export)?;
    let before = args.output.as_deref().map(before).transpose()?.flatten();
    let set = score::read(&args.file)?;
    if !set.has_held_out() {
        let why = "add `held_out`, scenarios that play no part in the search: they show whether the settings that it finds \
                   are better, or fit these scenarios only";
        return Err(Failure::Input(format!("{}: {why}", args.file.display())));
    }
    let policy = super::simulated([&args.policy])?.remove(0);
    let space = Space::new(&set, &policy, &args.policy)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let cache = kept::cache(false, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads(args.threads), &monitor);
    let options = Options { trials: args.trials, seed: args.seed };
    if !args.quiet {
        output::remark(&format!("seed {}, {}", args.seed, counted(space.parameters.len() as u64, "parameter")));
    }
    let examiner = Examiner::new(set, beside(&args.file), true, &runner)?;
    let another = before.as_ref().and_then(|before| before.is_another(&examiner, (&policy, &args.policy), options));
    another.map_or(Ok(()), |what| Err(other_search(&args, &what)))?;
    let free = examiner.without_costs();
    if !free.is_empty() && !args.quiet {
        let names = free.join(", ");
        output::remark(&format!("without [machine.costs], so that short slices are free and score too well: {names}"));
    }
    let total = examiner.duration_ns().map(|ns| ns.saturating_mul(u64::from(args.trials)));
    let mut written = Instant::now();
    // All trials are in the file, so that writing it after each would take longer and longer.
    let mut keep = |tuned: &Tuned| match args.output.as_deref() {
        Some(file) if tuned.answer.is_some() || written.elapsed() >= PERIOD => {
            written = Instant::now();
            write(file, tuned)
        }
        _ => Ok(()),
    };
    let work = || tune(&examiner, (&policy, &args.policy), &space, options, &runner, before, &mut keep);
    let tuned = progress::show(&monitor, total, args.quiet, work)?;
    let printed = if args.json { output::print_json(&tuned) } else { output::print(&tuned.show(output::style())) };
    failure::all([printed, export::write(&args.export, &tuned.findings()), end(&tuned)])
}

/// What is kept of a search from before.
fn before(file: &Path) -> Result<Option<Tuned>, Failure> {
    let parsed = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    files::check_kept(file, "schedlab tune", parsed)
}

fn other_search(args: &TuneArgs, what: &str) -> Failure {
    let file = args.output.as_deref().unwrap_or(Path::new("")).display();
    Failure::Input(format!("{file} holds another search ({what}); name another file"))
}

fn write(file: &Path, tuned: &Tuned) -> Result<(), ScoreError> {
    let text = serde_json::to_vec_pretty(tuned).expect("what was tried has a form in JSON");
    let written = schedlab_boundary::own::Partial::write(file, &text);
    written.map_err(|error| ScoreError::Failed(format!("cannot write {}: {error}", file.display())))
}

/// The exit code says whether something better was found, if that is known.
fn end(tuned: &Tuned) -> Result<(), Failure> {
    match tuned.answer.as_ref().map(|answer| answer.verdict) {
        Some(Verdict::Open) => {
            Err(Failure::Inconclusive("the held-out scenarios leave open whether it is better".into()))
        }
        _ => Ok(()),
    }
}
