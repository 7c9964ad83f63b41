//! What happens in a run: one event schema for every venue.
//!
//! Events arrive in the order of time; events of one instant arrive in the order in which they happened. A
//! [`Sink`] takes them one by one, so that nothing needs the whole trace in memory.

use crate::{ids::*, time::Time};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, from the start of the run.
    pub time: Time,
    /// On which CPU: where the running task, the waker or the interrupt was.
    pub cpu: CpuId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task came to be (not yet runnable).
    Fork {
        /// The new task.
        task: TaskId,
        /// Its role.
        role: RoleId,
        /// Its parent; none at the start of the run and for arrivals.
        parent: Option<TaskId>,
    },
    /// A task ended. It has left its CPU before, or leaves it by the switch that follows at the same instant.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// A task became runnable.
    Wakeup {
        /// The task.
        task: TaskId,
        /// The CPU whose run queue it was placed on.
        target: CpuId,
        /// The task that woke it, if a task did.
        waker: Option<TaskId>,
        /// What it had waited for.
        source: WakeSource,
    },
    /// A CPU went from one task to another; none stands for the idle task.
    Switch {
        /// The task that left the CPU.
        previous: Option<TaskId>,
        /// Why it left; [`Reason::Idle`] when the CPU was idle.
        reason: Reason,
        /// The task that got the CPU.
        next: Option<TaskId>,
    },
    /// A runnable task was moved to another CPU's run queue, or a waking one placed elsewhere than where it last ran.
    Migrate {
        /// The task.
        task: TaskId,
        /// Where it was.
        from: CpuId,
        /// Where it is now.
        to: CpuId,
    },
    /// A timer tick.
    Tick,
    /// A request waits for a worker: born now, handed on by the task that had it, or taken by another one from the task that was
    /// woken for it.
    RequestQueue {
        /// The request.
        request: RequestId,
        /// The task that sent it or had it; none for one from outside of the machine.
        task: Option<TaskId>,
        /// The role that takes it.
        role: RoleId,
    },
    /// A task begins with a request, of its own or taken from where requests wait. One that waits for requests has them from
    /// its wake-up on, until another task takes them first.
    RequestBegin {
        /// The task that serves it.
        task: TaskId,
        /// Its birth: when it should have begun. The arrival in an open workload, else the time of the event.
        intended: Time,
        /// Which, if it was taken.
        request: Option<RequestId>,
    },
    /// A request ends: the task has answered it.
    RequestEnd {
        /// The task that answered it.
        task: TaskId,
        /// CPU work that it asked for.
        demand: Time,
        /// Which, if it was taken.
        request: Option<RequestId>,
    },
    /// A periodic task has done its job, if it had one, and has a next one.
    Release {
        /// The task.
        task: TaskId,
        /// When the next job is released; past when the task has caught up or begun late.
        release: Time,
        /// When that is to be done.
        deadline: Time,
        /// Releases in between that get no job.
        skipped: u32,
    },
    /// A policy said something about a task: a queue level, a priority, a label.
    Status {
        /// The task.
        task: TaskId,
        /// The policy's word.
        word: u64,
    },
    /// A task moved into another control group.
    Join {
        /// The task.
        task: TaskId,
        /// Where it is now.
        control_group: ControlGroupId,
    },
    /// A task is held back by the limit of its control group or of one above it, from now on or no more.
    Throttle {
        /// The task.
        task: TaskId,
        /// Whether it is.
        on: bool,
    },
    /// A task was given that much CPU time since the last such event, by a discipline that divides CPUs among tasks,
    /// without switches. Reported when the task blocks or ends, at the end of the warm-up, and at the end of the run.
    Share {
        /// The task.
        task: TaskId,
        /// CPU time, in whole nanoseconds that add up.
        cpu_time: Time,
    },
    /// No task of the trace is on the CPU. Until a task comes or the next such event, the CPU does this; without one it
    /// idles.
    Untraced {
        /// What it does.
        what: Untraced,
    },
    /// A task comes to a step that concerns time or objects that tasks share, or the outside gives to such an object. Told where
    /// a run is to be modelled.
    Call {
        /// The task; none for the outside.
        task: Option<TaskId>,
        /// What it does.
        call: Call,
        /// With which object of those of its kind.
        object: Option<ObjectId>,
        /// How many units or messages; nanoseconds of a sleep or a service; the mutex of a condition variable.
        amount: u64,
    },
    /// The CPU worked for the system and for no task, from the time of the event for `length`.
    Overhead {
        /// What for.
        what: Overhead,
        /// For how long.
        length: Time,
    },
}

/// Why a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The CPU was idle.
    Idle,
    /// Its slice was over. Involuntary.
    SliceEnd,
    /// Another task was preferred before the slice was over. Involuntary.
    Preempted,
    /// It sleeps or waits. Voluntary.
    Blocked,
    /// It asked to be put behind others. Voluntary.
    Yielded,
    /// It ended. Voluntary.
    Exited,
}

/// What a task does that concerns time or objects that tasks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Call {
    /// Sleeps from now on.
    Sleep = 0,
    /// Sleeps until an instant.
    SleepUntil = 1,
    /// Lets others run.
    Yield = 2,
    /// Takes one from a semaphore.
    Wait = 3,
    /// Gives to a semaphore.
    Post = 4,
    /// Takes a mutex.
    Lock = 5,
    /// Releases a mutex.
    Unlock = 6,
    /// Waits for a condition variable.
    CondWait = 7,
    /// Wakes the first that waits for a condition variable.
    Signal = 8,
    /// Wakes all that wait for a condition variable.
    Broadcast = 9,
    /// Puts messages into a pipe.
    PipeSend = 10,
    /// Takes messages out of a pipe.
    PipeRecv = 11,
    /// Puts messages into a socket.
    SocketSend = 12,
    /// Takes messages out of a socket.
    SocketRecv = 13,
    /// Meets others at a barrier.
    Barrier = 14,
    /// Uses a device.
    Device = 15,
    /// Ends the requests that it has.
    Answer = 16,
    /// Takes a reader-writer lock to read.
    ReadLock = 17,
}

/// What a task had waited for when it became runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum WakeSource {
    /// It is new.
    Fork = 0,
    /// A sleep was over.
    Timer = 1,
    /// A semaphore, lock or barrier.
    Semaphore = 2,
    /// A message by a pipe.
    Pipe = 3,
    /// A message by a socket.
    Network = 4,
    /// A device.
    Disk = 5,
    /// Not known (recorded traces).
    Unknown = 6,
    /// The wake-up itself is not known (recorded traces): the task is runnable, and when it became so was not recorded. Of a
    /// task that was runnable already, it says that the wait so far is not known. No wait that begins so is a latency.
    Untold = 7,
}

/// What a CPU does while no task of the trace is on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Untraced {
    /// Nothing.
    #[default]
    Idle = 0,
    /// It runs programs that were not recorded.
    Others = 1,
    /// Not known: records are missing.
    Unknown = 2,
}

/// What the system needed CPU time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Overhead {
    /// A context switch.
    Switch,
    /// Waking a task, with the interrupt that does it, and what tasks outside of the trace do: creating those that
    /// arrive, ending grace periods.
    Wakeup,
    /// The cold cache after a migration.
    Migration,
    /// A timer tick.
    Tick,
    /// Instructions of the policy.
    Policy,
}

/// Takes the events of a run.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: &Event);
    /// Takes several events, in order.
    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }
    /// The run ended at this instant.
    fn finish(&mut self, _end: Time) {}
}

/// Keeps nothing.
impl Sink for () {
    fn event(&mut self, _: &Event) {}
}

/// Keeps all.
impl Sink for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }
    fn events(&mut self, events: &[Event]) {
        self.0.events(events);
        self.1.events(events);
    }
    fn finish(&mut self, end: Time) {
        self.0.finish(end);
        self.1.finish(end);
    }
}

impl<S: Sink> Sink for Option<S> {
    fn event(&mut self, event: &Event) {
        if let Some(sink) = self {
            sink.event(event);
        }
    }
    fn events(&mut self, events: &[Event]) {
        if let Some(sink) = self {
            sink.events(events);
        }
    }
    fn finish(&mut self, end: Time) {
        if let Some(sink) = self {
            sink.finish(end);
        }
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
    fn events(&mut self, events: &[Event]) {
        (**self).events(events);
    }
    fn finish(&mut self, end: Time) {
        (**self).finish(end);
    }
}
