//! What tasks share: semaphores, locks, condition variables, channels, barriers and devices.

use super::Step;
use crate::ids::RoleId;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The work of a task that spins between two looks at the lock.
pub const SPIN_PIECE: Time = Time::from_us(1);

/// Shared objects by kind, each indexed by [`crate::ids::ObjectId`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Objects {
    /// Semaphores.
    pub semaphores: Vec<Semaphore>,
    /// Mutexes.
    pub locks: Vec<Mutex>,
    /// Condition variables by name.
    pub conditions: Vec<String>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Barriers: name and number of parties.
    pub barriers: Vec<(String, u32)>,
    /// Devices by name: each serves one request at a time.
    pub devices: Vec<String>,
}

/// A mutex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutex {
    /// Its name.
    pub name: String,
    /// How it treats its owner.
    pub protocol: Protocol,
    /// How much CPU work a task does at most, looking at the lock after each [`SPIN_PIECE`], before it sleeps for it.
    pub spin: Time,
    /// If it is a reader-writer lock: whether readers or writers go first.
    pub readers: Option<Preference>,
}

impl From<&str> for Mutex {
    fn from(name: &str) -> Mutex {
        Mutex { name: name.into(), protocol: Protocol::None, spin: Time::ZERO, readers: None }
    }
}

/// How a mutex treats its owner (`pthread_mutexattr_setprotocol`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// As any other task.
    #[default]
    None,
    /// It has the priority of the most urgent real-time task that waits for it (`PTHREAD_PRIO_INHERIT`).
    Inherit,
}

/// Which tasks a reader-writer lock lets in first (`pthread_rwlockattr_setkind_np`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// A reader waits while a writer has the lock, and no longer: readers can keep writers out.
    #[default]
    Readers,
    /// A reader waits while a writer has the lock or waits for it: writers can keep readers out.
    Writers,
}

/// A semaphore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Semaphore {
    /// Its name.
    pub name: String,
    /// Its value at the start.
    pub initial: u32,
    /// The requests that it carries, if it does: each `post` gives one for each unit.
    pub work: Option<Work>,
}

/// What an object carries in addition to its count: each message of a channel, each unit of a semaphore, is a request that waits
/// for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The role that takes them, the first in file order; those that wait at the end of a run count there.
    pub role: RoleId,
    /// Whether a task that has a request hands it on by sending here. Not where messages go round in a ring: there each
    /// one is a new request.
    pub hands_on: bool,
}

/// A channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// How many messages it holds before a sender sleeps.
    pub capacity: u32,
    /// What it is made of, which is the wake source a policy sees.
    pub kind: ChannelKind,
    /// The requests that it carries, if it does: each message is one.
    pub work: Option<Work>,
}

impl Channel {
    /// How many messages it holds: a pipe has a place for each, and a power of two of them (`pipe_set_size`).
    pub fn slots(&self) -> u64 {
        match self.kind {
            ChannelKind::Pipe => u64::from(self.capacity).next_power_of_two(),
            ChannelKind::Socket => self.capacity.into(),
        }
    }
}

/// What a channel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// A pipe.
    Pipe,
    /// A loopback socket.
    Socket,
}

impl Objects {
    /// What a task at this step waits for.
    pub(super) fn awaited(&self, step: &Step) -> String {
        match step {
            Step::Wait(id) => format!("the semaphore `{}`", self.semaphores[id.index()].name),
            Step::CondWait(id, _) => format!("a signal of the condition variable `{}`", self.conditions[id.index()]),
            Step::Lock(id) | Step::ReadLock(id) | Step::Relock(id) => {
                format!("the lock `{}`", self.locks[id.index()].name)
            }
            Step::Barrier(id) => format!("the other parties at the barrier `{}`", self.barriers[id.index()].0),
            Step::Recv(id, _) => format!("a message in the channel `{}`", self.channels[id.index()].name),
            Step::Send(id, _) => format!("room in the channel `{}`", self.channels[id.index()].name),
            _ => "something".into(),
        }
    }
}
