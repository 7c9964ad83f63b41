//! Recorded steps: which item a task takes next, and sleeps until an instant of the run.

use super::World;
use super::steps::Next;
use super::timers::Due;
use schedlab_model::time::Time;
use schedlab_model::trace::Call;
use schedlab_model::workload::{ItemOrder, Program};

impl World {
    /// The task goes to its next item.
    pub(super) fn next_item(&mut self, slot: u32, program: &Program) -> Next {
        let Some(items) = &program.items else { unreachable!("a program with this step has items") };
        let task = &mut self.tasks[slot];
        let taken = match items.order {
            ItemOrder::Own => &mut task.items_taken,
            ItemOrder::Taken => &mut self.items_taken[task.role.index()],
        };
        task.step = items.begin(task.member, *taken);
        *taken += 1;
        Next::Again
    }

    /// The task sleeps until an instant, unless that is over.
    pub(super) fn until(&mut self, slot: u32, at: Time, cpu: u32) -> Next {
        self.tell(slot, cpu, Call::SleepUntil, None, at.ns());
        let task = &mut self.tasks[slot];
        task.step += 1;
        if at.ns() > self.now_ns {
            task.fresh = false;
            return self.call_sleep(slot, at.ns(), Due::Timer(slot), self.costs.sleep);
        }
        (task.ready_ns, task.fresh) = (at.ns(), true);
        Next::Again
    }
}
