//! What `/proc` knows of the use that processes and threads make of CPUs.

use std::fs;
use std::io;

/// The kernel's own account of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on CPUs, in nanoseconds. The kernel brings it up to date when the thread leaves its CPU and at each tick.
    pub run_ns: u64,
    /// Time runnable and not running, in nanoseconds.
    pub wait_ns: u64,
    /// How often it got a CPU.
    pub slices: u64,
}

/// The account of the thread `tid`.
pub fn schedstat(tid: i32) -> io::Result<SchedStat> {
    let path = format!("/proc/{tid}/schedstat");
    let text = fs::read_to_string(&path)?;
    parse_schedstat(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {text:?}")))
}

fn parse_schedstat(text: &str) -> Option<SchedStat> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(SchedStat { run_ns: next()?, wait_ns: next()?, slices: next()? })
}

/// What a process has had of the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUse {
    /// CPU time of all its threads, ended ones too, in nanoseconds.
    pub cpu_ns: u64,
    /// Its threads now.
    pub threads: u64,
    /// How often these left a CPU because they waited for something.
    pub voluntary: u64,
    /// How often another took the CPU from them.
    pub involuntary: u64,
}

/// What a process has had up to now; none when it is gone.
pub fn process_use(tgid: i32) -> Option<ProcessUse> {
    let threads = numbers(&format!("/proc/{tgid}/task"));
    if threads.is_empty() {
        return None;
    }
    let mut told = ProcessUse { cpu_ns: cpu_ns(tgid)?, ..ProcessUse::default() };
    for tid in threads {
        let status = fs::read_to_string(format!("/proc/{tgid}/task/{tid}/status")).unwrap_or_default();
        let number = |key| status.lines().find_map(|line: &str| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        told.threads += 1;
        told.voluntary += number("voluntary_ctxt_switches:").unwrap_or(0);
        told.involuntary += number("nonvoluntary_ctxt_switches:").unwrap_or(0);
    }
    Some(told)
}

/// The clock of a process' CPU time.
fn cpu_ns(tgid: i32) -> Option<u64> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both live during the calls.
    let told =
        unsafe { libc::clock_getcpuclockid(tgid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0 };
    told.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The numbers that are names in a folder.
pub(crate) fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut numbers: Vec<i32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_has_had_a_cpu() {
        let tid = unsafe { libc::gettid() };
        assert!(schedstat(tid).unwrap().slices > 0);
    }

    #[test]
    fn this_process_has_had_time() {
        let told = process_use(std::process::id() as i32).unwrap();
        assert!(told.cpu_ns > 0 && told.threads > 0 && told.voluntary + told.involuntary > 0, "{told:?}");
        assert_eq!(process_use(i32::MAX), None);
    }

    #[test]
    fn a_schedstat_is_three_numbers() {
        let expected = SchedStat { run_ns: 1, wait_ns: 2, slices: 3 };
        assert_eq!(parse_schedstat("1 2 3\n"), Some(expected));
        assert_eq!(parse_schedstat("1 2\n"), None);
        assert_eq!(schedstat(i32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
