//! Puts what a reader says into the order of time, on disk, so that memory does not follow the length of a recording.

use crate::error::Trouble;
use crate::passed::PassedOver;
use crate::read::seconds;
use crate::told::{Event, Head, check_cpu};
use schedlab_boundary::own;
use schedlab_model::time::Time;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How many entries are put in order in memory.
const CHUNK: usize = 1 << 17;
/// The most runs of ordered entries that are merged at once: more would need memory that counts.
const RUNS: usize = 4096;
/// No entry is longer in its form on disk.
const LONGEST: usize = 192;
/// The most threads of which the process is known: Linux has no more at once.
const PROCESSES: usize = 1 << 22;
/// How much of a run is read at once.
const BLOCK: usize = 1 << 15;

/// What is known of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    Event(Event),
    /// Events of this CPU are missing before this.
    Lost,
    /// Here begins what is known of a CPU.
    Started,
}

/// What is known, of when and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub head: Head,
    pub what: What,
}

impl Entry {
    /// By what entries are ordered.
    fn key(&self) -> (u64, bool) {
        (self.head.time_ns, self.what != What::Started)
    }
}

/// What is known of all entries before the first is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The CPUs of the machine; zero when it does not say.
    pub cpus: u32,
    /// Events that the tool had to drop.
    pub lost: u64,
    /// Events that had been overwritten before the recording begins.
    pub overwritten: u64,
    pub has_switches: bool,
    /// There were wakeups of tasks that had slept: otherwise wakings stand for them.
    pub has_wakeups: bool,
    /// There was a scheduler event.
    pub has_events: bool,
    /// The CPUs of which any event was recorded, each with the time of the first.
    pub heard: BTreeMap<u32, u64>,
    /// The tool followed some tasks, and not the machine.
    pub is_of_some_tasks: bool,
    /// The clock counts something else than time, or is coarse.
    pub is_counting: bool,
    /// How many CPUs' buffers begin after the first event.
    pub starts: u64,
    /// The time of the last event, of the scheduler or not.
    pub end_ns: u64,
    /// Which process a thread belongs to, where the tool says.
    pub processes: BTreeMap<i32, i32>,
    /// What the recording cannot say, in words.
    pub missing: Vec<String>,
    pub passed: PassedOver,
}

/// Takes entries in any order.
pub struct Gather {
    pub facts: Facts,
    /// Events that came before what is known of the CPUs, as far as they were counted one by one.
    before: u64,
    chunk: Vec<Entry>,
    file: BufWriter<File>,
    written: u64,
    runs: Vec<Run>,
}

/// Entries in order, in a part of the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: u64,
    until: u64,
    /// The time of the last one.
    last_ns: u64,
}

impl Gather {
    /// With a file without a name in this folder.
    pub fn create_in(folder: &Path) -> io::Result<Gather> {
        let file = BufWriter::with_capacity(1 << 18, own::unnamed(folder)?);
        Ok(Gather { facts: Facts::default(), before: 0, chunk: Vec::new(), file, written: 0, runs: Vec::new() })
    }

    /// An event of the scheduler.
    pub fn event(&mut self, head: Head, event: Event) -> Result<(), Trouble> {
        event.check().map_err(Trouble::Damaged)?;
        self.hear(head.time_ns, head.cpu)?;
        self.facts.has_events |= event.is_of_switches();
        self.facts.has_switches |= matches!(event, Event::Switch { .. } | Event::SwitchTo { .. });
        self.facts.has_wakeups |= matches!(event, Event::Wakeup { new: false, .. });
        // The kernel accounts for time that has passed; the beginning of that comes first.
        let begin_ns = match event {
            Event::Ran { runtime_ns, .. } => {
                self.see(head.time_ns)?;
                head.time_ns.saturating_sub(runtime_ns)
            }
            _ => head.time_ns,
        };
        self.put(Head { time_ns: begin_ns, ..head }, What::Event(event))
    }

    /// Whether an event of this CPU came before.
    pub fn has_heard(&self, cpu: u32) -> bool {
        self.facts.heard.contains_key(&cpu)
    }

    /// Events of a CPU are missing here: this many, one at least. Before the CPU's first event nothing is lost: its buffer
    /// begins here.
    pub fn lost(&mut self, time_ns: u64, cpu: u32, count: u64) -> Result<(), Trouble> {
        if !self.has_heard(cpu) {
            self.before(count);
            return self.started(time_ns, cpu);
        }
        self.facts.lost = self.facts.lost.saturating_add(count.max(1));
        self.put(Head { time_ns, cpu, tid: -1, in_interrupt: None }, What::Lost)
    }

    /// Events that came before anything is known of a CPU: one at least.
    pub fn before(&mut self, count: u64) {
        self.before = self.before.saturating_add(count.max(1));
    }

    /// The buffers of all CPUs were overwritten: what is known of each begins with its first event.
    pub fn starts_with_first_events(&mut self) -> Result<(), Trouble> {
        let heard = self.facts.heard.clone();
        let first_ns = heard.values().min().copied().unwrap_or(0);
        heard.into_iter().filter(|(_, at_ns)| *at_ns > first_ns).try_for_each(|(cpu, at_ns)| self.started(at_ns, cpu))
    }

    /// What is known of a CPU begins here, and others began before.
    pub fn started(&mut self, time_ns: u64, cpu: u32) -> Result<(), Trouble> {
        self.facts.starts += 1;
        self.put(Head { time_ns, cpu, tid: -1, in_interrupt: None }, What::Started)
    }

    /// Something at this time that the trace will not show.
    pub fn passed(
        &mut self,
        time_ns: u64,
        cpu: u32,
        kind: &str,
        first: impl FnOnce() -> String,
    ) -> Result<(), Trouble> {
        self.see(time_ns)?;
        self.hear(time_ns, cpu)?;
        self.facts.passed.count(kind, first);
        Ok(())
    }

    /// Which process a thread belongs to. The first word counts, since a number may be given away again.
    pub fn process(&mut self, tid: i32, tgid: i32) {
        if tid > 0 && tgid > 0 && self.facts.processes.len() < PROCESSES {
            self.facts.processes.entry(tid).or_insert(tgid);
        }
    }

    /// A thing that the recording cannot say, once.
    pub fn lacks(&mut self, what: &str) {
        if !self.facts.missing.iter().any(|known| known == what) {
            self.facts.missing.push(what.into());
        }
    }

    fn hear(&mut self, time_ns: u64, cpu: u32) -> Result<(), Trouble> {
        check_cpu(cpu).map_err(Trouble::Damaged)?;
        let first_ns = self.facts.heard.entry(cpu).or_insert(time_ns);
        *first_ns = time_ns.min(*first_ns);
        Ok(())
    }

    fn see(&mut self, time_ns: u64) -> Result<(), Trouble> {
        if time_ns > Time::LATEST.ns() {
            let what = format!("no clock shows {} s; record it again", seconds(time_ns));
            return Err(Trouble::Damaged(what));
        }
        self.facts.end_ns = self.facts.end_ns.max(time_ns);
        Ok(())
    }

    fn put(&mut self, head: Head, what: What) -> Result<(), Trouble> {
        check_cpu(head.cpu).map_err(Trouble::Damaged)?;
        self.see(head.time_ns)?;
        self.chunk.push(Entry { head, what });
        if self.chunk.len() == CHUNK { self.spill().map_err(Trouble::Scratch) } else { Ok(()) }
    }

    /// Puts what is in memory into order and onto disk, as a run of its own or as more of the last one.
    fn spill(&mut self) -> io::Result<()> {
        // Equal times stay in the order in which they were reported, except that a beginning is in front of its events.
        self.chunk.sort_by_key(Entry::key);
        let (Some(first), Some(last)) = (self.chunk.first(), self.chunk.last()) else { return Ok(()) };
        let (first_ns, last_ns) = (first.head.time_ns, last.head.time_ns);
        let from = self.written;
        let mut bytes = [0; LONGEST];
        for entry in &self.chunk {
            let bytes = postcard::to_slice(entry, &mut bytes).expect("an entry is shorter");
            self.file.write_all(&[bytes.len() as u8])?;
            self.file.write_all(bytes)?;
            self.written += 1 + bytes.len() as u64;
        }
        self.chunk.clear();
        let until = self.written;
        let count = self.runs.len();
        match self.runs.last_mut() {
            Some(run) if run.last_ns < first_ns => (run.until, run.last_ns) = (until, last_ns),
            _ if count == RUNS => return Err(io::Error::other("the events are too far out of order")),
            _ => self.runs.push(Run { from, until, last_ns }),
        }
        Ok(())
    }

    /// Nothing more comes.
    pub fn finish(mut self) -> io::Result<Gathered> {
        self.spill()?;
        self.facts.overwritten = self.facts.overwritten.max(self.before);
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Gathered { facts: self.facts, file, runs: self.runs })
    }
}

/// All that a reader said.
pub struct Gathered {
    pub facts: Facts,
    file: File,
    runs: Vec<Run>,
}

impl Gathered {
    /// Hands on all entries in the order of time, those of the same time as they were reported.
    pub fn each(&self, mut each: impl FnMut(Entry)) -> io::Result<()> {
        let mut readers: Vec<RunReader> = self.runs.iter().map(|run| RunReader::new(&self.file, *run)).collect();
        let mut heap = BinaryHeap::new();
        let mut heads = Vec::new();
        for (number, reader) in readers.iter_mut().enumerate() {
            let entry = reader.next()?;
            heap.extend(entry.map(|entry| Reverse((entry.key(), number))));
            heads.push(entry);
        }
        while let Some(Reverse((_, number))) = heap.pop() {
            if let Some(entry) = heads[number].take() {
                each(entry);
            }
            heads[number] = readers[number].next()?;
            heap.extend(heads[number].map(|entry| Reverse((entry.key(), number))));
        }
        Ok(())
    }
}

struct RunReader<'a> {
    file: &'a File,
    at: u64,
    until: u64,
    block: Vec<u8>,
    begin: usize,
}

impl RunReader<'_> {
    fn new(file: &File, run: Run) -> RunReader<'_> {
        RunReader { file, at: run.from, until: run.until, block: Vec::new(), begin: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.block.len() - self.begin < LONGEST && self.at < self.until {
            self.block.drain(..self.begin);
            self.begin = 0;
            let kept = self.block.len();
            let more = (self.until - self.at).min(BLOCK as u64) as usize;
            self.block.resize(kept + more, 0);
            self.file.read_exact_at(&mut self.block[kept..], self.at)?;
            self.at += more as u64;
        }
        let Some((&length, rest)) = self.block[self.begin..].split_first() else { return Ok(None) };
        let entry = rest.get(..usize::from(length)).and_then(|bytes| postcard::from_bytes(bytes).ok());
        self.begin += 1 + usize::from(length);
        entry.map(Some).ok_or_else(|| io::Error::other("an entry is not as it was written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_record::{Comm, Departure};

    fn head(time_ns: u64, cpu: u32) -> Head {
        Head { time_ns, cpu, tid: 0, in_interrupt: Some(true) }
    }

    fn ran(tid: i32) -> Event {
        Event::Ran { tid, comm: Comm::new(b"sh"), runtime_ns: 0 }
    }

    #[test]
    fn events_come_in_the_order_of_time_however_many_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let mut gather = Gather::create_in(folder.path()).unwrap();
        let count = 3 * CHUNK as u64 + 7;
        // Three sequences after each other, as buffers of CPUs are read.
        for number in 0..count {
            let (sequence, place) = (number % 3, number / 3);
            gather.event(head(place * 10 + sequence, 0), ran(number as i32)).unwrap();
        }
        for number in 0..count / 2 {
            gather.event(head(number * 20, 1), ran(-1)).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let gathered = gather.finish().unwrap();
        assert!(gathered.runs.len() > 1);
        let (mut times, mut ties) = (Vec::new(), 0);
        gathered
            .each(|entry| {
                if times.last() == Some(&entry.head.time_ns) {
                    ties += 1;
                    assert_eq!(entry.head.cpu, 1, "the first that was given comes first");
                }
                times.push(entry.head.time_ns);
            })
            .unwrap();
        assert_eq!(times.len() as u64, count + count / 2);
        assert!(times.is_sorted() && ties > 0);
    }

    #[test]
    fn the_longest_entry_finds_room() {
        let task = crate::told::Task { tid: i32::MIN, comm: Comm([0xff; 16]), priority: i16::MIN };
        let what = What::Event(Event::Switch { previous: task, how: Departure::Exited, next: task });
        let entry = Entry { head: Head { time_ns: u64::MAX, cpu: u32::MAX, tid: i32::MIN, in_interrupt: None }, what };
        assert!(postcard::to_stdvec(&entry).unwrap().len() < LONGEST);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut gather = Gather::create_in(folder.path()).unwrap();
        for (head, event) in [
            (head(0, 4096), ran(1)),
            (head(u64::MAX, 0), ran(1)),
            (head(0, 0), Event::Fork { parent: 1, child: 1, comm: Comm::default() }),
        ] {
            assert!(matches!(gather.event(head, event), Err(Trouble::Damaged(_))), "{event:?}");
        }
    }
}
