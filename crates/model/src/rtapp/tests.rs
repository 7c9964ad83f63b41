use super::*;
use crate::{
    cpuset::CpuSet,
    distribution::Distribution,
    ids::CpuId,
    scenario::{Machine, Notation, Run, Scenario, Step, Task, Text, True},
    time::Time,
    workload::{Birth, Class, Protocol, Step as Code},
};
use proptest::prelude::*;

fn import_error(text: &str) -> String {
    import(text, "f").unwrap_err().to_string()
}

/// A file with this one thread.
fn thread(body: &str) -> String {
    format!("{{ \"tasks\" : {{ \"a\" : {{\n{body}\n}} }}, \"global\" : {{ \"duration\" : 2 }} }}")
}

#[test]
fn a_thread_that_runs_and_sleeps() {
    let scenario = import(
        r#"/* 20 % load */ {
            "tasks" : {
                "thread0" : {
                    "instance" : 3, "delay" : 1500, "cpus" : [ 0, 2 ], "policy" : "SCHED_BATCH", "priority" : 5,
                    "loop" : -1,
                    "run" : 20000,
                    "run" : 1,
                    "sleep1" : 80000,
                },
            },
            "global" : { "duration" : 2, "calibration" : "CPU0", "logdir" : "./", "gnuplot" : true },
        }"#,
        "dir/load.json",
    )
    .unwrap();
    let w = scenario.compile().unwrap();
    assert_eq!((w.name.as_str(), w.machine.cpus(), w.run.duration), ("load", 3, Time::from_s(2)));
    let g = &w.roles[0];
    assert_eq!((g.name.as_str(), g.count, &g.birth), ("thread0", Some(3), &Birth::At(Time::from_us(1500))));
    assert_eq!((g.cpus.to_string().as_str(), g.class, g.nice), ("0,2", Class::Batch, 5));
    let constant = |us| Distribution::Constant(Time::from_us(us));
    assert_eq!(
        g.program.steps,
        [
            Code::RequestBegin,
            Code::Compute(constant(20_000)),
            Code::Compute(constant(1)),
            Code::RequestEnd,
            Code::Sleep(constant(80_000)),
        ]
    );
}

#[test]
fn phases_repeat_and_threads_fork() {
    let scenario = import(
        r#"{ "tasks" : {
            "parent" : { "loop" : 2, "phases" : {
                "light" : { "loop" : 3, "run" : 10, "sem_post" : "go" },
                "heavy" : { "run" : 40, "fork" : "child" }
            } },
            "child" : { "instance" : 0, "policy" : "SCHED_FIFO", "loop" : 1, "sem_wait" : "go", "run" : 5 }
        } }"#,
        "f.json",
    )
    .unwrap();
    let w = scenario.compile().unwrap();
    assert_eq!(w.run.duration, Time::NEVER);
    assert_eq!((w.roles[1].class, &w.roles[1].birth), (Class::Fifo(10), &Birth::Spawned));
    let steps = &w.roles[0].program.steps;
    assert_eq!((w.roles[0].program.repeat_depth, w.roles[0].program.repeats), (2, false));
    let begin = [Code::RepeatBegin { times: 2 }, Code::RepeatBegin { times: 3 }, Code::RequestBegin];
    assert_eq!(steps[..3], begin, "each pass of a phase is a request");
}

#[test]
fn barriers_count_each_use_by_each_instance() {
    let scenario = import(
        r#"{ "tasks" : {
            "a" : { "instance" : 2, "loop" : 1, "run" : 1, "barrier1" : "b" },
            "b" : { "loop" : 1, "run" : 1, "barrier" : "b" }
        } }"#,
        "f",
    )
    .unwrap();
    assert_eq!(scenario.compile().unwrap().objects.barriers, [("b".to_string(), 3)]);
}

#[test]
fn what_cannot_be_carried_over_is_named() {
    for (body, part) in [
        ("\"memrun_a\" : { }", "f:2:1: the event \"memrun_a\" cannot be carried over: how long it takes"),
        (
            "\"policy\" : \"SCHED_DEADLINE\", \"dl-runtime\" : 1, \"dl-period\" : 2, \"run\" : 1",
            "SCHED_DEADLINE: a runtime of 1us is too short",
        ),
        ("\"delay\" : 5, \"instance\" : 0, \"loop\" : 1, \"run\" : 1, \"fork\" : \"a\"", "\"delay\" of a thread"),
        ("\"exec\" : 5000, \"period\" : 5000", "f:2:1: \"exec\" is of the language that rt-app had before 1.0"),
        ("\"phases\" : { \"p\" : { \"lock_order\" : [], \"loop\" : 2 } }", "\"lock_order\" is of the language"),
        ("\"taskgroup\" : \"a\", \"run\" : 1", "has to start with /"),
    ] {
        let error = import_error(&thread(body));
        assert!(error.contains(part), "{body}\n{error}");
    }
    assert!(import_error("{ \"global\" : { \"duration\" : 5 } }").contains("a fragment has to be merged"));
}

/// What a thread becomes, and the remarks.
fn imported(body: &str) -> (Task, Vec<String>) {
    let scenario = import(&thread(body), "f").unwrap();
    scenario.compile().unwrap();
    (scenario.tasks[0].clone(), scenario.remarks().to_vec())
}

fn steps_of(body: &str) -> String {
    let (task, _) = imported(body);
    let steps = task.repeated.or(task.once).unwrap();
    steps.iter().map(|step| toml::Value::try_from(step).unwrap().to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn events_become_steps() {
    for (events, steps) in [
        (r#""runtime1" : 5, "run" : 0"#, r#"{ busy = "5us" } { compute = "0s" }"#),
        (r#""run" : 5, "signal" : "c", "broad" : "c""#, r#"{ compute = "5us" } { signal = "c" } { broadcast = "c" }"#),
        (
            r#""signal" : "c", "lock" : "m", "sync" : { "ref" : "c", "mutex" : "m" }, "unlock" : "m", "run" : 5"#,
            r#"{ signal = "c" } { lock = "m" } { signal = "c" } { cond_wait = "c", mutex = "m" } { unlock = "m" } { compute = "5us" }"#,
        ),
        (
            r#""run" : 5, "resume" : "a", "suspend", "suspend2" : "a""#,
            r#"{ compute = "5us" } { resume = "a" } { suspend = "a" } { suspend = "a" }"#,
        ),
        (
            r#""run" : 5, "timer" : { "ref" : "unique", "period" : 9 }, "timer2" : { "ref" : "uniqueB", "mode" : "absolute", "period" : 7 },
               "timer3" : { "ref" : "tick", "period" : 0 }"#,
            r#"{ compute = "5us" } { period = "9us", overrun = "restart" } { period = "7us", overrun = "catch_up", timer = "uniqueB" }"#,
        ),
        // 10 bytes in a nanosecond; a call for each buffer of 4 MiB, to nowhere.
        (r#""mem" : 1001, "iorun" : 10000000"#, r#"{ compute = "101ns" } { compute = "600ns" }"#),
    ] {
        assert_eq!(steps_of(events), steps, "{events}");
    }
}

#[test]
fn remarks_say_what_is_carried_over_with_changes() {
    for (body, part) in [
        ("\"run\" : 1", "does not describe a machine; assuming 1 CPU"),
        ("\"cpus\" : [2], \"run\" : 1", "assuming 3 CPUs"),
        ("\"run\" : 1, \"run\" : 2", "events of the same key"),
        ("\"run\" : 1, \"mem\" : 9", "a nanosecond for 10 bytes"),
        ("\"run\" : 1, \"iorun\" : 9", "/dev/null takes 200ns"),
        ("\"run\" : 1, \"util_min\" : 9", "\"util_min\" is about the frequency"),
        ("\"run\" : 1, \"nodes_membind\" : [0]", "where memory lies"),
        ("\"run\" : 1, \"resume\" : \"b\", \"suspend\" : \"b\"", "`a` is suspended as \"b\""),
        ("\"policy\" : \"SCHED_DEADLINE\", \"dl-runtime\" : 9, \"run\" : 1", "becomes fifo:99"),
        (
            "\"instance\" : 2, \"run\" : 1, \"timer\" : { \"ref\" : \"tick\", \"period\" : 5 }",
            "share the timer \"tick\"",
        ),
    ] {
        let (_, remarks) = imported(body);
        assert!(remarks.iter().any(|remark| remark.contains(part)), "{body}: {remarks:?}");
    }
    let text = "{ \"tasks\" : { \"a\" : { \"run\" : 1 } }, \"global\" : { \"frag\" : 1, \"fast\" : 2 } }";
    let scenario = import(text, "f").unwrap();
    assert!(scenario.remarks().iter().any(|remark| remark.contains("\"fast\" of \"global\"")));
    assert!(scenario.remarks().iter().any(|remark| remark.contains("`a` never ends")));
    assert_eq!(scenario.compile().unwrap().run.duration, Time::from_s(10));
}

#[test]
fn who_is_suspended_under_another_name_waits_under_it() {
    let body = "\"run\" : 1, \"resume\" : \"b\", \"suspend\" : \"b\"";
    let written = export(&import(&thread(body), "f").unwrap()).unwrap();
    let back = import(&written, "f").unwrap();
    let steps = back.tasks[0].repeated.as_ref().unwrap();
    let names: Vec<&str> = steps.iter().map(Step::name).collect();
    assert_eq!(names, ["compute", "resume", "lock", "cond_wait", "unlock"]);
}

#[test]
fn a_phase_changes_what_it_says() {
    let phases = r#""cpus" : [2], "priority" : 1, "taskgroup" : "/x", "dl-runtime" : 3000000, "phases" : {
        "p" : { "cpus" : [0], "run" : 1 },
        "q" : { "priority" : 5, "taskgroup" : "/y/z", "loop" : 3, "run" : 2 },
        "r" : { "taskgroup" : "/", "run" : 3 } }"#;
    let expected = [
        r#"{ set = { cpus = "0" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "1us" }] }"#,
        r#"{ set = { cpus = "2", nice = 5 } }"#,
        r#"{ join = "y/z" }"#,
        r#"{ repeat = 3, request = true, steps = [{ compute = "2us" }] }"#,
        r#"{ set = { cpus = "2" } }"#,
        r#"{ join = "/" }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "3us" }] }"#,
    ];
    assert_eq!(steps_of(phases), expected.join(" "));
    let (task, _) = imported(phases);
    let slice = task.slice.map(|slice| slice.0);
    assert_eq!((task.nice, task.control_group.as_deref(), slice), (Some(1), Some("x"), Some(Time::from_ms(100))));
    let back = import(&export(&import(&thread(phases), "f").unwrap()).unwrap(), "f").unwrap();
    assert_eq!(back.tasks[0].repeated, task.repeated, "it is written as it was read");
    // One phase is the thread.
    let one = r#""priority" : 1, "phases" : { "p" : { "cpus" : [0], "priority" : 5, "loop" : -1, "run" : 1 } }"#;
    assert_eq!(steps_of(one), r#"{ compute = "1us" }"#);
    assert_eq!(imported(one).0.nice, Some(5));
}

#[test]
fn a_phase_sets_its_slice_and_its_policys_nice_value() {
    let phases = r#""priority" : 5, "dl-runtime" : 3000, "phases" : {
        "p" : { "policy" : "SCHED_OTHER", "dl-runtime" : 1000, "run" : 1 },
        "q" : { "priority" : 5, "dl-runtime" : 50000, "run" : 2 },
        "r" : { "dl-runtime" : 700, "run" : 3 } }"#;
    let expected = [
        r#"{ set = { nice = 0, slice = "1ms" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "1us" }] }"#,
        r#"{ set = { nice = 5, slice = "50ms" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "2us" }] }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "3us" }] }"#,
    ];
    assert_eq!(steps_of(phases), expected.join(" "));
    let (_, remarks) = imported(phases);
    assert!(remarks.iter().any(|remark| remark.contains("\"dl-runtime\" in a phase without")), "{remarks:?}");
    let one = r#""priority" : 5, "phases" : { "p" : { "policy" : "SCHED_BATCH", "dl-runtime" : 200, "run" : 1 } }"#;
    let batch = format!("\"policy\" : \"SCHED_BATCH\", {one}");
    let (task, _) = imported(&batch);
    assert_eq!((task.nice, task.slice.map(|slice| slice.0)), (None, Some(Time::from_us(200))));
    // Without a priority it is 10.
    let fifo =
        r#""policy" : "SCHED_FIFO", "priority" : 20, "phases" : { "p" : { "policy" : "SCHED_FIFO", "run" : 1 } }"#;
    assert_eq!(imported(fifo).0.class, Some(Text(Class::Fifo(10))));
}

#[test]
fn a_phase_sets_its_class() {
    let phases = r#""priority" : 5, "phases" : {
        "p" : { "run" : 1 },
        "q" : { "policy" : "SCHED_RR", "priority" : 3, "run" : 2 },
        "r" : { "policy" : "SCHED_DEADLINE", "dl-runtime" : 2000, "dl-period" : 10000, "run" : 3 },
        "s" : { "policy" : "SCHED_OTHER", "run" : 4 } }"#;
    let expected = [
        r#"{ repeat = 1, request = true, steps = [{ compute = "1us" }] }"#,
        r#"{ set = { class = "rr:3" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "2us" }] }"#,
        r#"{ set = { class = "deadline:2ms/10ms" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "3us" }] }"#,
        r#"{ set = { nice = 0, class = "other" } }"#,
        r#"{ repeat = 1, request = true, steps = [{ compute = "4us" }] }"#,
    ];
    assert_eq!(steps_of(phases), expected.join(" "));
    let (task, _) = imported(phases);
    let back = import(&export(&import(&thread(phases), "f").unwrap()).unwrap(), "f").unwrap();
    assert_eq!(back.tasks[0].repeated, task.repeated, "it is written as it was read");
}

#[test]
fn a_thread_reserves_cpu_time() {
    let of = |more: &str| imported(&format!("\"policy\" : \"SCHED_DEADLINE\", {more}, \"run\" : 1"));
    let (task, remarks) = of(r#""dl-runtime" : 3000, "dl-deadline" : 8000, "dl-period" : 10000"#);
    assert_eq!(task.class.clone().map(|class| class.write()).as_deref(), Some("deadline:3ms/8ms/10ms"));
    assert!(remarks.iter().all(|remark| !remark.contains("SCHED_DEADLINE")), "{remarks:?}");
    let (whole, _) = of(r#""dl-runtime" : 3000, "dl-period" : 10000"#);
    assert_eq!(whole.class.map(|class| class.write()).as_deref(), Some("deadline:3ms/10ms"));
    let text = thread(
        r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 3000, "dl-deadline" : 8000, "dl-period" : 10000, "run" : 1"#,
    );
    let back = import(&export(&import(&text, "f").unwrap()).unwrap(), "f").unwrap();
    assert_eq!(back.tasks[0].class, task.class);
}

#[test]
fn a_thread_without_an_instance_is_no_task_unless_it_is_forked() {
    let text = r#"{ "tasks" : {
        "a" : { "run" : 1, "fork" : "c" },
        "b" : { "instance" : 0, "run" : 1, "fork" : "d" },
        "c" : { "instance" : 0, "loop" : 1, "run" : 1 },
        "d" : { "instance" : 0, "loop" : 1, "run" : 1, "fork" : "d" } }, "global" : { "duration" : 1 } }"#;
    let scenario = import(text, "f").unwrap();
    assert_eq!(scenario.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert!(scenario.compile().is_ok());
    for name in ["b", "d"] {
        let remark = format!("`{name}` has no instance");
        assert!(scenario.remarks().iter().any(|said| said.starts_with(&remark)), "{name}");
    }
}

#[test]
fn timers_of_a_forked_thread_count_from_the_start_of_the_run() {
    let text = r#"{ "tasks" : {
        "p" : { "loop" : 1, "run" : 1, "fork" : "c", "timer" : { "ref" : "unique", "period" : 9 } },
        "c" : { "instance" : 0, "loop" : 3, "run" : 1, "timer" : { "ref" : "unique", "period" : 20, "mode" : "absolute" } }
    }, "global" : { "duration" : 1 } }"#;
    let scenario = import(text, "f").unwrap();
    let toml = scenario.to_toml();
    assert!(toml.contains(r#"period = "20us", from = "run", overrun = "catch_up""#), "{toml}");
    assert!(toml.contains(r#"period = "9us", overrun = "restart""#), "{toml}");
    assert_eq!(import(&export(&scenario).unwrap(), "f").unwrap().tasks, scenario.tasks);
    // A release is 81 µs past when the thread comes at 101: rt-app goes on at once.
    let Code::Period(pace) = scenario.compile().unwrap().roles[1]
        .program
        .steps
        .iter()
        .find_map(|step| match step {
            Code::Period(_) => Some(step.clone()),
            _ => None,
        })
        .unwrap()
    else {
        unreachable!()
    };
    assert_eq!(pace.next(None, pace.origin(101_000, 0), 101_000).at_ns, 20_000);
}

#[test]
fn work_without_end_outlasts_the_run() {
    let (task, remarks) = imported(r#""run" : -1, "sleep" : 0"#);
    let endless = Step::Compute { compute: Text(Distribution::Constant(Time::from_s(1_000_000_000))) };
    assert_eq!(task.repeated.unwrap()[0], endless);
    assert!(remarks.iter().any(|remark| remark.contains("below 0 never ends")), "{remarks:?}");
}

#[test]
fn priority_inheritance_is_of_all_mutexes_or_of_none() {
    let text = "{ \"global\" : { \"pi_enabled\" : true, \"duration\" : 1 }, \"tasks\" : { \"a\" : { \"lock\" : \"m\", \"run\" : 1, \
                \"unlock\" : \"m\", \"resume\" : \"b\" } } }";
    let scenario = import(text, "f").unwrap();
    let locks = scenario.compile().unwrap().objects.locks;
    assert_eq!(locks.iter().map(|lock| lock.protocol).collect::<Vec<_>>(), [Protocol::Inherit; 2]);
    let written = export(&scenario).unwrap();
    assert!(written.contains("\"pi_enabled\": true"), "{written}");
    let mut one = scenario;
    one.lock.remove("b");
    assert!(export(&one).unwrap_err().to_string().contains("to all mutexes or to none"));
}

#[test]
fn a_file_of_rt_app_is_known_by_its_text() {
    for (text, is) in [
        (" {\"tasks\":{}}", true),
        ("/* a */ /* b */\n{", true),
        ("// a\n{", true),
        ("name = \"a\"", false),
        ("# {\nname", false),
        ("", false),
    ] {
        assert_eq!(is_likely(text), is, "{text}");
    }
}

#[test]
fn wrong_files_say_where() {
    for (text, part) in [
        ("{ }", "f:1:1: the object \"tasks\" is missing"),
        ("[]", "f:1:1: the file is a list, not an object"),
        ("{ \"task\" : {} }", "f:1:3: unknown key \"task\": did you mean `tasks`?"),
        (&thread("\"runn\" : \"x\"")[..], "f:2:10: \"runn\" is a whole number"),
        (&thread("\"slep\" : 5"), "f:2:1: unknown event or property \"slep\": did you mean `sleep`?"),
        (&thread("\"sleep\" : -5"), "f:2:11: \"sleep\" is a time in µs"),
        (&thread("\"run\" : 99999999999999999"), "f:2:9: \"run\" is a whole number"),
        (&thread("\"loop\" : 3"), "\"a\" has no events"),
        (&thread("\"loop\" : 0, \"run\" : 1"), "f:2:10: \"loop\" 0"),
        (&thread("\"instance\" : -1, \"run\" : 1"), "f:2:14: \"instance\""),
        (&thread("\"priority\" : 20, \"run\" : 1"), "the priority 20 does not fit"),
        (&thread("\"cpus\" : [], \"run\" : 1"), "\"cpus\" is a list"),
        (&thread("\"run\" : 1, \"phases\" : {}"), "\"run\" cannot be used with \"phases\""),
        (&thread("\"phases\" : { \"p\" : { \"delay\" : 1, \"run\" : 1 } }"), "belongs to a thread"),
    ] {
        let error = import_error(text);
        assert!(error.contains(part), "{text}\n{error}");
    }
}

fn exported(tasks: &str) -> Result<String, String> {
    let text = format!("name = \"t\"\n[machine]\ncpus = 2\n[run]\nduration = \"1s\"\n[[task]]\nname = \"a\"\n{tasks}");
    export(&Scenario::parse(&text, "f").unwrap()).map_err(|e| e.to_string())
}

#[test]
fn events_are_written_in_their_order() {
    let text = exported(
        r#"loop = [{ sleep = "1ms" }, { compute = "2ms" }, { repeat = 3, steps = [{ yield = true }, { compute = "5us" }] }]"#,
    )
    .unwrap();
    let compact: String = text.split_whitespace().collect();
    assert!(
        compact.contains(
            r#""phases":{"phase0":{"loop":1,"sleep0":1000,"run1":2000},"phase1":{"loop":3,"yield0":"","run1":5}}"#
        ),
        "{text}"
    );
}

#[test]
fn what_rt_app_cannot_say_is_named() {
    for (program, part) in [
        ("once = [{ compute = \"exp(1ms)\" }]", "f:8:21: rt-app has no random times"),
        ("once = [{ compute = \"1500ns\" }]", "f:8:21: rt-app counts in whole microseconds"),
        ("start_on = 0\nonce = [{ compute = \"1ms\" }]", "f:8:12: rt-app has no equivalent of `start_on`"),
        ("kind = \"process\"\nonce = [{ compute = \"1ms\" }]", "f:8:8: rt-app has no equivalent of `kind`"),
        ("arrivals = \"1ms\"\nonce = [{ compute = \"1ms\" }]", "f:8:12: rt-app has no equivalent of `arrivals`"),
        ("once = [{ io = { device = \"d\", service = \"1ms\" } }]", "f:8:9: rt-app has no event for `io`"),
        ("once = [{ compute = \"1ms\" }, { exit = true }]", "rt-app has no event for `exit`"),
        ("once = [{ send = \"c\" }, { recv = \"c\" }]", "rt-app has no event for `send`"),
        ("loop = [{ repeat = 2, steps = [{ repeat = 2, steps = [{ compute = \"1ms\" }] }] }]", "unroll"),
        ("once = [{ wait = \"s\" }]\n[semaphore.s]\ninitial = 1", "f:10:11: rt-app's semaphores start at 0"),
        ("once = [{ barrier = \"b\" }, { barrier = \"b\" }]", "rt-app counts each use"),
        ("once = [{ lock = \"m\" }]", "still held"),
    ] {
        let error = exported(program).unwrap_err();
        assert!(error.contains(part), "{program}\n{error}");
    }
}

fn plain_steps() -> impl Strategy<Value = Vec<Step>> {
    let time = || (1..1_000_000u64).prop_map(|us| Text(Distribution::Constant(Time::from_us(us))));
    let name = |prefix: &str| {
        (0..3u8).prop_map({
            let prefix = prefix.to_string();
            move |n| format!("{prefix}{n}")
        })
    };
    let one = prop_oneof![
        time().prop_map(|compute| vec![Step::Compute { compute }]),
        time().prop_map(|sleep| vec![Step::Sleep { sleep }]),
        time().prop_map(|busy| vec![Step::Busy { busy }]),
        Just(vec![Step::Yield { r#yield: True }]),
        name("c").prop_map(|signal| vec![Step::Signal { signal }]),
        name("c").prop_map(|cond_wait| {
            let (lock, mutex, unlock) = ("m".to_string(), "m".to_string(), "m".to_string());
            vec![Step::Lock { lock }, Step::CondWait { cond_wait, mutex }, Step::Unlock { unlock }]
        }),
        name("s").prop_map(|post| vec![Step::Post { post, times: 1 }]),
        name("s").prop_map(|wait| vec![Step::Wait { wait }]),
        name("child").prop_map(|spawn| vec![Step::Spawn { spawn, count: 1 }]),
        (name("m"), time()).prop_map(|(lock, compute)| {
            vec![Step::Lock { lock: lock.clone() }, Step::Compute { compute }, Step::Unlock { unlock: lock }]
        }),
    ];
    (time(), proptest::collection::vec(one, 0..5))
        .prop_map(|(compute, more)| [vec![Step::Compute { compute }], more.concat()].concat())
}

/// Plain steps, or phases, as an import writes them.
fn programs() -> impl Strategy<Value = Vec<Step>> {
    let phase = (1..100u32, plain_steps()).prop_map(|(repeat, steps)| Step::Repeat { repeat, request: true, steps });
    prop_oneof![plain_steps(), proptest::collection::vec(phase, 2..4)]
}

fn tasks() -> impl Strategy<Value = Task> {
    let class = prop_oneof![
        Just((None, None)),
        (1..=19i64).prop_map(|nice| (None, Some(nice))),
        Just((Some(Text(Class::Idle)), None)),
        (1..=99u8).prop_map(|p| (Some(Text(Class::Fifo(p))), None)),
        (1..=99u8).prop_map(|p| (Some(Text(Class::RoundRobin(p))), None)),
    ];
    let cpus = proptest::option::of(proptest::collection::btree_set(0..8u32, 1..4));
    let start = proptest::option::of((1..1_000_000u64).prop_map(|us| Text(Time::from_us(us))));
    (programs(), 0..3u8, class, cpus, start, proptest::option::of(2..50u32)).prop_map(
        |(steps, form, (class, nice), cpus, start, count)| Task {
            count,
            start,
            class,
            nice,
            cpus: cpus.map(|set| Text(set.into_iter().map(CpuId).collect::<CpuSet>())),
            repeated: (form == 0).then(|| steps.clone()),
            once: match form {
                0 => None,
                1 => Some(steps),
                _ => {
                    let request = !matches!(steps[0], Step::Repeat { .. });
                    Some(vec![Step::Repeat { repeat: 7, request, steps }])
                }
            },
            ..Task::default()
        },
    )
}

/// Generated tasks, with children for all to spawn and a task that posts every semaphore.
fn scenarios() -> impl Strategy<Value = Scenario> {
    (proptest::collection::vec(tasks(), 1..4), 2..1_000u64).prop_map(|(mut tasks, seconds)| {
        for (index, task) in tasks.iter_mut().enumerate() {
            task.name = format!("task{index}");
        }
        let compute = Step::Compute { compute: Text(Distribution::Constant(Time::from_us(3))) };
        let posts = (0..3).map(|n| Step::Post { post: format!("s{n}"), times: 1 });
        let spawns = (0..3).map(|n| Step::Spawn { spawn: format!("child{n}"), count: 1 });
        let broadcasts = (0..3).map(|n| Step::Broadcast { broadcast: format!("c{n}") });
        let helper = std::iter::once(compute.clone()).chain(posts).chain(spawns).chain(broadcasts).collect();
        tasks.push(Task { name: "helper".into(), once: Some(helper), ..Task::default() });
        tasks.extend((0..3).map(|n| Task {
            name: format!("child{n}"),
            spawned: true,
            once: Some(vec![compute.clone()]),
            ..Task::default()
        }));
        let run = Run { duration: Some(Text(Time::from_s(seconds))), ..Run::default() };
        Scenario::new("t", Machine { cpus: Some(8), ..Machine::default() }, run, tasks, "generated")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_exported_is_imported_as_it_was(scenario in scenarios()) {
        let text = export(&scenario).unwrap();
        let back = import(&text, "t.json").unwrap();
        prop_assert_eq!(&back.tasks, &scenario.tasks);
        prop_assert_eq!(&back.run, &scenario.run);
        prop_assert!(back.compile().is_ok());
        prop_assert_eq!(export(&back).unwrap(), text);
    }

    #[test]
    fn what_is_written_as_toml_reads_back(scenario in scenarios()) {
        let back = Scenario::parse(&scenario.to_toml(), "t").unwrap();
        prop_assert_eq!(&back, &scenario);
        prop_assert_eq!(back.hash(), scenario.hash());
    }

    #[test]
    fn nothing_makes_the_importer_panic(text in "[{}\\[\\],:\"a-z0-9 /*#\\\\-]{0,60}") {
        let _ = import(&text, "f");
    }
}
