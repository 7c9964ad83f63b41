//! What creates the tasks that arrive from outside, where that takes time: a task that nobody sees, above all others.
//!
//! A real arrival does not come to be by itself. Where a workload runs for real, a thread of a real-time class sleeps until
//! the next one is due and creates it (`load::master`); a server has such a thread too. It takes a CPU from the task that has
//! it, and schedulers see that. Its CPU time is overhead; it is in no event and no result.

use super::steps::Next;
use super::{Birth, World};
use schedlab_model::ids::*;
use schedlab_model::machine::Costs;
use schedlab_model::time::Time;
use schedlab_model::workload::{self, Channel, ChannelKind, Class, Group, Program, Step, Workload};
use std::collections::VecDeque;
use std::rc::Rc;

/// The number of the task that nobody sees.
pub const UNSEEN: TaskId = TaskId(u32::MAX);

/// The task that creates others.
pub struct Creator {
    /// Its slot.
    pub slot: u32,
    /// Its group, the last one.
    pub group: GroupId,
    /// The channel in which it waits.
    channel: ObjectId,
    /// Those who have arrived and are not created: group and instant.
    arrived: VecDeque<(GroupId, u64)>,
    /// Whether it has paid for the next one.
    has_paid: bool,
}

/// The workload with a group of the creator, where tasks arrive and that takes time.
pub fn with_creator(workload: &Rc<Workload>, costs: &Costs) -> Rc<Workload> {
    let arrives = |group: &Group| matches!(group.birth, workload::Birth::Arrivals { .. });
    if costs.arrival == Time::ZERO || !workload.groups.iter().any(arrives) {
        return workload.clone();
    }
    let mut workload = Workload::clone(workload);
    let name = "(arrivals)".to_string();
    let channel = ObjectId(workload.objects.channels.len() as u32);
    let group = GroupId(workload.groups.len() as u32);
    workload.objects.channels.push(Channel {
        name: name.clone(),
        capacity: u32::MAX / 2,
        kind: ChannelKind::Socket,
        work: None,
    });
    let steps = vec![Step::Recv(channel, 1), Step::Spawn(group, 1)];
    workload.groups.push(Group {
        name,
        count: Some(0),
        class: Class::Fifo(priority(&workload.groups)),
        cpus: schedlab_model::cpuset::CpuSet::first(workload.machine.cpus()),
        birth: workload::Birth::Spawned,
        program: Program { steps, repeats: true, repeat_depth: 0 },
        ..workload.groups[0].clone()
    });
    Rc::new(workload)
}

/// The lowest real-time priority where no task is of a real-time class, else the highest.
fn priority(groups: &[Group]) -> u8 {
    let is_realtime = |group: &Group| matches!(group.class, Class::Fifo(_) | Class::RoundRobin(_));
    if groups.iter().any(is_realtime) { 99 } else { 1 }
}

impl World {
    /// Makes the creator, if the workload has one; it waits for arrivals. Its slot.
    pub(super) fn make_creator(&mut self, seen: usize) {
        if self.workload.groups.len() == seen {
            return;
        }
        let (group, channel) = (GroupId(seen as u32), ObjectId(self.objects.channels.len() as u32 - 1));
        let slot = self.tasks.create_unseen(group, &self.group_rngs[group.index()]);
        self.tasks[slot].waits = true;
        let attempt = self.objects.channels[channel.index()].recv(slot, 1, false, &mut self.woken);
        assert_eq!(attempt, super::objects::Attempt::Wait, "nobody has arrived");
        self.creator = Some(Creator { slot, group, channel, arrived: VecDeque::new(), has_paid: false });
    }

    /// A task arrives: the creator has to do with it, or it is there at once.
    pub(super) fn arrive(&mut self, group: GroupId) {
        let Some(creator) = &mut self.creator else {
            return self.births.push_back(Birth { group, parent: None, creator: None, asked_ns: self.now_ns });
        };
        creator.arrived.push_back((group, self.now_ns));
        let channel = creator.channel;
        self.objects.channels[channel.index()].come(&mut self.woken);
        self.after_transfer(channel, None, 0);
    }

    /// How many creators wait for arrivals: one at most.
    pub(super) fn creators_waiting(&self) -> usize {
        self.creator.as_ref().map_or(0, |creator| self.objects.channels[creator.channel.index()].waiters())
    }

    /// The creator's step, if it is the creator's: the CPU pays, and then the task is there.
    pub(super) fn create_arrived(&mut self, slot: u32) -> Option<Next> {
        let costs = self.costs;
        let creator = self.creator.as_mut().filter(|creator| creator.slot == slot)?;
        if !std::mem::replace(&mut creator.has_paid, true) {
            return Some(Next::Pay(costs.arrival));
        }
        creator.has_paid = false;
        let (group, asked_ns) = creator.arrived.pop_front().expect("one has arrived for each message");
        self.births.push_back(Birth { group, parent: None, creator: Some(slot), asked_ns });
        self.tasks[slot].step += 1;
        Some(Next::Again)
    }

    /// Whether it is a task that nobody sees.
    #[inline]
    pub fn is_unseen(&self, slot: u32) -> bool {
        self.tasks[slot].id == UNSEEN
    }
}
