//! What a kernel keeps of its CPUs from real-time tasks. Without it a scenario could take the machine away from its
//! user.
//!
//! Up to 6.11 the real-time class is throttled (`kernel/sched/rt.c`): it gets `sched_rt_runtime_us` of each
//! `sched_rt_period_us`. From 6.12 on a deadline server of each CPU serves other tasks that starve
//! (`kernel/sched/deadline.c`): 50 ms of each second, unless its files in debugfs say something else. It serves tasks of
//! the kernel's own scheduler; those of a sched_ext policy have a server from 7.0 on.

use schedlab_model::release::Release;
use std::fmt;
use std::fs;
use std::path::Path;

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const SERVERS: &str = "/sys/kernel/debug/sched";
/// The first release with deadline servers instead of throttling, and the first with one for a policy's tasks.
const FAIR_SERVER: Release = Release(6, 12);
const EXT_SERVER: Release = Release(7, 0);
/// A server's default runtime and period, in nanoseconds.
const SERVER_NS: (u64, u64) = (50_000_000, 1_000_000_000);

/// The tasks that a server keeps from starving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Those of the kernel's own scheduler.
    Fair,
    /// Those of a sched_ext policy, which are all others while it is in charge.
    Ext,
}

/// The part of each CPU that real-time tasks cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// This long...
    pub kept_ns: u64,
    /// ...in each such period.
    pub period_ns: u64,
}

impl fmt::Display for Reserve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.kept_ns as f64 / self.period_ns as f64;
        write!(f, "{percent:.1} % of each CPU, {} of each {} ms", self.kept_ns / 1_000_000, self.period_ns / 1_000_000)
    }
}

/// What the running kernel keeps, or why it keeps nothing and what would help.
pub fn reserve(served: Served) -> Result<Reserve, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let servers = Path::new(SERVERS).join(if served == Served::Fair { "fair_server" } else { "ext_server" });
    let release = Release::parse(&read(RELEASE)).unwrap_or(Release(0, 0));
    judge(served, release, (&read(RUNTIME), &read(PERIOD)), smallest_server(&servers))
}

/// Runtime and period of the server that keeps least, where debugfs says.
fn smallest_server(folder: &Path) -> Option<(u64, u64)> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let servers = fs::read_dir(folder).ok()?.filter_map(|entry| {
        let cpu = entry.ok()?.path();
        Some((number(&cpu.join("runtime"))?, number(&cpu.join("period"))?))
    });
    servers.min_by(|a, b| (a.0 as u128 * b.1 as u128).cmp(&(b.0 as u128 * a.1 as u128)))
}

fn judge(
    served: Served,
    release: Release,
    (runtime_us, period_us): (&str, &str),
    server: Option<(u64, u64)>,
) -> Result<Reserve, String> {
    if served == Served::Ext && release < EXT_SERVER {
        return Err("under a sched_ext policy a kernel before 7.0 keeps no time for other tasks; use --venue vm, or \
                    --policy kernel"
            .into());
    }
    if runtime_us.trim() == "-1" {
        return Err(format!("{RUNTIME} is -1; set it to 950000, which is the kernel's default"));
    }
    if release >= FAIR_SERVER {
        let (kept_ns, period_ns) = server.unwrap_or(SERVER_NS);
        return match kept_ns {
            0 => Err(format!("a server in {SERVERS} has a runtime of 0; set it to {}", SERVER_NS.0)),
            _ => Ok(Reserve { kept_ns, period_ns }),
        };
    }
    let micros = |text: &str| text.trim().parse::<u64>().ok();
    match micros(runtime_us).zip(micros(period_us)) {
        Some((runtime, period)) if runtime < period => {
            Ok(Reserve { kept_ns: (period - runtime) * 1000, period_ns: period * 1000 })
        }
        Some((runtime, _)) => Err(format!("{RUNTIME} is {runtime}, the whole period; set it to 950000")),
        None => Err(format!("{RUNTIME} cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_kernel_has_its_way() {
        let sysctl = ("950000\n", "1000000\n");
        let reserve = |kept, period| Ok(Reserve { kept_ns: kept * MS, period_ns: period * MS });
        assert_eq!(judge(Served::Fair, Release(6, 1), sysctl, None), reserve(50, 1000));
        assert_eq!(judge(Served::Fair, Release(5, 10), ("400000", "500000"), None), reserve(100, 500));
        assert_eq!(judge(Served::Fair, Release(6, 12), ("999999", "1000000"), None), reserve(50, 1000));
        assert_eq!(judge(Served::Fair, Release(6, 12), sysctl, Some((20 * MS, 100 * MS))), reserve(20, 100));
        assert_eq!(judge(Served::Ext, Release(7, 0), sysctl, None), reserve(50, 1000));
        assert_eq!(reserve(50, 1000).unwrap().to_string(), "5.0 % of each CPU, 50 of each 1000 ms");
    }

    #[test]
    fn what_keeps_nothing_is_told() {
        let why = |served, release, sysctl, server| judge(served, release, sysctl, server).unwrap_err();
        assert!(why(Served::Fair, Release(6, 1), ("-1", "1000000"), None).contains("is -1; set it to 950000"));
        assert!(why(Served::Fair, Release(6, 18), ("-1", "1000000"), None).contains("is -1"));
        assert!(why(Served::Fair, Release(6, 1), ("1000000", "1000000"), None).contains("the whole period"));
        assert!(why(Served::Fair, Release(6, 1), ("", ""), None).contains("cannot be read"));
        assert!(
            why(Served::Fair, Release(6, 12), ("950000", "1000000"), Some((0, 1000 * MS))).contains("a runtime of 0")
        );
        assert!(why(Served::Ext, Release(6, 18), ("950000", "1000000"), None).contains("before 7.0"));
    }
}
