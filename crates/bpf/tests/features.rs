//! Maps, helpers, generic kernel functions and faults, each through a small C program, in both executors.

mod support;

use std::sync::LazyLock;

use schedlab_bpf::{Executor, FaultKind, Object, Released, TimerAction, TimerRequest};
use support::{CPUS, EXECUTORS, Machine, compile, load};

/// The object of all tests of this file.
static OBJECT: LazyLock<Object> = LazyLock::new(|| Object::parse(&compile("features", "v3")).expect("a good object"));

/// Runs a test on fresh machines of both executors.
fn on_both(test: impl Fn(Machine)) {
    for executor in EXECUTORS {
        test(load(&OBJECT, executor, &[]).unwrap_or_else(|error| panic!("{error}")));
    }
}

fn number(machine: &mut Machine, name: &str, args: &[u64]) -> i32 {
    machine.run(name, args) as i32
}

#[test]
fn arrays_keep_their_values() {
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "arrays", &[3]), 5);
        assert_eq!(number(&mut machine, "arrays", &[3]), 10);
        assert_eq!(number(&mut machine, "arrays", &[2]), 5);
        assert_eq!(number(&mut machine, "arrays", &[4]), -1);
        // Keys 0, 1, 2 with values 0, 0, 5: 0 + 100 + 205 in three visits, then the callback stops.
        assert_eq!(number(&mut machine, "each", &[]), 3053);
    });
}

#[test]
fn an_array_for_the_loader_to_size_has_an_element_for_each_cpu() {
    on_both(|mut machine| {
        let last = u64::from(CPUS) - 1;
        assert_eq!(number(&mut machine, "arrays_of_one", &[1, last]), 7);
        assert_eq!(number(&mut machine, "arrays_of_one", &[1, last]), 14);
        assert_eq!(number(&mut machine, "arrays_of_one", &[1, 0]), 7);
        assert_eq!(number(&mut machine, "arrays_of_one", &[0, 0]), 7);
    });
    for (args, name) in [([1, 4], ".data.sized"), ([0, 1], ".data.other")] {
        let fault = fault("arrays_of_one", &args).to_string();
        assert!(fault.contains(&format!("past the end of {name}")), "{fault}");
    }
}

#[test]
fn hashes_fill_up_and_empty() {
    on_both(|mut machine| {
        for key in [7, 70, 700] {
            assert_eq!(number(&mut machine, "hashes", &[key]), 3 + key as i32);
        }
        assert_eq!(number(&mut machine, "hashes", &[7]), -1, "the key is there");
        assert_eq!(number(&mut machine, "hashes", &[8]), -1, "the map is full");
        assert_eq!(number(&mut machine, "unhash", &[70]), 0);
        assert_eq!(number(&mut machine, "unhash", &[70]), -2);
        assert_eq!(number(&mut machine, "hashes", &[8]), 11);
        assert_eq!(number(&mut machine, "each_hash", &[]), (7 + 8 + 700) * 10 + 3);
        assert_eq!(number(&mut machine, "each_hash", &[]), 0);
    });
}

#[test]
fn the_least_recently_used_entry_is_forgotten() {
    on_both(|mut machine| assert_eq!(number(&mut machine, "lrus", &[]), 0b101));
}

#[test]
fn storage_follows_its_task() {
    on_both(|mut machine| {
        let (a, b) = (machine.task(0), machine.task(5));
        assert_eq!(number(&mut machine, "storages", &[a]), 0);
        assert_eq!(number(&mut machine, "storages", &[a]), 100);
        assert_eq!(number(&mut machine, "storages", &[b]), 0);
        assert_eq!(number(&mut machine, "storages", &[a]), 101);
        assert_eq!(number(&mut machine, "storages", &[0]), -1, "NULL owns nothing");
        let storage = machine.vm.map("storage").unwrap();
        assert!(machine.vm.storage_value(storage, a).is_some());
        machine.vm.release_owner(a);
        let released = machine.vm.take_released();
        assert_eq!(released, [Released { object: a, type_name: "task_struct" }]);
        assert_eq!(machine.vm.storage_value(storage, a), None);
        assert_eq!(number(&mut machine, "unstorage", &[b]), 0);
        assert_eq!(number(&mut machine, "unstorage", &[b]), -2);
        let fresh = machine.vm.storage_value_or_create(storage, b).unwrap().unwrap();
        assert_eq!(machine.vm.memory.read::<u64>(fresh), 0);
    });
}

#[test]
fn an_update_lets_go_of_what_was_held() {
    on_both(|mut machine| {
        let task = machine.task(2);
        assert_eq!(number(&mut machine, "hold", &[task]), 1);
        let released: Vec<u64> = machine.vm.take_released().into_iter().map(|released| released.object).collect();
        assert_eq!(released, [task]);
    });
}

#[test]
fn maps_inside_maps() {
    on_both(|mut machine| assert_eq!(number(&mut machine, "queues_of_queues", &[]), 11 * 10000 + 12 * 100 + 9));
}

#[test]
fn loops_and_iterators() {
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "rounds", &[4]), 604);
        assert_eq!(number(&mut machine, "rounds", &[100]), 4510);
        assert_eq!(number(&mut machine, "numbers", &[3, 6]), 345);
        assert_eq!(number(&mut machine, "numbers", &[6, 3]), 0);
        assert_eq!(number(&mut machine, "numbers", &[3, 3]), 0);
        assert_eq!(number(&mut machine, "numbers", &[-2i64 as u64, 1]), -210);
        assert_eq!(number(&mut machine, "bits", &[0b1000_0000_0010, 0, 1]), 111);
        assert_eq!(number(&mut machine, "bits", &[1 << 63, 1 << 2 | 1 << 10, 2]), 636674);
        assert_eq!(number(&mut machine, "bits", &[0, 0, 2]), 0);
    });
}

#[test]
fn trees_sort_and_lists_queue() {
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "trees", &[]), 22579);
        assert_eq!(number(&mut machine, "trees", &[]), 22579);
        assert_eq!(number(&mut machine, "lists", &[]), 341);
    });
}

#[test]
fn ring_buffers_reach_the_host() {
    on_both(|mut machine| {
        let ring = machine.vm.map("ring").unwrap();
        assert_eq!(number(&mut machine, "rings", &[7]), 0);
        assert!(machine.vm.take_records(ring).is_empty());
        machine.vm.keep_records(ring);
        assert_eq!(number(&mut machine, "rings", &[8]), 0);
        let records = machine.vm.take_records(ring);
        assert_eq!((records.len(), records[0][0], records[0].len(), records[1].len()), (2, 8, 16, 8));
        assert_eq!(machine.vm.records_submitted(ring), 4);
    });
}

#[test]
fn timers_are_asked_for_and_fired_by_the_host() {
    on_both(|mut machine| {
        machine.vm.moment().now_ns = 1000;
        machine.vm.moment().cpu = 2;
        assert_eq!(number(&mut machine, "arm", &[0]), 0);
        let requests = machine.vm.take_timer_requests();
        let TimerRequest { timer, action } = requests[0];
        assert_eq!(action, TimerAction::Start { at_ns: 1500, cpu: 2, pinned: false });
        machine.vm.moment().now_ns = 1500;
        machine.fire(timer).unwrap();
        assert_eq!(machine.global("total"), 11);
        let again = machine.vm.take_timer_requests();
        assert_eq!(again[0].action, TimerAction::Start { at_ns: 2500, cpu: 2, pinned: false });
        assert_eq!(number(&mut machine, "disarm", &[]), 1);
        assert_eq!(machine.vm.take_timer_requests(), [TimerRequest { timer, action: TimerAction::Cancel }]);
        assert_eq!(number(&mut machine, "disarm", &[]), 0);
        machine.fire(timer).unwrap();
        assert_eq!(machine.global("total"), 11, "a cancelled timer does nothing");
    });
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "arm", &[3]), 0);
        let action = machine.vm.take_timer_requests()[0].action;
        assert_eq!(action, TimerAction::Start { at_ns: 500, cpu: 0, pinned: true }, "absolute and pinned");
    });
}

#[test]
fn a_timer_goes_with_its_element() {
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "arm_in_hash", &[0]), 0);
        let timer = machine.vm.take_timer_requests()[0].timer;
        machine.fire(timer).unwrap();
        assert_eq!(machine.global("total"), 17);
    });
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "arm_in_hash", &[1]), 0);
        let [TimerRequest { timer, action }] = machine.vm.take_timer_requests()[..] else { panic!("one request") };
        assert_eq!(action, TimerAction::Cancel, "the last one counts");
        machine.fire(timer).unwrap();
        assert_eq!(machine.global("total"), 0);
    });
}

#[test]
fn texts_and_clocks() {
    on_both(|mut machine| {
        let task = machine.task(3);
        machine.vm.moment().current = task;
        machine.vm.moment().now_ns = 123;
        machine.vm.moment().cpu = 1;
        assert_eq!(number(&mut machine, "texts", &[]), -14, "nothing to read there");
        assert_eq!(machine.vm.take_printed(), ["worker 103"]);
        let (text, _) = machine.vm.global("text").unwrap();
        assert_eq!(machine.vm.memory.read_text(text, 64), "worker");
        assert_eq!(machine.vm.memory.read_text(text + 16, 64), "0123456");
        machine.run("clocks", &[]);
        let (result, _) = machine.vm.global("result").unwrap();
        let words = [0, 8, 16].map(|offset| machine.vm.memory.read::<u64>(result + offset));
        assert_eq!(words, [123, 1, machine.task(3)]);
        let first = machine.vm.memory.read::<u64>(result + 24);
        machine.run("clocks", &[]);
        assert_ne!(machine.vm.memory.read::<u64>(result + 24), first);
    });
}

#[test]
fn kernel_variables_by_cpu() {
    on_both(|mut machine| {
        assert_eq!(number(&mut machine, "per_cpu", &[0]), 0);
        assert_eq!(number(&mut machine, "per_cpu", &[3]), 192);
        assert_eq!(number(&mut machine, "per_cpu", &[4]), -1);
    });
}

#[test]
fn calls_nest() {
    on_both(|mut machine| {
        // again(n) = 10 n + n + 1 + again(n + 1), again(5) = 56.
        assert_eq!(number(&mut machine, "again", &[3]), 34 + 45 + 56);
        assert_eq!(machine.global("total"), 3 + 4 + 5);
        // spread(v) = 2 v + 7.
        assert_eq!(number(&mut machine, "subprograms", &[10]), 27 * 2 + 9);
    });
}

#[test]
fn atomic_operations() {
    on_both(|mut machine| {
        // total 0 -> 5; exchange gives 0; the comparison finds 8 and stores 9; (0x30 ^ 0x11) & 0x2F = 0x21.
        assert_eq!(number(&mut machine, "atomics", &[]), 80 + 0x21 + 9);
        assert_eq!(machine.global("total"), 5);
    });
}

#[test]
fn both_executors_count_the_same() {
    let mut machines = EXECUTORS.map(|executor| load(&OBJECT, executor, &[]).unwrap());
    let task = machines[0].task(1);
    let calls: [(&str, &[u64]); 9] = [
        ("arrays", &[1]),
        ("hashes", &[9]),
        ("rounds", &[50]),
        ("numbers", &[0, 7]),
        ("trees", &[]),
        ("storages", &[task]),
        ("subprograms", &[4]),
        ("again", &[1]),
        ("each", &[]),
    ];
    for (name, args) in calls {
        let results = machines.each_mut().map(|machine| machine.run(name, args));
        assert_eq!(results[0], results[1], "{name}");
        assert_eq!(machines[0].vm.instructions(), machines[1].vm.instructions(), "{name}");
    }
}

/// The fault of a program in the interpreter.
fn fault(name: &str, args: &[u64]) -> schedlab_bpf::Fault {
    let mut machine = load(&OBJECT, Executor::Interpreter, &[]).unwrap();
    *machine.call(name, args).expect_err(name)
}

#[test]
fn wild_accesses_are_named() {
    let wild = fault("wild", &[0x12_3456_7000]);
    assert_eq!(wild.kind, FaultKind::Outside { write: false, len: 4, address: 0x12_3456_7000 });
    assert_eq!(wild.function, "wild");
    let line = wild.source.as_ref().expect("the object has line information");
    assert_eq!(line.file, "features.bpf.c");
    assert!(wild.to_string().starts_with("wild (features.bpf.c:"), "{wild}");
    assert!(fault("wild", &[0]).to_string().contains("through NULL"));
    let overrun = fault("overrun", &[12]).to_string();
    assert!(overrun.contains("reads 8 bytes past the end of map array"), "{overrun}");
    let constant = fault("write_constant", &[1]).to_string();
    assert!(constant.contains("writes 8 bytes to .rodata") && constant.contains("read-only"), "{constant}");
}

#[test]
fn what_helpers_are_given_is_checked() {
    assert!(fault("refused", &[4]).to_string().contains("asks for 4, which is refused"));
    assert_eq!(fault("bad_callback", &[0x1234]).kind, FaultKind::WildCall(0x1234));
    assert!(fault("bad_map", &[0x1234]).to_string().contains("passes 0x1234 as a map"));
}

#[test]
fn what_does_not_end_is_stopped() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        for name in ["endless", "endless_callback"] {
            let fault = machine.call(name, &[]).expect_err(name);
            assert_eq!(fault.kind, FaultKind::Endless { limit: 200_000 }, "{executor:?}");
        }
        let deep = machine.call("deep", &[5000]).expect_err("endless recursion through the host");
        assert!(deep.to_string().contains("nests calls deeper"), "{deep}");
        // Afterwards the machine still works.
        assert_eq!(number(&mut machine, "rounds", &[4]), 604);
    }
}

#[test]
fn a_hash_of_maps_begins_with_its_values() {
    on_both(|mut machine| {
        let found = [0, 1, 2].map(|key| number(&mut machine, "hash_of_maps", &[key]));
        assert_eq!(found, [7, 7, -1]);
    });
}

#[test]
fn a_push_knows_one_flag() {
    on_both(|mut machine| {
        let pushed = [0, 2, 1, 3, 4].map(|flags| number(&mut machine, "push_flags", &[flags]));
        assert_eq!(pushed, [0, 0, -22, -22, -22]);
    });
}

#[test]
fn an_exception_ends_the_program_alone_and_is_its_result() {
    on_both(|mut machine| {
        assert_eq!(machine.run("throws", &[5]), 5);
        assert_eq!(machine.run("throws", &[1]), 1);
        assert_eq!(machine.run("throws", &[42]), 42);
        assert_eq!(machine.global("total"), 11, "only the second call went on");
    });
}
