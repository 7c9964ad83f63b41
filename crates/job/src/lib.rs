//! One scenario under several policies in several venues: what `run` and `compare` do, for any caller.
//!
//! A [`Job`] is what is asked for, found and checked; [`Job::run`] makes its runs and gives [`Done`], from which a
//! [`Comparison`] is made.

mod ear;
pub mod label;
pub mod predict;
pub mod quota;
pub mod recording;

use crate::ear::{PageEar, story};
use schedlab_boundary::file;
use schedlab_campaign::{Axis, Case, Changes, Ear, Errors, Keeps, Made, Place, RunSet, Runner, Variant, copies, seeds};
use schedlab_html::{Heard, Listing, Provenance};
use schedlab_model::scenario::Scenario;
use schedlab_model::workload::Workload;
use schedlab_policy::{PolicySpec, Reference, catalog};
use schedlab_report::Fragile;
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_report::conclusion::Absent;
use schedlab_report::theory::draws;
use schedlab_venue::{Executor, KERNEL, Policy, Run, VenueError, VenueName};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that was asked for.
pub struct Job {
    /// The scenario as it is run.
    pub scenario: Scenario,
    /// What is varied about it; the scenario alone where nothing is.
    pub variants: Vec<Variant>,
    /// The policies.
    pub policies: Vec<Policy>,
    /// How it is run.
    pub options: Options,
}

/// The most seeds of a job.
pub const MOST_RUNS: u32 = 100_000;

/// How a job is run.
#[derive(Clone)]
pub struct Options {
    /// Where.
    pub places: Vec<Place>,
    /// The first seed; that of the scenario where it is absent.
    pub seed: Option<u64>,
    /// How many seeds.
    pub runs: u32,
    /// See [`schedlab_venue::Request`].
    pub executor: Option<Executor>,
    /// See [`schedlab_venue::Request`].
    pub check: bool,
    /// See [`schedlab_venue::Request`].
    pub costs: bool,
    /// Trace files to write of the first run under the first policy.
    pub traces: Vec<PathBuf>,
    /// Whether the first run of each policy is listened to, for a page.
    pub listens: bool,
    /// How many copies with small changes are run in addition to what repeats exactly.
    pub perturb: u32,
}

/// What is run in one venue.
pub struct Share {
    place: Place,
    entries: Vec<Entry>,
    /// What is to be said about policies that are not run there.
    pub remarks: Vec<String>,
}

/// A policy and a variant.
struct Entry {
    policy: Policy,
    variant: usize,
}

/// What came of a job.
#[derive(Default)]
pub struct Done {
    /// The policies that ran, each with its label; those that had not begun when it was stopped are missing.
    pub sets: Vec<(String, RunSet)>,
    /// What was heard of the first run of each of these, where that was asked for.
    pub heard: Vec<Heard>,
    /// The policies that failed.
    pub failures: Vec<VenueError>,
    /// Whether it was stopped.
    pub interrupted: bool,
    /// Which variant each of the sets is.
    variants: Vec<usize>,
    /// Copies of each with small changes; none where nothing repeats exactly.
    copies: Vec<Vec<Run>>,
    /// The labels of the policies that failed.
    failed: Vec<String>,
    /// The labels of those that can be run nowhere.
    not_run: Vec<String>,
    /// What the copies came to that failed.
    fragile: Vec<Fragile>,
}

impl Done {
    /// The labels of the policies that have no result, each with why.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &VenueError)> {
        self.failed.iter().chain(&self.not_run).map(String::as_str).zip(&self.failures)
    }
}

impl Job {
    /// A job whose scenario can be run, with every combination of what is varied.
    ///
    /// # Errors
    ///
    /// The scenario says something that cannot be, what is varied does not fit, or a venue is named twice.
    pub fn new(scenario: Scenario, vary: &[Axis], policies: Vec<Policy>, options: Options) -> Result<Job, VenueError> {
        let names: Vec<VenueName> = options.places.iter().map(|place| place.name).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
            return Err(VenueError::Twice(twice.name()));
        }
        Ok(Job { variants: Variant::all(&scenario, vary)?, scenario, policies, options })
    }

    /// What the tasks do in the first variant.
    pub fn workload(&self) -> &Workload {
        &self.variants[0].workload
    }

    /// What is run in each venue: the policies that can be. Where none can be, a kernel's own scheduler still can.
    ///
    /// # Errors
    ///
    /// No policy can be run in any of them, or one has no parameter which is varied.
    pub fn shares(&self) -> Result<Vec<Share>, VenueError> {
        let refused = self.refused();
        if refused.len() == self.policies.len() {
            VenueError::all(refused.into_iter().map(|(_, error)| error).collect())?;
        }
        let kernel = Policy::find(&PolicySpec::parse(KERNEL)?)?;
        self.options.places.iter().map(|place| self.share(place, &kernel)).collect()
    }

    /// The policies that can be run in none of the venues, each with why not in the first.
    fn refused(&self) -> Vec<(String, VenueError)> {
        let cpus = self.workload().machine.cpus();
        let venues: Vec<_> = self.options.places.iter().map(|place| place.venue(cpus)).collect();
        let refusal = |policy: &Policy| {
            let mut refusals: Vec<VenueError> = venues.iter().filter_map(|venue| venue.accepts(policy).err()).collect();
            (refusals.len() == venues.len() && !refusals.is_empty()).then(|| refusals.swap_remove(0))
        };
        self.policies.iter().filter_map(|policy| Some((policy.label.clone(), refusal(policy)?))).collect()
    }

    fn share(&self, place: &Place, kernel: &Policy) -> Result<Share, VenueError> {
        let venue = place.venue(self.workload().machine.cpus());
        let mut policies: Vec<Policy> =
            self.policies.iter().filter(|policy| venue.accepts(policy).is_ok()).cloned().collect();
        let refusals = self.policies.iter().filter_map(|policy| venue.accepts(policy).err());
        let mut remarks: Vec<String> = refusals.map(|refusal| format!("not run: {refusal}")).collect();
        if policies.is_empty() && venue.accepts(kernel).is_ok() {
            remarks.truncate(1);
            remarks.push(format!("in {} the kernel's own scheduler is run instead", venue.name()));
            policies.push(kernel.clone());
        }
        let mut entries = Vec::new();
        for policy in &policies {
            for (variant, settings) in self.variants.iter().enumerate() {
                entries.push(Entry { policy: settings.policy(policy)?, variant });
            }
        }
        Ok(Share { place: place.clone().for_policies(&policies), entries, remarks })
    }

    /// How long all runs are together, in nanoseconds of their own time; unknown where one of them has no end.
    pub fn duration_ns(&self, shares: &[Share]) -> Option<u64> {
        let entries = shares.iter().flat_map(|share| &share.entries);
        let duration = |entry: &Entry| {
            let Variant { workload, .. } = &self.variants[entry.variant];
            let is_exact = !entry.policy.draws() && !draws(workload);
            let runs = self.options.runs + if is_exact { self.options.perturb } else { 0 };
            workload.run.end().map(|end| end.ns().saturating_mul(runs.into()))
        };
        entries.map(duration).sum()
    }

    /// Makes the runs. A policy that fails, or that can be run nowhere, does not touch the others.
    ///
    /// # Errors
    ///
    /// Anything but the failure of a policy.
    pub fn run(&self, shares: &[Share], runner: &Runner) -> Result<Done, VenueError> {
        let cases = self.cases(shares);
        let outcomes = runner.carry_out(&cases, Errors::EndAll)?;
        let entries = shares.iter().flat_map(|share| share.entries.iter().zip(self.labels(share)));
        let (mut done, mut ran) = (Done::default(), Vec::new());
        for ((case, (entry, label)), outcome) in cases.iter().zip(entries).zip(outcomes) {
            match outcome {
                Made::Ran(seen) => {
                    let story = seen.first().and_then(story);
                    let set = RunSet::of(seen, case.seeds.len());
                    done.heard.extend(story.map(|story| story.of(&label, case.place.name.name(), set.curves.clone())));
                    done.sets.push((label, set));
                    done.variants.push(entry.variant);
                    ran.push(case);
                }
                Made::Failed(error) => {
                    done.failures.push(error);
                    done.failed.push(label);
                }
                Made::NotBegun => {}
            }
        }
        for (label, refusal) in self.refused() {
            done.failures.push(refusal);
            done.not_run.push(label);
        }
        self.perturb(&ran, &mut done, runner)?;
        done.interrupted = runner.monitor.is_stopped();
        Ok(done)
    }

    /// Runs copies with small changes of what was simulated, where some of it repeats exactly.
    fn perturb(&self, ran: &[&Case], done: &mut Done, runner: &Runner) -> Result<(), VenueError> {
        done.copies = vec![Vec::new(); ran.len()];
        let draws = |case: &Case| case.policy.draws() || draws(&case.workload);
        let is_simulated = |case: &&&Case| case.place.name == VenueName::Sim;
        let is_exact = ran.iter().filter(is_simulated).any(|case| !draws(case))
            || self.candidates(done).iter().zip(ran).any(|(one, case)| is_simulated(&case) && one.repeats_exactly());
        if !is_exact || runner.monitor.is_stopped() {
            return Ok(());
        }
        let mut cases = Vec::new();
        for case in ran.iter().filter(is_simulated) {
            let seed = case.seeds[0];
            let copies = copies(&case.workload, self.options.perturb, seed, Changes::Constants);
            for (number, workload) in copies.into_iter().enumerate() {
                let scenario_hash = format!("{}, copy {number} of {}", case.scenario_hash, self.options.perturb);
                let (workload, ears) = (Arc::new(workload), Vec::new());
                let (seeds, traces) = (vec![seed], Vec::new());
                cases.push(Case { workload, scenario_hash, seeds, ears, traces, ..(**case).clone() });
            }
        }
        let mut made = runner.carry_out(&cases, Errors::EndAll)?.into_iter();
        for (index, _) in ran.iter().enumerate().filter(|(_, case)| is_simulated(case)) {
            let (mut failures, mut runs) = (Vec::new(), Vec::new());
            for outcome in made.by_ref().take(self.options.perturb as usize) {
                match outcome {
                    Made::Ran(seen) => runs.extend(seen.into_iter().map(|seen| seen.run)),
                    Made::Failed(error) => failures.push(error),
                    Made::NotBegun => {}
                }
            }
            if let Some(error) = failures.first() {
                let (policy, error) = (done.sets[index].0.clone(), error.to_string());
                let (failed, copies) = (failures.len(), self.options.perturb);
                done.fragile.push(Fragile { policy, failed, copies, error });
            }
            // Ranges are over all copies or none: pairs of policies need the same ones.
            if runs.len() == self.options.perturb as usize && runs.iter().all(|run| !run.result.partial) {
                done.copies[index] = runs;
            }
        }
        Ok(())
    }

    /// What is run, venue by venue.
    fn cases(&self, shares: &[Share]) -> Vec<Case> {
        let Options { runs, executor, check, costs, listens, .. } = self.options;
        let ears: Vec<Arc<dyn Ear>> = if listens { vec![Arc::new(PageEar)] } else { Vec::new() };
        let of_share = |share: &Share| {
            let case = |entry: &Entry| {
                let Variant { workload, scenario_hash, .. } = &self.variants[entry.variant];
                Case {
                    workload: workload.clone(),
                    scenario_hash: scenario_hash.clone(),
                    policy: entry.policy.clone(),
                    place: share.place.clone(),
                    seeds: seeds(self.options.seed.unwrap_or(workload.run.seed), runs),
                    executor,
                    check,
                    costs,
                    ears: ears.clone(),
                    traces: Vec::new(),
                    keeps: Keeps::ToGoOn,
                }
            };
            share.entries.iter().map(case).collect::<Vec<_>>()
        };
        let mut cases: Vec<Case> = shares.iter().flat_map(of_share).collect();
        if let Some(first) = cases.first_mut() {
            first.traces = self.options.traces.clone();
        }
        cases
    }

    /// The labels of what is run in a venue: the policy, the variant, and the venue, each where there are several.
    fn labels(&self, share: &Share) -> Vec<String> {
        let venue = if self.options.places.len() > 1 { format!("@{}", share.place.name.name()) } else { String::new() };
        let label = |entry: &Entry| {
            let of_variant = || share.entries.iter().filter(|other| other.variant == entry.variant);
            let written: Vec<String> = of_variant().map(|other| other.policy.label.clone()).collect();
            let place = of_variant().position(|other| std::ptr::eq(other, entry)).expect("it is one of them");
            let variant = self.variants[entry.variant].name();
            let is_only = self.policies.len() == 1 && self.policies[0].label == entry.policy.label;
            let policy =
                Some(label::of_written(&written).swap_remove(place)).filter(|_| variant.is_empty() || !is_only);
            let words: Vec<String> = policy.into_iter().chain(Some(variant).filter(|name| !name.is_empty())).collect();
            words.join(" ") + &venue
        };
        share.entries.iter().map(label).collect()
    }

    /// What ran side by side. Of a policy that failed it says so.
    pub fn comparison(&self, done: &Done) -> Comparison {
        let candidates = self.candidates(done);
        // Whether chance had a part next to the scenario's: a policy that draws random numbers, or a real machine.
        let draws = self.policies.iter().any(Policy::draws)
            || done.sets.iter().any(|(_, set)| set.result.algorithm().is_some());
        // What was published is about the scenario as it is.
        let is_varied = self.variants.iter().any(|variant| !variant.settings.is_empty());
        let published = if is_varied { &[][..] } else { &self.scenario.published };
        let failures = done.failures.iter().map(ToString::to_string).collect();
        let absent = Absent { failed: &done.failed, not_run: &done.not_run };
        Comparison::new(&candidates, published, draws).with_failures(failures, absent, &done.fragile)
    }

    fn candidates<'a>(&'a self, done: &'a Done) -> Vec<Candidate<'a>> {
        let all = done.sets.iter().zip(&done.variants).zip(&done.copies);
        all.map(|(((label, set), variant), copies)| candidate((label, set), &self.variants[*variant], copies)).collect()
    }

    /// What gives a comparison again: a command, the scenario, the policies' sources and their parameters.
    pub fn provenance(&self, comparison: &Comparison, command: String) -> Provenance {
        let nice = self.workload().roles.iter().map(|role| (role.name.clone(), role.nice.into())).collect();
        let mut files = vec![Listing::file(&format!("{}.toml", self.scenario.name), &self.scenario.to_toml())];
        for source in self.policies.iter().filter_map(source) {
            if !files.iter().any(|known| known.title == source.title) {
                files.push(source);
            }
        }
        let parameters = comparison.results.iter().map(label::parameters).collect();
        Provenance { commands: vec![command], files, nice, parameters, ..Provenance::default() }
    }
}

/// A policy that ran, as one of a comparison.
fn candidate<'a>((label, set): (&str, &'a RunSet), variant: &'a Variant, copies: &'a [Run]) -> Candidate<'a> {
    Candidate {
        copies: copies.iter().map(|run| &run.result).collect(),
        workload: Some(&variant.workload),
        settings: variant.settings.iter().map(|(path, value)| (path.clone(), json!(value))).collect(),
        label: label.into(),
        result: &set.result,
        curves: &set.curves,
        batches: set.runs.first().map_or(&[], |run| &run.response_batches),
    }
}

/// The source of a policy, where there is one: a shipped one, or the user's file.
fn source(policy: &Policy) -> Option<Listing> {
    match PolicySpec::parse(&policy.label).ok()?.reference {
        Reference::Name(name) => {
            let shipped = catalog().iter().find(|shipped| shipped.name == name)?;
            Some(Listing::file(&format!("{name}.bpf.c"), shipped.source))
        }
        Reference::Object(_) | Reference::Program(_) | Reference::ProgramOnce(_) => None,
        Reference::Source(path) => {
            let text = file::text(&path).ok()?;
            Some(Listing::file(&path.file_name()?.to_string_lossy(), &text))
        }
    }
}
