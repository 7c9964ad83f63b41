//! Puts records in the order of time, exactly.
//!
//! A ring holds records in the order in which their places were taken; each looked at the clock after that. Let the
//! clock say T, let the rings' ends be looked at after that, and let everything before them be read: whatever comes later
//! took its place later and has a time of at least T. So all that is read and earlier than T can be sorted and handed on, without a
//! window and without guessing.

use schedlab_record::Record;

/// Holds records until nothing earlier can come.
#[derive(Default)]
pub struct Sorter {
    pending: Vec<Record>,
    handed_on_ns: u64,
    late: u64,
}

impl Sorter {
    /// Takes records, ring by ring.
    pub fn append(&mut self, records: &mut Vec<Record>) {
        self.pending.append(records);
    }

    /// Hands on everything earlier than `before_ns` in the order of time, equal times in the order in which they were read.
    pub fn release(&mut self, before_ns: u64, each: &mut impl FnMut(Record)) {
        self.pending.sort_by_key(|record| record.time_ns);
        let ready = self.pending.partition_point(|record| record.time_ns < before_ns);
        for record in self.pending.drain(..ready) {
            if record.time_ns < self.handed_on_ns {
                self.late += 1;
            } else {
                self.handed_on_ns = record.time_ns;
                each(record);
            }
        }
    }

    /// Records that came after a later one was handed on, and were dropped: the CPUs' clocks differ.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_record::RecordKind;

    fn records(times: &[u64]) -> Vec<Record> {
        times.iter().zip(0..).map(|(&time_ns, cpu)| Record { time_ns, cpu, kind: RecordKind::Tick }).collect()
    }

    fn released(sorter: &mut Sorter, before_ns: u64) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        sorter.release(before_ns, &mut |record| out.push((record.time_ns, record.cpu)));
        out
    }

    #[test]
    fn what_may_be_preceded_waits() {
        let mut sorter = Sorter::default();
        sorter.append(&mut records(&[5, 9, 3, 5]));
        assert_eq!(released(&mut sorter, 9), [(3, 2), (5, 0), (5, 3)]);
        sorter.append(&mut records(&[12, 7]));
        assert_eq!(released(&mut sorter, u64::MAX), [(7, 1), (9, 1), (12, 0)]);
        assert_eq!(sorter.late(), 0);
    }

    #[test]
    fn a_late_one_is_counted_and_time_never_goes_back() {
        let mut sorter = Sorter::default();
        sorter.append(&mut records(&[10]));
        assert_eq!(released(&mut sorter, 20), [(10, 0)]);
        sorter.append(&mut records(&[9, 11]));
        assert_eq!(released(&mut sorter, 20), [(11, 1)]);
        assert_eq!(sorter.late(), 1);
    }
}
