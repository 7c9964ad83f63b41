//! Where records are missing. Each switch of a CPU begins with the thread that the one before ended with. Where it does
//! not, something between them was not recorded, and it is not known what had the CPU meanwhile.

use crate::record::{Record, RecordKind, Thread};
use std::collections::BTreeMap;

/// What a first look at all records found: for each switch, in their order, whether its next thread is known to have
/// stayed until the CPU's next one. A bit for each.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    bits: Bits,
    switches: usize,
    /// For each account of CPU time, whether its thread is known to have stayed on beyond it.
    goes_on: Bits,
    accounts: usize,
    /// The last account of each CPU.
    last_accounts: BTreeMap<u32, Account>,
    cpus: BTreeMap<u32, Came>,
    /// The CPU on which each thread of interest is.
    places: BTreeMap<i32, u32>,
}

/// A bit for each of a sequence.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, place: usize) {
        let word = place / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }
}

/// The longest time between two accounts of a thread that stayed: interrupts, which the kernel does not count as its.
const BETWEEN_ACCOUNTS_NS: u64 = 1_000_000;

/// An account of CPU time.
#[derive(Clone, Copy, Debug)]
struct Account {
    number: usize,
    tid: i32,
    until_ns: u64,
}

/// The last switch of a CPU.
#[derive(Clone, Copy, Debug)]
struct Came {
    switch: usize,
    /// The thread that came; 0 for any thread of no interest.
    tid: i32,
}

/// Threads that are of no interest are not told apart.
fn tid(thread: &Thread) -> i32 {
    if thread.followed { thread.tid } else { 0 }
}

impl Gaps {
    /// Looks at the next record.
    pub fn note(&mut self, record: &Record) {
        let cpu = record.cpu;
        match record.kind {
            RecordKind::Switch { previous, next, .. } => {
                if self.cpus.get(&cpu).is_some_and(|came| came.tid != tid(&previous)) {
                    self.tear(cpu);
                }
                self.leave(cpu);
                self.come(cpu, tid(&next));
                self.go_on(record.time_ns, cpu, previous.tid);
                self.last_accounts.remove(&cpu);
            }
            RecordKind::Ran { thread, runtime_ns } => {
                self.go_on(record.time_ns, cpu, thread.tid);
                let until_ns = record.time_ns.saturating_add(runtime_ns);
                self.last_accounts.insert(cpu, Account { number: self.accounts, tid: thread.tid, until_ns });
                self.accounts += 1;
            }
            // Only a thread that has left its CPU can be moved.
            RecordKind::Migrate { thread, .. } if thread.followed => self.left_unseen(thread.tid),
            // The number was given away again.
            RecordKind::Fork { child, .. } => self.left_unseen(child.tid),
            RecordKind::Exec { thread, former, .. } => self.rename(former, thread.tid),
            RecordKind::Lost => {
                self.tear(cpu);
                self.leave(cpu);
                self.last_accounts.remove(&cpu);
            }
            _ => {}
        }
    }

    /// Only some tasks were followed: nothing says when the thread that came by a CPU's last switch left.
    pub fn follow_some_tasks(&mut self) {
        self.cpus.values().for_each(|came| self.bits.set(came.switch));
    }

    /// Whether the next thread of this switch, from 0, stayed until the CPU's next one. That of its last switch did.
    pub fn stayed(&self, switch: usize) -> bool {
        !self.bits.has(switch)
    }

    /// Whether the thread of this account, from 0, had its CPU beyond it.
    pub fn goes_on(&self, account: usize) -> bool {
        self.goes_on.has(account)
    }

    /// A thread is on a CPU at this time; so it was since the account before, if that was of it too and not long ago.
    fn go_on(&mut self, time_ns: u64, cpu: u32, tid: i32) {
        if let Some(account) = self.last_accounts.get(&cpu)
            && account.tid == tid
            && time_ns <= account.until_ns.saturating_add(BETWEEN_ACCOUNTS_NS)
        {
            self.goes_on.set(account.number);
        }
    }

    fn come(&mut self, cpu: u32, tid: i32) {
        if tid != 0 {
            self.left_unseen(tid);
            self.places.insert(tid, cpu);
        }
        self.cpus.insert(cpu, Came { switch: self.switches, tid });
        self.switches += 1;
    }

    /// A thread that is on a CPU, by what was reported, is not there any more.
    fn left_unseen(&mut self, tid: i32) {
        if let Some(cpu) = self.places.get(&tid).copied() {
            self.tear(cpu);
            self.leave(cpu);
        }
    }

    fn tear(&mut self, cpu: u32) {
        let Some(came) = self.cpus.get(&cpu) else { return };
        self.bits.set(came.switch);
    }

    fn leave(&mut self, cpu: u32) {
        if let Some(came) = self.cpus.remove(&cpu) {
            self.places.remove(&came.tid);
        }
    }

    fn rename(&mut self, former: i32, tid: i32) {
        if let Some(cpu) = self.places.remove(&former) {
            self.places.insert(tid, cpu);
            self.cpus.entry(cpu).and_modify(|came| came.tid = tid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Comm, Departure};

    fn thread(tid: i32) -> Thread {
        Thread { tid, tgid: tid, priority: 120, followed: (1..900).contains(&tid) }
    }

    fn switch(cpu: u32, previous: i32, next: i32) -> Record {
        let (previous, next) = (thread(previous), thread(next));
        Record { time_ns: 0, cpu, kind: RecordKind::Switch { previous, how: Departure::Blocked, next } }
    }

    fn stayed(records: &[Record]) -> Vec<bool> {
        let mut gaps = Gaps::default();
        records.iter().for_each(|record| gaps.note(record));
        (0..gaps.switches).map(|switch| gaps.stayed(switch)).collect()
    }

    #[test]
    fn whole_chains_have_no_gap() {
        let exec = RecordKind::Exec { thread: thread(5), former: 2, comm: Comm::default() };
        let records = [
            switch(0, 0, 1),
            switch(1, 900, 2),
            switch(0, 1, 901),
            // Others of no interest took turns meanwhile.
            switch(0, 902, 1),
            Record { time_ns: 0, cpu: 1, kind: exec },
            switch(1, 5, 0),
        ];
        assert_eq!(stayed(&records), [true; 5]);
    }

    #[test]
    fn a_chain_breaks_where_another_leaves_than_came() {
        assert_eq!(stayed(&[switch(0, 0, 1), switch(0, 2, 3), switch(0, 3, 0)]), [false, true, true]);
    }

    #[test]
    fn a_thread_that_is_elsewhere_has_left() {
        assert_eq!(stayed(&[switch(0, 0, 1), switch(1, 0, 1), switch(1, 1, 0)]), [false, true, true]);
        let kind = RecordKind::Migrate { thread: thread(1), from: 0, to: 1 };
        assert_eq!(stayed(&[switch(0, 0, 1), Record { time_ns: 0, cpu: 1, kind }]), [false]);
    }

    #[test]
    fn an_account_goes_on_to_the_next_one_and_to_the_switch_away() {
        let ran = |time_ns, tid, runtime_ns| Record {
            time_ns,
            cpu: 0,
            kind: RecordKind::Ran { thread: thread(tid), runtime_ns },
        };
        let at = |time_ns, record| Record { time_ns, ..record };
        let goes_on = |records: &[Record]| -> Vec<bool> {
            let mut gaps = Gaps::default();
            records.iter().for_each(|record| gaps.note(record));
            (0..gaps.accounts).map(|account| gaps.goes_on(account)).collect()
        };
        let far = BETWEEN_ACCOUNTS_NS + 200;
        assert_eq!(goes_on(&[ran(0, 1, 50), ran(60, 1, 40), at(110, switch(0, 1, 0))]), [true, true]);
        assert_eq!(goes_on(&[ran(0, 1, 50), ran(far, 1, 40), at(far + 50, switch(0, 2, 0))]), [false, false]);
        assert_eq!(goes_on(&[ran(0, 1, 50), at(60, switch(0, 1, 0)), ran(70, 1, 40)]), [true, false]);
    }

    #[test]
    fn what_a_tool_lost_breaks_the_chain_of_its_cpu() {
        let lost = Record { time_ns: 0, cpu: 0, kind: RecordKind::Lost };
        assert_eq!(stayed(&[switch(0, 0, 1), switch(1, 0, 2), lost, switch(0, 1, 0)]), [false, true, true]);
    }
}
