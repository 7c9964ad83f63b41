//! Options that mean something in some venues only.

use crate::args::SharedArgs;
use crate::failure::Failure;
use schedlab_campaign::Axis;
use schedlab_venue::VenueName::{self, Host, Sim, Vm};
use schedlab_venue::{Policy, Scheduler};

/// An option, and whether it was given.
type Given = (&'static str, bool);

/// Refuses the options of a virtual machine where none of the venues is one.
///
/// # Errors
///
/// Such an option was given.
pub fn refuse_of_guests(options: &[Given], venues: &[VenueName]) -> Result<(), Failure> {
    refuse(options, &[Vm], venues)
}

/// Refuses options that none of the venues of these flags looks at. Of several venues one is enough.
///
/// # Errors
///
/// Such an option was given.
pub fn refuse_shared(args: &SharedArgs) -> Result<(), Failure> {
    let guests =
        [("--kernel", args.kernel.is_some()), ("--engine", args.engine.is_some()), ("--no-costs", args.no_costs)];
    refuse_of_guests(&guests, &args.venue)?;
    refuse(&[("--load", args.load.is_some())], &[Host, Vm], &args.venue)?;
    let simulated = [("--tick", args.tick.is_some()), ("--machine", args.machine.is_some())];
    refuse(&[&simulated[..], &of_executors(args)].concat(), &[Sim], &args.venue)
}

/// Refuses options of executors where no policy has a program to execute.
///
/// # Errors
///
/// Such an option was given.
pub fn refuse_executor(args: &SharedArgs, policies: &[Policy]) -> Result<(), Failure> {
    let is_executed = |policy: &Policy| matches!(policy.scheduler, Scheduler::Object { .. } | Scheduler::Program(_));
    let given = of_executors(args).into_iter().find(|(_, is_given)| *is_given);
    let (Some((option, _)), false) = (given, policies.iter().any(is_executed)) else { return Ok(()) };
    let names = policies.iter().map(|policy| policy.label.as_str()).collect::<Vec<_>>().join(", ");
    Err(Failure::Input(format!(
        "{option} is for policies with a BPF program and has no effect on {names}: leave it out"
    )))
}

/// Refuses options that no run would use, since a variation replaces what they say.
///
/// # Errors
///
/// Such an option was given.
pub fn refuse_varied(args: &SharedArgs, vary: &[Axis]) -> Result<(), Failure> {
    const CPUS: &[&str] = &["machine.cpus", "machine.topology"];
    let options: [(Given, &[&str]); 4] = [
        (("--cpus", args.cpus.is_some()), CPUS),
        (("--topology", args.topology.is_some()), CPUS),
        (("--tick", args.tick.is_some()), &["machine.tick", "machine.hz"]),
        (("--duration", args.duration.is_some()), &["run.duration"]),
    ];
    for ((option, _), paths) in options.iter().filter(|((_, is_given), _)| *is_given) {
        if let Some(axis) = vary.iter().find(|axis| paths.contains(&axis.path.as_str())) {
            let path = &axis.path;
            let why = format!("{option} is never used: --vary {path} replaces it; leave one of the two out");
            return Err(Failure::Input(why));
        }
    }
    Ok(())
}

fn of_executors(args: &SharedArgs) -> [Given; 2] {
    [("--executor", args.executor.is_some()), ("--unchecked", args.unchecked)]
}

fn refuse(options: &[Given], of: &[VenueName], venues: &[VenueName]) -> Result<(), Failure> {
    let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    if venues.iter().any(|venue| of.contains(venue)) {
        return Ok(());
    }
    let of = of.iter().map(|venue| format!("--venue {}", venue.name())).collect::<Vec<_>>().join(" and ");
    let here = venues.iter().map(|venue| venue.name()).collect::<Vec<_>>().join(", ");
    Err(Failure::Input(format!("{option} is for {of} and has no effect in {here}: leave it out or name another venue")))
}
