//! Compiles the test programs and gives them a small world to run in.

// Each test binary uses its part of this.
#![allow(dead_code)]

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;

use schedlab_bpf::{
    Access, Call, CallContext, Executor, Fault, GuestMemory, Kernel, KernelFunction, KernelVariable, LoadError,
    LoadOptions, Object, OwnerTable, Region, Type, TypeTable, Value, Vm,
};

/// Bytes of a simulated `task_struct`, and from one to the next.
pub const TASK_SIZE: u32 = 96;
pub const TASK_STRIDE: u32 = 128;
pub const TASKS: u32 = 8;
pub const CPUS: u32 = 4;

/// Both executors: what one does the other must do.
pub const EXECUTORS: [Executor; 2] = [Executor::Interpreter, Executor::Machine];

/// Compiles `tests/<name>.bpf.c` for an instruction set (`v3`, `v4`).
pub fn compile(name: &str, cpu: &str) -> Vec<u8> {
    compile_with(name, cpu, &[])
}

/// Compiles with further arguments.
pub fn compile_with(name: &str, cpu: &str, extra: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let source = folder.join(format!("{name}.bpf.c"));
    let object = output_path(&format!("{name}-{cpu}-{}", extra.join("").replace(['/', '='], "_")));
    let mut command = Command::new("clang-19");
    command.args(["-g", "-O2", "-Wall", "-Werror", "-Wno-unused-variable", "-target", "bpf"]);
    command.arg(format!("-mcpu={cpu}")).args(extra).arg("-I").arg(folder.join("support"));
    let run = command.arg("-c").arg(&source).arg("-o").arg(&object).output();
    let output = run.unwrap_or_else(|error| panic!("cannot run clang-19 ({error}); install the package clang-19"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&object).expect("clang-19 wrote the object")
}

/// A file of this process and thread, so that tests run side by side.
fn output_path(name: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{thread}.o", std::process::id()))
}

/// What the dummy kernel functions note down.
#[derive(Debug, Default)]
pub struct World {
    pub calls: Vec<(&'static str, [u64; 4])>,
}

fn note(ctx: *mut CallContext, name: &'static str, args: [u64; 4]) {
    // SAFETY: the tests hand a `World` through as the host, or nothing.
    unsafe {
        let world = (*ctx).host.cast::<World>();
        if !world.is_null() {
            (*world).calls.push((name, args));
        }
    }
}

unsafe extern "C" fn sim_insert(ctx: *mut CallContext, a: u64, b: u64, c: u64, d: u64, _: u64) -> u64 {
    note(ctx, "sim_insert", [a, b, c, d]);
    0
}

unsafe extern "C" fn sim_insert_2(ctx: *mut CallContext, a: u64, b: u64, _: u64, _: u64, _: u64) -> u64 {
    note(ctx, "sim_insert/2", [a, b, 0, 0]);
    1
}

unsafe extern "C" fn sim_create(ctx: *mut CallContext, a: u64, b: u64, _: u64, _: u64, _: u64) -> u64 {
    note(ctx, "sim_create", [a, b, 0, 0]);
    0
}

unsafe extern "C" fn sim_refuse(ctx: *mut CallContext, a: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: a host function gets the context of the running call.
    unsafe { Call::new(ctx) }.fail(format!("asks for {a}, which is refused"))
}

/// Calls a program of the same machine from inside a call: `again`, or `deep` with a large argument.
unsafe extern "C" fn sim_reenter(ctx: *mut CallContext, a: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: as above; nothing of the machine is held over the call.
    let vm = unsafe { Call::new(ctx).ctx.as_mut().map(|ctx| ctx.vm).unwrap_or(std::ptr::null_mut()) };
    // SAFETY: as above.
    unsafe {
        let name = if a < 1000 { "again" } else { "deep" };
        let Some(program) = (*vm).program(name) else { return Call::new(ctx).fail(format!("has no program {name}")) };
        let host = (*ctx).host;
        match (*vm).call(program, [a], host) {
            Ok(value) => value,
            Err(fault) => Call::new(ctx).fail(format!("nested: {fault}")),
        }
    }
}

/// The kernel of the tests.
pub fn kernel() -> Kernel {
    let mut types = TypeTable::new();
    types
        .structure("task_struct", TASK_SIZE)
        .field("pid", 8, Type::I32)
        .field("tgid", 12, Type::I32)
        .field("comm", 16, Type::text(16))
        .field("scx", 32, Type::Struct("sched_ext_entity"))
        .field("parent", 64, Type::Pointer)
        .bit_field("migration", 72 * 8 + 3, 2, Type::U32)
        .field("small", 80, Type::U16)
        .field("array", 84, Type::array(Type::U32, 3));
    types.structure("sched_ext_entity", 24).field("slice", 8, Type::U64).field("weight", 16, Type::U32);
    types.enumeration("sim_flags", 8).value("SIM_BIG", 1 << 40).value("SIM_SMALL", 3);
    let function = |name, arguments, call| KernelFunction { name, arguments, call, intrinsic: None, calls_back: false };
    let functions = vec![
        function("sim_insert", 4, sim_insert as _),
        function("sim_insert", 2, sim_insert_2 as _),
        function("sim_create", 2, sim_create as _),
        function("sim_refuse", 1, sim_refuse as _),
        function("sim_reenter", 1, sim_reenter as _),
    ];
    let configs = vec![("CONFIG_HZ", 250)];
    Kernel { functions, configs, ..Kernel::new(types) }
}

/// A loaded object with tasks to run on.
pub struct Machine {
    pub vm: Vm,
    /// Guest address of task 0.
    pub tasks: u64,
    pub world: Box<World>,
}

/// Loads an object in the world of the tests.
pub fn load(object: &Object, executor: Executor, settings: &[(&str, Value)]) -> Result<Machine, LoadError> {
    let memory = GuestMemory::new().expect("guest memory");
    let region = Region::array("task_struct", TASK_STRIDE, TASK_SIZE, Access::WritableRanges(&[40..48, 48..52]));
    let tasks = memory.alloc(u64::from(TASK_STRIDE * TASKS), 64, region).expect("tasks");
    let per_cpu = memory.alloc(64 * u64::from(CPUS), 64, Region::array("runqueues", 64, 64, Access::ReadWrite));
    for task in 0..TASKS {
        let at = tasks + u64::from(task * TASK_STRIDE);
        memory.write(at + 8, 100 + task);
        memory.write(at + 12, 50u32);
        memory.write_bytes(at + 16, b"worker\0");
        memory.write(at + 72, 2u32 << 3);
        memory.write(at + 80, 0xFFFFu16);
        memory.write(at + 84, [7u32, 8, 9][0]);
        memory.write(at + 92, 9u32);
    }
    let mut kernel = kernel();
    let address = per_cpu.expect("runqueues");
    kernel.variables.push(KernelVariable { name: "runqueues", address, per_cpu_stride: Some(64) });
    let options = LoadOptions {
        executor,
        cpus: CPUS,
        cpu_nodes: vec![0, 0, 1, 1],
        instruction_limit: 200_000,
        task_owners: OwnerTable { base: tasks, stride: TASK_STRIDE, count: TASKS },
        ..LoadOptions::default()
    };
    let settings: Vec<(String, Value)> =
        settings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let vm = object.load(&kernel, &settings, &options, memory)?;
    Ok(Machine { vm, tasks, world: Box::default() })
}

impl Machine {
    /// Guest address of a task.
    pub fn task(&self, number: u32) -> u64 {
        self.tasks + u64::from(number * TASK_STRIDE)
    }

    /// Calls a program by name.
    pub fn call(&mut self, name: &str, args: &[u64]) -> Result<u64, Box<Fault>> {
        let program = self.vm.program(name).unwrap_or_else(|| panic!("no program {name}"));
        let host = (&raw mut *self.world).cast::<c_void>();
        let mut words = [0; 5];
        words[..args.len()].copy_from_slice(args);
        self.vm.call(program, words, host)
    }

    /// Calls a program that is known to succeed.
    pub fn run(&mut self, name: &str, args: &[u64]) -> u64 {
        self.call(name, args).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Reads a global of 8 bytes.
    pub fn global(&self, name: &str) -> u64 {
        let (address, _) = self.vm.global(name).unwrap_or_else(|| panic!("no global {name}"));
        self.vm.memory.read(address)
    }
}
