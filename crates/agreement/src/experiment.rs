//! Runs cells: each for real and as copies of the simulation, under one seed after the other.

use crate::cell::{Cell, Options};
use crate::figure::Sample;
use crate::machine::{under_kernel, with_ways_of};
use crate::measured::Measured;
use crate::observed::Observed;
use crate::report::{Agreement, CellReport, CellVerdict};
use schedlab_boundary::FileName;
use schedlab_campaign::{Case, Changes, Errors, Keeps, Made, Place, Runner, Seen, copies};
use schedlab_model::machine::{Costs, Machine};
use schedlab_model::result::RunResult;
use schedlab_model::workload::Workload;
use schedlab_venue::{VenueError, VenueName};
use std::path::PathBuf;
use std::sync::Arc;

/// Cells for each thread that are run before the next ones, so that something is known early.
const CELLS_FOR_A_THREAD: usize = 2;

/// Runs all cells and judges them. `heard` gets each one as soon as its verdict is known. A cell that fails leaves the others
/// alone; when the monitor stops the runs, what is not complete is marked so.
///
/// # Errors
///
/// None that says something of a single cell.
pub fn carry_out(
    cells: &[Cell],
    options: &Options,
    runner: &Runner,
    heard: &dyn Fn(&CellReport),
) -> Result<Agreement, VenueError> {
    let measured = Measured::make(cells, runner)?;
    let mut reports = Vec::new();
    for wave in waves(cells, runner.threads) {
        let mut studied: Vec<Studied> = wave.iter().map(Studied::new).collect();
        let first: Vec<u64> = (1..=u64::from(options.seeds)).collect();
        add(&mut studied, &measured, options, runner, |_| first.clone())?;
        // One more look and no more: looking until something is decided lets chance decide.
        studied.iter_mut().for_each(|one| one.lengthen(options));
        add(&mut studied, &measured, options, runner, |one| one.further_seeds(options))?;
        for one in studied {
            heard(&one.report);
            reports.push(one.report);
        }
    }
    Ok(Agreement::new(reports, options))
}

/// Cells that are run together. In real time all are, so that what changes slowly on a machine touches all alike.
fn waves(cells: &[Cell], threads: usize) -> impl Iterator<Item = &[Cell]> {
    let is_real_time = cells.iter().any(|cell| cell.real_runs() > 1);
    cells.chunks(if is_real_time { cells.len().max(1) } else { threads.max(1) * CELLS_FOR_A_THREAD })
}

/// A cell and what is known of it.
struct Studied {
    cell: Cell,
    /// What its runs of the report's length gave.
    samples: Vec<Sample>,
    report: CellReport,
}

/// What ends a cell: `None` when it was stopped, else why it failed.
pub(crate) type Ended = Option<String>;

impl Studied {
    fn new(cell: &Cell) -> Studied {
        Studied { cell: cell.clone(), samples: Vec::new(), report: CellReport::new(cell) }
    }

    /// Makes the runs of an undecided cell as long as would decide it, as far as that is allowed. What short ones gave does not
    /// count any more when there are longer ones.
    fn lengthen(&mut self, options: &Options) {
        let most = options.max_length.max(self.cell.length);
        if self.report.verdict == CellVerdict::Undecided {
            let wanted = self.report.seeds_to_decide().map_or(u64::MAX, |seeds| {
                (u64::from(seeds) * u64::from(self.cell.length)).div_ceil(u64::from(options.seeds))
            });
            self.cell = self.cell.lasting(wanted.clamp(self.cell.length.into(), most.into()) as u32);
        }
    }

    /// Lets the policy follow the kernel that really ran.
    fn follow(&mut self, real: &[Vec<RunResult>]) -> Result<(), Ended> {
        let ran = real.iter().flatten().find_map(|result| result.provenance.kernel.as_deref());
        let cell = &mut self.cell;
        if let Some(pair) = ran.and_then(|kernel| cell.pair.following(kernel, &cell.simulated)) {
            cell.simulated = cell.simulated.settled(&pair.policy).map_err(|error| Some(error.to_string()))?;
            self.report.policy = pair.to_string();
        }
        Ok(())
    }

    /// Whether its runs are to be longer than those that are known.
    fn is_longer(&self) -> bool {
        self.cell.length != self.report.length
    }

    fn judge(&mut self, seeds: &[u64], samples: Vec<Sample>) {
        if self.is_longer() {
            self.report.length = self.cell.length;
            self.report.seeds.clear();
            self.samples.clear();
        }
        self.samples.extend(samples);
        self.report.seeds.extend(seeds);
        self.report.judge(&self.samples);
    }

    /// A cell that was stopped while it got further seeds, or longer runs, keeps the verdict that it had.
    fn end(&mut self, ended: Ended) {
        if ended.is_none() && !self.samples.is_empty() {
            return;
        }
        self.report.verdict = if ended.is_some() { CellVerdict::Failed } else { CellVerdict::NotRun };
        self.report.why = ended;
    }

    /// The seeds that an undecided cell still gets: all of them where its runs become longer.
    fn further_seeds(&self, options: &Options) -> Vec<u64> {
        if self.is_longer() {
            return (1..=u64::from(options.seeds)).collect();
        }
        let (known, most) = (u64::from(options.seeds), u64::from(options.max_seeds));
        if self.report.verdict != CellVerdict::Undecided {
            return Vec::new();
        }
        let wanted = self.report.seeds_to_decide().map_or(most, |seeds| most.min(seeds.into()));
        (known + 1..=wanted).collect()
    }
}

/// Adds seeds to each cell that gets some, and judges it again.
fn add(
    studied: &mut [Studied],
    measured: &Measured,
    options: &Options,
    runner: &Runner,
    seeds: impl Fn(&Studied) -> Vec<u64>,
) -> Result<(), VenueError> {
    let seeds: Vec<Vec<u64>> = studied.iter().map(seeds).collect();
    let cases = studied.iter().zip(&seeds).flat_map(|(one, seeds)| real_cases(one, seeds, options));
    let mut made = runner.carry_out(&cases.collect::<Vec<_>>(), Errors::EndCases)?.into_iter();
    for (one, seeds) in studied.iter_mut().zip(&seeds).filter(|(_, seeds)| !seeds.is_empty()) {
        let of_cell: Vec<Made> = made.by_ref().take(one.cell.real_runs() as usize).collect();
        let samples = complete(of_cell, seeds.len()).and_then(|real| {
            one.follow(&real)?;
            simulate(one, measured.of(&one.cell)?, seeds, &real, options, runner)
        });
        match samples {
            Ok(samples) => one.judge(seeds, samples),
            Err(ended) => one.end(ended),
        }
    }
    Ok(())
}

/// The real runs of a cell, each repetition a case of its own.
fn real_cases(studied: &Studied, seeds: &[u64], options: &Options) -> Vec<Case> {
    let cell = &studied.cell;
    let case = |repetition: u32| {
        let again = if repetition == 0 { String::new() } else { format!(", real run {repetition}") };
        let is_first = repetition == 0 && studied.samples.is_empty();
        Case {
            workload: cell.workload.clone(),
            scenario_hash: format!("{}{again}", cell.kept_as()),
            policy: cell.real.clone(),
            place: cell.place.clone(),
            seeds: seeds.to_vec(),
            executor: None,
            check: true,
            costs: false,
            ears: Vec::new(),
            traces: trace(cell, "kernel", options).filter(|_| is_first).into_iter().collect(),
            keeps: Keeps::ForEver,
        }
    };
    let repetitions = if seeds.is_empty() { 0 } else { cell.real_runs() };
    (0..repetitions).map(case).collect()
}

/// The results of runs that all came to their end, case by case.
pub(crate) fn complete(made: Vec<Made>, seeds: usize) -> Result<Vec<Vec<RunResult>>, Ended> {
    let results = |made: Made| match made {
        Made::Ran(seen) => {
            let results: Vec<RunResult> = seen.into_iter().map(|seen: Seen| seen.run.result).collect();
            let is_whole = results.len() == seeds && results.iter().all(|result| !result.partial);
            if is_whole { Ok(results) } else { Err(None) }
        }
        Made::Failed(error) => Err(Some(error.to_string())),
        Made::NotBegun => Err(None),
    };
    made.into_iter().map(results).collect()
}

/// The copies of a cell under each seed, next to its real runs.
fn simulate(
    studied: &Studied,
    costs: Costs,
    seeds: &[u64],
    real: &[Vec<RunResult>],
    options: &Options,
    runner: &Runner,
) -> Result<Vec<Sample>, Ended> {
    let cell = &studied.cell;
    let mut cases = Vec::new();
    for (index, seed) in seeds.iter().enumerate() {
        let machine = simulated_machine(cell, costs, &real[0][index], options)?;
        let workload = Workload { machine, ..(*cell.workload).clone() };
        let all = copies(&workload, options.copies, *seed, Changes::Steps);
        let is_first = index == 0 && studied.samples.is_empty();
        let plain = trace(cell, "sim", options).filter(|_| is_first);
        cases.extend(plain.map(|trace| simulated_case(cell, workload, (*seed, "itself".into()), vec![trace])));
        let copy = |(number, workload)| {
            simulated_case(cell, workload, (*seed, format!("copy {number} of {}", options.copies)), Vec::new())
        };
        cases.extend(all.into_iter().enumerate().map(copy));
    }
    let traced = cases.iter().filter(|case| !case.traces.is_empty()).count();
    let made = runner.carry_out(&cases, Errors::EndCases).map_err(|error| Some(error.to_string()))?;
    let in_simulator = |why: String| format!("in the simulator: {why}");
    let simulated = complete(made, 1).map_err(|ended| ended.map(in_simulator))?;
    let mut simulated = simulated[traced..].iter().map(|runs| Observed::of(&runs[0]));
    let sample = |index: usize| Sample {
        real: real.iter().map(|runs| Observed::of(&runs[index])).collect(),
        copies: simulated.by_ref().take(options.copies as usize).collect(),
    };
    Ok((0..seeds.len()).map(sample).collect())
}

/// The simulated machine, with what the system takes of it.
fn simulated_machine(cell: &Cell, costs: Costs, real: &RunResult, options: &Options) -> Result<Machine, Ended> {
    let kernel = real.provenance.kernel.as_deref().unwrap_or_default();
    let machine = under_kernel(&cell.workload.machine, costs, cell.source.tick());
    let machine = with_ways_of(machine, kernel, &cell.pair.against);
    let without = options.without.iter().try_fold(machine, |machine, name| machine.without(name));
    without.map_err(|error| Some(error.to_string()))
}

fn simulated_case(cell: &Cell, workload: Workload, (seed, which): (u64, String), traces: Vec<PathBuf>) -> Case {
    // What differs from the scenario is part of the name under which a run is kept.
    let machine = format!("{:?}", workload.machine);
    Case {
        workload: Arc::new(workload),
        scenario_hash: format!("{}, {machine}, {which}", cell.kept_as()),
        policy: cell.simulated.clone(),
        place: Place::new(VenueName::Sim, None, None),
        seeds: vec![seed],
        executor: None,
        check: true,
        costs: false,
        ears: Vec::new(),
        traces,
        keeps: Keeps::ForEver,
    }
}

/// The file for a trace of a cell, where traces are kept.
fn trace(cell: &Cell, which: &str, options: &Options) -> Option<PathBuf> {
    let name = FileName::made_of(&format!("{}-{}-{}cpus-{which}", cell.name, cell.pair, cell.cpus()));
    Some(options.keep.as_ref()?.join(name.with(".parquet")))
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
