//! What the kernel has counted for a thread.

/// The counts of a thread from its start.
#[derive(Debug)]
pub struct Account {
    /// Time that it waited for a CPU; absent where the kernel does not count it.
    pub run_delay_ns: Option<u64>,
    /// How often it gave up its CPU, and lost it.
    pub switches: [u64; 2],
}

impl Account {
    /// That of the calling thread.
    pub fn of_this_thread() -> Account {
        let run_delay_ns = run_delay_ns();
        // SAFETY: the kernel fills the structure that it is given.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        let switches = [usage.ru_nvcsw as u64, usage.ru_nivcsw as u64];
        Account { run_delay_ns, switches }
    }
}

/// Time that the calling thread waited for a CPU, if the kernel counts it.
pub fn run_delay_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_gave_up_its_cpu() {
        let before = Account::of_this_thread();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let after = Account::of_this_thread();
        assert!(after.switches[0] > before.switches[0], "{before:?} {after:?}");
    }
}
