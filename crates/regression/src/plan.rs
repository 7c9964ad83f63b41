//! What there is to run for a gate, known before anything runs.

use crate::GateError;
use crate::baseline::{Baseline, Key, Known};
use crate::language::{Against, Bounds, Check, Gate, LEAST_REAL_RUNS};
use crate::sources::Sources;
use schedlab_campaign::{Case, Keeps, seeds};
use schedlab_catalogue::load_beside;
use schedlab_model::hash::sha256;
use schedlab_model::metric::Metric;
use schedlab_model::scenario::{ScenarioError, Text, did_you_mean};
use schedlab_model::subject::Subject;
use schedlab_model::workload::Workload;
use schedlab_venue::{Policy, VenueError, VenueName};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Digits of a setup's hash.
const SETUP_DIGITS: usize = 16;

/// A gate whose policies and scenarios were found.
pub struct Plan {
    pub(crate) gate: Gate,
    /// What is run.
    pub(crate) slots: Vec<Slot>,
    /// What is checked.
    pub(crate) items: Vec<Item>,
    /// The baseline's file, and what is in it.
    pub baseline_file: PathBuf,
    pub(crate) baseline: Option<Baseline>,
    /// What a user has to know of what is not run.
    pub remarks: Vec<String>,
}

/// A case, and what it is called.
pub(crate) struct Slot {
    pub key: Key,
    /// The revision of its policy; none for the one that is there now.
    pub revision: Option<String>,
    pub case: Case,
    /// The hash of all that decides it but the policy.
    pub setup: String,
}

/// A value to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub slot: usize,
    /// Its path in a result.
    pub path: String,
    pub metric: &'static Metric,
    pub bounds: Bounds,
    pub reference: Option<Reference>,
    /// The metric of each role that it belongs to, of which some roles may have none: its number among such.
    pub group: Option<usize>,
}

/// What a value is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    /// The file.
    Baseline,
    /// Another case.
    Slot(usize),
}

/// A scenario that was found.
struct Found {
    workload: Arc<Workload>,
    hash: String,
    roles: Vec<String>,
}

struct Builder<'a> {
    gate: &'a Gate,
    sources: &'a mut Sources,
    scenarios: Vec<Found>,
    policies: Vec<Policy>,
    /// Policies at revisions.
    older: BTreeMap<(usize, String), Policy>,
    slots: Vec<Slot>,
    items: Vec<Item>,
    groups: usize,
    remarks: Vec<String>,
}

impl Plan {
    /// Finds everything that a gate names.
    ///
    /// # Errors
    ///
    /// Something that is not there, or does not fit.
    pub fn new(gate: Gate, sources: &mut Sources) -> Result<Plan, GateError> {
        let baseline_file = sources.folder().join(&gate.baseline);
        let mut builder = Builder::new(&gate, sources)?;
        for (number, check) in gate.checks.iter().enumerate() {
            builder.add(check, &format!("check[{number}]"))?;
        }
        let Builder { mut slots, items, remarks, .. } = builder;
        for item in items.iter().filter(|item| item.metric.is_cost()) {
            let other = match item.reference {
                Some(Reference::Slot(other)) => Some(other),
                _ => None,
            };
            [item.slot].into_iter().chain(other).for_each(|slot| slots[slot].case.costs = true);
        }
        let baseline = Baseline::read(&baseline_file).map_err(VenueError::from)?;
        Ok(Plan { gate, slots, items, baseline_file, baseline, remarks })
    }

    /// Whether something is held against the baseline.
    pub fn needs_baseline(&self) -> bool {
        self.items.iter().any(|item| item.reference == Some(Reference::Baseline))
    }

    /// Whether the gate can be judged or, with `update`, whether a baseline is of use to it.
    ///
    /// # Errors
    ///
    /// Nothing is held against a baseline; or something is, and the baseline lacks it.
    pub fn check(&self, update: bool) -> Result<(), GateError> {
        match (update, self.needs_baseline()) {
            (true, false) => Err(GateError::Input("nothing here is held against a baseline: add `worse`".into())),
            (true, true) => Ok(()),
            (false, _) => self.check_baseline(),
        }
    }

    /// How long all runs are together, in nanoseconds of their own time; unknown where one has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        let cases = self.slots.iter().map(|slot| &slot.case);
        cases.map(|case| Some(case.duration()?.ns().saturating_mul(case.seeds.len() as u64))).sum()
    }

    /// Whether the baseline has all that is held against it, measured in the same way.
    ///
    /// # Errors
    ///
    /// It does not: what is missing.
    pub fn check_baseline(&self) -> Result<(), GateError> {
        let file = self.baseline_file.display();
        for item in self.items.iter().filter(|item| item.reference == Some(Reference::Baseline)) {
            let Some(baseline) = &self.baseline else {
                return Err(GateError::NoBaseline(format!("there is no baseline {file} yet")));
            };
            let Slot { key, setup, .. } = &self.slots[item.slot];
            let of = format!("{} under {} in {}", key.scenario, key.policy, key.venue);
            let Some(known) = baseline.cases.get(key) else {
                return Err(GateError::NoBaseline(format!("{file} has nothing of {of}")));
            };
            if known.setup != *setup {
                return Err(GateError::NoBaseline(format!(
                    "{of} is not what it was when {file} was written: its scenario, duration, seed, runs, kernel or \
                     machine has changed"
                )));
            }
            if item.group.is_none() && !known.values.contains_key(&item.path) {
                return Err(GateError::NoBaseline(format!("{file} has no `{}` of {of}", item.path)));
            }
        }
        Ok(())
    }

    /// What is known of a case from before.
    pub(crate) fn known(&self, slot: usize) -> Option<&Known> {
        let Slot { key, setup, .. } = &self.slots[slot];
        self.baseline.as_ref()?.cases.get(key).filter(|known| known.setup == *setup)
    }
}

impl<'a> Builder<'a> {
    fn new(gate: &'a Gate, sources: &'a mut Sources) -> Result<Builder<'a>, GateError> {
        let mut scenarios = Vec::new();
        for (index, name) in gate.scenarios.iter().enumerate() {
            let path = if gate.scenarios.len() == 1 { "scenario".into() } else { format!("scenario[{index}]") };
            let loaded = load_beside(sources.folder(), name);
            let mut scenario =
                loaded.map_err(|error| gate.origin.wrong(&path, error.to_string())).map_err(VenueError::from)?;
            let mut compiled = scenario.compile().map_err(VenueError::from)?;
            if let Some(duration) = gate.duration {
                scenario.run.duration = Some(Text(duration));
                let wrong = |error: ScenarioError| gate.origin.wrong("duration", format!("{name}: {}", error.message));
                compiled = scenario.compile().map_err(wrong).map_err(VenueError::from)?;
            }
            let workload = Arc::new(compiled);
            let roles = workload.roles.iter().map(|role| role.name.clone()).collect();
            scenarios.push(Found { workload, hash: scenario.hash(), roles });
        }
        let policies = Builder::policies(gate, sources)?;
        let warnings = policies.iter().map(|policy| policy.warnings.clone());
        let remarks = warnings.filter(|warnings| !warnings.is_empty()).collect();
        let (slots, items, older) = (Vec::new(), Vec::new(), BTreeMap::new());
        Ok(Builder { gate, sources, scenarios, policies, older, slots, items, groups: 0, remarks })
    }

    /// The policies as they are now, or all that is wrong with any of them.
    fn policies(gate: &Gate, sources: &mut Sources) -> Result<Vec<Policy>, GateError> {
        let (mut policies, mut wrong) = (Vec::new(), Vec::new());
        for name in &gate.policies {
            match sources.now(name) {
                Ok(policy) => policies.push(policy),
                Err(GateError::Venue(error)) => wrong.push(error),
                Err(other) => return Err(other),
            }
        }
        VenueError::all(wrong)?;
        Ok(policies)
    }

    /// Adds what a check asks for.
    fn add(&mut self, check: &Check, path: &str) -> Result<(), GateError> {
        let (before, mut refusals) = (self.items.len(), Vec::new());
        for &scenario in &check.scenarios {
            for (subject, _) in &check.metrics {
                self.check_role(subject, scenario, path)?;
            }
            for &policy in &check.policies {
                for &venue in &check.venues {
                    match self.refusal(scenario, policy, venue)? {
                        Some(refusal) => refusals.push(refusal),
                        None => self.add_case(check, scenario, policy, venue)?,
                    }
                }
            }
        }
        if self.items.len() == before || check.names_policies && check.venues.len() == 1 {
            refusals.drain(..).next().map_or(Ok(()), Err)?;
        }
        for refusal in refusals {
            let remark = format!("not run: {refusal}");
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        Ok(())
    }

    fn check_role(&self, subject: &Subject, scenario: usize, path: &str) -> Result<(), GateError> {
        let roles = &self.scenarios[scenario].roles;
        let Some(unknown) = subject.unknown_role(roles) else { return Ok(()) };
        let hint = match did_you_mean(&unknown, roles.iter().map(String::as_str)) {
            hint if hint.is_empty() => format!(": it has {}", roles.join(", ")),
            hint => hint,
        };
        let name = &self.gate.scenarios[scenario];
        let error = self.gate.origin.wrong(&format!("{path}.metric"), format!("{name} has no role `{unknown}`{hint}"));
        Err(VenueError::from(error).into())
    }

    /// Why a policy cannot be run in a venue, if so.
    fn refusal(&self, scenario: usize, policy: usize, venue: VenueName) -> Result<Option<VenueError>, GateError> {
        let cpus = self.scenarios[scenario].workload.machine.cpus();
        let place = self.gate.place(venue).map_err(VenueError::from)?;
        let place = place.for_policies([&self.policies[policy]]);
        if !place.repeats(cpus) && self.gate.runs < LEAST_REAL_RUNS {
            let why = format!(
                "runs in {} differ by chance: write `runs = 30`, or at least {LEAST_REAL_RUNS}, for intervals",
                venue.name()
            );
            return Err(VenueError::from(self.gate.origin.wrong("runs", why)).into());
        }
        let refusal = place.venue(cpus).accepts(&self.policies[policy]).err();
        Ok(refusal.map(|refusal| refusal.without_venues("choose another `venue` in the gate")))
    }

    fn add_case(&mut self, check: &Check, scenario: usize, policy: usize, venue: VenueName) -> Result<(), GateError> {
        let slot = self.slot(scenario, policy, venue, None)?;
        let reference = match &check.against {
            _ if !check.metrics.iter().any(|(_, bounds)| bounds.is_relative()) => None,
            Against::Baseline => Some(Reference::Baseline),
            Against::Revision(revision) => {
                Some(Reference::Slot(self.slot(scenario, policy, venue, Some(revision.clone()))?))
            }
            // A policy is not held against itself.
            Against::Policy(other) if *other == policy => return Ok(()),
            Against::Policy(other) => match self.refusal(scenario, *other, venue)? {
                Some(refusal) => return Err(refusal.into()),
                None => Some(Reference::Slot(self.slot(scenario, *other, venue, None)?)),
            },
        };
        for (subject, bounds) in &check.metrics {
            let group = matches!(subject, Subject::EachRole(_)).then_some(self.groups);
            self.groups += usize::from(group.is_some());
            for path in subject.paths(&self.scenarios[scenario].roles) {
                self.items.push(Item { slot, path, metric: subject.metric(), bounds: *bounds, reference, group });
            }
        }
        Ok(())
    }

    /// The place of a case, which is made where it is not there.
    fn slot(
        &mut self,
        scenario: usize,
        policy: usize,
        venue: VenueName,
        revision: Option<String>,
    ) -> Result<usize, GateError> {
        let gate = self.gate;
        let key = Key {
            scenario: gate.scenarios[scenario].clone(),
            policy: gate.policies[policy].clone(),
            venue: venue.name().into(),
        };
        if let Some(place) = self.slots.iter().position(|slot| slot.key == key && slot.revision == revision) {
            return Ok(place);
        }
        let who = match &revision {
            None => self.policies[policy].clone(),
            Some(revision) => self.older(policy, revision)?,
        };
        let Found { workload, hash, .. } = &self.scenarios[scenario];
        let place = gate.place(venue).map_err(VenueError::from)?.for_policies(&self.policies);
        let seeds = seeds(gate.seed.unwrap_or(workload.run.seed), gate.runs);
        let setup = sha256(format!("{hash}\n{seeds:?}\n{}", place.words()).as_bytes())[..SETUP_DIGITS].to_string();
        let case = Case {
            workload: workload.clone(),
            scenario_hash: hash.clone(),
            policy: who,
            place,
            seeds,
            executor: None,
            check: false,
            costs: false,
            ears: Vec::new(),
            traces: Vec::new(),
            keeps: Keeps::ToGoOn,
        };
        self.slots.push(Slot { key, revision, case, setup });
        Ok(self.slots.len() - 1)
    }

    fn older(&mut self, policy: usize, revision: &str) -> Result<Policy, GateError> {
        let key = (policy, revision.to_string());
        if !self.older.contains_key(&key) {
            let found = self.sources.at(&self.gate.policies[policy], revision)?;
            self.older.insert(key.clone(), found);
        }
        Ok(self.older[&key].clone())
    }
}
