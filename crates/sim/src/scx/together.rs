//! CPUs that choose at one instant.
//!
//! The ticks of all CPUs come at one instant, and slices end at ticks. A CPU asks the policy for a task before it puts its own back
//! (`balance_one`, then `put_prev_task_scx`), and either takes longer than the ticks are apart. So of two CPUs with one waiting task, one
//! takes that and the other finds no task and keeps its own. One after the other, the second would find the task that the first has put
//! back.

use super::policy::Sim;
use super::schedule::Searched;
use schedlab_model::machine::Machine;
use schedlab_model::time::Time;

/// The choices of several CPUs at one instant.
pub struct Together {
    /// Whether CPUs choose so. On a machine where a switch takes no time, there is nothing between the two halves of a choice.
    is_on: bool,
    /// Whether CPUs search now and switch later.
    searches: bool,
    searched: Vec<Searched>,
}

impl Together {
    /// For a machine.
    pub fn new(machine: &Machine) -> Together {
        let is_on = machine.mechanisms.search_together
            && machine.topology.cpus() > 1
            && machine.tick > Time::ZERO
            && machine.costs.switch > Time::ZERO;
        Together { is_on, searches: false, searched: Vec::new() }
    }
}

impl Sim {
    /// A CPU whose task can continue chooses, and with it all others of which that is true at this instant.
    pub(super) fn choose_together(&mut self, cpu: u32) {
        if !self.together.is_on {
            return self.schedule(cpu, None);
        }
        if let Some(searched) = self.search(cpu, None) {
            self.together.searched.push(searched);
        }
        self.do_deferred();
        if self.together.searches {
            return;
        }
        self.together.searches = true;
        self.let_others_search(cpu);
        self.together.searches = false;
        let mut searched = std::mem::take(&mut self.together.searched);
        for searched in searched.drain(..) {
            let cpu = searched.cpu;
            self.put_back_and_switch(searched);
            self.do_deferred();
            self.push_off(cpu);
        }
        self.together.searched = searched;
    }

    /// Has what is due on other CPUs whose tasks have work left. All their timers are set again when this instant is settled.
    fn let_others_search(&mut self, cpu: u32) {
        let mut due = (self.core.world.now_ns, cpu);
        while due.0 == self.core.world.now_ns {
            let other = due.1;
            self.core.cpu_timers.set(other, u64::MAX);
            self.core.mark_stale(other);
            if other != cpu && self.has_work_left(other) {
                self.cpu_event(other);
            }
            due = self.core.cpu_timers.next();
        }
    }

    fn has_work_left(&mut self, cpu: u32) -> bool {
        self.core.account(cpu);
        self.core.current(cpu).is_some_and(|slot| self.core.world.tasks[slot].work_ns > 0)
    }
}
