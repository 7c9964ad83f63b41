//! `schedlab agreement`: how far the simulator is from a kernel.

use super::calibrate;
use crate::args::AgreementArgs;
use crate::failure::{self, Failure};
use crate::{export, files, interrupt, kept, meant, output, page, progress};
use schedlab_agreement::{Agreement, Cell, CellReport, Counts, Options, Pair, PlanError, Subject, carry_out, plan};
use schedlab_campaign::{Runner, threads};
use schedlab_catalogue as catalogue;
use schedlab_catalogue::families::{self, Address, Family};
use schedlab_html::{Provenance, of_agreement};
use schedlab_model::machine::Machine;
use schedlab_model::scenario::{Costs, MachineFile};
use schedlab_venue::{Monitor, VenueName};
use std::sync::Arc;

/// Runs and judges.
pub fn run(args: AgreementArgs) -> Result<(), Failure> {
    let mut subjects = args.scenario.iter().map(|name| subject(name)).collect::<Result<Vec<_>, _>>()?;
    subjects.extend(drawn(&args)?);
    let pairs: Vec<Pair> = args.policy.iter().flat_map(|list| list.iter().cloned()).collect();
    check_files(&args)?;
    let options = options(&args)?;
    let cells = plan(&subjects, &pairs, &options)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let cache = kept::cache(args.fresh, args.quiet);
    let runner = Runner::new(cache.as_ref(), threads(args.threads), &monitor);
    let total_ns = cells.iter().map(|cell: &Cell| cell.duration_ns(&options)).sum();
    let tell = |cell: &CellReport| {
        if !args.quiet {
            output::remark(&cell.line());
        }
    };
    let judge = || carry_out(&cells, &options, &runner, &tell);
    let agreement = progress::show(&monitor, total_ns, args.quiet, judge)?;
    if !args.quiet {
        kept::remark(&runner);
    }
    let printed =
        if args.json { output::print_json(&agreement) } else { output::print(&agreement.show(output::style())) };
    // Where nothing was seen, the page keeps what it says.
    let saw_nothing = agreement.counts.failed == agreement.counts.cells;
    let written = if monitor.is_stopped() || saw_nothing { Ok(()) } else { write(&args, &agreement) };
    let provenance = Provenance { commands: vec![page::command()], ..Provenance::default() };
    let html = args.report.as_deref().map_or(Ok(()), |file| page::write(file, &of_agreement(&agreement, provenance)));
    let exported = export::write(&args.export, &agreement.findings());
    failure::all([printed, written, html, exported, end(agreement.counts, &monitor)])
}

fn subject(name: &str) -> Result<Subject, Failure> {
    let scenario = catalogue::load(name)?;
    Ok(Subject { name: scenario.name.clone(), family: None, scenario })
}

/// What families draw.
fn drawn(args: &AgreementArgs) -> Result<Vec<Subject>, Failure> {
    let all = args.family.iter().any(|name| name == "all");
    let families: Vec<Family> = match all {
        true => families::all().to_vec(),
        false => args.family.iter().map(|name| families::find(name).copied()).collect::<Result<_, _>>()?,
    };
    let cpus = if args.cpus.is_empty() { &[1][..] } else { &args.cpus };
    let of_family = |family| args.family_seed.iter().map(move |&seed| (family, seed));
    let drawn = families.into_iter().flat_map(of_family);
    let each = drawn.flat_map(|(family, seed)| cpus.iter().map(move |&cpus| (family, seed, cpus)));
    each.map(|(family, seed, cpus)| {
        let address = Address { family, seed, cpus: 1 }.on(cpus)?;
        Ok(Subject { name: address.scenario_name(), family: Some(family.name.into()), scenario: address.scenario() })
    })
    .collect()
}

/// Whether everything can be written that is asked for.
fn check_files(args: &AgreementArgs) -> Result<(), Failure> {
    if let Some(target) = &args.markdown {
        target.read().map_err(|error| Failure::Input(error.to_string()))?;
        files::check(Some(target.path()))?;
    }
    files::check(args.report.as_deref())?;
    export::check(&args.export)?;
    let Some(folder) = &args.keep else { return Ok(()) };
    files::check_folder(folder)?;
    let failed = |error| Failure::Failed(format!("cannot make {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)
}

fn options(args: &AgreementArgs) -> Result<Options, Failure> {
    let guests = [("--kernel", args.kernel.is_some()), ("--engine", args.engine.is_some())];
    meant::refuse_of_guests(&guests, &[args.venue])?;
    let max_seeds = args.max_seeds.unwrap_or(args.seeds);
    if max_seeds < args.seeds {
        return Err(Failure::Input(format!(
            "--max-seeds {max_seeds} is less than the {} seeds of --seeds",
            args.seeds
        )));
    }
    let max_length = args.max_length.unwrap_or(args.length);
    if max_length < args.length {
        return Err(Failure::Input(format!("--max-length {max_length} is less than --length {}", args.length)));
    }
    let machine = args.without.iter().try_fold(Machine::flat(1), |machine, name| machine.without(name));
    machine.map_err(|error| Failure::Input(format!("--without: {error}")))?;
    Ok(Options {
        venue: args.venue,
        kernel: args.kernel.clone(),
        engine: args.engine,
        cpus: args.cpus.clone(),
        length: args.length,
        max_length,
        costs: costs(args)?,
        seeds: args.seeds,
        max_seeds,
        copies: args.copies,
        without: args.without.clone(),
        keep: args.keep.clone(),
    })
}

/// What this machine takes for itself, where the real runs are on it.
fn costs(args: &AgreementArgs) -> Result<Costs, Failure> {
    match (&args.machine, args.venue) {
        (None, VenueName::Host) => calibrate::measured_costs(),
        (Some(path), VenueName::Host) => Ok(MachineFile::from_file(path)?.costs),
        (None, _) => Ok(Costs::default()),
        (Some(_), _) => Err(Failure::Input(
            "--machine is for --venue host: what a kernel in a guest takes, its own run measures".into(),
        )),
    }
}

/// Fills the section of a page.
fn write(args: &AgreementArgs, agreement: &Agreement) -> Result<(), Failure> {
    let Some(target) = &args.markdown else { return Ok(()) };
    let filled = target.filled(&agreement.markdown(&page::command()));
    files::write(target.path(), filled.map_err(|error| Failure::Failed(error.to_string()))?.as_bytes())
}

/// The exit code says whether everything that was decided agrees, and whether all was.
fn end(counts: Counts, monitor: &Monitor) -> Result<(), Failure> {
    let Counts { cells, biased, undecided, failed, .. } = counts;
    let of = |count: usize, what: &str| (count > 0).then(|| format!("{count} of {cells} cells {what}"));
    let wrong: Vec<String> = [of(biased, "are biased"), of(failed, "failed")].into_iter().flatten().collect();
    match (monitor.is_stopped(), wrong.is_empty(), of(undecided, "are undecided")) {
        (true, ..) => Err(Failure::Interrupted),
        (false, false, _) => Err(Failure::Failed(wrong.join(", "))),
        (false, true, Some(why)) => Err(Failure::Inconclusive(why)),
        (false, true, None) => Ok(()),
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        match error {
            PlanError::Scenario(error) => error.into(),
            PlanError::Policy(error) => error.into(),
            PlanError::Simulator | PlanError::Endless(_) | PlanError::KernelHere(_) => {
                Failure::Input(error.to_string())
            }
        }
    }
}
