//! One measurement: a whole run with its metrics, no trace kept.

use crate::case::Case;
use schedlab_bpf::{Executor, Object};
use schedlab_metrics::collector::Collector;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_sim::{Options, scx};

/// What was seen.
pub struct Sample {
    /// Context switches.
    pub switches: u64,
    /// CPU time of the run in nanoseconds, loading included.
    pub cpu_ns: u64,
    /// Largest resident size of the process in KiB.
    pub peak_kib: u64,
}

impl Sample {
    /// Switches per second of CPU time.
    pub fn switches_per_s(&self) -> f64 {
        self.switches as f64 * 1e9 / self.cpu_ns as f64
    }

    /// For the parent process.
    pub fn to_line(&self) -> String {
        format!("{} {} {}", self.switches, self.cpu_ns, self.peak_kib)
    }

    /// What a child process printed.
    pub fn from_line(line: &str) -> Result<Sample, String> {
        let numbers: Option<Vec<u64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[switches, cpu_ns, peak_kib]) => Ok(Sample { switches, cpu_ns, peak_kib }),
            _ => Err(format!("unexpected output: {line}")),
        }
    }
}

/// How a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// As a user runs it: machine code, all metrics.
    Full,
    /// The machine alone: machine code, switches counted and nothing else.
    Bare,
    /// The checked interpreter, all metrics, for a tenth of the simulated time.
    Interpreted,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 3] = [Mode::Full, Mode::Bare, Mode::Interpreted];

    /// What it is called between parent and child.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Full => "full",
            Mode::Bare => "bare",
            Mode::Interpreted => "interpreted",
        }
    }
}

/// Counts switches and nothing else.
struct Counter(u64);

impl Sink for Counter {
    fn event(&mut self, event: &Event) {
        self.0 += matches!(event.kind, EventKind::Switch { .. }) as u64;
    }
}

/// Runs a case once, for another simulated time than its own if one is given.
pub fn measure(case: &Case, mode: Mode, seconds: Option<u64>) -> Result<Sample, String> {
    let shipped =
        schedlab_policy::catalog().iter().find(|p| p.name == case.policy).ok_or("the policy is not shipped")?;
    let object = Object::parse(shipped.object).map_err(|e| e.to_string())?;
    let mut workload = case.workload();
    if mode == Mode::Interpreted {
        workload.run.duration = Time(workload.run.duration.ns() / 10);
    }
    workload.run.duration = seconds.map_or(workload.run.duration, Time::from_s);
    let executor = if mode == Mode::Interpreted { Executor::Interpreter } else { Executor::Machine };
    let options = Options { executor, settings: Vec::new(), seed: 1 };
    let run = |sink: &mut dyn Sink| -> Result<Sample, String> {
        let before = cpu_ns();
        scx::run(&workload, &object, &options, sink, &mut ()).map_err(|e| e.to_string())?;
        Ok(Sample { switches: 0, cpu_ns: cpu_ns() - before, peak_kib: peak_kib() })
    };
    if mode == Mode::Bare {
        let mut counter = Counter(0);
        let sample = run(&mut counter)?;
        return Ok(Sample { switches: counter.0, ..sample });
    }
    let mut collector = Collector::new(&workload);
    let sample = run(&mut collector)?;
    collector.conservation().map_err(|v| v.to_string())?;
    Ok(Sample { switches: collector.into_measures().events.switches, ..sample })
}

/// CPU time of this process.
fn cpu_ns() -> u64 {
    // SAFETY: clock_gettime fills the structure it is given.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

fn peak_kib() -> u64 {
    // SAFETY: getrusage fills the structure it is given.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_maxrss as u64
    }
}
