//! `schedlab search`: the smallest scenario that shows what is wrong with a policy.

use crate::args::SearchArgs;
use crate::failure::{self, Failure};
use crate::{files, interrupt, output};
use schedlab_campaign::{Place, Runner, threads};
use schedlab_model::count::{counted, numbered};
use schedlab_report::wrap;
use schedlab_search::{Bounds, File, Found, InKernel, Kind, Options, Search, SearchError, Shows, State, Told};
use schedlab_venue::{Monitor, VenueName};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Searches and tells what was found.
pub fn run(args: SearchArgs) -> Result<(), Failure> {
    args.output.as_deref().map_or(Ok(()), files::check_folder)?;
    let unknown = args.ignore.iter().find(|name| !Kind::is_name(name));
    if let Some(name) = unknown {
        let names = Kind::NAMES.join(", ");
        return Err(Failure::Input(format!("--ignore: nothing is called `{name}`; there are {names}, and fault-…")));
    }
    let mut policies = super::simulated([&args.policy].into_iter().chain(&args.against))?;
    let policy = policies.remove(0);
    let bounds = Bounds {
        longest_wait: args.longest_wait,
        idle: args.idle,
        jain: args.jain,
        ignored: args.ignore.clone(),
        reference: policies.pop(),
    };
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let runner = Runner::new(None, threads(args.threads), &monitor);
    let time = args.scenarios.is_none().then(|| Duration::from_nanos(args.budget.ns()));
    let kernel = args.kernel.as_deref().map(|kernel| Place::new(VenueName::Vm, Some(kernel), None));
    let options = Options { seed: args.seed, scenarios: args.scenarios, time, kernel, coverage: args.coverage };
    let mut search = Search::new(&policy, &bounds, &runner, options, args.output.as_deref())?;
    search.check()?;
    if !args.quiet {
        begin(&search.state);
    }
    search.run(&|told| tell(&told, args.quiet))?;
    let printed = print(&args, &search.state);
    failure::all([printed, end(&search.state, &monitor)])
}

fn begin(state: &State) {
    match state.scenarios {
        0 => output::remark(&format!("seed {}", state.seed)),
        count => output::remark(&format!("seed {}, going on after {}", state.seed, counted(count, "scenario"))),
    }
}

fn tell(told: &Told, quiet: bool) {
    match told {
        _ if quiet => {}
        Told::New(finding, seed) => output::remark(&format!("seed {seed}: {}", finding.what)),
        Told::Small(found) => {
            output::remark(&format!(
                "seed {}: {} in {}",
                found.seed,
                found.finding.kind.name(),
                counted(found.lines as u64, "line")
            ));
        }
    }
}

fn print(args: &SearchArgs, state: &State) -> Result<(), Failure> {
    if args.json {
        return output::print_json(state);
    }
    let (policy, scenarios) = (&args.policy, counted(state.scenarios, "scenario"));
    let mut page = match state.found.len() {
        0 if state.scenarios == 0 => {
            format!("Nothing is known of {policy}: the budget was over before the first scenario.\n")
        }
        0 => format!("Nothing is wrong with {policy} in {scenarios} from seed {}.\n", state.seed),
        count => format!("{} of {policy} in {scenarios} from seed {}.\n", counted(count as u64, "fault"), state.seed),
    };
    for found in &state.found {
        page += &format!("\n{}", told(found, args.output.as_deref()));
    }
    if args.coverage {
        page += &format!("\n{}", reached(&state.coverage));
    }
    output::print(&page)
}

/// How much of the policy's source was executed, and what was not.
fn reached(files: &[File]) -> String {
    let mut text = String::new();
    for own in files {
        let (reached, all) = (own.reached.len(), own.reached.len() + own.missed.len());
        let missed = match own.missed.is_empty() {
            true => String::new(),
            false => format!("; not {}", own.missed_words()),
        };
        text += &wrap("", 2, &format!("{}: {reached} of {all} lines reached{missed}", own.file));
    }
    text
}

fn told(found: &Found, folder: Option<&Path>) -> String {
    let Found { finding, seed, times, text, kernel, .. } = found;
    let name = finding.kind.name();
    let often = if *times == 1 { "once".to_string() } else { format!("{times} times") };
    let mut told = wrap("", 2, &format!("{name}: {}. First at seed {seed}, {often} in all.", finding.what));
    if let Some(kernel) = kernel {
        told += &wrap("  ", 4, &in_kernel(kernel));
    }
    match folder {
        Some(folder) => told += &format!("  {}\n", folder.join(format!("{name}.toml")).display()),
        None => text.lines().filter(|line| !line.starts_with('#')).for_each(|line| told += &format!("  {line}\n")),
    }
    told
}

/// What a kernel showed.
fn in_kernel(seen: &InKernel) -> String {
    let InKernel { kernel, verdict, what } = seen;
    match verdict {
        Shows::Same => format!("{kernel} shows it, too: {what}"),
        Shows::Not => format!("{kernel} does not show it: {what}"),
        Shows::Unknown => format!("{kernel} could not be asked: {what}"),
    }
}

fn end(state: &State, monitor: &Monitor) -> Result<(), Failure> {
    match state.found.len() {
        _ if monitor.is_stopped() => Err(Failure::Interrupted),
        0 if state.scenarios == 0 => Err(Failure::Inconclusive("no scenario was tried: give it more time".into())),
        0 => Ok(()),
        count => Err(Failure::Regressed(format!("{} found", numbered(count as u64, "fault was", "faults were")))),
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Failure {
        match error {
            SearchError::Venue(error) => error.into(),
            SearchError::Ideal(_) | SearchError::Occupied { .. } => Failure::Input(error.to_string()),
            SearchError::Folder { .. } | SearchError::Foreign(_) => Failure::Failed(error.to_string()),
        }
    }
}
