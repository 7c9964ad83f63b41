//! The main loop: takes what happens next, lets it have all its consequences, continues.

use crate::error::RunError;
use crate::world::World;
use crate::{Control, CpuTime, Outcome};
use schedlab_model::{ids::RoleId, time::Time, trace::Sink};

/// The tasks of this role do steps at one instant without end.
pub struct Stuck(pub RoleId);

/// What a kind of discipline adds to the world: which tasks get CPU time.
pub trait Scheduler {
    /// The world it schedules.
    fn world(&mut self) -> &mut World;
    /// When something ends because CPU time was given; `u64::MAX` if never.
    fn next_ns(&mut self) -> u64;
    /// That instant has come.
    fn end_reached(&mut self);
    /// Lets everything happen that follows at this instant.
    fn settle(&mut self) -> Result<(), Stuck>;
    /// The run ends now. Says where each CPU's time went, having checked that it adds up.
    fn finish(&mut self) -> Vec<CpuTime>;
}

/// Runs to the end of the workload, handing events to `sink`.
pub fn drive(s: &mut impl Scheduler, sink: &mut dyn Sink, control: &mut dyn Control) -> Result<Outcome, RunError> {
    let end_ns = s.world().workload.run.duration.ns();
    let mut turns: u64 = 0;
    let mut partial = false;
    while let Some(at_ns) = turn(s, end_ns)? {
        s.world().hand_on(sink, false);
        turns += 1;
        if turns.is_multiple_of(1 << 14) && !control.go_on(Time(at_ns)) {
            partial = true;
            break;
        }
    }
    if !partial {
        s.world().check_end()?;
        s.world().now_ns = s.world().end_ns();
    }
    let cpus = s.finish();
    let world = s.world();
    world.hand_on(sink, true);
    let end = Time(world.now_ns);
    sink.finish(end);
    Ok(Outcome { end, partial, cpus, tasks: world.tasks.created(), ..Outcome::default() })
}

/// Goes to the next instant before `end_ns` at which something happens; none: there is no such instant.
fn turn(s: &mut impl Scheduler, end_ns: u64) -> Result<Option<u64>, RunError> {
    let ends_ns = s.next_ns();
    let world = s.world();
    let due_ns = world.timers.next_ns();
    let at_ns = due_ns.min(ends_ns);
    if at_ns >= end_ns {
        return Ok(None);
    }
    debug_assert!(at_ns >= world.now_ns, "time goes back from {} to {at_ns}", world.now_ns);
    world.now_ns = at_ns;
    if due_ns <= ends_ns {
        // All that come at one instant are there before a task is chosen.
        while world.timers.next_ns() == at_ns {
            let due = world.timers.pop().expect("a timer is due");
            let other = world.due(due);
            debug_assert!(other.is_none(), "only the world sets timers here");
        }
    } else {
        s.end_reached();
    }
    let settled = s.settle();
    s.world().check_room()?;
    match settled {
        Ok(()) => Ok(Some(at_ns)),
        Err(Stuck(role)) => {
            let world = s.world();
            let role = world.workload.roles[role.index()].name.clone();
            Err(RunError::Stuck { role, steps: world.done_now().steps, time: Time(at_ns) })
        }
    }
}
