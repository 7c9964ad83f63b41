//! What flags change about a scenario, and which of them does not fit it.

use crate::args::SharedArgs;
use crate::failure::Failure;
use schedlab_model::scenario::{MachineFile, Notation, Scenario, ScenarioError, Text};
use schedlab_model::time::Time;

/// A flag that changes the scenario.
struct Change<'a> {
    /// As the user wrote it.
    option: String,
    apply: Box<dyn Fn(&mut Scenario) + 'a>,
}

impl<'a> Change<'a> {
    fn new(option: String, apply: impl Fn(&mut Scenario) + 'a) -> Change<'a> {
        Change { option, apply: Box::new(apply) }
    }
}

/// The scenario with what the flags change about it.
///
/// # Errors
///
/// A flag does not fit the scenario.
pub fn changed(scenario: Scenario, args: &SharedArgs) -> Result<Scenario, Failure> {
    let changes = changes(&scenario, args)?;
    if changes.is_empty() {
        return Ok(scenario);
    }
    let mut changed = scenario.clone();
    changes.iter().for_each(|change| (change.apply)(&mut changed));
    match changed.compile() {
        Ok(_) => Ok(changed),
        Err(error) => Err(blamed(scenario, &changes, error)),
    }
}

/// What is wrong, with the first flag after which it is so. Without such a flag the file is wrong by itself.
fn blamed(mut scenario: Scenario, changes: &[Change], error: ScenarioError) -> Failure {
    let is_wrong = |scenario: &Scenario| scenario.compile().err().as_ref() == Some(&error);
    if is_wrong(&scenario) {
        return error.into();
    }
    let culprit = changes.iter().find(|change| {
        (change.apply)(&mut scenario);
        is_wrong(&scenario)
    });
    match culprit {
        Some(change) => Failure::Input(format!("{} does not fit {error}", change.option)),
        None => error.into(),
    }
}

fn changes<'a>(scenario: &Scenario, args: &'a SharedArgs) -> Result<Vec<Change<'a>>, Failure> {
    let mut changes = Vec::new();
    let (cpus, topology) = (args.cpus, args.topology);
    let machine =
        cpus.map(|cpus| format!("--cpus {cpus}")).or_else(|| Some(format!("--topology {}", topology?.write())));
    if let Some(option) = machine {
        changes.push(Change::new(option, move |scenario| {
            scenario.machine.cpus = cpus;
            scenario.machine.topology = topology.map(Text);
        }));
    }
    if let Some(tick) = args.tick {
        changes.push(Change::new(format!("--tick {tick}"), move |scenario| set_tick(scenario, tick)));
    }
    if let Some(path) = &args.machine {
        let costs = MachineFile::from_file(path)?.costs;
        let option = format!("--machine {}", path.display());
        changes.push(Change::new(option, move |scenario| scenario.machine.costs.clone_from(&costs)));
    }
    if let Some(duration) = args.duration {
        if let Some(Text(warmup)) = scenario.run.warmup.as_ref().filter(|warmup| warmup.0 >= duration) {
            return Err(Failure::Input(format!(
                "--duration {duration} is not longer than the warm-up of the scenario, {warmup}: take a longer --duration"
            )));
        }
        changes.push(Change::new(format!("--duration {duration}"), move |scenario| {
            scenario.run.duration = Some(Text(duration));
        }));
    }
    Ok(changes)
}

fn set_tick(scenario: &mut Scenario, tick: Time) {
    scenario.machine.hz = None;
    scenario.machine.tick = (tick > Time::ZERO).then_some(Text(tick));
    scenario.machine.tick_offset = scenario.machine.tick_offset.take().filter(|_| tick > Time::ZERO);
}
