//! The steps of a task's program: inline tables with one key that names the step.

use super::notation::Text;
use crate::{distribution::Distribution, scenario::error::did_you_mean};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt};

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(deny_unknown_fields)]
pub enum Step {
    /// CPU work, as long as the task takes when it runs alone.
    Compute {
        /// How long.
        compute: Text<Distribution>,
    },
    /// Sleep from now on.
    Sleep {
        /// How long.
        sleep: Text<Distribution>,
    },
    /// Let others run first.
    Yield {
        /// Always true.
        r#yield: True,
    },
    /// Take one from a semaphore, sleep while it is zero.
    Wait {
        /// The semaphore.
        wait: String,
    },
    /// Give to a semaphore.
    Post {
        /// The semaphore.
        post: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        times: u32,
    },
    /// Take a mutex.
    Lock {
        /// The mutex.
        lock: String,
    },
    /// Release a mutex.
    Unlock {
        /// The mutex, which this task holds.
        unlock: String,
    },
    /// Put messages into a channel, sleep while it is full.
    Send {
        /// The channel.
        send: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        messages: u32,
    },
    /// Take messages from a channel, sleep while it is empty.
    Recv {
        /// The channel.
        recv: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        messages: u32,
    },
    /// Wait until all parties are here.
    Barrier {
        /// The barrier.
        barrier: String,
    },
    /// Use a device, which serves one request at a time; the task sleeps meanwhile.
    Io {
        /// Which device and for how long.
        io: Io,
    },
    /// Create tasks of a group.
    Spawn {
        /// The group.
        spawn: String,
        /// How many; 1 when absent.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(default = "one", range(min = 1))]
        count: u32,
    },
    /// End this task.
    Exit {
        /// Always true.
        exit: True,
    },
    /// Steps that are done several times.
    Repeat {
        /// How many times.
        #[schemars(range(min = 1))]
        repeat: u32,
        /// The steps.
        steps: Vec<Step>,
    },
}

/// A request to a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// The device.
    pub device: String,
    /// How long the device needs for the request.
    pub service: Text<Distribution>,
}

/// The word `true`, which says that a step without a value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct True;

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True),
            false => Err(de::Error::custom("a step is written with `true`: to leave it out, remove it")),
        }
    }
}

impl JsonSchema for True {
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean", "const": true })
    }
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

/// All keys that a step can have. An untagged enum reads too, but then forgets which key was wrong and where.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    compute: Option<Text<Distribution>>,
    sleep: Option<Text<Distribution>>,
    r#yield: Option<True>,
    wait: Option<String>,
    post: Option<String>,
    lock: Option<String>,
    unlock: Option<String>,
    send: Option<String>,
    recv: Option<String>,
    barrier: Option<String>,
    io: Option<Io>,
    spawn: Option<String>,
    exit: Option<True>,
    repeat: Option<u32>,
    times: Option<u32>,
    messages: Option<u32>,
    count: Option<u32>,
    steps: Option<Vec<Step>>,
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
        let keys = &mut self;
        let step = keys.take_step()?;
        if let Some(name) = keys.any_step() {
            return Err(format!("two steps in one table, `{}` and `{name}`: give each its own {{ … }}", step.name()));
        }
        let extra = [
            ("times", keys.times.is_some(), "post"),
            ("messages", keys.messages.is_some(), "send and recv"),
            ("count", keys.count.is_some(), "spawn"),
            ("steps", keys.steps.is_some(), "repeat"),
        ];
        match extra.iter().find(|(_, present, _)| *present) {
            Some((key, _, owner)) => Err(format!("`{key}` belongs to {owner}, not to `{}`: remove it", step.name())),
            None => Ok(step),
        }
    }

    /// Takes one step and the keys that belong to it.
    fn take_step(&mut self) -> Result<Step, String> {
        let times = |n: &mut Option<u32>| n.take().unwrap_or(1);
        Ok(if let Some(compute) = self.compute.take() {
            Step::Compute { compute }
        } else if let Some(sleep) = self.sleep.take() {
            Step::Sleep { sleep }
        } else if let Some(r#yield) = self.r#yield.take() {
            Step::Yield { r#yield }
        } else if let Some(wait) = self.wait.take() {
            Step::Wait { wait }
        } else if let Some(post) = self.post.take() {
            Step::Post { post, times: times(&mut self.times) }
        } else if let Some(lock) = self.lock.take() {
            Step::Lock { lock }
        } else if let Some(unlock) = self.unlock.take() {
            Step::Unlock { unlock }
        } else if let Some(send) = self.send.take() {
            Step::Send { send, messages: times(&mut self.messages) }
        } else if let Some(recv) = self.recv.take() {
            Step::Recv { recv, messages: times(&mut self.messages) }
        } else if let Some(barrier) = self.barrier.take() {
            Step::Barrier { barrier }
        } else if let Some(io) = self.io.take() {
            Step::Io { io }
        } else if let Some(spawn) = self.spawn.take() {
            Step::Spawn { spawn, count: times(&mut self.count) }
        } else if let Some(exit) = self.exit.take() {
            Step::Exit { exit }
        } else if let Some(repeat) = self.repeat.take() {
            let steps = self.steps.take().ok_or("`repeat` needs its steps: { repeat = 3, steps = [ … ] }")?;
            Step::Repeat { repeat, steps }
        } else {
            return Err(format!("this step does nothing: name one of {}", STEP_NAMES.join(", ")));
        })
    }

    /// The name of a step that is still here.
    fn any_step(&mut self) -> Option<&'static str> {
        self.take_step().ok().map(|step| step.name())
    }
}

/// The names of the steps.
const STEP_NAMES: [&str; 14] = [
    "compute", "sleep", "yield", "wait", "post", "lock", "unlock", "send", "recv", "barrier", "io", "spawn", "exit",
    "repeat",
];

impl Step {
    /// The key that names the step.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Compute { .. } => "compute",
            Step::Sleep { .. } => "sleep",
            Step::Yield { .. } => "yield",
            Step::Wait { .. } => "wait",
            Step::Post { .. } => "post",
            Step::Lock { .. } => "lock",
            Step::Unlock { .. } => "unlock",
            Step::Send { .. } => "send",
            Step::Recv { .. } => "recv",
            Step::Barrier { .. } => "barrier",
            Step::Io { .. } => "io",
            Step::Spawn { .. } => "spawn",
            Step::Exit { .. } => "exit",
            Step::Repeat { .. } => "repeat",
        }
    }
}

/// Says that a name is not known, with the nearest one that is.
pub(crate) fn unknown_name<'k>(kind: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    format!("there is no {kind} `{name}`{}", did_you_mean(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Step, String> {
        #[derive(Deserialize)]
        struct One {
            step: Step,
        }
        toml::from_str::<One>(&format!("step = {text}")).map(|one| one.step).map_err(|e| e.message().to_string())
    }

    #[test]
    fn every_step_reads_back_as_it_was_written() {
        for text in [
            r#"{ compute = "exp(5ms)" }"#,
            r#"{ sleep = "10ms" }"#,
            r#"{ yield = true }"#,
            r#"{ wait = "s" }"#,
            r#"{ post = "s" }"#,
            r#"{ post = "s", times = 3 }"#,
            r#"{ lock = "m" }"#,
            r#"{ unlock = "m" }"#,
            r#"{ send = "c", messages = 2 }"#,
            r#"{ recv = "c" }"#,
            r#"{ barrier = "b" }"#,
            r#"{ io = { device = "disk", service = "5ms" } }"#,
            r#"{ spawn = "g", count = 4 }"#,
            r#"{ exit = true }"#,
            r#"{ repeat = 3, steps = [{ yield = true }] }"#,
        ] {
            let step = read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            let json = serde_json::to_value(&step).unwrap();
            assert!(json.get(step.name()).is_some(), "{json}");
            assert_eq!(serde_json::from_value::<Step>(json).unwrap(), step);
        }
    }

    #[test]
    fn wrong_steps_are_told_apart() {
        for (text, part) in [
            (r#"{ compute = 5 }"#, "no unit"),
            (r#"{ compute = "5ms", sleep = "5ms" }"#, "two steps in one table, `compute` and `sleep`"),
            (r#"{ wait = "s", times = 2 }"#, "`times` belongs to post"),
            (r#"{ repeat = 2 }"#, "needs its steps"),
            (r#"{ yield = false }"#, "`true`"),
            (r#"{}"#, "does nothing"),
            (r#"{ times = 2 }"#, "does nothing"),
            (r#"{ compte = "5ms" }"#, "unknown field `compte`"),
            (r#"{ post = "s", times = -1 }"#, "-1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
