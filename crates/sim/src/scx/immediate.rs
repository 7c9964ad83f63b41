//! Tasks that come back: whole queues that the policy asks for, and tasks that are to run at once or not at all
//! (`SCX_ENQ_IMMED`, `reenq_local`, `reenq_user`).

use super::consts::*;
use super::core::Core;
use super::dsq::QueueIndex;
use super::policy::Sim;

/// How often tasks may come back to the policy from one CPU's queue at one instant (`SCX_REENQ_LOCAL_MAX_REPEAT`).
const MOST_REPEATS: u32 = 256;

/// Which tasks go back to the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reenqueue {
    /// All of a queue.
    All(QueueIndex),
    /// Those of a CPU's queue that are to run at once and cannot.
    Immediate(u32),
}

/// What there is of tasks that are to run at once.
#[derive(Debug, Default)]
pub struct Immediate {
    /// Whether every insert into a local queue is one (`SCX_OPS_ALWAYS_ENQ_IMMED`).
    pub always: bool,
    /// Whether there has been one.
    pub is_used: bool,
    /// When tasks came back last, from which CPU, how often then.
    repeats: (u64, u32, u32),
}

impl Core {
    /// Whether a policy may put a task so into a queue; sets the flag where it is to be on always (`scx_vet_enq_flags`).
    pub fn vet_immediate(&mut self, queue: u64, flags: &mut u64) -> bool {
        let is_local = queue == SCX_DSQ_LOCAL || queue & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON;
        if self.immediate.always && is_local {
            *flags |= SCX_ENQ_IMMED;
        }
        if *flags & SCX_ENQ_IMMED == 0 {
            return true;
        }
        self.immediate.is_used = true;
        if !is_local {
            self.error(format!("SCX_ENQ_IMMED on a non-local DSQ {queue:#x}"));
        }
        is_local
    }

    /// A task has come to a CPU's local queue: if it is to run at once and others are before it, it goes back (`dsq_inc_nr`).
    #[cold]
    pub fn note_immediate(&mut self, cpu: u32, slot: u32, flags: u64) {
        let entity = self.entity_mut(slot);
        entity.is_immediate |= flags & SCX_ENQ_IMMED != 0;
        if entity.is_immediate && (self.queues.get(cpu).length > 1 || !self.is_open(cpu, flags)) {
            self.ask(Reenqueue::Immediate(cpu));
        }
    }

    /// Whether the next task of a CPU's local queue runs at once (`rq_is_open`).
    fn is_open(&self, cpu: u32, flags: u64) -> bool {
        let is_taken = !self.cpu(cpu).realtime.is_empty()
            || self.current(cpu).is_some_and(|running| self.entity(running).is_realtime());
        let is_free = self.current(cpu).is_none() || self.balancing == cpu;
        !is_taken && (is_free || flags & SCX_ENQ_PREEMPT != 0)
    }

    /// Something has come before the tasks of a CPU's local queue: those that are to run at once go back.
    #[cold]
    pub fn ask_for_immediate(&mut self, cpu: u32) {
        if self.queues.iter(cpu).any(|slot| self.entity(slot).is_immediate) {
            self.ask(Reenqueue::Immediate(cpu));
        }
    }

    /// The tasks of a queue go back to the policy when the operation is over.
    pub fn ask_reenqueue(&mut self, queue: QueueIndex) {
        self.ask(Reenqueue::All(queue));
    }

    fn ask(&mut self, what: Reenqueue) {
        if !self.reenqueue.contains(&what) {
            self.reenqueue.push_back(what);
        }
    }

    /// Which tasks go back, taken out of their queue if it is a CPU's: none of them stays while the policy is asked about
    /// the others.
    fn take_out(&mut self, what: Reenqueue) -> Vec<u32> {
        let (Reenqueue::All(queue) | Reenqueue::Immediate(queue)) = what;
        let waiting: Vec<u32> = self.queues.iter(queue).collect();
        let goes: Vec<u32> = match what {
            Reenqueue::All(_) => waiting,
            Reenqueue::Immediate(cpu) => {
                let stays = waiting.first().copied().filter(|_| self.is_open(cpu, 0));
                waiting.into_iter().filter(|&slot| self.entity(slot).is_immediate && Some(slot) != stays).collect()
            }
        };
        if self.is_built_in(queue) {
            goes.iter().for_each(|&slot| self.queues.remove(slot));
        }
        goes
    }

    /// Counts that tasks come back from a CPU; a policy that puts them there again and again has to go.
    fn count_repeat(&mut self, cpu: u32) {
        let now = self.world.now_ns;
        let (at, from, count) = self.immediate.repeats;
        let count = if (at, from) == (now, cpu) { count + 1 } else { 0 };
        self.immediate.repeats = (now, cpu, count);
        if count > MOST_REPEATS {
            self.error(format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {count} times"));
        }
    }
}

impl Sim {
    /// Gives tasks back to the policy, those that are there now.
    pub fn reenqueue(&mut self, what: Reenqueue) {
        let reason = match what {
            Reenqueue::All(_) => SCX_TASK_REENQ_KFUNC,
            Reenqueue::Immediate(cpu) => {
                self.core.count_repeat(cpu);
                SCX_TASK_REENQ_IMMED
            }
        };
        for slot in self.core.take_out(what) {
            if reason == SCX_TASK_REENQ_IMMED {
                self.core.events.reenq_immed();
            }
            self.core.queues.remove(slot);
            self.enqueue_again(slot, reason);
        }
    }

    /// The policy is asked once more where a task is to go, for a reason that the task has meanwhile.
    pub fn enqueue_again(&mut self, slot: u32, reason: u64) {
        self.core.entity_mut(slot).task_mut().scx.flags |= reason as u32;
        let cpu = self.core.entity(slot).cpu;
        self.enqueue(slot, cpu, SCX_ENQ_REENQ);
        self.core.entity_mut(slot).task_mut().scx.flags &= !(SCX_TASK_REENQ_REASON_MASK as u32);
    }
}
