//! What this machine cannot hold is refused before anything starts, in one line that says what would help.

use crate::rank::Ranks;
use crate::requests::{MAX_ARRIVALS, from_outside};
use crate::reserve::{Served, reserve};
use crate::run::LoadError;
use crate::shared::MAX_TASKS;
use crate::{attributes, channel, program};
use schedlab_model::count::counted;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::workload::{Birth, ChannelKind, Class, Kind, Role, Step, Workload};

/// Refuses a workload that cannot be run here as it says, or that takes the machine away from `others`.
pub fn check(workload: &Workload, others: Option<Served>) -> Result<(), LoadError> {
    let refused = |text: String| Err(LoadError::Refused(text));
    let here = attributes::cpus().map_err(|error| LoadError::System { what: "read the allowed CPUs", error })?;
    let needed = workload.roles.iter().flat_map(Role::all_cpus).flat_map(CpuSet::iter);
    if let Some(CpuId(missing)) = needed.filter(|&cpu| !here.contains(cpu)).min() {
        return refused(format!(
            "the scenario's machine has {} and this one lets us use {}: CPU {missing} is missing; run with \
             --cpus {} or on a larger machine",
            counted(workload.machine.cpus(), "CPU"),
            here.len(),
            (0..).take_while(|&cpu| here.contains(CpuId(cpu))).count().max(1),
        ));
    }
    for role in &workload.roles {
        if let Some(why) = of_role(role) {
            return refused(format!("task `{}`: {why}", role.name));
        }
    }
    if let Some(why) = of_sources(workload).or_else(|| of_channels(workload)) {
        return refused(why);
    }
    if !workload.hotplug.is_empty() && others.is_some() {
        let why = "CPUs go offline in this scenario, which would take them from all programs of this machine: \
                   run it with --venue sim or --venue vm";
        return refused(why.into());
    }
    if !workload.has_realtime() {
        return Ok(());
    }
    if Ranks::of(workload).is_none() {
        return refused("the tasks have all 99 real-time priorities; leave one for what ends the run".into());
    }
    match others.map(reserve) {
        Some(Err(why)) => refused(format!("real-time tasks could take this machine away: {why}")),
        _ => Ok(()),
    }
}

/// Why messages cannot come from outside as the workload says. The receiver sleeps until the next one is due, and
/// cannot wait for a task's messages meanwhile.
fn of_sources(workload: &Workload) -> Option<String> {
    for source in &workload.sources {
        let name = &workload.objects.channels[source.channel.index()].name;
        let sends = |step: &Step| matches!(step, Step::Send(channel, _) if *channel == source.channel);
        if let Some(role) = workload.roles.iter().find(|role| role.program.steps.iter().any(sends)) {
            return Some(format!(
                "the channel `{name}` gets messages from outside and from task `{}`, which only the simulator can do; \
                 give each a channel of its own",
                role.name
            ));
        }
    }
    let arrivals: usize = from_outside(workload, 0).0.iter().flatten().map(|outside| outside.at_ns.len()).sum();
    (arrivals > MAX_ARRIVALS).then(|| {
        format!("more than {MAX_ARRIVALS} messages come from outside, which are too many for a real machine: shorten the run")
    })
}

/// Why a pipe cannot have as many places as it should.
fn of_channels(workload: &Workload) -> Option<String> {
    let most = channel::most_places(is_root());
    let mut pipes = workload.objects.channels.iter().filter(|channel| channel.kind == ChannelKind::Pipe);
    pipes.find(|channel| channel.slots() > most).map(|channel| {
        format!(
            "the channel `{}` has room for {} messages, and a pipe here for {most}: make it smaller, or a socket",
            channel.name,
            channel.slots()
        )
    })
}

/// Why a role cannot be run.
fn of_role(role: &Role) -> Option<String> {
    if let Some(nice) = raised_to(role).filter(|nice| !may_raise_nice(*nice)) {
        return Some(format!("nice {nice} needs root or CAP_SYS_NICE"));
    }
    if role.classes().any(Class::is_realtime) && !is_root() {
        return Some("a real-time class needs root or CAP_SYS_NICE".into());
    }
    let missing = |step: &Step| match step {
        Step::Command(words) => program::find(&words[0]).err(),
        _ => None,
    };
    if let Some(lack) = role.program.steps.iter().find_map(missing) {
        return Some(lack.to_string());
    }
    let spawns = role.program.steps.iter().any(|step| matches!(step, Step::Spawn(..)));
    if spawns && role.kind == Kind::Process {
        return Some("`spawn` in a process of its own cannot be run on a real machine; make it a thread".into());
    }
    let at_once = if matches!(role.birth, Birth::At(_)) { role.count.unwrap_or(1) } else { 0 };
    (at_once > MAX_TASKS / 2).then(|| format!("{at_once} tasks are too many for a real machine"))
}

/// The lowest nice value that needs a right: a negative one, and a lower one than the task had before.
fn raised_to(role: &Role) -> Option<i8> {
    let first = if matches!(role.class, Class::Idle) { 0 } else { role.nice };
    let passes = if role.program.repeats { 2 } else { 1 };
    let later = (0..passes).flat_map(|_| role.changes().filter_map(|change| change.nice));
    let all: Vec<i8> = [0, first].into_iter().chain(later).collect();
    all.windows(2).filter(|two| two[1] < two[0]).map(|two| two[1]).min()
}

fn is_root() -> bool {
    // SAFETY: it takes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// Whether the resource limit allows so low a nice value.
fn may_raise_nice(nice: i8) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the structure that it is given.
    unsafe { libc::getrlimit(libc::RLIMIT_NICE, &mut limit) };
    is_root() || i64::from(20 - i32::from(nice)) <= limit.rlim_cur as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_catalogue::families;

    /// Where CPUs and rights are there.
    #[test]
    fn what_families_draw_can_be_run() {
        let is_of_rights = |why: &String| why.contains("needs root");
        for family in families::all() {
            for (seed, cpus) in (1..=40).flat_map(|seed| [1, 2, 4].map(|cpus| (seed, cpus))) {
                let workload = family.scenario(seed, cpus).compile().unwrap();
                let of_roles = workload.roles.iter().filter_map(of_role);
                let whys: Vec<String> =
                    of_roles.chain(of_sources(&workload)).filter(|why| !is_of_rights(why)).collect();
                assert!(whys.is_empty() && Ranks::of(&workload).is_some(), "{}: {whys:?}", workload.name);
            }
        }
    }

    #[test]
    fn a_nice_value_that_falls_needs_a_right() {
        let raised = |key: &str, nice: &str| {
            let text = format!(
                "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n[[task]]\nname = \"t\"\n{nice}\
                 {key} = [{{ set = {{ nice = 5 }} }}, {{ compute = \"1ms\" }}, {{ set = {{ nice = 9 }} }}]\n"
            );
            raised_to(&schedlab_model::scenario::Scenario::parse(&text, "t").unwrap().compile().unwrap().roles[0])
        };
        assert_eq!([raised("once", ""), raised("loop", "")], [None, Some(5)]);
        assert_eq!([raised("once", "nice = 7\n"), raised("once", "nice = -7\n")], [Some(5), Some(-7)]);
    }

    #[test]
    fn a_pipe_that_is_too_large_is_refused() {
        let why = |capacity: u32| {
            let text = format!(
                "name = \"t\"\n[machine]\ncpus = 1\n[channel.c]\ncapacity = {capacity}\n\
                 [[task]]\nname = \"t\"\nonce = [{{ send = \"c\" }}, {{ recv = \"c\" }}]\n"
            );
            of_channels(&schedlab_model::scenario::Scenario::parse(&text, "t").unwrap().compile().unwrap())
        };
        assert_eq!([why(1), why(64)], [None, None]);
        assert!(why(u32::MAX).is_some_and(|why| why.contains("room for 4294967296 messages")));
    }

    #[test]
    fn a_process_that_spawns_is_refused() {
        let text = "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n\
                    [[task]]\nname = \"a\"\nkind = \"process\"\nloop = [{ spawn = \"b\" }, { sleep = \"1ms\" }]\n\
                    [[task]]\nname = \"b\"\nspawned = true\nonce = [{ compute = \"1ms\" }]\n";
        let workload = schedlab_model::scenario::Scenario::parse(text, "t").unwrap().compile().unwrap();
        assert!(of_role(&workload.roles[0]).is_some_and(|why| why.contains("make it a thread")));
        assert_eq!(of_role(&workload.roles[1]), None);
    }
}
