//! Which Linux' real-time class is simulated. A policy that stands for a Linux release's fair scheduler names
//! that release and runs below its real-time class. All other policies run below that of the simulated kernel.

use crate::RunError;
use crate::scx::KERNEL_VERSION;
use schedlab_bpf::{ConstantValue, Object, Value};
use schedlab_model::release::Release;
use schedlab_model::reservation::Bandwidth;
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;

/// The declaration tag of a variable that says which Linux a policy stands for: the releases follow, and the value is the
/// place of one of them.
const TAG: &str = "linux ";

/// The release of the simulated kernel.
pub const SIMULATED: Release = Release(KERNEL_VERSION >> 16, KERNEL_VERSION >> 8 & 0xff);

/// The releases of which a policy can stand for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Releases {
    /// The parameter that chooses one.
    pub parameter: String,
    /// The place of the one that it stands for where nothing is set.
    default: usize,
    all: Vec<Release>,
}

impl Releases {
    /// Those of an object, if it names some.
    pub fn of(object: &Object) -> Option<Releases> {
        object.constants().into_iter().find_map(|constant| {
            let all = constant.tags.iter().find_map(|tag| tag.strip_prefix(TAG))?;
            let ConstantValue::Integer(default) = constant.default else { return None };
            Some(Releases {
                parameter: constant.name,
                default: usize::try_from(default).ok()?,
                all: all.split(',').map(Release::parse).collect::<Option<_>>()?,
            })
        })
    }

    /// The newest one that is not newer than a kernel.
    pub fn nearest(&self, kernel: Release) -> Option<Release> {
        self.all.iter().copied().filter(|release| *release <= kernel).max()
    }
}

/// The release that an object with these settings stands for, or the simulated one.
pub fn release_of(object: &Object, settings: &[(String, Value)]) -> Release {
    let said = Releases::of(object).and_then(|releases| {
        let set = settings.iter().find(|(name, _)| *name == releases.parameter).map(|(_, value)| value);
        let place = match set {
            Some(Value::Integer(value)) => usize::try_from(*value).ok()?,
            Some(_) => return None,
            None => releases.default,
        };
        releases.all.get(place).copied()
    });
    said.unwrap_or(SIMULATED)
}

/// How others are kept from starving next to real-time tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The real-time class of a CPU gets that much of each period, and rests for what is left of it.
    Throttling {
        /// Whether a CPU that has used its part up takes of that of others (`RT_RUNTIME_SHARE`).
        borrows: bool,
    },
    /// A deadline server of each CPU runs tasks that starve: the fair server for the kernel's own class, for which the
    /// policy stands, or the ext server.
    Server,
}

/// What differs between releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How others are kept from starving.
    pub protection: Protection,
    /// Whether equally good CPUs take turns. Otherwise it is always the first.
    pub takes_turns: bool,
    /// What reservations and servers of a CPU may have of a second (`sched_rt_runtime_us`).
    pub granted_ms: u64,
    /// Whether a reservation ends by a timer of its own (`HRTICK_DL`). Otherwise a tick ends it.
    pub has_timers: bool,
}

impl Rules {
    /// The rules of a release: `RT_RUNTIME_SHARE` was turned off in 5.10, `cpumask_any_and_distribute()` came to
    /// `find_lowest_rq()` in 5.11, the fair server in place of throttling in 6.12, the ext server in 7.0. The default of
    /// `sched_rt_runtime_us` became the whole period in 7.2, and that of `HRTICK_DL` became true in 7.3.
    pub fn of(release: Release) -> Rules {
        let protection = match release {
            _ if release >= Release(6, 12) => Protection::Server,
            _ => Protection::Throttling { borrows: release < Release(5, 10) },
        };
        Rules {
            protection,
            takes_turns: release >= Release(5, 11),
            granted_ms: if release >= Release(7, 2) { 1000 } else { 950 },
            has_timers: release >= Release(7, 3),
        }
    }
}

/// Whether a kernel of that release admits all tasks of the class deadline. What servers have is not theirs
/// (`__dl_server_attach_root`).
///
/// # Errors
///
/// It does not.
pub fn admit(workload: &Workload, release: Release) -> Result<(), RunError> {
    let rules = Rules::of(release);
    let served_ms = if rules.protection == Protection::Server { SERVED_MS } else { 0 };
    let (reserved, cpus) = (Bandwidth::of_all(workload), workload.machine.cpus());
    let of_each = Bandwidth::of(Time::from_ms(rules.granted_ms - served_ms), Time::from_s(1));
    let there = Bandwidth(of_each.0 * u64::from(cpus));
    if reserved <= there {
        return Ok(());
    }
    Err(RunError::Unsupported(format!(
        "the tasks of the class deadline reserve {:.2} CPUs, and Linux {release} grants {:.2} of {cpus}: shorten a runtime, or \
         take fewer tasks",
        reserved.cpus(),
        there.cpus()
    )))
}

/// What the server of a CPU has of a second.
const SERVED_MS: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_release_is_not_newer_than_the_kernel() {
        let all = vec![Release(6, 12), Release(6, 18), Release(7, 1), Release(7, 3)];
        let releases = Releases { parameter: "version".into(), default: 0, all };
        let nearest = |major, minor| releases.nearest(Release(major, minor));
        assert_eq!([nearest(7, 3), nearest(8, 0)], [Some(Release(7, 3)); 2]);
        let older = [Release(7, 1), Release(6, 18), Release(6, 12)];
        assert_eq!([nearest(7, 2), nearest(7, 0), nearest(6, 12)], older.map(Some));
        assert_eq!(nearest(6, 1), None);
    }

    #[test]
    fn rules_follow_the_release() {
        let rules = |text: &str| Rules::of(Release::parse(text).unwrap());
        let throttling = |borrows, takes_turns| {
            let protection = Protection::Throttling { borrows };
            Rules { protection, takes_turns, granted_ms: 950, has_timers: false }
        };
        assert_eq!(rules("4.9"), throttling(true, false));
        assert_eq!(rules("5.10"), throttling(false, false));
        assert_eq!(rules("6.1"), throttling(false, true));
        let served = |granted_ms, has_timers| Rules {
            protection: Protection::Server,
            takes_turns: true,
            granted_ms,
            has_timers,
        };
        assert_eq!([rules("6.12"), rules("7.1")], [served(950, false); 2]);
        assert_eq!([Rules::of(SIMULATED), rules("7.3")], [served(1000, false), served(1000, true)]);
    }
}
