//! Texts that people write.

use crate::{Answer, Target};
use schedlab_boundary::{FileName, Shown, is_hidden};
use schedlab_catalogue::{scenarios, studies};
use schedlab_model::machine::Topology;
use schedlab_model::rtapp;
use schedlab_model::scenario::{MachineFile, Notation, Scenario};
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_study::Study;
use schedlab_sweep::Sweep;

const SCENARIO_WORDS: &[&str] = &[
    "[[task]]\n",
    "[machine]\n",
    "[run]\n",
    "[channel.c]\n",
    "[[source]]\n",
    "[lock.l]\n",
    "[barrier.b]\n",
    "name = \"t\"\n",
    "count = ",
    "start = ",
    "start_on = ",
    "nice = ",
    "class = \"fifo:1\"\n",
    "cpus = ",
    "kind = \"process\"\n",
    "spawned = true\n",
    "arrivals = \"exp(1ms)\"\n",
    "limit = ",
    "loop = [",
    "once = [",
    "{ compute = \"1ms\" }",
    "{ sleep = \"exp(1ms)\" }",
    "{ spawn = \"t\", count = 2 }",
    "{ repeat = 3, steps = [",
    "{ wait = \"s\" }",
    "{ post = \"s\", times = 2 }",
    "{ lock = \"l\" }",
    "{ unlock = \"l\" }",
    "{ send = \"c\", messages = 2 }",
    "{ recv = \"c\" }",
    "{ answer = true }",
    "{ barrier = \"b\" }",
    "{ io = { device = \"d\", service = \"1ms\" } }",
    "{ yield = true }",
    "{ exit = true }",
    "\"choice(1ms: 0.5, 2ms: 0.5)\"",
    "\"uniform(1ns, 2ms)\"",
    "\"lognormal(1ms, 2)\"",
    "topology = \"1n2l4c2t\"\n",
    "hz = 250\n",
    "duration = \"1s\"\n",
    "\\u202e",
    "'''",
];

/// All of them.
pub fn all() -> Vec<Target> {
    vec![
        Target { name: "scenario", seeds: scenario_seeds, words: SCENARIO_WORDS, run: scenario },
        Target { name: "rtapp", seeds: rtapp_seeds, words: RTAPP_WORDS, run: rtapp },
        Target {
            name: "study",
            seeds: || texts(studies().iter().map(|study| study.text)),
            words: STUDY_WORDS,
            run: study,
        },
        Target { name: "sweep", seeds: || texts(SWEEPS), words: SWEEP_WORDS, run: sweep },
        Target {
            name: "machine",
            seeds: || texts(["[costs]\nswitch = \"870ns\"\nwakeup = \"1.2us\"\n"]),
            words: SCENARIO_WORDS,
            run: machine,
        },
        Target { name: "words", seeds: || texts(WORDS.iter().copied()), words: WORDS, run: words },
        Target {
            name: "shown",
            seeds: || texts(WORDS.iter().copied()),
            words: &["\x1b[1m", "\x1b[0m", "\u{202e}", "\u{9b}", "\n"],
            run: shown,
        },
    ]
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Vec<u8>> {
    texts.into_iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub(super) fn scenario_seeds() -> Vec<Vec<u8>> {
    let drawn = schedlab_catalogue::families::all().iter().map(|family| family.text(1, 2));
    texts(scenarios().iter().map(|shipped| shipped.text)).into_iter().chain(drawn.map(String::into_bytes)).collect()
}

/// What parses and compiles says the same when it is written and read again.
fn scenario(bytes: &[u8]) -> Answer {
    let read = Scenario::parse(&String::from_utf8_lossy(bytes), "f").and_then(|it| it.compile().map(|load| (it, load)));
    match read {
        Err(error) => refused(error),
        Ok((scenario, workload)) => {
            let again = Scenario::parse(&scenario.to_toml(), "f").expect("what is written can be read");
            assert_eq!(again.hash(), scenario.hash(), "what is written says the same");
            again.compile().expect("it compiled before");
            Answer::from((workload.roles.len(), workload.objects.channels.len(), workload.sources.len()))
        }
    }
}

/// An error is one visible line.
pub(super) fn refused(error: impl std::fmt::Display) -> Answer {
    let line = error.to_string();
    let shown = Shown::line(&line);
    assert!(!shown.as_str().chars().any(is_hidden));
    assert!(!line.contains('\n'), "an error is one line: {line:?}");
    Answer::of(shown.as_str())
}

const RTAPP_WORDS: &[&str] = &[
    "\"tasks\"",
    "\"global\"",
    "\"run\"",
    "\"sleep\"",
    "\"loop\"",
    "\"phases\"",
    "\"instance\"",
    "\"fork\"",
    "/*",
    "//",
    ": ",
    "{",
    "}",
];

fn rtapp_seeds() -> Vec<Vec<u8>> {
    let exported = |text: &str| rtapp::export(&Scenario::parse(text, "f").ok()?).ok();
    let exported = scenarios().iter().filter_map(|shipped| exported(shipped.text));
    let own =
        r#"{ "tasks": { "t": { "instance": 2, "loop": -1, "run": 1000, "sleep": 20 } }, "global": { "duration": 1 } }"#;
    exported.chain([own.to_string()]).map(String::into_bytes).collect()
}

fn rtapp(bytes: &[u8]) -> Answer {
    match rtapp::import(&String::from_utf8_lossy(bytes), "f") {
        Err(error) => refused(error),
        Ok(scenario) => match scenario.compile() {
            Err(error) => refused(error),
            Ok(workload) => {
                Scenario::parse(&scenario.to_toml(), "f").expect("what is written can be read");
                Answer::from(workload.roles.len())
            }
        },
    }
}

const STUDY_WORDS: &[&str] = &[
    "[[question]]\n",
    "[[question.run]]\n",
    "[[question.value]]\n",
    "metric = ",
    "policy = ",
    "over = ",
    "share = ",
    "\"roles.*.cpu_share\"",
];

fn study(bytes: &[u8]) -> Answer {
    match Study::parse(&String::from_utf8_lossy(bytes), "f") {
        Err(error) => refused(error),
        Ok(study) => {
            assert!(FileName::check(study.file_name().as_str()).is_ok());
            Answer::from(study.title.len().min(3))
        }
    }
}

const SWEEPS: [&str; 1] = ["name = \"s\"\nabout = \"CPUs.\"\npolicy = \"rr\"\nscenario = \"heavy-load\"\n\
                            measures = [\"throughput_per_s\"]\n[axis]\n\"machine.cpus\" = [1, 2]\n"];
const SWEEP_WORDS: &[&str] =
    &["[axis]\n", "\"1..3\"", "{ from = 1, to = 3, step = 1 }", "seeds = ", "policy = [\"rr\", \"fcfs\"]"];

fn sweep(bytes: &[u8]) -> Answer {
    match Sweep::parse(&String::from_utf8_lossy(bytes), "f") {
        Err(error) => refused(error),
        Ok(sweep) => Answer::of(&sweep.title()),
    }
}

fn machine(bytes: &[u8]) -> Answer {
    match MachineFile::parse(&String::from_utf8_lossy(bytes), "f") {
        Err(error) => refused(error),
        Ok(file) => {
            let again = MachineFile::parse(&file.to_toml(), "f").expect("what is written can be read");
            assert_eq!(again, file);
            Answer(1)
        }
    }
}

const WORDS: &[&str] = &[
    "rr:quantum=5ms",
    "./mine.bpf.c:depth=3,x=(1,2)",
    "1n2l4c2t",
    "5ms",
    "1.5us",
    "family:locks:7:2",
    "fcfs,rr:quantum=5ms,mlfq",
];

/// Words of a command line.
fn words(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let spec = PolicySpec::parse(&text);
    if let Ok(spec) = &spec {
        assert!(!spec.name().chars().any(is_hidden));
    }
    let list = PolicySpec::parse_list(&text).map_or(0, |list| list.len().min(4));
    let (topology, time) = (Topology::read(&text).is_ok(), Time::read(&text).is_ok());
    let address = schedlab_catalogue::families::Address::read(&text).is_ok_and(|address| address.is_some());
    let name = FileName::made_of(&text);
    assert!(FileName::check(name.as_str()).is_ok(), "{name}");
    Answer::from((spec.is_ok(), list, topology, time, address))
}

/// Nothing that a terminal obeys passes.
fn shown(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    for shown in
        [Shown::name(&text), Shown::line(&text), Shown::message(&text), Shown::page(&text, false), Shown::json(&text)]
    {
        assert!(!shown.as_str().replace('\n', "").chars().any(is_hidden));
    }
    let page = Shown::page(&text, true).into_string();
    let plain = page.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[33m", "").replace("\x1b[0m", "");
    assert!(!plain.replace('\n', "").chars().any(is_hidden));
    Answer::from((page.len().min(64), page.contains('\x1b')))
}
