//! The steps of a task's program: inline tables with one key that names the step.
//!
//! [`steps!`] holds one entry for each kind. The types, the schema, reading, writing, the checks, the table of the reference
//! and the names of rt-app come from there; what an executor does is decided by [`Effect`] and the compiled
//! [`crate::workload::Step`], both of which are matched in full wherever they are looked at.

mod values;

pub use values::{Change, Io, True};

use super::{control_group::Adjustment, notation::Text, objects::ObjectKind};
use crate::{
    distribution::Distribution,
    scenario::error::did_you_mean,
    time::Time,
    workload::{Origin, Overrun},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

/// What is known of a kind of step without one of them.
#[derive(Debug)]
pub struct StepKind {
    /// The key that names it.
    pub name: &'static str,
    /// The other keys that it may have.
    pub more: &'static [&'static str],
    /// How it is written.
    pub example: &'static str,
    /// What the task does.
    pub meaning: &'static str,
    /// The event of rt-app that is the same, if there is one.
    pub rt_app: Option<&'static str>,
}

/// What a step does, as far as it concerns others and time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect<'s> {
    /// It computes.
    Works(&'s Distribution),
    /// It sleeps.
    Sleeps(&'s Distribution),
    /// It sleeps until the next multiple of a period.
    Paces,
    /// It uses a device.
    Uses(&'s Io),
    /// It lets others run.
    Yields,
    /// It takes that much from an object, and waits until it is there.
    Takes(ObjectKind, &'s str, u32),
    /// It gives that much to an object.
    Gives(ObjectKind, &'s str, u32),
    /// It waits at a barrier.
    Meets(&'s str),
    /// It takes a mutex.
    Locks(&'s str),
    /// It releases one.
    Unlocks(&'s str),
    /// It waits for a condition variable or wakes its waiters.
    Conditions(Condition<'s>),
    /// It changes how tasks are scheduled.
    Changes(Changes<'s>),
    /// It creates tasks of a role.
    Spawns(&'s str, u32),
    /// It answers requests.
    Answers,
    /// It ends the task.
    Exits,
    /// It repeats other steps this number of times.
    Repeats(u32, &'s [Step]),
}

/// What a step does with a condition variable, which remembers nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition<'s> {
    /// It releases the mutex, sleeps until it is woken, and takes the mutex.
    Waits(&'s str, &'s str),
    /// It wakes the first that waits.
    Signals(&'s str),
    /// It wakes all that wait.
    Broadcasts(&'s str),
    /// It waits under a mutex of the same name, which it holds for that alone.
    Suspends(&'s str),
    /// It wakes all that are suspended under the name.
    Resumes(&'s str),
}

impl<'s> Condition<'s> {
    /// The condition variable.
    pub fn name(self) -> &'s str {
        match self {
            Condition::Waits(name, _)
            | Condition::Signals(name)
            | Condition::Broadcasts(name)
            | Condition::Suspends(name)
            | Condition::Resumes(name) => name,
        }
    }

    /// The mutex that goes with it, if the step takes one.
    pub fn mutex(self) -> Option<&'s str> {
        match self {
            Condition::Waits(_, mutex) => Some(mutex),
            Condition::Suspends(name) | Condition::Resumes(name) => Some(name),
            Condition::Signals(_) | Condition::Broadcasts(_) => None,
        }
    }

    /// Whether it sleeps until another task wakes it.
    pub fn waits(self) -> bool {
        matches!(self, Condition::Waits(..) | Condition::Suspends(_))
    }
}

/// What a step changes of how tasks are scheduled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changes<'s> {
    /// Something about the task itself.
    Itself(&'s Change),
    /// The control group in which it is.
    Joins,
    /// The knobs of a control group.
    Adjusts,
}

macro_rules! steps {
    (
        more keys { $($other:ident: $other_form:ty),* }
        $($(#[$about:meta])* $variant:ident $name:literal {
            $(#[$key_meta:meta])* $key:ident: $form:ty,
            $($(#[$more_meta:meta])* $more:ident: $more_form:ty,)*
        }
        $effect:expr, $example:literal, $meaning:literal, $rt_app:expr;)*
    ) => {
        /// One step of a program.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(untagged)]
        #[schemars(deny_unknown_fields)]
        pub enum Step {
            $($(#[$about])* $variant {
                $(#[$key_meta])* $key: $form,
                $($(#[$more_meta])* $more: $more_form,)*
            },)*
        }

        /// All kinds of steps.
        pub const STEPS: &[StepKind] = &[$(StepKind {
            name: $name,
            more: &[$(stringify!($more)),*],
            example: $example,
            meaning: $meaning,
            rt_app: $rt_app,
        },)*];

        /// The place of each kind in [`STEPS`].
        #[derive(Clone, Copy)]
        enum Place { $($variant),* }

        impl Step {
            /// What is known of steps of this kind.
            pub fn kind(&self) -> &'static StepKind {
                let place = match self { $(Step::$variant { .. } => Place::$variant),* };
                &STEPS[place as usize]
            }

            /// What it does.
            #[allow(unused_variables)] // not every effect needs every value
            pub(crate) fn effect(&self) -> Effect<'_> {
                match self { $(Step::$variant { $key $(, $more)* } => $effect),* }
            }
        }

        /// All keys that a step can have. An untagged enum reads too, but then forgets which key was wrong and where.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keys {
            $($key: Option<$form>,)*
            $($other: Option<$other_form>,)*
        }

        impl Keys {
            /// Takes one step and the keys that belong to it.
            fn take_step(&mut self) -> Result<Step, String> {
                $(if let Some($key) = self.$key.take() {
                    return Ok(Step::$variant { $key $(, $more: More::or_absent(self.$more.take())?)* });
                })*
                let names: Vec<&str> = STEPS.iter().map(|kind| kind.name).collect();
                Err(format!("this step does nothing: name one of {}", names.join(", ")))
            }

            /// A key that is still here and names no step.
            fn any_more(&self) -> Option<&'static str> {
                [$((stringify!($other), self.$other.is_some())),*].iter().find(|(_, here)| *here).map(|(key, _)| *key)
            }
        }
    };
}

steps! {
    more keys {
        times: u32, messages: u32, count: u32, steps: Vec<Step>, request: bool, mutex: String,
        from: Origin, offset: Text<Time>, deadline: Text<Time>, overrun: Overrun, timer: String
    }

    /// CPU work, as long as the task takes when it runs alone.
    Compute "compute" {
        /// How long.
        compute: Text<Distribution>,
    }
    Effect::Works(compute), r#"{ compute = "5ms" }"#, "CPU work: it takes this long when the task runs alone", Some("run");

    /// Compute until a time has passed.
    Busy "busy" {
        /// How long, on a CPU or waiting for one.
        busy: Text<Distribution>,
    }
    Effect::Works(busy), r#"{ busy = "5ms" }"#,
    "CPU work until this time has passed, on a CPU or not: the task looks at the clock after each 32 µs of work",
    Some("runtime");

    /// Sleep from now on.
    Sleep "sleep" {
        /// How long.
        sleep: Text<Distribution>,
    }
    Effect::Sleeps(sleep), r#"{ sleep = "10ms" }"#, "sleep from now on", Some("sleep");

    /// Sleep until an instant of the run.
    Until "until" {
        /// The instant, counted from the start of the run.
        until: Text<Time>,
    }
    Effect::Sleeps(AT_LEAST), r#"{ until = "250ms" }"#, "sleep until this instant of the run; if it is past, continue at once", None;

    /// Sleep until the next release of a periodic task.
    Period "period" {
        /// The time from one release to the next.
        period: Text<Time>,
        /// What releases are counted from: the start of the task, when absent, or of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<Origin>,
        /// How long after that the first release comes, less than a period; a whole period when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<Text<Time>>,
        /// How long after its release a job is to be done; a period when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        deadline: Option<Text<Time>>,
        /// What follows when a release is over already; `skip` when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        overrun: Option<Overrun>,
        /// Which of the task's timers; all steps without it share one.
        #[serde(skip_serializing_if = "Option::is_none")]
        timer: Option<String>,
    }
    Effect::Paces, r#"{ period = "16ms", deadline = "10ms" }"#,
    "sleep until the next release: the task's start plus a multiple of the period", Some("timer");

    /// Let others run first.
    Yield "yield" {
        /// Always true.
        r#yield: True,
    }
    Effect::Yields, "{ yield = true }", "let others run first", Some("yield");

    /// Take one from a semaphore, sleep while it is zero.
    Wait "wait" {
        /// The semaphore.
        wait: String,
    }
    Effect::Takes(ObjectKind::Semaphore, wait, 1), r#"{ wait = "s" }"#,
    "take one from a semaphore, sleep while it is zero", Some("sem_wait");

    /// Give to a semaphore.
    Post "post" {
        /// The semaphore.
        post: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        times: u32,
    }
    Effect::Gives(ObjectKind::Semaphore, post, *times), r#"{ post = "s", times = 2 }"#,
    "give to a semaphore (once without `times`)", Some("sem_post");

    /// Take a mutex.
    Lock "lock" {
        /// The mutex.
        lock: String,
    }
    Effect::Locks(lock), r#"{ lock = "m" }"#, "take a mutex", Some("lock");

    /// Take a reader-writer lock to read.
    ReadLock "read_lock" {
        /// The lock.
        read_lock: String,
    }
    Effect::Locks(read_lock), r#"{ read_lock = "rw" }"#,
    "take a lock together with others that read; with a step like this somewhere, `lock` takes it to write, alone", None;

    /// Release a mutex.
    Unlock "unlock" {
        /// The mutex, which this task holds.
        unlock: String,
    }
    Effect::Unlocks(unlock), r#"{ unlock = "m" }"#, "release a mutex or a reader-writer lock", Some("unlock");

    /// Wait for a condition variable.
    CondWait "cond_wait" {
        /// The condition variable.
        cond_wait: String,
        /// The mutex, which this task holds.
        mutex: String,
    }
    Effect::Conditions(Condition::Waits(cond_wait, mutex)), r#"{ cond_wait = "c", mutex = "m" }"#,
    "release the mutex, sleep until a signal or broadcast, take the mutex again; earlier signals are lost",
    Some("wait");

    /// Wake the first task that waits for a condition variable.
    Signal "signal" {
        /// The condition variable.
        signal: String,
    }
    Effect::Conditions(Condition::Signals(signal)), r#"{ signal = "c" }"#,
    "wake the first task that waits for a condition variable, if any", Some("signal");

    /// Wake all tasks that wait for a condition variable.
    Broadcast "broadcast" {
        /// The condition variable.
        broadcast: String,
    }
    Effect::Conditions(Condition::Broadcasts(broadcast)), r#"{ broadcast = "c" }"#,
    "wake all tasks that wait for a condition variable", Some("broad");

    /// Sleep until a task resumes this name.
    Suspend "suspend" {
        /// The name, by custom that of the task.
        suspend: String,
    }
    Effect::Conditions(Condition::Suspends(suspend)), r#"{ suspend = "role" }"#,
    "sleep until a `resume` of this name; an earlier one is lost", Some("suspend");

    /// Wake all tasks that are suspended under a name.
    Resume "resume" {
        /// The name.
        resume: String,
    }
    Effect::Conditions(Condition::Resumes(resume)), r#"{ resume = "role" }"#,
    "wake all tasks that are suspended under this name", Some("resume");

    /// Put messages into a channel, sleep while it is full.
    Send "send" {
        /// The channel.
        send: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        messages: u32,
    }
    Effect::Gives(ObjectKind::Channel, send, *messages), r#"{ send = "c", messages = 2 }"#,
    "put messages into a channel, sleep while it is full", None;

    /// Take messages from a channel, sleep while it is empty.
    Recv "recv" {
        /// The channel.
        recv: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        messages: u32,
    }
    Effect::Takes(ObjectKind::Channel, recv, *messages), r#"{ recv = "c", messages = 2 }"#,
    "take messages from a channel, sleep while it is empty", None;

    /// Wait until all parties are here.
    Barrier "barrier" {
        /// The barrier.
        barrier: String,
    }
    Effect::Meets(barrier), r#"{ barrier = "b" }"#, "sleep until all parties are here", Some("barrier");

    /// Use a device, which serves one request at a time; the task sleeps meanwhile.
    Io "io" {
        /// Which device and for how long.
        io: Io,
    }
    Effect::Uses(io), r#"{ io = { device = "disk", service = "exp(5ms)" } }"#,
    "use a device for this long; requests queue in order", None;

    /// Create tasks of a role.
    Spawn "spawn" {
        /// The role.
        spawn: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        count: u32,
    }
    Effect::Spawns(spawn, *count), r#"{ spawn = "role", count = 3 }"#, "create tasks of another role", Some("fork");

    /// Change something about the task itself.
    Set "set" {
        /// What.
        set: Change,
    }
    Effect::Changes(Changes::Itself(set)), r#"{ set = { cpus = "0-1", nice = 5 } }"#,
    "from now on the task may run on these CPUs, and has this nice value; `class` and `slice` may also be set, and all are optional", None;

    /// Move the task into another control group.
    Join "join" {
        /// Its path.
        join: String,
    }
    Effect::Changes(Changes::Joins), r#"{ join = "batch" }"#,
    "move the task into this control group", None;

    /// Write knobs of a control group.
    Adjust "adjust" {
        /// Which, and what.
        adjust: Adjustment,
    }
    Effect::Changes(Changes::Adjusts), r#"{ adjust = { control_group = "web", weight = 200, max = "20ms/100ms" } }"#,
    "change these settings of a control group: `weight`, `nice` or `idle`, `max`, `burst`", None;

    /// Answer the requests that the task has: they end here.
    Answer "answer" {
        /// Always true.
        answer: True,
    }
    Effect::Answers, "{ answer = true }",
    "answer the requests that the task has: they end here instead of at the end of the pass", None;

    /// End this task.
    Exit "exit" {
        /// Always true.
        exit: True,
    }
    Effect::Exits, "{ exit = true }", "end the task; only as the last step", None;

    /// Steps that are done several times.
    Repeat "repeat" {
        /// How many times.
        #[schemars(range(min = 1))]
        repeat: u32,
        /// Whether each pass is a request of its own, and the program around it none; false when absent.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schemars(default)]
        request: bool,
        /// The steps.
        steps: Vec<Step>,
    }
    Effect::Repeats(*repeat, steps), "{ repeat = 3, request = true, steps = [{ yield = true }] }",
    "do these steps three times; with `request` each pass is a separate request", None;
}

/// What a sleep until an instant takes at least.
const AT_LEAST: &Distribution = &Distribution::Constant(Time::ZERO);

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

/// The value of a key next to the one that names a step.
trait More<K>: Sized {
    /// The value, or what it is when the key is absent.
    fn or_absent(value: Option<K>) -> Result<Self, String>;
}

impl More<u32> for u32 {
    fn or_absent(value: Option<u32>) -> Result<u32, String> {
        Ok(value.unwrap_or(one()))
    }
}

impl More<bool> for bool {
    fn or_absent(value: Option<bool>) -> Result<bool, String> {
        Ok(value.unwrap_or(false))
    }
}

impl More<String> for String {
    fn or_absent(value: Option<String>) -> Result<String, String> {
        value.ok_or_else(|| "`cond_wait` needs the mutex that it releases: { cond_wait = \"c\", mutex = \"m\" }".into())
    }
}

impl<K> More<K> for Option<K> {
    fn or_absent(value: Option<K>) -> Result<Option<K>, String> {
        Ok(value)
    }
}

impl More<Vec<Step>> for Vec<Step> {
    fn or_absent(value: Option<Vec<Step>>) -> Result<Vec<Step>, String> {
        value.ok_or_else(|| "`repeat` needs its steps: { repeat = 3, steps = [ … ] }".into())
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Step, D::Error> {
        deserializer.deserialize_map(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> de::Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a step, as { compute = \"5ms\" }")
    }
    // What is wrong with the keys together is said inside the visit: then the reader knows which table is meant.
    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
        Keys::deserialize(de::value::MapAccessDeserializer::new(map))?.step().map_err(de::Error::custom)
    }
}

impl Keys {
    /// The one step that the keys say.
    fn step(mut self) -> Result<Step, String> {
        let step = self.take_step()?;
        if let Ok(other) = self.take_step() {
            let names = (step.name(), other.name());
            return Err(format!("two steps in one table, `{}` and `{}`: give each its own {{ … }}", names.0, names.1));
        }
        let Some(key) = self.any_more() else { return Ok(step) };
        let owners: Vec<&str> = STEPS.iter().filter(|kind| kind.more.contains(&key)).map(|kind| kind.name).collect();
        Err(format!("`{key}` belongs to {}, not to `{}`: remove it", owners.join(" and "), step.name()))
    }
}

impl Step {
    /// The key that names the step.
    pub fn name(&self) -> &'static str {
        self.kind().name
    }
}

/// Says that a name is not known, with the nearest one that is.
pub(crate) fn unknown_name<'k>(kind: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    format!("there is no {kind} `{name}`{}", did_you_mean(name, known))
}

#[cfg(test)]
mod tests;
