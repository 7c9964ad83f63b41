//! More that no verifier would pass (`tests/policies/stranger.bpf.c`), and calls from operations that may not make them.

use crate::lab;
use schedlab_bpf::{Executor, Object, Value};
use schedlab_model::scenario::Scenario;
use schedlab_sim::{Options, RunError, scx};
use std::sync::LazyLock;

const SCENARIO: &str = "name = \"t\"\n[machine]\ncpus = 2\n[[task]]\nname = \"worker\"\ncount = 4\n\
     once = [{ compute = \"20ms\" }, { sleep = \"5ms\" }, { compute = \"20ms\" }]\n[run]\nduration = \"100ms\"\n";

static OBJECT: LazyLock<Object> = LazyLock::new(|| lab::object("stranger"));

fn run(attack: u64, executor: Executor) -> Result<(), String> {
    let workload = Scenario::parse(SCENARIO, "test").unwrap().compile().unwrap();
    let settings = vec![("attack".to_string(), Value::Integer(attack.into()))];
    let options = Options { executor, settings, seed: 1 };
    match scx::run(&workload, &OBJECT, &options, &mut (), &mut ()) {
        Ok(_) => Ok(()),
        Err(RunError::Policy(failure)) => Err(failure.message),
        Err(other) => panic!("attack {attack}: {other}"),
    }
}

/// Fails unless each attack ends with its text in these executors.
fn end_in(executors: &[Executor], attacks: &[(u64, &str)]) {
    for (&executor, (attack, text)) in executors.iter().flat_map(|one| attacks.iter().map(move |attack| (one, attack)))
    {
        let how = run(*attack, executor);
        let message = how.expect_err(&format!("attack {attack} in {executor:?} is not noticed"));
        assert!(message.contains(text), "attack {attack} in {executor:?}: {message}");
    }
}

const BOTH: &[Executor] = &[Executor::Interpreter, Executor::Machine];

#[test]
fn without_an_attack_it_is_a_good_policy() {
    BOTH.iter().for_each(|&executor| assert_eq!(run(0, executor), Ok(())));
}

#[test]
fn what_is_passed_is_what_it_is_passed_as() {
    end_in(
        BOTH,
        &[
            (1, "as a bpf_cpumask, which it is not"),
            (2, "as a cpumask, which it is not"),
            (3, "as a bpf_cpumask, which it does not hold"),
            (4, "as a task_struct, which it does not hold"),
            (5, "as a task_struct, which it does not hold"),
            (6, "as a task_struct, which it does not hold"),
            (7, "at last a task_struct"),
            (8, "as a cgroup, which it is not"),
            (9, "at last a cgroup"),
            (10, "as a bpf_cpumask, which it does not hold"),
            (11, "as a local object, which it is not"),
            (12, "as a local object, which it does not hold"),
            (13, "as a bpf_list_head, which it is not"),
            (14, "as a bpf_rb_root, which it is not"),
            (15, "as a record of a ring buffer, which it does not hold"),
            (16, "as a record of a ring buffer, which it does not hold"),
            (17, "as a timer, which it is not"),
            (18, "as what storage belongs to, which it is not"),
            (19, "as a map, which it is not"),
            (20, "as a bpf_cpumask, which it does not hold"),
            (21, "as a bpf_cpumask, which it does not hold"),
            (22, "as a bpf_cpumask, which it does not hold"),
            (24, "at last a bpf_iter_bits"),
            (25, "as a task, which it is not"),
            (26, "as a bpf_cpumask, which it is not"),
            (27, "as a local object, which it does not hold"),
            (28, "as a cpumask, which it is not"),
        ],
    );
    end_in(&[Executor::Interpreter], &[(23, "outside of everything it may touch")]);
    // Machine code goes round the end of its memory, and leaks the mask and the object that it made.
    end_in(&[Executor::Machine], &[(23, "ends without releasing 2 references")]);
}

#[test]
fn work_ends() {
    const ENDLESS: &str = "does not end";
    const QUICK: [u64; 15] = [101, 103, 105, 107, 108, 109, 110, 111, 114, 115, 116, 118, 120, 122, 123];
    end_in(BOTH, &QUICK.map(|attack| (attack, ENDLESS)));
    // Each takes seconds in the interpreter.
    end_in(&[Executor::Machine], &[102, 104, 106, 117, 119].map(|attack| (attack, ENDLESS)));
    end_in(BOTH, &[112, 113, 121].map(|attack| (attack, "no time goes by")));
}

#[test]
fn memory_has_a_limit() {
    end_in(&[Executor::Machine], &[201, 203, 205].map(|attack| (attack, "takes too much memory")));
    end_in(BOTH, &[(204, "pages of arenas needs"), (210, "as a local object, which it is not")]);
    end_in(BOTH, &[207, 208, 209].map(|attack| (attack, "holds too many references")));
    // Small objects take longer to make than a call may last.
    end_in(&[Executor::Machine], &[202, 206].map(|attack| (attack, "does not end")));
}

#[test]
fn an_operation_calls_only_what_a_kernel_lets_it_call() {
    const CALLS: [(u64, &str); 9] = [
        (301, "calls scx_bpf_dsq_insert___v2 from running; a kernel lets these call it: select_cpu, enqueue, dispatch"),
        (
            302,
            "calls __scx_bpf_dsq_insert_vtime from running; a kernel lets these call it: select_cpu, enqueue, dispatch",
        ),
        (303, "calls scx_bpf_dsq_move_to_local from select_cpu; a kernel lets these call it: dispatch"),
        (304, "calls scx_bpf_dispatch_nr_slots from select_cpu"),
        (305, "calls scx_bpf_dispatch_cancel from select_cpu"),
        (306, "calls scx_bpf_create_dsq from select_cpu; a kernel lets these call it: init, exit, init_task"),
        (307, "calls scx_bpf_select_cpu_dfl from running"),
        (308, "calls __scx_bpf_select_cpu_and from running"),
        (310, "calls scx_bpf_dsq_move_set_slice from running"),
    ];
    end_in(BOTH, &CALLS);
}

/// What a scenario can make grow is refused before it runs, or ends the run with a line that names it.
#[test]
fn scenarios_have_limits() {
    let head = "name = \"t\"\n[run]\nduration = \"100s\"\n[machine]\ncpus = 2\n";
    let task = |text: &str| format!("{head}[[task]]\nname = \"a\"\n{text}\n");
    let scenarios = [
        (task("count = 4294967295\nonce = [{ compute = \"1ms\" }]"), "tasks"),
        (task("count = 1048577\nonce = [{ compute = \"1ms\" }]"), "tasks"),
        (task("arrivals = \"exp(1ns)\"\nonce = [{ sleep = \"50s\" }]"), "tasks"),
        (task("arrivals = \"1us\"\nonce = [{ sleep = \"50s\" }]"), "1048576 tasks at once"),
        (
            task(
                "spawned = true\nonce = [{ sleep = \"50s\" }]\n[[task]]\nname = \"b\"\nloop = [{ spawn = \"a\", count = 100000 }, { sleep = \"1ms\" }]",
            ),
            "1048576 tasks at once",
        ),
        (
            task(
                "once = [{ spawn = \"b\", count = 4000000 }]\n[[task]]\nname = \"b\"\nspawned = true\nonce = [{ compute = \"1ms\" }]",
            ),
            "tasks",
        ),
        (head.to_string() + &"[[task]]\nname = \"a\"\nonce = [{ compute = \"1ms\" }]\n".repeat(4097), "4096"),
        (task("once = [{ spawn = \"a\" }]"), "cycle"),
        (format!("name = \"{}\"\n", "n".repeat(121)) + &task("once = [{ compute = \"1ms\" }]")[11..], "120"),
        (task("once = [{ compute = \"1ms\" }]").replace("cpus = 2", "cpus = 4097"), "4096"),
    ];
    for (text, limit) in scenarios {
        let begun = Scenario::parse(&text, "test").and_then(|scenario| scenario.compile());
        let message = match begun {
            Err(error) => error.to_string(),
            Ok(workload) => {
                let options = Options { executor: Executor::Machine, settings: Vec::new(), seed: 1 };
                let done = scx::run(&workload, &OBJECT, &options, &mut (), &mut ());
                done.expect_err(&format!("{limit}: it came to its end: {text}")).to_string()
            }
        };
        assert!(message.contains(limit), "{limit}: {message}");
    }
}
