//! Threads that do something between two moments at which they sleep, so that the kernel's counters stand still.

use crate::skip::skip;
use schedlab_kernel::{Converter, Filter, Lack, Record, Recorder, SchedStat, Stats, Summary, schedstat};
use schedlab_metrics::validator::{Expectations, Validator};
use schedlab_model::ids::RoleId;
use schedlab_model::trace::Event;
use std::fs;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A recorder; none where this process may not have one, or where the kernel does not tell its types.
pub fn start(filter: &Filter, ring_bytes: usize) -> Option<Recorder> {
    match Recorder::start(filter, ring_bytes) {
        Ok(recorder) => Some(recorder),
        Err(lack @ Lack::Kernel { .. }) => panic!("{lack}"),
        Err(lack) => {
            skip(&lack.to_string());
            None
        }
    }
}

pub fn own_process() -> Filter {
    Filter { tgids: vec![std::process::id() as i32], ..Filter::default() }
}

/// A thread that waits for its start, works, and waits for its end.
pub struct Worker {
    pub tid: i32,
    go: Sender<()>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// On one CPU or any.
    pub fn new(cpu: Option<usize>, work: impl FnOnce() + Send + 'static) -> Worker {
        let ((go, start), (finished, done), (say, hear)) = (channel::<()>(), channel(), channel());
        let thread = std::thread::spawn(move || {
            cpu.into_iter().for_each(pin);
            // SAFETY: plain system call.
            say.send(unsafe { libc::gettid() }).unwrap();
            start.recv().unwrap();
            work();
            finished.send(()).unwrap();
            let _ = start.recv();
        });
        let tid = hear.recv().unwrap();
        Worker { tid, go, done, thread }
    }

    /// Starts the work.
    pub fn go(&self) {
        self.go.send(()).unwrap();
    }

    pub fn is_done(&self) -> bool {
        self.done.try_recv().is_ok()
    }

    /// Returns when the work is done.
    pub fn wait_done(&self) {
        self.done.recv().unwrap();
    }

    /// Returns when the thread sleeps.
    pub fn wait_asleep(&self) {
        while !fs::read_to_string(format!("/proc/{}/stat", self.tid)).unwrap().contains(") S ") {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn counters(&self) -> Counters {
        let status = fs::read_to_string(format!("/proc/{}/status", self.tid)).unwrap();
        let count = |name: &str| -> u64 {
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        Counters {
            stat: schedstat(self.tid).unwrap(),
            voluntary: count("voluntary_ctxt_switches:"),
            involuntary: count("nonvoluntary_ctxt_switches:"),
        }
    }

    pub fn end(self) {
        drop(self.go);
        self.thread.join().unwrap();
    }
}

/// What the kernel counts of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub stat: SchedStat,
    pub voluntary: u64,
    pub involuntary: u64,
}

/// What a hypervisor has taken of all CPUs since the boot, where the kernel learns it, in whole ticks of `/proc/stat`.
pub fn stolen_ticks() -> u64 {
    const STEAL: usize = 8;
    let stat = fs::read_to_string("/proc/stat").unwrap();
    stat.split_whitespace().nth(STEAL).unwrap().parse().unwrap()
}

/// The tick of `/proc/stat` in nanoseconds.
pub fn stat_tick_ns() -> u64 {
    // SAFETY: a plain library call.
    1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64
}

/// Binds the calling thread to a CPU.
pub fn pin(cpu: usize) {
    // SAFETY: a set of plain bits and a plain system call on the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// Computes for at least that much CPU time of the calling thread.
pub fn spin(milliseconds: i64) {
    let used_ns = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists and there is place for its time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let end = used_ns() + milliseconds * 1_000_000;
    while used_ns() < end {
        std::hint::black_box((0..1_000_u64).fold(0, |a, b| std::hint::black_box(a ^ b)));
    }
}

/// Two ends that throw a ball `rounds` times.
pub fn ping_pong(rounds: usize) -> (impl FnOnce() + Send, impl FnOnce() + Send) {
    use std::io::{Read, Write, pipe};
    let ((mut a_in, mut b_out), (mut b_in, mut a_out)) = (pipe().unwrap(), pipe().unwrap());
    let first = move || {
        for _ in 0..rounds {
            a_out.write_all(b"x").unwrap();
            a_in.read_exact(&mut [0]).unwrap();
        }
    };
    let second = move || {
        for _ in 0..rounds {
            b_in.read_exact(&mut [0]).unwrap();
            b_out.write_all(b"x").unwrap();
        }
    };
    (first, second)
}

/// Lets the workers work while the recorder is read, and ends the recording when all sleep again.
pub fn record(mut recorder: Recorder, workers: &[&Worker]) -> (u64, Vec<Record>, Stats) {
    let mut records = Vec::new();
    let started_ns = recorder.started_ns();
    workers.iter().for_each(|worker| worker.go());
    let mut left: Vec<&&Worker> = workers.iter().collect();
    while !left.is_empty() {
        recorder.relieve(Duration::from_millis(5), u64::MAX).unwrap();
        left.retain(|worker| !worker.is_done());
    }
    workers.iter().for_each(|worker| worker.wait_asleep());
    let stats = recorder.stop(&mut |record| records.push(record)).unwrap();
    assert!(records.is_sorted_by_key(|record| record.time_ns));
    assert_eq!(stats.delivered, records.len() as u64);
    (started_ns, records, stats)
}

/// The events, which must be lawful, and their tasks.
pub fn events(started_ns: u64, ended_ns: u64, records: &[Record]) -> (Vec<Event>, Summary) {
    let mut sink = (Vec::new(), Validator::new(Expectations::default()));
    let mut converter = Converter::new(started_ns, |_, _| Some(RoleId(0)));
    records.iter().for_each(|record| converter.record(record, &mut sink));
    let summary = converter.finish(ended_ns, &mut sink);
    let findings = sink.1.into_findings();
    assert!(findings.is_lawful(), "{:#?}", findings.reported);
    (sink.0, summary)
}
