//! Where records are missing. Each switch of a CPU begins with the thread that the one before ended with. Where it does not,
//! something between them was not recorded, and who had the CPU meanwhile is not known.

use crate::record::{Record, RecordKind, Thread};
use std::collections::BTreeMap;

/// What a first look at all records found: for each switch, in their order, whether who came by it is known to have stayed
/// until the CPU's next one. A bit for each.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    bits: Vec<u64>,
    switches: usize,
    cpus: BTreeMap<u32, Came>,
    /// The CPU on which each thread of interest is.
    places: BTreeMap<i32, u32>,
}

/// The last switch of a CPU.
#[derive(Clone, Copy, Debug)]
struct Came {
    switch: usize,
    /// Who came; 0 for everybody who is of no interest.
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
            }
            // Only a thread that has left its CPU can be moved.
            RecordKind::Migrate { thread, .. } if thread.followed => self.left_unseen(thread.tid),
            // The number was given away again.
            RecordKind::Fork { child, .. } => self.left_unseen(child.tid),
            RecordKind::Exec { thread, former, .. } => self.rename(former, thread.tid),
            RecordKind::Lost => {
                self.tear(cpu);
                self.leave(cpu);
            }
            _ => {}
        }
    }

    /// Whether who came by this switch, from 0, stayed until the next one. So did who came by the last.
    pub fn stayed(&self, switch: usize) -> bool {
        self.bits.get(switch / 64).is_none_or(|word| word & (1 << (switch % 64)) == 0)
    }

    fn come(&mut self, cpu: u32, tid: i32) {
        if tid != 0 {
            self.left_unseen(tid);
            self.places.insert(tid, cpu);
        }
        self.cpus.insert(cpu, Came { switch: self.switches, tid });
        self.switches += 1;
    }

    /// A thread that is on a CPU, by what was told, is not there any more.
    fn left_unseen(&mut self, tid: i32) {
        if let Some(cpu) = self.places.get(&tid).copied() {
            self.tear(cpu);
            self.leave(cpu);
        }
    }

    fn tear(&mut self, cpu: u32) {
        let Some(came) = self.cpus.get(&cpu) else { return };
        let word = came.switch / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (came.switch % 64);
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
    fn what_a_tool_lost_breaks_the_chain_of_its_cpu() {
        let lost = Record { time_ns: 0, cpu: 0, kind: RecordKind::Lost };
        assert_eq!(stayed(&[switch(0, 0, 1), switch(1, 0, 2), lost, switch(0, 1, 0)]), [false, true, true]);
    }
}
