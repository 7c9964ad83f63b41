//! What the system takes of a kernel's CPUs: measured once for each kernel, policy and number of CPUs, by a run that does hardly
//! anything else. Nothing of it depends on the scenario or the seed, and it takes longer than a run.

use crate::cell::{Cell, CostSource};
use crate::experiment::{Ended, complete};
use schedlab_campaign::{Case, Errors, Keeps, Runner};
use schedlab_model::machine::Costs;
use schedlab_model::scenario::Scenario;
use schedlab_venue::VenueError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is measured for a cell, as a text that is the same for cells which need the same.
type Key = String;

/// What was measured, or why it could not be.
#[derive(Debug, Default)]
pub(crate) struct Measured(BTreeMap<Key, Result<Costs, Ended>>);

impl Measured {
    /// Measures all that the cells need.
    ///
    /// # Errors
    ///
    /// None that concerns some cells only.
    pub fn make(cells: &[Cell], runner: &Runner) -> Result<Measured, VenueError> {
        let needing = cells.iter().filter(|cell| cell.source == CostSource::Run).map(|cell| (key(cell), cell));
        let needed: BTreeMap<Key, &Cell> = needing.collect();
        let cases: Vec<Case> = needed.values().map(|cell| case(cell)).collect();
        let made = runner.carry_out(&cases, Errors::EndCases)?;
        let costs = made.into_iter().map(|made| {
            let runs = complete(vec![made], 1)?;
            let measured = runs[0][0].costs.as_ref();
            measured.map(Costs::from).ok_or(Some("the costs of the kernel were not measured".to_string()))
        });
        Ok(Measured(needed.into_keys().zip(costs).collect()))
    }

    /// What the system takes where a cell runs.
    ///
    /// # Errors
    ///
    /// It could not be measured.
    pub fn of(&self, cell: &Cell) -> Result<Costs, Ended> {
        match cell.source {
            CostSource::Workload(_) => Ok(cell.workload.machine.costs),
            CostSource::Run => self.0.get(&key(cell)).cloned().unwrap_or(Err(None)),
        }
    }
}

fn key(cell: &Cell) -> Key {
    format!("{}\n{}\n{} CPUs", cell.real.identity(), cell.place.words(), cell.cpus())
}

/// The run that measures.
fn case(cell: &Cell) -> Case {
    let text = format!(
        "name = \"costs\"\n[machine]\ncpus = {}\n[[task]]\nname = \"t\"\nonce = [{{ compute = \"1ms\" }}]\n",
        cell.cpus()
    );
    let scenario = Scenario::parse(&text, "costs").expect("it can be read");
    Case {
        workload: Arc::new(scenario.compile().expect("it means something")),
        scenario_hash: scenario.hash(),
        policy: cell.real.clone(),
        place: cell.place.clone(),
        seeds: vec![1],
        executor: None,
        check: true,
        costs: true,
        ears: Vec::new(),
        traces: Vec::new(),
        keeps: Keeps::ForEver,
    }
}
