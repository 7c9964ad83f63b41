//! Compiles the test programs and gives them a small world to run in.

// Each test binary uses its part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use schedlab_bpf::{
    Access, Call, Executor, Fault, GuestMemory, Kernel, KernelFunction, KernelRoutine, KernelVariable, LoadError,
    LoadOptions, Object, OwnerTable, ProgramId, Region, Type, TypeTable, Value, Vm,
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
#[derive(Debug)]
pub struct World {
    pub calls: Vec<(&'static str, [u64; 4])>,
    /// The programs `again` and `deep`, where there are such.
    pub programs: [ProgramId; 2],
}

/// Declares kernel functions that note that they were called.
macro_rules! noted {
    ($($name:ident $c_name:literal $arguments:literal gives $result:literal as $note:literal;)*) => {$(
        struct $name;

        impl KernelRoutine<World> for $name {
            const NAME: &'static str = $c_name;
            const ARGUMENTS: u8 = $arguments;

            fn run(call: &mut Call<'_, World>, [a, b, c, d, _]: [u64; 5]) -> Option<u64> {
                call.host().calls.push(($note, [a, b, c, d]));
                Some($result)
            }
        }
    )*};
}

noted! {
    Insert "sim_insert" 4 gives 0 as "sim_insert";
    Insert2 "sim_insert" 2 gives 1 as "sim_insert/2";
    Create "sim_create" 2 gives 0 as "sim_create";
}

struct Refuse;

impl KernelRoutine<World> for Refuse {
    const NAME: &'static str = "sim_refuse";
    const ARGUMENTS: u8 = 1;

    fn run(call: &mut Call<'_, World>, [a, ..]: [u64; 5]) -> Option<u64> {
        call.check().fail(format!("asks for {a}, which is refused"))
    }
}

struct Panic;

impl KernelRoutine<World> for Panic {
    const NAME: &'static str = "sim_panic";
    const ARGUMENTS: u8 = 1;

    fn run(_: &mut Call<'_, World>, [a, ..]: [u64; 5]) -> Option<u64> {
        panic!("no room for {a}")
    }
}

/// Calls a program of the same machine from inside a call: `again`, or `deep` with a large argument.
struct Reenter;

impl KernelRoutine<World> for Reenter {
    const NAME: &'static str = "sim_reenter";
    const ARGUMENTS: u8 = 1;

    fn run(call: &mut Call<'_, World>, [a, ..]: [u64; 5]) -> Option<u64> {
        let program = call.host().programs[usize::from(a >= 1000)];
        match call.program(program, [a]) {
            Ok(value) => Some(value),
            Err(fault) => call.check().fail(format!("nested: {fault}")),
        }
    }
}

/// References to tasks.
struct Acquire;

impl KernelRoutine<World> for Acquire {
    const NAME: &'static str = "sim_acquire";
    const ARGUMENTS: u8 = 1;

    fn run(call: &mut Call<'_, World>, [task, ..]: [u64; 5]) -> Option<u64> {
        call.check().acquire(task, "task_struct")
    }
}

struct Release;

impl KernelRoutine<World> for Release {
    const NAME: &'static str = "sim_release";
    const ARGUMENTS: u8 = 1;

    fn run(call: &mut Call<'_, World>, [task, ..]: [u64; 5]) -> Option<u64> {
        call.check().release(task, "task_struct").map(|()| 0)
    }
}

/// The kernel of the tests.
pub fn kernel() -> Kernel<World> {
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
    let functions = vec![
        KernelFunction::of::<Insert>(),
        KernelFunction::of::<Insert2>(),
        KernelFunction::of::<Create>(),
        KernelFunction::of::<Refuse>(),
        KernelFunction::of::<Panic>(),
        KernelFunction::of::<Reenter>(),
        KernelFunction::of::<Acquire>(),
        KernelFunction::of::<Release>(),
    ];
    let configs = vec![("CONFIG_HZ", 250)];
    Kernel { functions, configs, ..Kernel::new(types) }
}

/// A loaded object with tasks to run on.
pub struct Machine {
    pub vm: Vm<World>,
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
    let programs = ["again", "deep"].map(|name| vm.program(name).unwrap_or(ProgramId(0)));
    Ok(Machine { vm, tasks, world: Box::new(World { calls: Vec::new(), programs }) })
}

impl Machine {
    /// Guest address of a task.
    pub fn task(&self, number: u32) -> u64 {
        self.tasks + u64::from(number * TASK_STRIDE)
    }

    /// Calls a program by name.
    pub fn call(&mut self, name: &str, args: &[u64]) -> Result<u64, Box<Fault>> {
        let program = self.vm.program(name).unwrap_or_else(|| panic!("no program {name}"));
        let mut words = [0; 5];
        words[..args.len()].copy_from_slice(args);
        self.vm.call(program, words, &mut self.world)
    }

    /// Lets a timer expire.
    pub fn fire(&mut self, timer: u64) -> Result<(), Box<Fault>> {
        self.vm.fire_timer(timer, &mut self.world)
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
