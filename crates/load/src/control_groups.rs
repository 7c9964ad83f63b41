//! Control groups of a run in the kernel's file system: made before its tasks, removed after them.
//!
//! All are *threaded* (`cgroup.type`): the controllers `cpu` and `cpuset` then take single threads, so that the threads of one
//! process, as the tasks of a run are, can be in several. Where a program is in the root, as in a guest, the groups are right
//! below it; elsewhere they are below one of their own.

use crate::run::LoadError;
use schedlab_model::control_group::{Bandwidth, ControlGroups as Tree, KnobChange, Knobs, Partition, Weight};
use schedlab_model::ids::ControlGroupId;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folders of the control groups of a run.
#[derive(Debug)]
pub struct ControlGroups {
    /// By number.
    folders: Vec<PathBuf>,
    /// Which of them are ours to remove, in the order in which they were made.
    made: Vec<PathBuf>,
    /// The group of this program, and the controllers that were switched on below it.
    own: PathBuf,
    switched: Vec<&'static str>,
}

/// Which controllers the groups below one use.
const SWITCHES: &str = "cgroup.subtree_control";

/// What the kernel counts of a control group (`cpu.stat`, `cpu.pressure`), in microseconds; what it does not count is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// CPU time of its tasks and of those below it.
    pub usage_us: Option<u64>,
    /// Periods of its limit.
    pub nr_periods: Option<u64>,
    /// Periods that ended with a throttled queue.
    pub nr_throttled: Option<u64>,
    /// Time in which queues were throttled.
    pub throttled_us: Option<u64>,
    /// Periods in which more than the quota was used.
    pub nr_bursts: Option<u64>,
    /// What was used beyond it.
    pub burst_us: Option<u64>,
    /// Time in which some task of it wanted a CPU.
    pub some_us: Option<u64>,
    /// Time in which all did.
    pub full_us: Option<u64>,
}

/// How many numbers that are.
pub const COUNTERS: usize = 8;

impl Counters {
    /// As numbers, those that are absent as the largest.
    pub fn to_numbers(self) -> [u64; COUNTERS] {
        let Counters { usage_us, nr_periods, nr_throttled, throttled_us, nr_bursts, burst_us, some_us, full_us } = self;
        [usage_us, nr_periods, nr_throttled, throttled_us, nr_bursts, burst_us, some_us, full_us]
            .map(|number| number.unwrap_or(u64::MAX))
    }

    /// What [`Counters::to_numbers`] gave.
    pub fn from_numbers(numbers: [u64; COUNTERS]) -> Counters {
        let [usage_us, nr_periods, nr_throttled, throttled_us, nr_bursts, burst_us, some_us, full_us] =
            numbers.map(|number| Some(number).filter(|&number| number != u64::MAX));
        Counters { usage_us, nr_periods, nr_throttled, throttled_us, nr_bursts, burst_us, some_us, full_us }
    }

    /// What was counted since.
    pub fn since(self, before: Counters) -> Counters {
        let (now, before) = (self.to_numbers(), before.to_numbers());
        let difference = |index: usize| match (now[index], before[index]) {
            (u64::MAX, _) | (_, u64::MAX) => u64::MAX,
            (now, before) => now.saturating_sub(before),
        };
        Counters::from_numbers(std::array::from_fn(difference))
    }

    fn read(folder: &Path) -> Counters {
        let stat = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
        let pressure = fs::read_to_string(folder.join("cpu.pressure")).unwrap_or_default();
        let of_stat = |key: &str| {
            let mut words = stat.lines().filter_map(|line| line.split_once(' '));
            words.find(|(name, _)| *name == key)?.1.parse().ok()
        };
        let of_pressure = |key: &str| {
            let line = pressure.lines().find(|line| line.starts_with(key))?;
            line.rsplit_once("total=")?.1.trim().parse().ok()
        };
        Counters {
            usage_us: of_stat("usage_usec"),
            nr_periods: of_stat("nr_periods"),
            nr_throttled: of_stat("nr_throttled"),
            throttled_us: of_stat("throttled_usec"),
            nr_bursts: of_stat("nr_bursts"),
            burst_us: of_stat("burst_usec"),
            some_us: of_pressure("some"),
            full_us: of_pressure("full"),
        }
    }
}

impl ControlGroups {
    /// Those of a workload without any.
    pub fn none() -> ControlGroups {
        ControlGroups { folders: Vec::new(), made: Vec::new(), own: PathBuf::new(), switched: Vec::new() }
    }

    /// Makes those of a tree; `others` says whether there are other programs on the machine.
    ///
    /// # Errors
    ///
    /// The kernel has no such controller, or does not let us use it: in one line.
    pub fn make(tree: &Tree, others: bool) -> Result<ControlGroups, LoadError> {
        let mut groups = ControlGroups::none();
        if tree.is_empty() {
            return Ok(groups);
        }
        let own = own_folder()?;
        let needs_cpuset = tree.iter().any(|(_, group)| group.cpus.is_some());
        let controllers: &[&'static str] = if needs_cpuset { &["cpu", "cpuset"] } else { &["cpu"] };
        offered(&own, controllers)?;
        groups.own = own.clone();
        enable(&own, controllers, |controller| groups.switched.push(controller))?;
        let root = match others {
            false => own,
            true => groups.folder(own.join(format!("schedlab-{}", std::process::id())))?,
        };
        groups.folders.push(root.clone());
        let has_children = |id: ControlGroupId| tree.children(id).next().is_some();
        if others {
            enable(&root, controllers, |_| ())?;
        }
        for (id, group) in tree.iter().skip(1) {
            let folder = groups.folder(root.join(&group.path))?;
            groups.folders.push(folder.clone());
            if has_children(id) {
                enable(&folder, controllers, |_| ())?;
            }
            write_knobs(&folder, group.knobs)?;
            if let Some(cpus) = &group.cpus {
                write(&folder, "cpuset.cpus", &cpus.to_string())?;
            }
        }
        for (id, group) in tree.iter().skip(1) {
            let word = match group.partition {
                Partition::Member => continue,
                Partition::Root => "root",
                Partition::Isolated => "isolated",
            };
            make_partition(groups.at(id), word)?;
        }
        Ok(groups)
    }

    /// Makes a folder of ours, which takes threads.
    fn folder(&mut self, folder: PathBuf) -> Result<PathBuf, LoadError> {
        fs::create_dir(&folder).map_err(|error| refusal(&folder, "make the control group", &error))?;
        self.made.push(folder.clone());
        write(&folder, "cgroup.type", "threaded")?;
        Ok(folder)
    }

    fn at(&self, id: ControlGroupId) -> &Path {
        &self.folders[id.index()]
    }

    /// Whether there is none but the root.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// The calling thread goes into a group.
    pub fn enter(&self, id: ControlGroupId) -> io::Result<()> {
        fs::write(self.at(id).join("cgroup.threads"), "0")
    }

    /// Writes knobs of a group.
    pub fn adjust(&self, id: ControlGroupId, change: &KnobChange) -> Result<(), LoadError> {
        let folder = self.at(id);
        if let Some(weight) = change.weight {
            write_weight(folder, weight)?;
        }
        let write_max = || {
            let Some(max) = change.max else { return Ok(()) };
            let quota = max.quota.map_or_else(|| "max".into(), |quota| (quota.ns() / 1_000).to_string());
            let period = max.period.map_or_else(String::new, |period| format!(" {}", period.ns() / 1_000));
            write(folder, "cpu.max", &(quota + &period))
        };
        let write_burst =
            || change.burst.map_or(Ok(()), |burst| write(folder, "cpu.max.burst", &(burst.ns() / 1_000).to_string()));
        // The burst is never above the quota, also between the two.
        match write_max() {
            Ok(()) => write_burst(),
            Err(_) => write_burst().and_then(|()| write_max()),
        }
    }

    /// What the kernel counts of each, by number.
    pub fn counters(&self) -> Vec<Counters> {
        self.folders.iter().map(|folder| Counters::read(folder)).collect()
    }
}

impl Drop for ControlGroups {
    /// Removes what was made, and switches off what was switched on. A task that has just ended is still in its group for a
    /// moment.
    fn drop(&mut self) {
        const TRIES: u32 = 200;
        for folder in self.made.iter().rev() {
            for _ in 0..TRIES {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    _ => break,
                }
            }
        }
        for controller in self.switched.iter().rev() {
            // Another program may use it below by now: then it stays.
            let _ = fs::write(self.own.join(SWITCHES), format!("-{controller}"));
        }
    }
}

/// The folder of the control group in which this program is.
fn own_folder() -> Result<PathBuf, LoadError> {
    let refused = |text: &str| LoadError::Refused(text.into());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mounts.lines().find_map(mount_of_cgroup2);
    let mount =
        mount.ok_or_else(|| refused("control groups need a file system of type cgroup2, and none is mounted"))?;
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let path =
        path.ok_or_else(|| refused("this program is in no control group of version 2: see /proc/self/cgroup"))?;
    Ok(mount.join(path))
}

/// How many control groups of version 2 there are on this machine, the root among them; at least one.
pub fn here() -> u32 {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().find_map(mount_of_cgroup2).map_or(1, |root| folders(&root))
}

/// A folder and those below it, as far as they can be read.
fn folders(root: &Path) -> u32 {
    let below = fs::read_dir(root).into_iter().flatten().flatten();
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    1 + below.map(|entry| folders(&entry.path())).sum::<u32>()
}

/// Where a line of `/proc/self/mountinfo` says that control groups of version 2 are, if it does.
fn mount_of_cgroup2(line: &str) -> Option<PathBuf> {
    let (place, kind) = line.split_once(" - ")?;
    kind.starts_with("cgroup2 ").then(|| place.split(' ').nth(4)).flatten().map(PathBuf::from)
}

/// Whether a line of `/proc/self/mountinfo` says that a controller is mounted as version 1.
fn is_version_1(line: &str, controller: &str) -> bool {
    let options = line.split_once(" - cgroup ").and_then(|(_, rest)| rest.split(' ').nth(1));
    options.is_some_and(|options| options.split(',').any(|option| option == controller))
}

/// Whether the controllers are there to be used.
fn offered(own: &Path, wanted: &[&str]) -> Result<(), LoadError> {
    let offered = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match wanted.iter().find(|controller| !offered.split_whitespace().any(|offer| offer == **controller)) {
        None => Ok(()),
        Some(missing) if mounts.lines().any(|line| is_version_1(line, missing)) => Err(LoadError::Refused(format!(
            "the controller `{missing}` belongs to control groups of version 1 on this machine: boot it with \
             systemd.unified_cgroup_hierarchy=1, or use --venue vm"
        ))),
        Some(missing) => Err(LoadError::Refused(format!(
            "the control group of this program does not have the controller `{missing}`: run it where it is delegated, as by \
             `systemd-run --user --scope -p Delegate=yes schedlab …`, or as root"
        ))),
    }
}

/// Lets groups below a folder use controllers; `switched` hears of each that was off.
fn enable(
    folder: &Path,
    controllers: &[&'static str],
    mut switched: impl FnMut(&'static str),
) -> Result<(), LoadError> {
    let enabled = fs::read_to_string(folder.join(SWITCHES)).unwrap_or_default();
    for controller in controllers.iter().filter(|one| !enabled.split_whitespace().any(|other| other == **one)) {
        write(folder, SWITCHES, &format!("+{controller}"))?;
        switched(controller);
    }
    Ok(())
}

/// Gives a group CPUs of its own. A kernel takes the word also where it cannot, and says so when it is asked.
fn make_partition(folder: &Path, word: &str) -> Result<(), LoadError> {
    const FILE: &str = "cpuset.cpus.partition";
    write(folder, FILE, word)?;
    let state = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    match state.contains("invalid") {
        false => Ok(()),
        true => {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            Err(LoadError::Refused(format!("the control group `{name}` cannot be a partition here: {}", state.trim())))
        }
    }
}

fn write_knobs(folder: &Path, knobs: Knobs) -> Result<(), LoadError> {
    if knobs.weight != Knobs::default().weight {
        write_weight(folder, knobs.weight)?;
    }
    let Bandwidth { quota, period, burst } = knobs.bandwidth;
    if knobs.bandwidth == Bandwidth::default() {
        return Ok(());
    }
    let microseconds = |time: schedlab_model::time::Time| (time.ns() / 1_000).to_string();
    let quota = quota.map_or_else(|| "max".into(), microseconds);
    write(folder, "cpu.max", &format!("{quota} {}", microseconds(period)))?;
    if burst.ns() > 0 {
        write(folder, "cpu.max.burst", &microseconds(burst))?;
    }
    Ok(())
}

fn write_weight(folder: &Path, weight: Weight) -> Result<(), LoadError> {
    let (file, value) = match weight {
        Weight::Weight(weight) => ("cpu.weight", weight.to_string()),
        Weight::Nice(nice) => ("cpu.weight.nice", nice.to_string()),
        Weight::Idle => return write(folder, "cpu.idle", "1"),
    };
    // A group that was idle has to be told that it is not any more.
    if fs::read_to_string(folder.join("cpu.idle")).is_ok_and(|idle| idle.trim() == "1") {
        write(folder, "cpu.idle", "0")?;
    }
    write(folder, file, &value)
}

fn write(folder: &Path, file: &str, text: &str) -> Result<(), LoadError> {
    let path = folder.join(file);
    if !path.exists() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        return Err(LoadError::Refused(format!(
            "the control group `{name}` has no {file}: this kernel does not know it"
        )));
    }
    fs::write(&path, text).map_err(|error| refusal(&path, &format!("write {text} to"), &error))
}

fn refusal(path: &Path, what: &str, error: &io::Error) -> LoadError {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; run it where control groups are delegated, as by `systemd-run --user --scope -p Delegate=yes schedlab …`, or \
             as root"
        }
        _ => "",
    };
    LoadError::Refused(format!("cannot {what} {}: {error}{hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_what_came_since() {
        let before = Counters { usage_us: Some(5), nr_periods: Some(2), ..Counters::default() };
        let after = Counters { usage_us: Some(9), some_us: Some(1), nr_periods: Some(2), ..Counters::default() };
        let since = after.since(before);
        assert_eq!((since.usage_us, since.nr_periods, since.some_us), (Some(4), Some(0), None));
        assert_eq!(Counters::from_numbers(after.to_numbers()), after);
    }

    #[test]
    fn the_mount_is_found_by_its_kind() {
        let line = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mount_of_cgroup2(line), Some("/sys/fs/cgroup".into()));
        assert_eq!(mount_of_cgroup2("31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }

    #[test]
    fn a_controller_of_version_1_is_known() {
        let line = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        assert!(is_version_1(line, "cpu") && !is_version_1(line, "cpuset"));
        assert!(!is_version_1("31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "rw"));
    }
}
