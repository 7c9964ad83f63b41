//! One small recording in all formats, as perf, trace-cmd and Perfetto would have written it.

mod perf;
mod perfetto;
mod trace_cmd;
mod tracepoints;

pub use perf::{perf_data, perf_pipe};
pub use perfetto::{Form, perfetto};
pub use trace_cmd::{Packing, trace_dat};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Happening {
    /// When.
    pub time_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// On top of which thread.
    pub on: i32,
    /// Whether an interrupt did it.
    pub in_interrupt: bool,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// From a thread, in a state, to another.
    Switch((i32, &'static str), u64, (i32, &'static str)),
    /// A thread is about to be woken, for this CPU.
    Waking((i32, &'static str), u32),
    /// It was.
    Wakeup((i32, &'static str), u32),
    /// A new one was.
    WakeupNew((i32, &'static str), u32),
    /// A thread made another.
    Fork(i32, (i32, &'static str)),
    /// A thread has had its CPU for this many nanoseconds.
    Ran((i32, &'static str), u64),
    /// A thread ends.
    Exit((i32, &'static str)),
}

/// States.
const RUNNABLE: u64 = 0;
const SLEEPING: u64 = 1;
const DEAD: u64 = 0x10;

/// Two CPUs, on which a shell makes a child that computes, is preempted by a thread that an interrupt woke, and ends.
pub fn story() -> Vec<Happening> {
    const IDLE: (i32, &str) = (0, "swapper");
    const SH: (i32, &str) = (12, "sh");
    const CC: (i32, &str) = (13, "cc");
    const IRQ: (i32, &str) = (7, "irq/9-eth");
    let at = |ns: u64, cpu: u32, on: i32, what: What| Happening {
        time_ns: 5_000_000_000 + ns,
        cpu,
        on,
        in_interrupt: false,
        what,
    };
    vec![
        at(1_001, 0, 12, What::Fork(12, CC)),
        at(2_003, 0, 12, What::WakeupNew(CC, 1)),
        at(3_007, 1, 0, What::Switch(IDLE, RUNNABLE, CC)),
        at(9_011, 0, 12, What::Ran(SH, 8_000)),
        at(9_013, 0, 12, What::Switch(SH, SLEEPING, IDLE)),
        Happening { in_interrupt: true, ..at(50_021, 1, 13, What::Waking(IRQ, 1)) },
        Happening { in_interrupt: true, ..at(50_523, 1, 13, What::Wakeup(IRQ, 1)) },
        at(51_029, 1, 13, What::Switch(CC, RUNNABLE, IRQ)),
        at(61_031, 1, 7, What::Switch(IRQ, SLEEPING, CC)),
        at(90_047, 1, 13, What::Exit(CC)),
        at(91_009, 1, 13, What::Waking(SH, 0)),
        at(91_511, 1, 13, What::Wakeup(SH, 0)),
        at(92_033, 0, 0, What::Switch(IDLE, RUNNABLE, SH)),
        at(95_003, 1, 13, What::Switch(CC, DEAD, IDLE)),
        at(99_991, 0, 12, What::Switch(SH, SLEEPING, IDLE)),
    ]
}

/// The recording as `perf script --ns` prints it.
pub fn perf_text() -> String {
    story().iter().map(|happening| tracepoints::perf_line(happening) + "\n").collect()
}
