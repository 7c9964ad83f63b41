//! The tasks of a run, in slots that are used again when a task has ended, so that a run of millions of short tasks
//! needs memory only for those alive at once.

use super::timers::Due;
use super::unseen::UNSEEN;
use schedlab_model::{
    distribution::Distribution,
    ids::*,
    rng::Rng,
    time::Time,
    trace::EventKind,
    workload::{BUSY_PIECE, Class},
};

/// One task: where it is in its program.
pub struct Task {
    /// Its number in the trace.
    pub id: TaskId,
    /// Its role.
    pub role: RoleId,
    /// Its own class.
    pub class: Class,
    /// Its real-time priority for now, its own or one that it has inherited; 0 for none.
    pub priority: u8,
    /// Mutexes with priority inheritance that it has.
    pub holds: Vec<u32>,
    /// The one for which it waits.
    pub waits_for: Option<u32>,
    /// Its number among the tasks of its role.
    pub member: u32,
    /// Recorded items that it has taken from a list of its own.
    pub items_taken: u64,
    /// The next step.
    pub step: u32,
    /// Passes left of each `repeat` that the task is in, innermost last.
    pub repeats: Vec<u32>,
    /// CPU work left of the current `compute`, in nanoseconds.
    pub work_ns: u64,
    /// Until when it is busy, if it is.
    pub busy_until_ns: Option<u64>,
    /// How much it has worked for its step, which takes a lock, to look at that again and again.
    pub spun_ns: u64,
    /// Work that it has to do next to the next step that takes time: for processes that it has created.
    pub owed_ns: u64,
    /// The same for requests that were written down.
    pub noted_ns: u64,
    /// The process that it created last and that has its memory still, if that has not run.
    pub shares_with: Option<TaskId>,
    /// The slot of the task that created it, if it is a process that has the memory of that one to itself.
    pub memory_of: Option<u32>,
    /// CPU work asked for since its own request began, or since it began itself.
    pub demand_ns: u64,
    /// When it was asked for: its start.
    pub asked_ns: u64,
    /// The last release of each of its timers; empty in a task that is not periodic.
    releases: Vec<Option<u64>>,
    /// When it last became runnable; at first, when it was asked for.
    pub ready_ns: u64,
    /// Whether it has not yet done a step since then: a request that begins now began when the task became ready.
    pub fresh: bool,
    /// Whether a request of its own is open.
    in_request: bool,
    /// Requests that it took and has not answered.
    held: Vec<Held>,
    /// Requests that it has begun with.
    pub begun: u32,
    /// Whether it has tried to do its step and waits for what it needs, or has been woken to try again.
    pub waits: bool,
    /// Whether it has worked for the call that its step is.
    pub paid: bool,
    /// The end of the sleep whose call it executes, and what ends it.
    pub asleep_at_ns: Option<(u64, Due)>,
    /// Messages of its step that it has moved already.
    pub moved: u32,
    /// Whether the requests that its step sends are given away.
    pub has_given: bool,
    /// The `spawn` that the task is at, if it is at one that costs CPU time.
    pub spawning: Option<Spawning>,
    /// How far it is on its way out.
    pub leaving: Leaving,
    /// Its own random numbers.
    pub rng: Rng,
}

/// A request on its way through channels and tasks.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Which.
    pub id: RequestId,
    /// When it was born.
    pub born_ns: u64,
    /// CPU work asked for so far.
    pub demand_ns: u64,
}

/// A request that a task has taken.
#[derive(Clone, Copy, Debug)]
struct Held {
    request: Request,
    /// The task's own demand when it was taken.
    demand_mark_ns: u64,
}

/// How far a task is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It has steps to do.
    No,
    /// It has done its last step and frees its memory (`PF_EXITING`).
    Frees,
    /// Its CPU has chosen again meanwhile.
    Moved,
}

/// How far a task is with a `spawn`: it works for each child before the child is there.
#[derive(Clone, Copy, Debug)]
pub struct Spawning {
    /// When it began.
    pub since_ns: u64,
    /// How many children it has worked for.
    pub paid: u32,
}

impl Task {
    fn new(id: TaskId, role: RoleId, rng: &Rng, asked_ns: u64) -> Task {
        Task {
            id,
            role,
            class: Class::Other,
            priority: 0,
            holds: Vec::new(),
            waits_for: None,
            member: 0,
            items_taken: 0,
            step: 0,
            repeats: Vec::new(),
            work_ns: 0,
            busy_until_ns: None,
            spun_ns: 0,
            owed_ns: 0,
            noted_ns: 0,
            shares_with: None,
            memory_of: None,
            demand_ns: 0,
            asked_ns,
            releases: Vec::new(),
            ready_ns: asked_ns,
            fresh: true,
            in_request: false,
            held: Vec::new(),
            begun: 0,
            waits: false,
            paid: false,
            asleep_at_ns: None,
            moved: 0,
            has_given: false,
            spawning: None,
            leaving: Leaving::No,
            rng: rng.child(id.0 as u64),
        }
    }

    /// The last release of one of its timers.
    pub fn release_of(&self, timer: u32) -> Option<u64> {
        self.releases.get(timer as usize).copied().flatten()
    }

    /// Keeps the last release of one of its timers.
    pub fn set_release(&mut self, timer: u32, at_ns: u64) {
        let timer = timer as usize;
        self.releases.resize(self.releases.len().max(timer + 1), None);
        self.releases[timer] = Some(at_ns);
    }

    /// What it has to work next to a step, which it now does.
    #[inline]
    pub fn take_debts(&mut self) -> u64 {
        std::mem::take(&mut self.owed_ns) + std::mem::take(&mut self.noted_ns)
    }

    /// After its last step.
    #[inline]
    pub fn begin_anew(&mut self) {
        self.step = 0;
    }

    /// Does the step that asks for CPU work; it may turn out to be none.
    #[inline]
    pub fn compute(&mut self, length: &Distribution) {
        let demand_ns = self.draw(length);
        self.demand_ns += demand_ns;
        self.work_ns = demand_ns + self.take_debts();
    }

    /// Does a piece of the step that computes until a time has passed; false when it has.
    pub fn be_busy(&mut self, length: &Distribution, now_ns: u64) -> bool {
        let until_ns = self.busy_until_ns.take();
        if until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.step += 1;
            return false;
        }
        self.busy_until_ns = until_ns.or_else(|| {
            self.fresh = false;
            Some(now_ns.saturating_add(length.sample(&mut self.rng).ns()))
        });
        self.demand_ns += BUSY_PIECE.ns();
        self.work_ns = BUSY_PIECE.ns() + self.take_debts();
        true
    }

    /// Begins the step that takes some time, and says how much in nanoseconds.
    #[inline]
    pub fn draw(&mut self, length: &Distribution) -> u64 {
        self.step += 1;
        self.fresh = false;
        length.sample(&mut self.rng).ns()
    }

    /// Does the step that begins a request. One that opens the turn began when the task became ready; whatever else the
    /// task does ends that.
    #[inline]
    pub fn begin_request(&mut self, now_ns: u64, noting: Time) -> EventKind {
        self.step += 1;
        self.noted_ns += noting.ns();
        (self.demand_ns, self.in_request) = (0, true);
        self.begun = self.begun.wrapping_add(1);
        let intended = Time(if self.fresh { self.ready_ns } else { now_ns });
        EventKind::RequestBegin { task: self.id, intended, request: None }
    }

    /// Begins with a request that was waiting.
    pub fn take(&mut self, request: Request) -> EventKind {
        self.begun = self.begun.wrapping_add(1);
        self.held.push(Held { request, demand_mark_ns: self.demand_ns });
        EventKind::RequestBegin { task: self.id, intended: Time(request.born_ns), request: Some(request.id) }
    }

    /// Gives away the requests that it took, with what it has added to them.
    pub fn give(&mut self) -> Vec<Request> {
        let demand_ns = self.demand_ns;
        let more = |held: &Held| held.request.demand_ns + (demand_ns - held.demand_mark_ns);
        self.held.drain(..).map(|held| Request { demand_ns: more(&held), ..held.request }).collect()
    }

    /// Gives back the last `count` requests that it took, with which it has done nothing.
    pub fn give_back(&mut self, count: usize) -> Vec<Request> {
        self.begun = self.begun.wrapping_sub(count as u32);
        let kept = self.held.len() - count;
        self.held.drain(kept..).map(|held| held.request).collect()
    }

    /// Does the step that ends all its requests: first its own, then those that it took, in their order.
    pub fn answer(&mut self) -> Vec<EventKind> {
        let own = self.in_request.then(|| self.end_request());
        let taken = self.give();
        let task = self.id;
        let answered = |request: Request| EventKind::RequestEnd {
            task,
            demand: Time(request.demand_ns),
            request: Some(request.id),
        };
        self.step += own.is_none() as u32;
        self.fresh = false;
        own.into_iter().chain(taken.into_iter().map(answered)).collect()
    }

    /// Does the step that ends a request.
    #[inline]
    pub fn end_request(&mut self) -> EventKind {
        self.step += 1;
        (self.fresh, self.in_request) = (false, false);
        EventKind::RequestEnd { task: self.id, demand: Time(self.demand_ns), request: None }
    }
}

/// All tasks alive, by slot.
#[derive(Default)]
pub struct Tasks {
    slots: Vec<Option<Task>>,
    free: Vec<u32>,
    created: u32,
    alive: u32,
}

impl Tasks {
    /// Creates a task of a role. `rng` is the role's stream; the task takes the child of its own number.
    pub fn create(&mut self, role: RoleId, rng: &Rng, asked_ns: u64) -> u32 {
        let id = TaskId(self.created);
        self.created += 1;
        self.alive += 1;
        self.place(Task::new(id, role, rng, asked_ns))
    }

    /// Creates an unseen task, which is not counted.
    pub fn create_unseen(&mut self, role: RoleId, rng: &Rng) -> u32 {
        self.place(Task::new(UNSEEN, role, rng, 0))
    }

    fn place(&mut self, task: Task) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(task);
                slot
            }
            None => {
                self.slots.push(Some(task));
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Frees the slot of a task that has ended.
    pub fn remove(&mut self, slot: u32) {
        self.end(slot);
        self.give_back(slot);
    }

    /// A task has ended. Its slot stays its own until it is [given back](Tasks::give_back).
    pub fn end(&mut self, slot: u32) {
        let task = self.slots[slot as usize].take();
        assert!(task.is_some(), "the task of slot {slot} ends twice");
        self.alive -= 1;
    }

    /// Lets the slot of a task that has ended be used for another one.
    pub fn give_back(&mut self, slot: u32) {
        debug_assert!(self.get(slot).is_none(), "a task is in slot {slot}");
        self.free.push(slot);
    }

    /// The task in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Task> {
        self.slots.get(slot as usize).and_then(|t| t.as_ref())
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Task> {
        self.slots.get_mut(slot as usize).and_then(Option::as_mut)
    }

    /// Slots of tasks alive, in ascending order.
    pub fn alive_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let seen = |task: &Option<Task>| task.as_ref().is_some_and(|task| task.id != UNSEEN);
        self.slots.iter().enumerate().filter(move |(_, task)| seen(task)).map(|(i, _)| i as u32)
    }

    /// Requests that tasks have taken and not answered.
    pub fn requests_held(&self) -> u64 {
        self.slots.iter().flatten().map(|task| task.held.len() as u64).sum()
    }

    /// How many tasks are alive.
    pub fn alive(&self) -> u32 {
        self.alive
    }

    /// How many tasks there have been.
    pub fn created(&self) -> u32 {
        self.created
    }
}

impl std::ops::Index<u32> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, slot: u32) -> &Task {
        self.slots[slot as usize].as_ref().expect("a living task")
    }
}

impl std::ops::IndexMut<u32> for Tasks {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Task {
        self.slots[slot as usize].as_mut().expect("a living task")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_numbers_are_not() {
        let mut tasks = Tasks::default();
        let rng = Rng::split(1, "role");
        let (a, b) = (tasks.create(RoleId(0), &rng, 0), tasks.create(RoleId(0), &rng, 0));
        tasks.remove(a);
        let c = tasks.create(RoleId(0), &rng, 0);
        assert_eq!((c, tasks[b].id, tasks[c].id, tasks.alive(), tasks.created()), (a, TaskId(1), TaskId(2), 2, 3));
    }
}
