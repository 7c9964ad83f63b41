//! What tasks do with time and shared objects, as events for models of the run.

use super::World;
use schedlab_model::ids::*;
use schedlab_model::trace::{Call, EventKind};
use schedlab_model::workload::{ChannelKind, Source, Step};

impl World {
    /// Emits what a task does, if the run records calls.
    pub(super) fn tell(&mut self, slot: u32, cpu: u32, call: Call, object: Option<ObjectId>, amount: u64) {
        if self.tells && !self.is_unseen(slot) {
            let task = Some(self.tasks[slot].id);
            self.emit(cpu, EventKind::Call { task, call, object, amount });
        }
    }

    /// Emits a step when the task comes to it, and no further attempts.
    pub(super) fn tell_step(&mut self, slot: u32, step: &Step, cpu: u32) {
        let task = &self.tasks[slot];
        if task.waits || task.moved > 0 {
            return;
        }
        let (call, object, amount) = match step {
            Step::Yield => (Call::Yield, None, 0),
            Step::Wait(s) => (Call::Wait, Some(*s), 1),
            Step::Post(s, count) => (Call::Post, Some(*s), u64::from(*count)),
            Step::Lock(l) => (Call::Lock, Some(*l), 1),
            Step::ReadLock(l) => (Call::ReadLock, Some(*l), 1),
            Step::Unlock(l) => (Call::Unlock, Some(*l), 1),
            Step::CondWait(c, l) => (Call::CondWait, Some(*c), l.index() as u64),
            Step::Signal(c) => (Call::Signal, Some(*c), 1),
            Step::Broadcast(c) => (Call::Broadcast, Some(*c), 1),
            Step::Send(c, count) => (self.sends(*c), Some(*c), u64::from(*count)),
            Step::Recv(c, count) => match self.kind_of(*c) {
                ChannelKind::Pipe => (Call::PipeRecv, Some(*c), u64::from(*count)),
                ChannelKind::Socket => (Call::SocketRecv, Some(*c), u64::from(*count)),
            },
            Step::Barrier(b) => (Call::Barrier, Some(*b), 1),
            // These emit it themselves, with their length.
            Step::Sleep(_) | Step::Io(..) | Step::Period(_) | Step::Answer => return,
            // The task takes the mutex again, which is a part of its wait.
            Step::Relock(_) => return,
            Step::Compute(_)
            | Step::Busy(_)
            | Step::Set(_)
            | Step::Join(_)
            | Step::Adjust(..)
            | Step::Spawn(..)
            | Step::Command(_)
            | Step::Exit
            | Step::Until(_)
            | Step::Item
            | Step::ItemEnd
            | Step::RepeatBegin { .. }
            | Step::RepeatEnd { .. }
            | Step::RequestBegin
            | Step::RequestEnd => return,
        };
        self.tell(slot, cpu, call, object, amount);
    }

    /// Reports messages from outside.
    pub(super) fn tell_arrival(&mut self, source: &Source, cpu: u32) {
        if self.tells {
            let (call, amount) = (self.sends(source.channel), u64::from(source.messages));
            self.emit(cpu, EventKind::Call { task: None, call, object: Some(source.channel), amount });
        }
    }

    fn kind_of(&self, channel: ObjectId) -> ChannelKind {
        self.workload.objects.channels[channel.index()].kind
    }

    fn sends(&self, channel: ObjectId) -> Call {
        match self.kind_of(channel) {
            ChannelKind::Pipe => Call::PipeSend,
            ChannelKind::Socket => Call::SocketSend,
        }
    }
}
