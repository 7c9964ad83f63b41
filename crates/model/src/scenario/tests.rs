use super::*;
use crate::{
    ids::{ObjectId, RoleId},
    workload::Step as Code,
};

/// A scenario of one CPU and one second with these tasks.
fn with_tasks(tasks: &str) -> String {
    format!("name = \"t\"\n[machine]\ncpus = 2\n[run]\nduration = \"1s\"\n{tasks}")
}

/// A scenario with one task that has this program.
fn with_program(program: &str) -> String {
    with_tasks(&format!("[[task]]\nname = \"a\"\n{program}"))
}

fn compiled(text: &str) -> Workload {
    Scenario::parse(text, "f").and_then(|s| s.compile()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn error(text: &str) -> String {
    match Scenario::parse(text, "f").and_then(|s| s.compile()) {
        Ok(_) => panic!("nothing wrong was found in\n{text}"),
        Err(e) => e.to_string(),
    }
}

fn code(program: &str) -> Vec<Code> {
    compiled(&with_program(program)).roles[0].program.steps.clone()
}

fn ms(n: u64) -> Distribution {
    Distribution::Constant(Time::from_ms(n))
}

#[test]
fn the_example_of_the_design_compiles() {
    let text = r#"
        name = "moderate-load"
        about = "Seven tasks."
        [machine]
        cpus = 2
        [[task]]
        name = "worker"
        count = 7
        start_on = 0
        loop = [ { compute = "250ms" }, { sleep = "10ms" } ]
        [run]
        duration = "60s"
        seed = 3
    "#;
    let w = compiled(text);
    assert_eq!((w.name.as_str(), w.machine.cpus(), w.machine.tick), ("moderate-load", 2, Time::ZERO));
    assert_eq!(
        w.run,
        crate::workload::Run {
            duration: Time::from_s(60),
            warmup: Time::ZERO,
            period_phase: Default::default(),
            seed: 3,
            calls: false,
        }
    );
    let g = &w.roles[0];
    assert_eq!((g.count, &g.birth, g.nice), (Some(7), &crate::workload::Birth::At(Time::ZERO), 0));
    assert_eq!((g.start_on, g.cpus.to_string().as_str()), (Some(crate::ids::CpuId(0)), "0-1"));
    assert!(g.program.repeats);
    assert_eq!(g.program.steps, [Code::RequestBegin, Code::Compute(ms(250)), Code::RequestEnd, Code::Sleep(ms(10))]);
}

#[test]
fn a_request_leaves_out_the_sleeps_at_both_ends() {
    assert_eq!(
        code(
            r#"loop = [{ sleep = "1ms" }, { compute = "2ms" }, { sleep = "3ms" }, { yield = true }, { sleep = "4ms" }]"#
        ),
        [
            Code::Sleep(ms(1)),
            Code::RequestBegin,
            Code::Compute(ms(2)),
            Code::Sleep(ms(3)),
            Code::Yield,
            Code::RequestEnd,
            Code::Sleep(ms(4)),
        ]
    );
    assert_eq!(code(r#"loop = [{ sleep = "1ms" }]"#), [Code::Sleep(ms(1))]);
    assert_eq!(
        code(r#"once = [{ compute = "1ms" }, { sleep = "2ms" }, { exit = true }]"#),
        [Code::RequestBegin, Code::Compute(ms(1)), Code::RequestEnd, Code::Sleep(ms(2)), Code::Exit]
    );
}

#[test]
fn an_arrival_waits_from_its_first_step_on() {
    let text = with_program("arrivals = \"exp(21ms)\"\nlimit = 9\nonce = [{ sleep = \"1ms\" }, { compute = \"2ms\" }]");
    let role = &compiled(&text).roles[0];
    let gap = Distribution::Exponential(Time::from_ms(21));
    assert_eq!(role.birth, crate::workload::Birth::Arrivals { first: Time::ZERO, gap });
    assert_eq!(role.count, Some(9));
    assert_eq!(role.program.steps, [Code::RequestBegin, Code::Sleep(ms(1)), Code::Compute(ms(2)), Code::RequestEnd]);
}

#[test]
fn repeats_become_jumps_that_nest() {
    let text = r#"once = [{ repeat = 3, steps = [{ yield = true }, { repeat = 2, steps = [{ compute = "1ms" }] }] }]"#;
    let program = &compiled(&with_program(text)).roles[0].program;
    assert!(!program.repeats);
    assert_eq!(program.repeat_depth, 2);
    assert_eq!(
        program.steps,
        [
            Code::RequestBegin,
            Code::RepeatBegin { times: 3 },
            Code::Yield,
            Code::RepeatBegin { times: 2 },
            Code::Compute(ms(1)),
            Code::RepeatEnd { begin: 4 },
            Code::RepeatEnd { begin: 2 },
            Code::RequestEnd,
        ]
    );
}

#[test]
fn objects_get_numbers_by_name_and_defaults() {
    let w = compiled(&with_tasks(
        r#"
        [semaphore.z]
        initial = 2
        [channel.c]
        capacity = 3
        kind = "socket"
        [[task]]
        name = "a"
        count = 3
        spawned = false
        loop = [{ lock = "m" }, { compute = "1ms" }, { unlock = "m" }, { wait = "z" }, { post = "y", times = 2 },
                { send = "c" }, { send = "d", messages = 5 }, { barrier = "b" }, { spawn = "child", count = 2 },
                { io = { device = "disk", service = "exp(5ms)" } }]
        [[task]]
        name = "b"
        loop = [{ wait = "y" }, { recv = "c" }, { recv = "d" }, { barrier = "b" }]
        [[task]]
        name = "child"
        spawned = true
        once = [{ compute = "1ms" }]
    "#,
    ));
    let semaphores: Vec<_> = w.objects.semaphores.iter().map(|s| (s.name.as_str(), s.initial)).collect();
    assert_eq!(semaphores, [("y", 0), ("z", 2)]);
    assert_eq!((w.objects.locks.as_slice(), w.objects.devices.as_slice()), (&["m".into()][..], &["disk".into()][..]));
    assert_eq!(w.objects.barriers, [("b".to_string(), 4)]);
    let channels: Vec<_> = w.objects.channels.iter().map(|c| (c.name.as_str(), c.capacity, c.kind)).collect();
    assert_eq!(channels, [("c", 3, ChannelKind::Socket), ("d", 64, ChannelKind::Pipe)]);
    let steps = &w.roles[0].program.steps;
    assert_eq!(steps[5], Code::Post(ObjectId(0), 2));
    assert_eq!(steps[7], Code::Send(ObjectId(1), 5));
    assert_eq!(steps[9], Code::Spawn(RoleId(2), 2));
    assert_eq!(w.roles[2].birth, crate::workload::Birth::Spawned);
}

#[test]
fn machines_have_topology_ticks_and_costs() {
    let text = with_program(r#"loop = [{ compute = "1ms" }]"#).replace(
        "cpus = 2",
        "topology = \"1n2l2c2t\"\nhz = 300\n[machine.costs]\nswitch = \"1.5us\"\npolicy_instruction = \"350ps\"",
    );
    let machine = compiled(&text).machine;
    assert_eq!((machine.cpus(), machine.tick), (8, Time(3_333_333)));
    assert_eq!((machine.costs.switch, machine.costs.policy_instruction_ps), (Time(1_500), 350));
}

#[test]
fn a_run_without_a_length_needs_tasks_that_end() {
    let text = with_program(r#"once = [{ compute = "1ms" }]"#).replace("duration = \"1s\"", "");
    assert_eq!(compiled(&text).run.duration, Time::NEVER);
    let endless = with_program(r#"loop = [{ compute = "1ms" }]"#).replace("duration = \"1s\"", "");
    assert_eq!(error(&endless), "f:4:1: `a` never ends: say how long the run is, as duration = \"60s\"");
}

/// Every wrong program, with the place and a part of what is said about it. The program is on line 8.
#[test]
fn wrong_programs_are_found() {
    for (program, place, part) in [
        ("", "6:1", "does nothing: give it a `loop`, a `once` or a `command`"),
        ("loop = []", "8:8", "the program is empty"),
        (r#"loop = [{ compute = 5 }]"#, "8:21", "the time 5 has no unit: write \"5ms\""),
        (r#"loop = [{ compute = 2.5 }]"#, "8:21", "the time 2.5 has no unit"),
        (r#"loop = [{ compute = "5" }]"#, "8:21", "the time 5 has no unit"),
        (r#"loop = [{ compute = "-5ms" }]"#, "8:21", "negative"),
        (r#"loop = [{ compute = "999999999999s" }]"#, "8:21", "too long"),
        (r#"loop = [{ compte = "5ms" }]"#, "8:11", "unknown key `compte`: did you mean `compute`?"),
        (r#"loop = [{ compute = "5ms", sleep = "1ms" }]"#, "8:9", "two steps in one table"),
        (r#"loop = [{ io = { service = "1ms" } }]"#, "8:16", "the key `device` is missing"),
        (r#"loop = [{ yield = true }]"#, "8:9", "can take no time at all"),
        (r#"loop = [{ compute = "0s" }]"#, "8:9", "can take no time at all"),
        (
            r#"once = [{ repeat = 1000000000, steps = [{ yield = true }] }]"#,
            "8:20",
            "1000000000 steps that take no time",
        ),
        (
            r#"once = [{ repeat = 4000, steps = [{ repeat = 4000, steps = [{ yield = true }, { compute = "0s" }] }] }]"#,
            "8:20",
            "32000000 steps that take no time are too many",
        ),
        (r#"loop = [{ lock = "m" }, { unlock = "m" }]"#, "8:9", "can take no time at all"),
        (r#"loop = [{ post = "s" }, { wait = "s" }]"#, "8:9", "can take no time at all"),
        (r#"loop = [{ barrier = "b" }]"#, "8:9", "can take no time at all"),
        (r#"loop = [{ wait = "s" }, { compute = "1ms" }]"#, "8:9", "no task posts `s`"),
        (r#"loop = [{ recv = "c" }, { compute = "1ms" }]"#, "8:9", "no task sends to `c`"),
        (r#"loop = [{ send = "c" }, { compute = "1ms" }]"#, "8:9", "no task receives from `c`"),
        (r#"loop = [{ compute = "1ms" }, { wait = "s" }, { post = "s" }]"#, "8:30", "all wait for each other"),
        (r#"loop = [{ lock = "m" }, { lock = "m" }]"#, "8:25", "waits for itself"),
        (r#"loop = [{ lock = "m" }, { compute = "1ms" }]"#, "8:8", "the next waits for itself"),
        (r#"once = [{ lock = "m" }]"#, "8:8", "the task ends with `m` still held"),
        (r#"loop = [{ unlock = "m" }]"#, "8:9", "`m` is not held here"),
        (r#"once = [{ repeat = 2, steps = [{ lock = "m" }] }, { unlock = "m" }]"#, "8:9", "other locks"),
        (r#"once = [{ repeat = 0, steps = [{ yield = true }] }]"#, "8:20", "zero times"),
        (r#"once = [{ repeat = 2, steps = [] }]"#, "8:31", "nothing to repeat"),
        (r#"once = [{ repeat = 2, steps = [{ exit = true }] }]"#, "8:32", "nothing after `exit`"),
        (r#"once = [{ exit = true }, { compute = "1ms" }]"#, "8:9", "nothing after `exit`"),
        (r#"once = [{ spawn = "b" }]"#, "8:9", "there is no task `b`"),
        (r#"once = [{ spawn = "a" }]"#, "8:9", "the spawns form a cycle, a → a"),
        ("command = []", "8:11", "no program is named"),
        ("command = [\"a\"]\nonce = [{ yield = true }]", "6:1", "two programs"),
        ("loop = [{ yield = true }]\nonce = [{ yield = true }]", "6:1", "two programs"),
        ("nice = 20\nonce = [{ yield = true }]", "8:8", "nice 20 does not exist"),
        ("slice = \"50us\"\nonce = [{ yield = true }]", "8:9", "a slice of 50us cannot be: write 100us to 100ms"),
        ("slice = \"1ms\"\nclass = \"idle\"\nonce = [{ yield = true }]", "8:9", "in the classes other and batch alone"),
        ("class = \"fifo\"\nonce = [{ yield = true }]", "8:9", "needs a priority"),
        ("class = \"rr:5\"\nnice = 1\nonce = [{ yield = true }]", "9:8", "means nothing"),
        ("cpus = \"\"\nonce = [{ yield = true }]", "8:8", "the set of CPUs is empty"),
        ("cpus = []\nonce = [{ yield = true }]", "8:8", "the set of CPUs is empty"),
        ("cpus = \"0-2\"\nonce = [{ yield = true }]", "8:8", "there is no CPU 2: the machine's CPUs are 0-1"),
        ("cpus = 1\nonce = [{ yield = true }]", "8:8", "write \"1\" or [1]"),
        ("cpus = [1]\nstart_on = 0\nonce = [{ yield = true }]", "9:12", "they are 1"),
        ("start_on = 2\nonce = [{ yield = true }]", "8:12", "they are 0-1"),
        ("count = 1000000000\nonce = [{ yield = true }]", "8:9", "1000000000 tasks are too many"),
        ("count = 99999999999\nonce = [{ yield = true }]", "8:9", "99999999999"),
        ("count = 0\nonce = [{ yield = true }]", "8:9", "no task at all"),
        ("limit = 5\nonce = [{ yield = true }]", "8:9", "`limit` bounds arrivals"),
        ("spawned = true\nonce = [{ yield = true }]", "8:11", "no task spawns `a`"),
        ("start = \"1s\"\nonce = [{ yield = true }]", "8:9", "when the run of 1s is over"),
        ("arrivals = \"0s\"\nonce = [{ yield = true }]", "8:12", "never end"),
        ("arrivals = \"1ms\"\nloop = [{ yield = true }]", "9:8", "write `once`"),
        ("arrivals = \"1ms\"\ncount = 3\nonce = [{ yield = true }]", "9:9", "write `limit`"),
        ("kind = \"fiber\"\nonce = [{ yield = true }]", "8:8", "fiber"),
        ("prio = 3\nonce = [{ yield = true }]", "8:1", "unknown key `prio`"),
    ] {
        let message = error(&with_program(program));
        assert!(message.starts_with(&format!("f:{place}: ")) && message.contains(part), "{program}\n{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn wrong_wholes_are_found() {
    let good = with_program(r#"once = [{ yield = true }]"#);
    let long = format!("{good}\n[[task]]\nname = \"a\"\nonce = [{{ yield = true }}]");
    for (text, message) in [
        ("", "f: the scenario is empty"),
        ("\n  # nothing\n", "f: the scenario is empty"),
        ("name = ", "f:1:8: "),
        ("a\0b", "f:1:"),
        (&good.replace("name = \"t\"", "name = \"\""), "f:1:8: the scenario's name is empty"),
        (&good.replace("name = \"t\"\n", ""), "f:1:1: the key `name` is missing"),
        (&good.replace("cpus = 2", ""), "f:2:1: the machine has no CPUs"),
        (&good.replace("cpus = 2", "cpus = 0"), "f:3:8: a machine with 0 CPUs: write from 1 to 4096"),
        (&good.replace("cpus = 2", "cpus = 4097"), "f:3:8: a machine with 4097 CPUs"),
        (&good.replace("cpus = 2", "cpus = -1"), "f:3:8: "),
        (&good.replace("cpus = 2", "cpus = 2\ntopology = \"1n1l1c2t\""), "f:4:12: `cpus` and `topology`"),
        (&good.replace("cpus = 2", "cpus = 2\ntick = \"4ms\"\nhz = 250"), "f:5:6: `tick` and `hz`"),
        (&good.replace("cpus = 2", "cpus = 2\ntick_offset = \"1ms\""), "f:4:15: there is no tick"),
        (
            &good.replace("cpus = 2", "cpus = 2\ntick = \"4ms\"\ntick_offset = \"4ms\""),
            "f:5:15: the first tick comes after 4ms, and there is one every 4ms",
        ),
        (&good.replace("cpus = 2", "cpus = 2\ntick = 4"), "f:4:8: the time 4 has no unit"),
        (
            &good.replace("duration = \"1s\"", "duration = \"1s\"\nwarmup = \"1s\""),
            "f:6:10: the 1s warm-up is not shorter than the 1s run",
        ),
        (&good.replace("duration = \"1s\"", "duration = \"0s\""), "f:5:12: a run of no length"),
        (&good.replace("duration = \"1s\"", "durration = \"1s\""), "f:5:1: unknown key `durration`: did you mean"),
        (&good.replace("[run]", "[semaphore.s]\ninitial = 1\n[run]"), "f:4:1: no task uses the semaphore `s`"),
        (&with_tasks(""), "f:1:1: there are no tasks"),
        (&long, "f:10:8: there are two tasks `a`"),
    ] {
        let found = error(text);
        assert!(found.starts_with(message), "{text}\n{found}\n{message}");
    }
}

#[test]
fn faults_between_tasks_are_found() {
    let two = |a: &str, b: &str| with_tasks(&format!("[[task]]\nname = \"a\"\n{a}\n[[task]]\nname = \"b\"\n{b}"));
    for (text, part) in [
        (
            two("once = [{ spawn = \"b\" }]", "spawned = true\nonce = [{ spawn = \"a\" }]"),
            "f:8:9: the spawns form a cycle, a → b → a",
        ),
        (
            two(
                "count = 10000\nonce = [{ repeat = 1000, steps = [{ spawn = \"b\", count = 2 }] }]",
                "spawned = true\nonce = [{ compute = \"1ms\" }]",
            ),
            "20000000 tasks `b` are too many",
        ),
        (
            two("loop = [{ wait = \"x\" }, { post = \"y\" }]", "loop = [{ wait = \"y\" }, { post = \"x\" }]"),
            "all wait for each other",
        ),
        (
            two("loop = [{ post = \"y\" }, { wait = \"x\" }]", "loop = [{ wait = \"y\" }, { post = \"x\" }]"),
            "f:8:9: a pass of the loop of `a` can take no time",
        ),
        (
            two(
                "loop = [{ wait = \"itemz\" }, { compute = \"1ms\" }]",
                "loop = [{ post = \"items\" }, { compute = \"1ms\" }]",
            ),
            "no task posts `itemz`, so this waits for ever: did you mean `items`?",
        ),
        (
            two(
                "arrivals = \"1ms\"\nonce = [{ barrier = \"x\" }]",
                "loop = [{ barrier = \"x\" }, { compute = \"1ms\" }]",
            ),
            "declare [barrier.x]",
        ),
        (
            format!(
                "{}\n[barrier.x]\nparties = 3",
                two("loop = [{ barrier = \"x\" }, { compute = \"1ms\" }]", "loop = [{ barrier = \"x\" }]")
            ),
            "3 tasks shall meet at `x`, but only 2 use it",
        ),
        (two("once = [{ spawn = \"b\" }]", "arrivals = \"1ms\"\nonce = [{ compute = \"1ms\" }]"), "arrives by itself"),
    ] {
        let found = error(&text);
        assert!(found.contains(part), "{text}\n{found}");
    }
}

#[test]
fn loops_that_wait_for_slow_ones_are_right() {
    for (a, b) in [
        (
            r#"loop = [{ wait = "x" }, { post = "y" }]"#,
            r#"loop = [{ compute = "1ms" }, { post = "x" }, { wait = "y" }]"#,
        ),
        (r#"loop = [{ recv = "c" }]"#, r#"loop = [{ compute = "1ms" }, { send = "c" }]"#),
        (r#"loop = [{ send = "c" }]"#, r#"loop = [{ compute = "1ms" }, { recv = "c" }]"#),
        (r#"loop = [{ barrier = "x" }]"#, r#"loop = [{ barrier = "x" }, { sleep = "1ms" }]"#),
    ] {
        compiled(&with_tasks(&format!("[[task]]\nname = \"a\"\n{a}\n[[task]]\nname = \"b\"\n{b}")));
    }
}

#[test]
fn a_file_that_is_not_utf8_is_refused_where_it_is_not() {
    let error = decode(b"name = \"a\"\nabout = \"\xff\"", "f").unwrap_err();
    assert_eq!(error.to_string(), "f:2:10: the byte 0xff here is not UTF-8: save the file as UTF-8");
    let missing = Scenario::from_file(std::path::Path::new("/nowhere/at/all.toml")).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/at/all.toml: the file cannot be read"), "{missing}");
}

#[test]
fn the_hash_depends_on_what_is_said_and_not_on_how() {
    let hash = |text: &str| Scenario::parse(text, "f").unwrap().hash();
    let text = with_program("cpus = \"0-1\"\nonce = [{ compute = \"1s\" }]");
    assert_eq!(hash(&text), hash(&text.replace("\"0-1\"", "[1, 0]").replace("\"1s\" }]", "\"1000ms\" }] # the same")));
    assert_ne!(hash(&text), hash(&text.replace("compute = \"1s\"", "compute = \"2s\"")));
    assert_eq!(hash(&text).len(), 64);
}
