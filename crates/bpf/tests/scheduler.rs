//! A scheduler in miniature: what is in the object, and what its operations do.

mod support;

use std::sync::LazyLock;

use schedlab_bpf::{ConstantValue, Executor, LoadError, Member, Object, Value};
use support::{EXECUTORS, compile, load};

/// The object of all tests of this file.
static OBJECT: LazyLock<Object> = LazyLock::new(|| Object::parse(&compile("scheduler", "v3")).expect("a good object"));

#[test]
fn says_what_is_in_it() {
    assert_eq!(OBJECT.license(), "GPL");
    let ops = OBJECT.ops().unwrap();
    assert_eq!((ops.name.as_str(), ops.type_name.as_str()), ("sim_ops", "ops"));
    assert_eq!(ops.operation("enqueue"), Some("sim_enqueue"));
    assert_eq!(ops.operation("unused"), None);
    assert_eq!((ops.scalar("flags"), ops.scalar("timeout_ms"), ops.text("name")), (0x12, 5000, Some("miniature")));
    assert_eq!(ops.members[2], ("init".to_string(), Member::Program("sim_init".to_string())));
    let programs: Vec<(String, String)> =
        OBJECT.programs().into_iter().map(|program| (program.section, program.name)).collect();
    assert!(programs.contains(&("struct_ops.s/sim_init".to_string(), "sim_init".to_string())), "{programs:?}");
    let maps = OBJECT.maps();
    assert_eq!((maps.len(), maps[0].kind.as_str(), maps[0].max_entries), (1, "percpu_array", 2));
    let functions: Vec<(String, bool)> =
        OBJECT.kernel_functions().into_iter().map(|function| (function.name, function.weak)).collect();
    assert!(functions.contains(&("sim_create".to_string(), false)), "{functions:?}");
    assert!(functions.contains(&("sim_insert___gone".to_string(), true)), "{functions:?}");
    assert!(OBJECT.helpers().contains(&(1, "bpf_map_lookup_elem".to_string())));
    assert_eq!(OBJECT.kconfigs().len(), 3);
}

#[test]
fn parameters_have_type_default_and_tags() {
    let constants = OBJECT.constants();
    let find = |name: &str| constants.iter().find(|constant| constant.name == name).unwrap();
    let slice = find("slice_ns");
    assert_eq!((slice.type_name.as_str(), slice.size), ("u64", 8));
    assert_eq!(slice.default, ConstantValue::Integer(5_000_000));
    let mut tags = slice.tags.clone();
    tags.sort();
    assert_eq!(tags, ["time slice", "unit: ns"]);
    assert_eq!(find("fifo").default, ConstantValue::Bool(false));
    assert_eq!(find("bias").default, ConstantValue::Integer(-7));
    assert_eq!(find("mode").default, ConstantValue::Text("fair".to_string()));
    assert_eq!(find("table").type_name, "u32[3]");
    assert!(!constants.iter().any(|constant| constant.name == "__SIM_BIG"));
}

#[test]
fn operations_run_and_see_the_kernel() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        assert_eq!(machine.run("sim_init", &[]), 0);
        let (task, weight) = (machine.task(2), 88u32);
        machine.vm.memory.write(task + 32 + 16, weight);
        machine.vm.moment().cpu = 3;
        assert_eq!(machine.run("sim_select", &[task, 9]) as i32, 2);
        machine.run("sim_enqueue", &[task, 77]);
        machine.run("sim_enqueue", &[task, 78]);
        assert_eq!(machine.global("from_select"), 99);
        assert_eq!(machine.global("enqueued"), 2);
        assert_eq!(machine.global("hidden"), 204);
        assert_eq!(machine.vm.memory.read::<u64>(task + 40), 5_000_000);
        let calls = &machine.world.calls;
        assert_eq!(calls[0], ("sim_create", [6 << 16 | 12 << 8, 250, 0, 0]));
        assert_eq!(calls[1], ("sim_insert", [task, 1 << 40, 5_000_000, 77]));
        let stats = machine.vm.map("stats").unwrap();
        let on = |machine: &mut support::Machine, which: u32, cpu| {
            let address = machine.vm.map_value_on(stats, &which.to_le_bytes(), cpu).unwrap();
            machine.vm.memory.read::<u64>(address)
        };
        assert_eq!((on(&mut machine, 0, 3), on(&mut machine, 1, 3), on(&mut machine, 1, 0)), (1, 2, 0));
    }
}

#[test]
fn settings_are_put_in_before_the_start() {
    let settings = [("fifo", Value::Bool(true)), ("bias", Value::Integer(-100)), ("slice_ns", Value::Integer(42))];
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &settings).unwrap();
        let task = machine.task(1);
        machine.run("sim_enqueue", &[task, 0]);
        assert_eq!(machine.world.calls, [("sim_insert/2", [task, 101, 0, 0])]);
        assert_eq!(machine.vm.memory.read::<u64>(task + 40), 42);
        assert_eq!(machine.run("sim_select", &[task, 0]) as i32, -100);
    }
}

#[test]
fn bad_settings_say_what_is_possible() {
    let refuse = |name: &'static str, value: Value| match load(&OBJECT, Executor::Interpreter, &[(name, value)]) {
        Ok(_) => panic!("{name} was accepted"),
        Err(error) => error.to_string(),
    };
    let unknown = refuse("slise_ns", Value::Integer(1));
    assert!(unknown.contains("no parameter `slise_ns`") && unknown.contains("slice_ns"), "{unknown}");
    assert!(refuse("bias", Value::Integer(1 << 31)).contains("not between -2147483648 and 2147483647"));
    assert!(refuse("slice_ns", Value::Integer(-1)).contains("not between 0 and"));
    assert!(refuse("fifo", Value::Text("maybe".into())).contains("true or false"));
    assert!(refuse("mode", Value::Text("much too long".into())).contains("7 are there"));
    assert!(refuse("table", Value::Integer(3)).contains("cannot be set"));
}

#[test]
fn what_is_missing_is_listed_at_once() {
    let mut kernel = support::kernel();
    kernel.functions.retain(|function| function.name() != "sim_create");
    kernel.configs.clear();
    let memory = schedlab_bpf::GuestMemory::new().unwrap();
    let error = OBJECT.load(&kernel, &[], &schedlab_bpf::LoadOptions::default(), memory).unwrap_err();
    let expected = ["kernel configuration CONFIG_HZ".to_string(), "kernel function sim_create".to_string()];
    assert_eq!(error, LoadError::Missing(expected.to_vec()));
}

#[test]
fn a_program_that_nothing_calls_may_miss_something() {
    for executor in EXECUTORS {
        let mut machine = load(&OBJECT, executor, &[]).unwrap();
        let fault = machine.call("tracer", &[]).unwrap_err();
        assert!(
            fault.to_string().contains("uses helper bpf_ktime_get_tai_ns") || fault.to_string().contains("(200)"),
            "{fault}"
        );
    }
}
