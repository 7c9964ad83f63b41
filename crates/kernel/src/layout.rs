//! How the CPUs of the machine hang together on which this kernel runs, as it says in `/sys/devices/system`.

use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::layout::{FULL_CAPACITY, Layout, Place};
use schedlab_model::machine::Topology;
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use std::fs;
use std::path::Path;

/// The layout of this machine.
pub fn layout() -> Layout {
    let layout = read(Path::new("/sys/devices/system"));
    layout.unwrap_or_else(|| Topology::flat(cpus()).into()).ticking(tick())
}

/// The number of CPUs that this machine may have.
pub fn cpus() -> u32 {
    set(Path::new("/sys/devices/system/cpu/possible")).map_or(1, |possible| possible.len().max(1))
}

/// The period of this kernel's timer tick: what its coarse clock is counted in (`KTIME_LOW_RES`).
pub fn tick() -> Option<Time> {
    let mut period = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `period`, which is there.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut period) };
    let ns = u64::try_from(period.tv_nsec).ok()?;
    (failed == 0 && period.tv_sec == 0 && ns > 0).then_some(Time(ns))
}

/// The layout that a folder such as `/sys/devices/system` says; none where it does not report CPUs.
///
/// A kernel that reports no caches, as in many virtual machines, has one for each package.
fn read(system: &Path) -> Option<Layout> {
    let possible = set(&system.join("cpu/possible"))?;
    let online = set(&system.join("cpu/online")).unwrap_or_else(|| possible.clone());
    let cpus = possible.iter().last()?.0 + 1;
    let nodes = nodes(&system.join("node"));
    let place = |cpu: CpuId| {
        let folder = system.join(format!("cpu/cpu{cpu}"));
        Place {
            core: first_of(&folder, &["topology/core_cpus_list", "topology/thread_siblings_list"]).unwrap_or(cpu.0),
            llc: last_level_cache(&folder),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map_or(0, |(node, _)| *node),
            capacity: number(&folder.join("cpu_capacity")).unwrap_or(FULL_CAPACITY),
        }
    };
    Some(Layout::new((0..cpus).map(CpuId).map(|cpu| online.contains(cpu).then(|| place(cpu))).collect()))
}

/// The last-level cache of a CPU, as the first CPU that shares it.
fn last_level_cache(cpu: &Path) -> u32 {
    let caches = fs::read_dir(cpu.join("cache")).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_data = caches.filter(|cache| text(&cache.join("type")).is_some_and(|kind| kind != "Instruction"));
    let last = of_data.filter_map(|cache| Some((number(&cache.join("level"))?, cache))).max();
    let shared = last.and_then(|(_, cache)| first_of(&cache, &["shared_cpu_list"]));
    let of_package = || first_of(cpu, &["topology/package_cpus_list", "topology/core_siblings_list"]);
    shared.or_else(of_package).unwrap_or(0)
}

/// Each node with its CPUs.
fn nodes(folder: &Path) -> Vec<(u32, CpuSet)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((number, set(&entry.path().join("cpulist"))?))
    };
    entries.filter_map(node).collect()
}

/// The first CPU of the first list that is there.
fn first_of(folder: &Path, lists: &[&str]) -> Option<u32> {
    lists.iter().find_map(|list| Some(set(&folder.join(list))?.iter().next()?.0))
}

fn set(file: &Path) -> Option<CpuSet> {
    CpuSet::read(&text(file)?).ok()
}

fn number(file: &Path) -> Option<u32> {
    text(file)?.parse().ok()
}

fn text(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::layout::Ranges;

    /// A folder with these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        folder
    }

    /// Two nodes of one core with two threads each, numbered as most machines do: the second threads come last.
    fn two_nodes() -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = vec![
            ("cpu/possible".into(), "0-3".into()),
            ("cpu/online".into(), "0-3".into()),
            ("node/node0/cpulist".into(), "0,2".into()),
            ("node/node2/cpulist".into(), "1,3".into()),
        ];
        for cpu in 0..4 {
            let siblings = format!("{},{}", cpu % 2, cpu % 2 + 2);
            let mut add = |file: &str, text: &str| files.push((format!("cpu/cpu{cpu}/{file}"), text.into()));
            add("topology/core_cpus_list", &siblings);
            for (index, level, kind, shared) in [
                (0, "1", "Data", cpu.to_string()),
                (1, "1", "Instruction", "0-3".into()),
                (2, "3", "Unified", siblings),
            ] {
                add(&format!("cache/index{index}/level"), level);
                add(&format!("cache/index{index}/type"), kind);
                add(&format!("cache/index{index}/shared_cpu_list"), &shared);
            }
        }
        files
    }

    fn of(files: &[(String, String)]) -> Layout {
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
        read(system(&files).path()).unwrap()
    }

    #[test]
    fn caches_cores_and_nodes_are_read_as_the_kernel_tells_them() {
        let layout = of(&two_nodes());
        let places: Vec<_> = layout.online().map(|(_, place)| (place.core, place.llc, place.node)).collect();
        assert_eq!(places, [(0, 0, 0), (1, 1, 2), (0, 0, 0), (1, 1, 2)]);
        assert_eq!((layout.cpus(), layout.has_smt(), layout.is_uniform()), (4, true, true));
        assert_eq!(layout.left_out(), ["cores", "last-level caches", "nodes"]);
    }

    #[test]
    fn offline_cpus_and_slower_ones_are_seen() {
        let mut files = two_nodes();
        files[1].1 = "0-2".into();
        files.push(("cpu/cpu2/cpu_capacity".into(), "512".into()));
        let layout = of(&files);
        assert_eq!((layout.cpus(), layout.online().count(), layout.is_uniform()), (4, 3, false));
    }

    #[test]
    fn without_caches_a_package_has_one_and_without_anything_all_cpus_are_alike() {
        let packages = system(&[
            ("cpu/possible", "0-3"),
            ("cpu/cpu0/topology/package_cpus_list", "0-1"),
            ("cpu/cpu1/topology/package_cpus_list", "0-1"),
            ("cpu/cpu2/topology/core_siblings_list", "2-3"),
            ("cpu/cpu3/topology/core_siblings_list", "2-3"),
        ]);
        assert_eq!(read(packages.path()).unwrap().ranges(), Ranges { core: 1, llc: 2, node: 4 });
        let bare = system(&[("cpu/possible", "0")]);
        assert_eq!(read(bare.path()), Some(Topology::flat(1).into()));
        assert_eq!(read(system(&[]).path()), None);
    }

    #[test]
    fn this_machine_has_a_layout() {
        let layout = layout();
        assert_eq!(layout.cpus(), cpus());
        assert!(layout.online().count() > 0);
    }

    #[test]
    fn this_kernel_ticks_as_kernels_can() {
        let tick = tick().expect("its coarse clock has a resolution");
        assert!((1_000_000_000 / 1000..=1_000_000_000 / 100).contains(&tick.ns()), "{tick}");
    }
}
