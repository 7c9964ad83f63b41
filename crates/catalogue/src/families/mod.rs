//! Families of scenarios: each makes a scenario from a seed and a number of CPUs.
//!
//! A simulator is developed against hand-written scenarios. A family draws structure and numbers, which gives scenarios
//! that were not seen in development. The same family, seed and number of CPUs give the same bytes on every machine,
//! and each family has random numbers of its own.

mod births;
mod computing;
mod dice;
mod draft;
mod grouping;
mod placing;
mod serving;
mod size;
mod talking;
mod waiting;

use crate::{CatalogueError, nearest};
use dice::Dice;
use draft::Draft;
use schedlab_model::scenario::Scenario;

/// The most CPUs for which a family makes scenarios.
pub const MAX_CPUS: u32 = 64;

/// A family of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What its scenarios have in common.
    pub about: &'static str,
    draw: fn(&mut Dice, &mut Draft),
}

/// All families in order of name.
pub fn all() -> &'static [Family] {
    ALL
}

const ALL: &[Family] = &[
    family("affinity", "pinned tasks and free ones, and tasks that may run on some of the CPUs", placing::affinity),
    family("arrivals", "jobs that arrive by themselves, each a task of its own, at 40 to 82 % load", births::arrivals),
    family("classes", "batch, idle and real-time tasks together with others", placing::classes),
    family("compute", "roles that only compute", computing::compute_only),
    family("conditions", "phases of tasks with unequal work that wait for each other at barriers", waiting::conditions),
    family("fork-storms", "parents that spawn bursts of many short threads", births::fork_storms),
    family("io", "tasks that use a device, and tasks that compute", serving::devices),
    family("limits", "a service in a control group with a limit, alone or with others", grouping::limits),
    family("locks", "tasks that compute outside and under one or two locks", waiting::locks),
    family("nice", "hogs and tasks that wake up, of different nice values", computing::nice),
    family("phases", "tasks whose behaviour changes within each request", computing::phases),
    family("pipes", "producers and consumers, questions and answers, chains of stages, by pipes", talking::pipes),
    family("pools", "pools of workers that answer requests from outside", serving::pools),
    family("processes", "parents that spawn processes, which compute and end", births::processes),
    family("semaphores", "tickets, and queues of jobs that one posts and others wait for", waiting::semaphores),
    family("services", "a pool with a lock and a device, and background tasks", serving::services),
    family("shares", "control groups of different weights, with tasks that always compute", grouping::shares),
    family("sockets", "clients and servers, and chains of stages, by sockets", talking::sockets),
    family("threads", "parents that spawn threads, which compute and end", births::threads),
    family("timers", "periodic sleepers with short work, some together with hogs", computing::timers),
];

const fn family(name: &'static str, about: &'static str, draw: fn(&mut Dice, &mut Draft)) -> Family {
    Family { name, about, draw }
}

/// The family of this name.
///
/// # Errors
///
/// There is none, with the nearest name.
pub fn find(name: &str) -> Result<&'static Family, CatalogueError> {
    ALL.iter().find(|family| family.name == name).ok_or_else(|| {
        let hint = nearest(name, ALL.iter().map(|family| family.name), "families are");
        CatalogueError::Unknown(format!("there is no family `{name}`; {hint}"))
    })
}

impl Family {
    /// The scenario of a seed, for a number of CPUs.
    ///
    /// # Panics
    ///
    /// When there are no CPUs, or more than [`MAX_CPUS`].
    pub fn scenario(&self, seed: u64, cpus: u32) -> Scenario {
        assert!((1..=MAX_CPUS).contains(&cpus), "a machine with {cpus} CPUs");
        let name = Address { family: *self, seed, cpus }.scenario_name();
        let mut draft = Draft { scenario: draft::empty(&name, cpus, &name), cpus };
        (self.draw)(&mut Dice::new(seed, self.name), &mut draft);
        draft.scenario
    }

    /// The same as the text of a file.
    ///
    /// # Panics
    ///
    /// As [`Family::scenario`] does.
    pub fn text(&self, seed: u64, cpus: u32) -> String {
        let command = format!("schedlab scenarios --family {} --seed {seed} --cpus {cpus}", self.name);
        format!(
            "# Drawn at random by `{command}`.\n# The family: {}.\n\n{}",
            self.about,
            self.scenario(seed, cpus).to_toml()
        )
    }
}

/// A scenario of a family, as it is named where any scenario can be: `family:locks:7`, and for more than one CPU
/// `family:locks:7:2`.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The family.
    pub family: Family,
    /// The seed.
    pub seed: u64,
    /// The number of CPUs.
    pub cpus: u32,
}

impl Address {
    /// Reads an address; nothing when the text is none.
    ///
    /// # Errors
    ///
    /// The text begins as an address does, and is wrong.
    pub fn read(text: &str) -> Result<Option<Address>, CatalogueError> {
        let Some(rest) = text.strip_prefix("family:") else { return Ok(None) };
        let mut words = rest.split(':');
        let family = *find(words.next().unwrap_or_default())?;
        let (seed, cpus) = (words.next().map(str::parse), words.next().unwrap_or("1").parse());
        match (seed, cpus, words.next()) {
            (Some(Ok(seed)), Ok(cpus), None) => Address { family, seed, cpus: 1 }.on(cpus).map(Some),
            _ => {
                let name = family.name;
                Err(CatalogueError::Unknown(format!(
                    "`{text}` is not a scenario of a family: write family:{name}:SEED or family:{name}:SEED:CPUS"
                )))
            }
        }
    }

    /// The same for another number of CPUs.
    ///
    /// # Errors
    ///
    /// There are none, or too many.
    pub fn on(self, cpus: u32) -> Result<Address, CatalogueError> {
        match cpus {
            1..=MAX_CPUS => Ok(Address { cpus, ..self }),
            _ => Err(CatalogueError::Unknown(format!(
                "a family makes no scenario for {cpus} CPUs: write from 1 to {MAX_CPUS}"
            ))),
        }
    }

    /// The name of the scenario.
    pub fn scenario_name(&self) -> String {
        let Address { family, seed, cpus } = self;
        match cpus {
            1 => format!("{}-{seed}", family.name),
            _ => format!("{}-{seed}-{cpus}cpus", family.name),
        }
    }

    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        self.family.scenario(self.seed, self.cpus)
    }
}

#[cfg(test)]
mod tests;
