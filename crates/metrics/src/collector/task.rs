//! What the collector knows about each living task.

use schedlab_model::ids::{CpuId, RoleId, TaskId};

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// New, asleep, or switched out for good.
    Off,
    /// Runnable since it woke up, not yet on a CPU.
    Woken,
    /// As `Woken`, and when it became runnable is not known: no wait that can be measured.
    Roused,
    /// Runnable, was on a CPU before.
    Preempted,
    /// On a CPU.
    Running,
}

/// Stands for "not yet" where a time is kept.
pub(super) const NOT_YET: u64 = u64::MAX;

/// One living task. Times in ns. What a switch touches fills one cache line, the rest the next.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Task {
    /// Since when the activity lasts (while running: since the last settlement).
    pub since: u64,
    /// What the CPU's overhead clock showed then.
    pub overhead_mark: u64,
    pub cpu_ns: u64,
    /// Of the waits so far, plus one; zero when there was none.
    longest_wait_and_one: u64,
    /// Runnable and not on a CPU: since it woke up, or as long as it has had requests.
    pub waited_ns: u64,
    pub voluntary: u32,
    pub involuntary: u32,
    /// Where its observations go: its own place, or its role's.
    pub observations: u32,
    /// The CPU on whose run queue it is, or was last.
    pub cpu: CpuId,
    pub role: RoleId,
    pub activity: Activity,
    /// Its end was announced while it was still on a CPU.
    pub exited: bool,
    /// Whether its next time on a CPU is the first one of its request.
    pub first_run_due: bool,
    /// Whether a request of its own is open.
    pub request_open: bool,
    pub id: TaskId,
    /// How many requests it has that it took.
    pub taken: u32,
    pub responses: u32,
    pub migrations: u32,
    pub born: u64,
    /// When its own open request should have begun.
    pub intended: u64,
    /// When it last became runnable.
    pub woken: u64,
    /// As `waited_ns`, off the CPU and not runnable.
    pub blocked_ns: u64,
    pub response_sum: u64,
    /// When it first ran after it began with a request.
    pub first_run: u64,
}

impl Task {
    pub fn new(id: TaskId, role: RoleId, observations: u32, born: u64) -> Task {
        Task {
            since: born,
            overhead_mark: 0,
            cpu_ns: 0,
            longest_wait_and_one: 0,
            waited_ns: 0,
            voluntary: 0,
            involuntary: 0,
            observations,
            cpu: CpuId(0),
            role,
            activity: Activity::Off,
            exited: false,
            first_run_due: false,
            request_open: false,
            id,
            taken: 0,
            responses: 0,
            migrations: 0,
            born,
            intended: 0,
            woken: born,
            blocked_ns: 0,
            response_sum: 0,
            first_run: NOT_YET,
        }
    }

    /// The present wait lasts until now, at least; gives its length.
    #[inline]
    pub fn note_wait(&mut self, now: u64) -> u64 {
        let wait = now - self.since;
        self.longest_wait_and_one = self.longest_wait_and_one.max(wait + 1);
        wait
    }

    /// The longest wait; none when it never waited.
    pub fn longest_wait(&self) -> Option<u64> {
        self.longest_wait_and_one.checked_sub(1)
    }

    pub fn is_runnable(&self) -> bool {
        self.activity != Activity::Off
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.activity, Activity::Woken | Activity::Roused | Activity::Preempted)
    }

    /// Forgets what was measured; what the task is doing continues.
    pub fn clear(&mut self) {
        (self.cpu_ns, self.longest_wait_and_one, self.migrations) = (0, 0, 0);
        (self.responses, self.response_sum) = (0, 0);
        (self.voluntary, self.involuntary) = (0, 0);
    }
}

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;
const NO_SLOT: u32 = u32::MAX;

#[derive(Debug)]
struct Page {
    living: u32,
    slots: [u32; PAGE],
}

/// The living tasks in a dense slab. Task numbers are never used twice, so they are translated to slots page by page,
/// and a page goes when its tasks have gone: memory follows the number of living tasks (and 8 bytes for each thousand
/// that ever lived), not the length of the run.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    pages: Vec<Option<Box<Page>>>,
    tasks: Vec<Task>,
    free: Vec<u32>,
}

impl TaskTable {
    /// Where a task is; none when it is unknown or has gone.
    #[inline]
    pub fn slot(&self, id: TaskId) -> Option<usize> {
        let page = self.pages.get(id.index() >> PAGE_BITS)?.as_ref()?;
        let slot = page.slots[id.index() & (PAGE - 1)];
        (slot != NO_SLOT).then_some(slot as usize)
    }

    /// A task; none when it is unknown or has gone.
    #[inline(always)]
    pub fn find(&mut self, id: TaskId) -> Option<&mut Task> {
        let page = self.pages.get(id.index() >> PAGE_BITS)?.as_ref()?;
        // No slot is none of the slab's either.
        self.tasks.get_mut(page.slots[id.index() & (PAGE - 1)] as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, slot: usize) -> &mut Task {
        &mut self.tasks[slot]
    }

    /// Adds a task, in place of an older one of the same number if there is one.
    pub fn insert(&mut self, task: Task) {
        let id = task.id.index();
        if let Some(slot) = self.slot(task.id) {
            self.tasks[slot] = task;
            return;
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.tasks[slot as usize] = task;
                slot
            }
            None => {
                self.tasks.push(task);
                (self.tasks.len() - 1) as u32
            }
        };
        let page = id >> PAGE_BITS;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new(Page { living: 0, slots: [NO_SLOT; PAGE] }));
        page.living += 1;
        page.slots[id & (PAGE - 1)] = slot;
    }

    /// Removes the task in this slot.
    pub fn remove(&mut self, slot: usize) {
        let id = self.tasks[slot].id.index();
        let place = &mut self.pages[id >> PAGE_BITS];
        if let Some(page) = place {
            page.slots[id & (PAGE - 1)] = NO_SLOT;
            page.living -= 1;
            if page.living == 0 {
                *place = None;
            }
        }
        self.free.push(slot as u32);
    }

    /// The slots of the living tasks, by task number.
    pub fn slots(&self) -> Vec<usize> {
        let pages = self.pages.iter().flatten();
        pages.flat_map(|page| page.slots).filter(|&slot| slot != NO_SLOT).map(|slot| slot as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u32) -> Task {
        Task::new(TaskId(id), RoleId(0), 0, 0)
    }

    #[test]
    fn slots_are_recycled_and_pages_go() {
        let mut table = TaskTable::default();
        for id in 0..100_000 {
            table.insert(task(id));
            if id >= 3 {
                table.remove(table.slot(TaskId(id - 3)).unwrap());
            }
        }
        assert_eq!(table.tasks.len(), 4);
        assert_eq!(table.pages.iter().flatten().count(), 1);
        let living: Vec<u32> = table.slots().into_iter().map(|slot| table.tasks[slot].id.0).collect();
        assert_eq!(living, [99_997, 99_998, 99_999]);
        assert_eq!((table.slot(TaskId(5)), table.slot(TaskId(u32::MAX))), (None, None));
    }

    #[test]
    fn a_switch_touches_one_cache_line_of_two() {
        assert_eq!((std::mem::offset_of!(Task, id), size_of::<Task>()), (64, 128));
    }
}
