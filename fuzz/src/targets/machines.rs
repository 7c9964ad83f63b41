//! What is run: objects, scenarios in the simulator, and policies that call kernel functions.

use super::languages::{refused, scenario_seeds};
use crate::{Answer, Target};
use schedlab_bpf::Object;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_policy::{PolicySpec, catalog};
use schedlab_sim::testing::{self, Went, side_by_side};
use schedlab_venue::{Control, Policy, Request, SimVenue, Venue};
use std::sync::LazyLock;

/// All of them.
pub fn all() -> Vec<Target> {
    vec![
        Target {
            name: "object",
            seeds: objects,
            words: &["struct_ops/", "license", ".maps", ".rodata", ".BTF"],
            run: object,
        },
        Target { name: "run", seeds: scenario_seeds, words: RUN_WORDS, run },
        Target { name: "script", seeds: scripts, words: &[], run: script },
    ]
}

fn objects() -> Vec<Vec<u8>> {
    ["fcfs", "rr", "mlfq"]
        .iter()
        .filter_map(|name| catalog().iter().find(|policy| policy.name == *name))
        .map(|policy| policy.object.to_vec())
        .collect()
}

fn object(bytes: &[u8]) -> Answer {
    match Object::parse(bytes) {
        Err(error) => refused(error),
        Ok(object) => {
            let programs = object.programs().len();
            Answer::from((
                programs.min(32),
                object.maps().len().min(16),
                object.license().len().min(8),
                object.ops().is_ok(),
            ))
        }
    }
}

const RUN_WORDS: &[&str] = &[
    "{ compute = \"1us\" }, ",
    "{ sleep = \"1us\" }, ",
    "{ spawn = \"t\" }, ",
    "{ wait = \"s\" }, ",
    "{ post = \"s\" }, ",
    "{ yield = true }, ",
    "{ send = \"c\" }, ",
    "{ recv = \"c\" }, ",
    "{ answer = true }, ",
    "count = 3\n",
    "nice = 19\n",
    "class = \"rr:1\"\n",
    "tick = \"1ms\"\n",
    "cpus = 3\n",
    "arrivals = \"exp(1us)\"\n",
    "start = \"1ms\"\n",
    "duration = \"1ms\"\n",
    "costs = { switch = \"1us\" }\n",
];

/// The most simulated time, and the most looks at a run, before it is ended.
const LONGEST: Time = Time::from_ms(200);
const LOOKS: u32 = 4;

struct Impatient(u32);

impl Control for Impatient {
    fn go_on(&mut self, now: Time) -> bool {
        self.0 += 1;
        now < LONGEST && self.0 < LOOKS
    }
}

/// A scenario that compiles is run under three schedulers, its events compared with the laws.
fn run(bytes: &[u8]) -> Answer {
    let scenario = Scenario::parse(&String::from_utf8_lossy(bytes), "f").and_then(|scenario| scenario.compile());
    let mut workload = match scenario {
        Err(error) => return refused(error),
        Ok(workload) => workload,
    };
    if workload.run.duration != Time::NEVER {
        workload.run.duration = workload.run.duration.min(LONGEST);
        workload.run.warmup = Time::ZERO;
    }
    let mut answers = Vec::new();
    for name in ["rr", "ideal-fcfs", "ps"] {
        let policy = Policy::find(&PolicySpec::parse(name).expect("a name")).expect("it is shipped");
        let request = Request {
            workload: &workload,
            scenario_hash: "",
            policy: &policy,
            seed: 1,
            executor: None,
            check: true,
            costs: false,
        };
        answers.push(match SimVenue.run(&request, None, &mut Impatient(0)) {
            Ok(run) => Answer::from(run.result.events.switches.checked_ilog2()),
            Err(error) => {
                let line = error.to_string();
                assert!(!line.contains("defect"), "{name}: {line}");
                Answer::of(&line)
            }
        });
    }
    Answer::from(answers)
}

/// The policy that does what a script says.
static SCRIPTED: LazyLock<Object> = LazyLock::new(|| {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/policies/script.bpf.c");
    let policy = schedlab_policy::find(&PolicySpec::parse(source).expect("a path"), &[]).expect("it compiles");
    Object::parse(&policy.object).expect("clang makes whole objects")
});

fn scripts() -> Vec<Vec<u8>> {
    (0..24).map(|seed| testing::script(seed, seed % 4)).collect()
}

/// A script of kernel functions, iterators, timers and callbacks ends in the same way in both executors.
fn script(bytes: &[u8]) -> Answer {
    match side_by_side(&SCRIPTED, bytes) {
        Ok(Went::Same(lines)) => Answer::from(lines.min(4)),
        Ok(Went::SameError(message) | Went::Refused(message)) => Answer::of(&message),
        Err(what) => panic!("{what}"),
    }
}
