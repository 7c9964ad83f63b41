//! The objects that tasks share: their names, and what their use says about them.

use schedlab_model::ids::{ObjectId, TaskId};
use schedlab_model::trace::Call;
use std::collections::BTreeMap;

/// A kind of object, each numbered by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Counts.
    Semaphore,
    /// A mutex.
    Lock,
    /// A condition variable.
    Condition,
    /// A channel that is a pipe.
    Pipe,
    /// A channel that is a socket.
    Socket,
    /// A barrier.
    Barrier,
    /// A device.
    Device,
}

impl Kind {
    /// With what a call deals.
    pub fn of(call: Call) -> Option<Kind> {
        Some(match call {
            Call::Wait | Call::Post => Kind::Semaphore,
            Call::Lock | Call::ReadLock | Call::Unlock => Kind::Lock,
            Call::CondWait | Call::Signal | Call::Broadcast => Kind::Condition,
            Call::PipeSend | Call::PipeRecv => Kind::Pipe,
            Call::SocketSend | Call::SocketRecv => Kind::Socket,
            Call::Barrier => Kind::Barrier,
            Call::Device => Kind::Device,
            Call::Sleep | Call::SleepUntil | Call::Yield | Call::Answer => return None,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Semaphore => "semaphore",
            Kind::Lock => "lock",
            Kind::Condition => "condition",
            Kind::Pipe => "pipe",
            Kind::Socket => "socket",
            Kind::Barrier => "barrier",
            Kind::Device => "device",
        }
    }
}

/// The names that steps know by number.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    objects: BTreeMap<(Kind, u32), u32>,
    others: BTreeMap<String, u32>,
}

impl Names {
    /// The number of an object's name.
    pub fn object(&mut self, kind: Kind, id: ObjectId) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.objects.entry((kind, id.0)).or_insert(next);
        if number == next {
            self.names.push(format!("{}-{}", kind.word(), id.0));
        }
        number
    }

    /// The number of another name.
    pub fn other(&mut self, name: &str) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.others.entry(name.into()).or_insert(next);
        if number == next {
            self.names.push(name.into());
        }
        number
    }

    /// All names, by number.
    pub fn all(&self) -> &[String] {
        &self.names
    }

    /// All objects with the numbers of their names.
    pub fn objects(&self) -> impl Iterator<Item = (Kind, u32, u32)> {
        self.objects.iter().map(|(&(kind, id), &number)| (kind, id, number))
    }
}

/// How an object was used so far.
#[derive(Clone, Debug, Default)]
pub struct Use {
    given: i64,
    taken: i64,
    /// Those that came to take and sleep, and have not gone on.
    asleep: Vec<TaskId>,
    /// Those that came to take one unit and do not sleep, and how many units there have to have been at the start for that.
    taking: Vec<(TaskId, i64)>,
    /// The most that it held.
    most: i64,
    /// What it held when a task had to wait to give more.
    full: Option<i64>,
    /// How many units were there at the start.
    initial: i64,
    /// How many met.
    parties: u32,
}

impl Use {
    /// What a channel holds before a sender sleeps, as far as it was seen: none where no sender slept and little was there.
    pub fn capacity(&self) -> Option<u32> {
        const DEFAULT: i64 = 64;
        let capacity = self.full.or(Some(self.most).filter(|most| *most > DEFAULT))?;
        u32::try_from(capacity.max(1)).ok()
    }

    /// What a semaphore had at the start at least.
    pub fn initial(&self) -> u32 {
        self.initial.clamp(0, u32::MAX.into()) as u32
    }

    /// How many meet at a barrier.
    pub fn parties(&self) -> u32 {
        self.parties
    }
}

/// How all objects were used.
#[derive(Debug, Default)]
pub struct Uses(BTreeMap<(Kind, u32), Use>);

impl Uses {
    /// How an object was used.
    pub fn of(&self, kind: Kind, id: u32) -> Use {
        self.0.get(&(kind, id)).cloned().unwrap_or_default()
    }

    /// A task, or the outside, comes to a call.
    pub fn comes(&mut self, task: Option<TaskId>, call: Call, object: ObjectId, amount: u64) {
        let Some(kind) = Kind::of(call) else { return };
        let this = self.0.entry((kind, object.0)).or_default();
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        match call {
            Call::Post | Call::PipeSend | Call::SocketSend => {
                this.given = this.given.saturating_add(amount);
                this.most = this.most.max(this.given - this.taken);
            }
            Call::PipeRecv | Call::SocketRecv => this.taken = this.taken.saturating_add(amount),
            Call::Wait => {
                let needed = this.taken + this.taking.len() as i64 + 1 - this.given;
                this.taking.extend(task.map(|task| (task, needed)));
            }
            _ => {}
        }
    }

    /// A task that has come to a call sleeps in it.
    pub fn sleeps(&mut self, task: TaskId, call: Call, object: ObjectId) {
        let Some(kind) = Kind::of(call) else { return };
        let this = self.0.entry((kind, object.0)).or_default();
        if !this.asleep.contains(&task) {
            this.asleep.push(task);
        }
        // It took nothing, so those that came after it needed one less.
        if let Some(place) = this.taking.iter().position(|(other, _)| *other == task) {
            this.taking.remove(place);
            this.taking[place..].iter_mut().for_each(|(_, needed)| *needed -= 1);
        }
        if matches!(call, Call::PipeSend | Call::SocketSend) {
            let holds = this.given - this.taken - this.asleep.len() as i64;
            this.full = this.full.max(Some(holds));
        }
    }

    /// A task has done a call and continues.
    pub fn goes_on(&mut self, task: TaskId, call: Call, object: ObjectId) {
        let Some(kind) = Kind::of(call) else { return };
        let this = self.0.entry((kind, object.0)).or_default();
        let place = this.asleep.iter().position(|other| *other == task);
        let met = this.asleep.len() as u32 + 1;
        place.map(|place| this.asleep.swap_remove(place));
        match call {
            Call::Wait => {
                this.taken = this.taken.saturating_add(1);
                let took_at_once = this.taking.iter().position(|(other, _)| *other == task);
                let needed = took_at_once.map(|place| this.taking.remove(place).1);
                this.initial = this.initial.max(needed.unwrap_or(this.taken - this.given));
            }
            // The last one continues at once.
            Call::Barrier if place.is_none() => this.parties = this.parties.max(met),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: ObjectId = ObjectId(0);

    fn initial(uses: &Uses) -> u32 {
        uses.of(Kind::Semaphore, 0).initial()
    }

    #[test]
    fn two_that_take_a_unit_before_either_gives_it_back_need_two() {
        let mut uses = Uses::default();
        let [a, b, c] = [1, 2, 3].map(TaskId);
        uses.comes(Some(a), Call::Wait, S, 1);
        uses.comes(Some(b), Call::Wait, S, 1);
        uses.comes(Some(c), Call::Wait, S, 1);
        uses.sleeps(c, Call::Wait, S);
        uses.goes_on(a, Call::Wait, S);
        uses.comes(Some(a), Call::Post, S, 1);
        uses.goes_on(c, Call::Wait, S);
        uses.goes_on(b, Call::Wait, S);
        assert_eq!(initial(&uses), 2);
    }

    #[test]
    fn a_task_that_is_about_to_sleep_counts_for_nobody() {
        let mut uses = Uses::default();
        let [a, b, c] = [1, 2, 3].map(TaskId);
        uses.comes(Some(a), Call::Wait, S, 1);
        uses.comes(Some(b), Call::Wait, S, 1);
        uses.comes(Some(a), Call::Post, S, 1);
        uses.comes(Some(c), Call::Wait, S, 1);
        uses.sleeps(b, Call::Wait, S);
        [a, c].iter().for_each(|task| uses.goes_on(*task, Call::Wait, S));
        assert_eq!(initial(&uses), 1);
    }
}
