//! Memory that the tasks of a run share with one another and with the program that started them, whether they are
//! threads or processes: it is mapped before the first of them exists. What a task saw is still there when the task has
//! been killed.

use crate::control_groups::{COUNTERS, Counters};
use crate::futex;
use crate::requests::Request;
use schedlab_model::scenario::MAX_CONTROL_GROUPS;
use std::mem::size_of;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};

/// The most tasks of one run, dead ones included.
pub const MAX_TASKS: u32 = 1 << 20;
/// The most requests of one run that are kept.
pub const MAX_REQUESTS: u32 = 1 << 24;
/// The most requests that wait at once in a channel or semaphore. A power of two.
pub const WAITING_PLACES: u32 = 1 << 16;
/// The most moves between control groups that are kept.
pub const MAX_JOINS: u32 = 1 << 16;

/// What steers a run.
#[repr(C)]
#[derive(Default)]
pub struct Control {
    /// 1 when all tasks are to end. A futex.
    pub stop: AtomicU32,
    /// Tasks that wait at the gate, or are about to. A futex.
    pub ready: AtomicU32,
    /// Tasks that have been numbered.
    pub tasks: AtomicU32,
    /// Tasks alive. A futex.
    pub alive: AtomicU32,
    /// Places for requests that have been given out.
    pub requests: AtomicU32,
    /// Requests for which there was no place.
    pub requests_lost: AtomicU64,
    /// Requests that tasks have sent.
    pub born: AtomicU32,
    /// When the run began.
    pub start_ns: AtomicU64,
    /// When the first and when the last task placed by `start_on` was set free.
    pub freed_ns: [AtomicU64; 2],
    /// Counts what the master is to look at. A futex.
    pub calls: AtomicU32,
    /// Tasks that others have asked for and that have no number yet.
    pub ordered: AtomicU32,
    /// 1 when no task will arrive any more.
    pub all_arrived: AtomicU32,
    /// The process that runs the tasks.
    pub master: AtomicI32,
    /// CPU time that the master took for creating tasks that arrive.
    pub arrivals_cpu_ns: AtomicU64,
    /// How many of them it has created.
    pub arrivals: AtomicU32,
    /// CPU time of all threads of the master's process but the master itself, and of all processes that were created.
    pub tasks_cpu_ns: [AtomicU64; 2],
    /// The number plus one of the first task whose program failed, and how: see [`crate::program`].
    pub failed_task: AtomicU32,
    /// How it failed.
    pub failure: AtomicI32,
    /// Places for joins that have been given out.
    pub joins: AtomicU32,
}

/// What is known of a task. Times are of the monotonic clock; zero stands for "not yet".
#[repr(C)]
#[derive(Default)]
pub struct TaskRecord {
    /// Its number for the kernel.
    pub tid: AtomicI32,
    /// Its process.
    pub pid: AtomicI32,
    /// Its role.
    pub role: AtomicU32,
    /// The number of the task that created it, plus one.
    pub parent: AtomicU32,
    /// When it was to begin: its birth or arrival.
    pub intended_ns: AtomicU64,
    /// When it did begin.
    pub began_ns: AtomicU64,
    /// When it ended.
    pub ended_ns: AtomicU64,
    /// CPU time, as the kernel counted it at the end.
    pub cpu_ns: AtomicU64,
    /// CPU time before its first step, if the run reads that.
    pub start_cpu_ns: AtomicU64,
    /// CPU time after its last step; for a process, if the run reads that.
    pub done_cpu_ns: AtomicU64,
    /// Time that it waited for a CPU since the run began, from `/proc`, [`u64::MAX`] if the kernel does not tell.
    pub run_delay_ns: AtomicU64,
    /// Voluntary and involuntary switches.
    pub switches: [AtomicU64; 2],
    /// The start of its open request, as intended.
    pub open_intended_ns: AtomicU64,
    /// Whether it waits for others to give something: the number of its wait, odd while it lasts.
    pub waits: AtomicU32,
    /// At which step it does.
    pub waits_at: AtomicU32,
    /// The process of the real program that it runs.
    pub program: AtomicI32,
    /// The last one that it ran.
    pub last_program: AtomicI32,
}

/// What became of a request that a task had.
pub mod fate {
    /// The task has it still.
    pub const OPEN: u32 = 0;
    /// The task has answered it.
    pub const ANSWERED: u32 = 1;
    /// The task has handed it on.
    pub const HANDED_ON: u32 = 2;
    /// It is no request but a release of a periodic task: `intended_ns` is when, `end_ns` its deadline, `begin_ns` when the
    /// task came to it, `request` how many were skipped.
    pub const RELEASE: u32 = 3;
}

/// A request that a task of its own ended, or one that a task took.
#[repr(C)]
#[derive(Default)]
pub struct RequestRecord {
    /// The task's number plus one; zero while the place is empty. Written last.
    pub task: AtomicU32,
    /// What became of it; written after its end.
    pub fate: AtomicU32,
    /// The number plus one of one that was taken.
    pub request: AtomicU32,
    /// The number plus one of the task from which it was taken.
    pub from: AtomicU32,
    /// Since when it had waited to be taken.
    pub queued_ns: AtomicU64,
    /// When it should have begun: its birth.
    pub intended_ns: AtomicU64,
    /// When the task got it.
    pub begin_ns: AtomicU64,
    /// When the task gave it away.
    pub end_ns: AtomicU64,
    /// CPU work that it asked for.
    pub demand_ns: AtomicU64,
}

/// A request that waits.
#[repr(C)]
#[derive(Default)]
pub struct WaitingRecord {
    request: AtomicU32,
    /// The number plus one of the task that put it here.
    from: AtomicU32,
    is_last: AtomicU32,
    born_ns: AtomicU64,
    queued_ns: AtomicU64,
    demand_ns: AtomicU64,
}

impl WaitingRecord {
    /// Writes a request, the last one of its message or not. The caller holds the queue's mutex.
    pub fn write(&self, request: &Request, is_last: bool) {
        self.request.store(request.id, Relaxed);
        self.from.store(request.from.map_or(0, |from| from + 1), Relaxed);
        self.is_last.store(is_last.into(), Relaxed);
        self.born_ns.store(request.born_ns, Relaxed);
        self.queued_ns.store(request.queued_ns, Relaxed);
        self.demand_ns.store(request.demand_ns, Relaxed);
    }

    /// What was written.
    pub fn read(&self) -> (Request, bool) {
        let request = Request {
            id: self.request.load(Relaxed),
            born_ns: self.born_ns.load(Relaxed),
            queued_ns: self.queued_ns.load(Relaxed),
            from: self.from.load(Relaxed).checked_sub(1),
            demand_ns: self.demand_ns.load(Relaxed),
        };
        (request, self.is_last.load(Relaxed) != 0)
    }
}

/// A task that moved to another control group.
#[repr(C)]
#[derive(Default)]
pub struct JoinRecord {
    at_ns: AtomicU64,
    task: AtomicU32,
    group: AtomicU32,
}

/// When counters are read.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// After the warm-up.
    Begin,
    /// At the end.
    End,
}

/// A mapping of all that.
pub struct Shared {
    base: *mut u8,
    objects: u32,
    queues: u32,
}

// SAFETY: everything in the mapping is atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

const PAGE_BYTES: usize = 4096;
const STEERING_BYTES: usize = PAGE_BYTES;
const JOIN_BYTES: usize = MAX_JOINS as usize * size_of::<JoinRecord>();
const COUNTER_BYTES: usize = 2 * (MAX_CONTROL_GROUPS + 1) * size_of::<[AtomicU64; COUNTERS]>();
const CONTROL_BYTES: usize = (STEERING_BYTES + JOIN_BYTES + COUNTER_BYTES).next_multiple_of(PAGE_BYTES);
const TASK_BYTES: usize = MAX_TASKS as usize * size_of::<TaskRecord>();
const REQUEST_BYTES: usize = MAX_REQUESTS as usize * size_of::<RequestRecord>();

impl Shared {
    /// Maps it, with room for these numbers of objects and queues of requests. Only what is touched takes memory.
    pub fn new(objects: u32, queues: u32) -> std::io::Result<Shared> {
        assert!(size_of::<Control>() <= STEERING_BYTES);
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new mapping, wherever the kernel likes.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), Shared::bytes(objects, queues), protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Shared { base: base.cast(), objects, queues })
    }

    fn bytes(objects: u32, queues: u32) -> usize {
        Shared::queues_at(objects) + queues as usize * QUEUE_BYTES
    }

    fn queues_at(objects: u32) -> usize {
        CONTROL_BYTES + TASK_BYTES + REQUEST_BYTES + objects as usize * OBJECT_STRIDE
    }

    /// A place of a queue of requests, which are used one after the other, round and round.
    pub fn waiting(&self, queue: u32, place: u32) -> &WaitingRecord {
        assert!(queue < self.queues);
        let at = Shared::queues_at(self.objects) + queue as usize * QUEUE_BYTES;
        // SAFETY: inside the mapping, which is zeroed at first and aligned; all fields are atomic.
        unsafe { &*self.base.add(at).cast::<WaitingRecord>().add((place % WAITING_PLACES) as usize) }
    }

    /// What steers the run.
    pub fn control(&self) -> &Control {
        // SAFETY: the mapping begins with it, zeroed, and is aligned to a page.
        unsafe { &*self.base.cast() }
    }

    /// Notes that a task is in another control group; not if too many have been noted.
    pub fn note_join(&self, task: u32, group: u32) {
        let place = self.control().joins.fetch_add(1, Relaxed);
        if place < MAX_JOINS {
            let record = self.join(place);
            record.task.store(task, Relaxed);
            record.group.store(group, Relaxed);
            record.at_ns.store(crate::clock::now_ns(), Release);
        }
    }

    /// When, which task, to which control group.
    pub fn joins(&self) -> impl Iterator<Item = (u64, u32, u32)> {
        let count = self.control().joins.load(Relaxed).min(MAX_JOINS);
        (0..count).map(|place| {
            let record = self.join(place);
            (record.at_ns.load(Acquire), record.task.load(Relaxed), record.group.load(Relaxed))
        })
    }

    fn join(&self, place: u32) -> &JoinRecord {
        assert!(place < MAX_JOINS);
        // SAFETY: inside the mapping, which is zeroed at first and aligned; all fields are atomic.
        unsafe { &*self.base.add(STEERING_BYTES).cast::<JoinRecord>().add(place as usize) }
    }

    /// Keeps what the kernel counts of a control group.
    pub fn count(&self, moment: Moment, group: usize, counters: Counters) {
        let numbers = self.counters(moment, group);
        numbers.iter().zip(counters.to_numbers()).for_each(|(place, number)| place.store(number, Relaxed));
    }

    /// What was kept.
    pub fn counted(&self, moment: Moment, group: usize) -> Counters {
        Counters::from_numbers(self.counters(moment, group).each_ref().map(|place| place.load(Relaxed)))
    }

    fn counters(&self, moment: Moment, group: usize) -> &[AtomicU64; COUNTERS] {
        assert!(group <= MAX_CONTROL_GROUPS);
        let place = moment as usize * (MAX_CONTROL_GROUPS + 1) + group;
        // SAFETY: as above.
        unsafe { &*self.base.add(STEERING_BYTES + JOIN_BYTES).cast::<[AtomicU64; COUNTERS]>().add(place) }
    }

    /// A task's record.
    pub fn task(&self, number: u32) -> &TaskRecord {
        assert!(number < MAX_TASKS);
        // SAFETY: inside the mapping, which is zeroed at first; all fields are atomic.
        unsafe { &*self.base.add(CONTROL_BYTES).cast::<TaskRecord>().add(number as usize) }
    }

    /// A place for a request.
    pub fn request(&self, place: u32) -> &RequestRecord {
        assert!(place < MAX_REQUESTS);
        // SAFETY: as above.
        unsafe { &*self.base.add(CONTROL_BYTES + TASK_BYTES).cast::<RequestRecord>().add(place as usize) }
    }

    /// The four words of an object, on a cache line of their own.
    pub fn object(&self, index: u32) -> &[AtomicU32; 4] {
        assert!(index < self.objects);
        let at = CONTROL_BYTES + TASK_BYTES + REQUEST_BYTES + index as usize * OBJECT_STRIDE;
        // SAFETY: as above.
        unsafe { &*self.base.add(at).cast() }
    }

    /// Has the kernel map the pages with objects and those of the next request into the calling process, as a write to each
    /// would. Kernels before 5.14 cannot: there the first use of each does that.
    pub fn map_pages(&self) {
        let objects_at = CONTROL_BYTES + TASK_BYTES + REQUEST_BYTES;
        let next = self.control().requests.load(Relaxed).min(MAX_REQUESTS - 1) as usize;
        let next_at = CONTROL_BYTES + TASK_BYTES + next * size_of::<RequestRecord>();
        map_for_writing(self.base, next_at..next_at + size_of::<RequestRecord>());
        map_for_writing(self.base, objects_at..objects_at + self.objects as usize * OBJECT_STRIDE);
    }

    /// Numbers a new task; none when there are too many.
    pub fn add_task(&self, role: u32, parent: Option<u32>, intended_ns: u64) -> Option<u32> {
        let number = self.control().tasks.fetch_add(1, Relaxed);
        if number >= MAX_TASKS {
            self.control().tasks.store(MAX_TASKS, Relaxed);
            return None;
        }
        let record = self.task(number);
        record.role.store(role, Relaxed);
        record.parent.store(parent.map_or(0, |p| p + 1), Relaxed);
        record.intended_ns.store(intended_ns, Relaxed);
        record.run_delay_ns.store(u64::MAX, Relaxed);
        self.control().alive.fetch_add(1, Relaxed);
        Some(number)
    }

    /// Has the master look at what there is: orders, an end. It sleeps otherwise, to be no load of its own.
    pub fn call_master(&self) {
        self.control().calls.fetch_add(1, Release);
        futex::wake(&self.control().calls, 1);
    }

    /// Ends the run.
    pub fn stop(&self) {
        self.control().stop.store(1, SeqCst);
        self.call_master();
    }

    /// A task has ended.
    pub fn end_task(&self) {
        let alive = &self.control().alive;
        if alive.fetch_sub(1, AcqRel) == 1 {
            self.call_master();
        }
        futex::wake(alive, 1);
    }

    /// Whether all tasks are to end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.control().stop.load(Relaxed) != 0
    }

    /// How many tasks there have been.
    pub fn tasks(&self) -> u32 {
        self.control().tasks.load(Acquire).min(MAX_TASKS)
    }
}

const OBJECT_STRIDE: usize = 64;
const QUEUE_BYTES: usize = WAITING_PLACES as usize * size_of::<WaitingRecord>();

/// Maps all pages of a part of a mapping that begins with a page.
fn map_for_writing(base: *mut u8, part: std::ops::Range<usize>) {
    let (begin, end) = (part.start / PAGE_BYTES * PAGE_BYTES, part.end.next_multiple_of(PAGE_BYTES));
    // SAFETY: nothing is read or written, and what is no mapping is refused.
    unsafe { libc::madvise(base.wrapping_add(begin).cast(), end - begin, libc::MADV_POPULATE_WRITE) };
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.cast(), Shared::bytes(self.objects, self.queues)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_writes_the_parent_reads() {
        let shared = Shared::new(2, 0).unwrap();
        // SAFETY: the child only stores into the mapping and leaves at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let number = shared.add_task(3, Some(4), 5).unwrap();
            shared.object(1)[2].store(number + 7, Relaxed);
            // SAFETY: nothing of the parent is to be run.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((shared.tasks(), shared.object(1)[2].load(Relaxed)), (1, 7));
        let record = shared.task(0);
        assert_eq!((record.role.load(Relaxed), record.parent.load(Relaxed)), (3, 5));
    }
}
