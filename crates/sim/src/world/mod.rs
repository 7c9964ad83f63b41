//! The world outside the scheduler: time, the tasks' programs, the objects they share, arrivals, and the events that
//! tell what happened. It decides what a task does next, never which task runs.

mod calls;
pub mod cpu_timers;
mod items;
mod lives;
mod messages;
mod mutexes;
pub mod objects;
mod periodic;
mod requests;
mod room;
mod socket_locks;
mod steps;
pub mod tasks;
mod telling;
pub mod timers;
mod unseen;
mod waking;

use crate::error::RunError;
use objects::Objects;
use requests::Requests;
use room::Room;
use schedlab_model::machine::{Costs, Machine};
use schedlab_model::workload::{self, Role, SourceTimes, Workload};
use schedlab_model::{ids::*, rng::Rng, time::Time, trace::*};
use socket_locks::SocketLocks;
use std::collections::VecDeque;
use std::rc::Rc;
pub use steps::{Done, Next};
use tasks::Tasks;
use timers::{Due, Timers};
use unseen::{Creator, Grace};
pub use unseen::{UNSEEN, Unseen};
use waking::Waking;

/// Events are handed on in lots of this size.
const LOT: usize = 256;

/// A task that is to become runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The task's slot.
    pub slot: u32,
    /// The slot of the task that woke it.
    pub waker: Option<u32>,
    /// What it had waited for.
    pub source: WakeSource,
}

impl Wake {
    /// What a due timer wakes, if it wakes a task.
    #[inline]
    pub fn by(due: Due) -> Option<Wake> {
        match due {
            Due::Timer(slot) => Some(Wake { slot, waker: None, source: WakeSource::Timer }),
            Due::Device(slot) => Some(Wake { slot, waker: None, source: WakeSource::Disk }),
            _ => None,
        }
    }
}

/// A task that is to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Its role.
    pub role: RoleId,
    /// The slot of the task that creates it.
    pub parent: Option<u32>,
    /// The slot of the unseen task, if that creates it.
    pub creator: Option<u32>,
    /// When it was asked for.
    pub asked_ns: u64,
    /// Whether others that share its memory are created later in the same step.
    pub shares: bool,
}

impl Birth {
    /// One that no task of the run creates.
    pub fn outside(role: RoleId, asked_ns: u64) -> Birth {
        Birth { role, parent: None, creator: None, asked_ns, shares: false }
    }

    /// The slot of the task that creates it, if one does: it is created on that task's CPU.
    pub fn by(self) -> Option<u32> {
        self.parent.or(self.creator)
    }
}

/// The state of everything but the scheduler.
pub struct World {
    /// The present, in nanoseconds.
    pub now_ns: u64,
    /// What will happen.
    pub timers: Timers,
    /// The tasks alive.
    pub tasks: Tasks,
    /// What the tasks do.
    pub workload: Rc<Workload>,
    /// What tasks pay for in addition to their steps.
    costs: Costs,
    /// Whether a step may cost something for the call that it is.
    has_calls: bool,
    /// Whether events tell what tasks do with shared objects.
    tells: bool,
    objects: Objects,
    requests: Requests,
    room: Room,
    /// Whether the run cannot continue: there is too much of something, the policy has failed, or the scenario has.
    pub has_to_end: bool,
    /// For each source when its next messages come.
    sources: Vec<SourceTimes>,
    role_rngs: Vec<Rng>,
    arrival_rngs: Vec<Rng>,
    arrivals_left: Vec<u32>,
    /// For each role how many of its tasks have been created.
    born: Vec<u32>,
    /// Threads that are there.
    threads: lives::Threads,
    /// What a thread has while it creates a process, if only one can at a time.
    forks: Option<objects::Lock>,
    /// For each role the recorded items that its tasks have taken from a common list.
    items_taken: Vec<u64>,
    woken: Vec<u32>,
    /// Tasks in calls that have more to wake.
    waking: Waking,
    /// Locks of sockets.
    socket_locks: SocketLocks,
    /// Tasks with another inherited class than when the scheduler last looked.
    pub inherits: Vec<u32>,
    /// What creates the tasks that arrive, where that takes time.
    creator: Option<Creator>,
    /// What waits until what ended tasks leave can be freed, where that takes time.
    grace: Option<Grace>,
    /// By CPU.
    keepers: Vec<Unseen>,
    /// Births and arrivals whose timers are set.
    tasks_to_come: u32,
    /// Arrivals of messages from outside whose timers are set.
    arrivals_to_come: u32,
    /// Tasks to make runnable, in order; the scheduler takes them.
    pub wakes: VecDeque<Wake>,
    /// Tasks to create, in order; the scheduler takes them.
    pub births: VecDeque<Birth>,
    /// Events not yet handed on.
    pub events: Vec<Event>,
    /// What tasks did at the instant next to it, to find programs that never let time go by.
    done_at_once: Done,
    done_at_ns: u64,
}

impl World {
    /// The world at time zero, all births and arrivals set, in which tasks pay for creation, begin and end.
    pub fn new(workload: &Rc<Workload>, costs: &Costs, seed: u64) -> World {
        let seen = workload.roles.len();
        let machine = Machine { costs: *costs, ..workload.machine.clone() };
        let workload = &unseen::with_unseen(workload, &machine);
        let stream = |kind: &str, g: &Role| Rng::split(seed, &format!("{kind}/{}", g.name));
        let roles = &workload.roles;
        let mut world = World {
            now_ns: 0,
            timers: Timers::default(),
            tasks: Tasks::default(),
            workload: workload.clone(),
            costs: *costs,
            has_calls: costs.calls().any(|cost| cost > Time::ZERO),
            tells: workload.run.calls,
            objects: Objects::new(workload),
            requests: Requests::new(&workload.objects),
            room: Room::default(),
            has_to_end: false,
            sources: workload.sources.iter().map(|source| source.times(seed)).collect(),
            role_rngs: roles.iter().map(|g| stream("task", g)).collect(),
            arrival_rngs: roles.iter().map(|g| stream("arrivals", g)).collect(),
            arrivals_left: roles.iter().map(|g| g.count.unwrap_or(u32::MAX)).collect(),
            born: vec![0; roles.len()],
            threads: lives::Threads::of(roles),
            forks: lives::forks(&workload.machine.mechanisms),
            items_taken: vec![0; roles.len()],
            woken: Vec::new(),
            waking: Waking::new(costs, workload.machine.mechanisms),
            socket_locks: SocketLocks::new(workload.objects.channels.len(), workload.machine.mechanisms),
            inherits: Vec::new(),
            creator: None,
            grace: None,
            keepers: Vec::new(),
            tasks_to_come: 0,
            arrivals_to_come: 0,
            wakes: VecDeque::new(),
            births: VecDeque::new(),
            events: Vec::with_capacity(1024),
            done_at_once: Done::default(),
            done_at_ns: 0,
        };
        for (index, role) in roles.iter().enumerate() {
            match &role.birth {
                workload::Birth::At(time) => world.expect(time.ns(), Due::Birth(index as u32)),
                workload::Birth::Arrivals { first, .. } => world.draw_arrival(index as u32, first.ns()),
                workload::Birth::Listed(_) => world.draw_arrival(index as u32, 0),
                workload::Birth::Spawned => {}
            }
        }
        (0..workload.sources.len() as u32).for_each(|source| world.expect_messages(source));
        world.make_unseen(seen);
        world
    }

    /// Records an event.
    #[inline]
    pub fn emit(&mut self, cpu: u32, kind: EventKind) {
        self.events.push(Event { time: Time(self.now_ns), cpu: CpuId(cpu), kind });
    }

    /// Records an event of a task, unless the task is unseen.
    #[inline]
    pub fn emit_of(&mut self, cpu: u32, task: TaskId, kind: EventKind) {
        if task != UNSEEN {
            self.emit(cpu, kind);
        }
    }

    /// Hands the events on: all, or those of a lot when one is full.
    #[inline]
    pub fn hand_on(&mut self, sink: &mut dyn Sink, all: bool) {
        if all || self.events.len() >= LOT {
            sink.events(&self.events);
            self.events.clear();
        }
    }

    fn expect(&mut self, at_ns: u64, due: Due) {
        self.tasks_to_come += 1;
        self.timers.push(at_ns, due);
    }

    /// Sets the next arrival of a role, if one is left.
    fn draw_arrival(&mut self, role: u32, from_ns: u64) {
        let index = role as usize;
        if self.arrivals_left[index] == 0 {
            return;
        }
        self.arrivals_left[index] -= 1;
        let at_ns = match &self.workload.roles[index].birth {
            workload::Birth::Arrivals { gap, .. } => {
                from_ns.saturating_add(gap.sample(&mut self.arrival_rngs[index]).ns())
            }
            workload::Birth::Listed(times) => times[times.len() - self.arrivals_left[index] as usize - 1].ns(),
            workload::Birth::At(_) | workload::Birth::Spawned => return,
        };
        self.expect(at_ns, Due::Arrival(role));
    }

    /// Sets the next instant at which messages of a source come, if there is one.
    fn expect_messages(&mut self, source: u32) {
        if let Some(at) = self.sources[source as usize].next() {
            self.arrivals_to_come += 1;
            self.timers.push(at.ns(), Due::Messages(source));
        }
    }

    /// Does what a due timer stands for, as far as it concerns the world: wakes and births are left in
    /// [`World::wakes`] and [`World::births`]. Returns a timer that concerns the scheduler.
    pub fn due(&mut self, due: Due) -> Option<Due> {
        match due {
            Due::Birth(role) => {
                self.tasks_to_come -= 1;
                let count = self.workload.roles[role as usize].count.unwrap_or(1);
                self.ask_for(Birth::outside(RoleId(role), self.now_ns), count);
            }
            Due::Arrival(role) => {
                self.tasks_to_come -= 1;
                self.arrive(RoleId(role));
                self.draw_arrival(role, self.now_ns);
            }
            Due::Messages(source) => {
                self.arrivals_to_come -= 1;
                self.messages_arrive(source);
                self.expect_messages(source);
            }
            Due::GracePeriod => self.look_for_grace(),
            other => match Wake::by(other) {
                Some(wake) => self.wakes.push_back(wake),
                None => return Some(other),
            },
        }
        None
    }

    /// The role of a task.
    pub fn role(&self, slot: u32) -> &Role {
        &self.workload.roles[self.tasks[slot].role.index()]
    }

    /// Whether tasks may still arrive by themselves.
    pub fn expects_tasks(&self) -> bool {
        self.tasks_to_come > 0
    }

    /// Whether nothing will happen any more: no task is to come, and none is alive; or, in a run that ends with its last
    /// task, every one that is waits for what only another could give.
    pub fn is_over(&self) -> bool {
        let waiters = || self.objects.waiters() - self.unseen_waiting();
        let is_alone = |alive| self.workload.run.end().is_none() && waiters() == alive as usize;
        let nobody_comes = !self.expects_tasks();
        nobody_comes && (self.tasks.alive() == 0 || (self.arrivals_to_come == 0 && is_alone(self.tasks.alive())))
    }

    /// The end of the run: that of the workload, or, where it has none, the present.
    pub fn end_ns(&self) -> u64 {
        self.workload.run.end().map_or(self.now_ns, Time::ns)
    }

    /// A run that ends with its last task has none left.
    pub fn check_end(&self) -> Result<(), RunError> {
        if self.workload.run.end().is_some() || self.tasks.alive() == 0 {
            return Ok(());
        }
        let waiting = self.tasks.alive_slots().map(|slot| {
            let task = &self.tasks[slot];
            let steps = &self.workload.roles[task.role.index()].program.steps;
            // One that waits at a barrier has done its part of that step.
            let step = if task.waits { task.step as usize } else { (task.step as usize).saturating_sub(1) };
            (task.role, &steps[step])
        });
        Err(RunError::Standstill(self.workload.standstill(waiting)))
    }

    /// A task became runnable now.
    #[inline]
    pub fn ready(&mut self, slot: u32) {
        let now = self.now_ns;
        let task = &mut self.tasks[slot];
        task.ready_ns = now;
        task.fresh = true;
        if task.id != UNSEEN {
            task.work_ns += self.costs.resume.ns();
        }
    }

    /// A task's name for people: role and running number of the task in the run.
    pub fn name(&self, slot: u32) -> String {
        match self.tasks.get(slot) {
            Some(task) => format!("{}/{}", self.workload.roles[task.role.index()].name, task.id),
            None => "no task".into(),
        }
    }
}
