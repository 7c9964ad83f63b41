//! Where switches are missing, the kernel's own account of CPU time says which thread had a CPU, and for how long.

use super::{Converter, Cpu, State};
use crate::record::{Comm, Thread};
use schedlab_model::ids::RoleId;
use schedlab_model::trace::Untraced;

/// A thread had a CPU until then, and beyond where that is known.
#[derive(Clone, Copy)]
pub(super) struct Account {
    thread: Thread,
    until_ns: u64,
    goes_on: bool,
}

impl<G: FnMut(&Thread, &Comm) -> Option<RoleId>> Converter<G> {
    /// The kernel says that a thread has a CPU for so long.
    pub(super) fn account(&mut self, now: u64, cpu: u32, thread: Thread, runtime_ns: u64) {
        let account =
            Account { thread, until_ns: now.saturating_add(runtime_ns), goes_on: self.gaps.goes_on(self.accounts) };
        self.accounts += 1;
        self.cpu(cpu).account = Some(account);
        if self.cpu(cpu).mended_since_ns.is_none() {
            self.mend(now, cpu);
        } else if !account.goes_on {
            self.ends.insert((account.until_ns, cpu));
        }
    }

    /// Gives a CPU of which nothing is known to the task that the kernel accounts for there.
    pub(super) fn mend(&mut self, now: u64, cpu: u32) {
        let Cpu { task: None, untraced: Untraced::Unknown, account: Some(account), .. } = *self.cpu(cpu) else {
            return;
        };
        if account.until_ns <= now || !self.begun {
            return;
        }
        let Some(task) = self.seen(now, cpu, &account.thread) else { return };
        if matches!(self.tasks[task].state, State::Running(_) | State::Ended) {
            return;
        }
        self.cpu(cpu).unknown_until_ns = now;
        self.put_on(now, cpu, task);
        self.cpu(cpu).mended_since_ns = Some(now);
        if !account.goes_on {
            self.ends.insert((account.until_ns, cpu));
        }
    }

    /// What accounts say that ended before now.
    pub(super) fn end_accounts(&mut self, now: u64) {
        while let Some(&(until_ns, cpu)) = self.ends.first().filter(|(until_ns, _)| *until_ns < now) {
            self.ends.pop_first();
            let is_last = self.cpu(cpu).account.is_some_and(|account| account.until_ns == until_ns);
            if is_last && self.cpu(cpu).mended_since_ns.is_some() {
                self.lose_sight(until_ns, cpu);
            }
        }
    }

    /// A CPU's task may leave now; was it there by an account alone?
    pub(super) fn count_mended(&mut self, now: u64, cpu: u32) {
        if let Some(since_ns) = self.cpu(cpu).mended_since_ns.take() {
            self.summary.mended_ns = self.summary.mended_ns.saturating_add(now.saturating_sub(since_ns));
        }
    }
}
