//! Loads the programs, follows processes, and ends.

use super::followed::Followed;
use super::preempt_count;
use super::ring::Rings;
use super::threads::{self, Shown};
use crate::clock::monotonic_ns;
use crate::filter::Filter;
use crate::lack::Lack;
use crate::stats::{Cost, Losses, Stats};
use libbpf_rs::query::{MapInfo, MapInfoIter};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, ProgramInput};
use schedlab_record::{Record, RecordKind};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.bpf.o"));

/// Records what the scheduler does, from its start until it is stopped or dropped.
pub struct Recorder {
    // In the order in which they are to go.
    links: Vec<Link>,
    rings: Rings,
    followed: Followed,
    object: Object,
    costs: Option<OwnedFd>,
    everything: bool,
    started_ns: u64,
}

/// The map's name in policies/include/schedlab/status.bpf.h.
const STATUS_MAP: &str = "schedlab_status";

impl Recorder {
    /// Whether this process can record here: a small recorder is started and ended. Rights and files alone do not say so.
    pub fn probe() -> Result<(), Lack> {
        Recorder::start(&Filter::default(), page_bytes()).map(drop)
    }

    /// Begins. The rings hold `ring_bytes` together, each CPU's the same part rounded up to a power of two of at least a
    /// page; a record takes 48 to 64.
    pub fn start(filter: &Filter, ring_bytes: usize) -> Result<Recorder, Lack> {
        Lack::check()?;
        libbpf_rs::set_print(None);
        let cpus = libbpf_rs::num_possible_cpus().map_err(|e| Lack::of("count the CPUs", &e))?;
        let of_each = (ring_bytes / cpus).max(page_bytes()).next_power_of_two();
        let of_each = u32::try_from(of_each).unwrap_or(1 << 31);
        let published = published();
        let object = load(filter, cpus as u32, of_each, published.as_ref())?;
        let mut rings = rings(&object, cpus as u32, of_each).map_err(|e| Lack::of("open the rings", &e))?;
        if published.is_some() {
            rings.add(Record { time_ns: monotonic_ns(), cpu: 0, kind: RecordKind::Publishing });
        }
        let followed = Followed::of(&object).map_err(|e| Lack::of("follow processes", &e))?;
        let mut recorder = Recorder {
            links: Vec::new(),
            rings,
            followed,
            object,
            costs: None,
            everything: filter.everything,
            started_ns: 0,
        };
        recorder.links = attach(&recorder.object)?;
        if filter.everything {
            recorder.show(threads::processes());
            recorder.ask_who_runs()?;
        } else {
            recorder.follow_all(&filter.tgids)?;
        }
        recorder.started_ns = monotonic_ns();
        Ok(recorder)
    }

    /// Follows one more process, its descendants, and whatever these create from now on.
    pub fn follow(&mut self, tgid: i32) -> Result<(), Lack> {
        if self.everything { Ok(()) } else { self.follow_all(&[tgid]) }
    }

    /// When everything that was asked for at the start was followed, in nanoseconds of `CLOCK_MONOTONIC`. Records
    /// before that tell the state in which the recording begins.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Keeps records in this empty file until the end, and not in memory. Before anything is relieved.
    pub fn keep_in(&mut self, file: File) {
        self.rings.keep_in(file);
    }

    /// What is readable when a ring should be relieved.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.rings.descriptor()
    }

    /// Waits until a ring should be relieved, at most `timeout`, and moves what is in the rings, at most that many bytes of
    /// each, to where it is kept. Nothing is moved as long as there is place: that takes no time from what is recorded.
    pub fn relieve(&mut self, timeout: Duration, at_most: u64) -> io::Result<()> {
        if self.rings.wait(timeout) {
            self.rings.relieve(at_most)?;
        }
        Ok(())
    }

    /// Ends, and hands on everything up to now, in the order of time.
    pub fn stop(mut self, each: &mut impl FnMut(Record)) -> io::Result<Stats> {
        let ended_ns = monotonic_ns();
        self.links.clear();
        wait_for_running_programs();
        let lost = self.lost();
        let mut delivered = 0;
        let late = self.rings.read(ended_ns, &mut |record| {
            delivered += 1;
            each(record);
        })?;
        Ok(Stats { started_ns: self.started_ns, ended_ns, delivered, lost, late })
    }

    /// Has the kernel measure what the programs cost, at some cost of its own, as long as this recorder lives.
    pub fn measure_costs(&mut self) -> std::io::Result<()> {
        // SAFETY: a plain system call; the descriptor is owned from here.
        unsafe {
            let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            if fd < 0 {
                return Err(std::io::Error::from_raw_os_error(-fd));
            }
            self.costs = Some(OwnedFd::from_raw_fd(fd));
        }
        Ok(())
    }

    /// What each program has cost; all zero unless the kernel measures it.
    pub fn costs(&self) -> Vec<Cost> {
        self.object
            .progs()
            .filter_map(|program| {
                let mut info = libbpf_sys::bpf_prog_info::default();
                let mut size = size_of_val(&info) as u32;
                let fd = program.as_fd().as_raw_fd();
                // SAFETY: the kernel writes at most `size` bytes.
                let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd, &mut info, &mut size) };
                let program = program.name().to_string_lossy().into_owned();
                (failed == 0).then_some(Cost {
                    program,
                    id: info.id,
                    runs: info.run_cnt,
                    time_ns: info.run_time_ns,
                    misses: info.recursion_misses,
                })
            })
            .collect()
    }

    /// The programs see every child of a followed process from the moment it is marked. Those that were made
    /// before are found in `/proc`, again and again until there is no new one.
    fn follow_all(&mut self, roots: &[i32]) -> Result<(), Lack> {
        let mut followed: BTreeSet<i32> = BTreeSet::new();
        let mut found: BTreeSet<i32> = roots.iter().copied().collect();
        while !found.is_subset(&followed) {
            found.difference(&followed).for_each(|&tgid| self.followed.add(tgid));
            followed.append(&mut found);
            found = threads::with_descendants(roots);
        }
        self.show(followed);
        self.ask_who_runs()
    }

    /// Adds what `/proc` knows of the threads of these processes.
    fn show(&mut self, tgids: impl IntoIterator<Item = i32>) {
        for tgid in tgids {
            let time_ns = monotonic_ns();
            for Shown { thread, comm, runnable, cpu, .. } in threads::threads(tgid) {
                self.rings.add(Record { time_ns, cpu, kind: RecordKind::Present { thread, comm, runnable, cpu } });
            }
        }
    }

    /// Runs a program on each CPU that reports the CPU's task. It interrupts the CPU, so its answer has its place between
    /// that CPU's switches.
    fn ask_who_runs(&self) -> Result<(), Lack> {
        let failed = |e: libbpf_rs::Error| Lack::of("ask the CPUs which tasks run", &e);
        let program = self.object.progs_mut().find(|program| program.name() == "schedlab_running");
        let program = program.expect("the object has it");
        for cpu in online_cpus(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_else(|_| "0".into())) {
            let flags = libbpf_sys::BPF_F_TEST_RUN_ON_CPU;
            let result = program.test_run(ProgramInput { cpu, flags, ..ProgramInput::default() });
            result.map_err(failed)?;
        }
        Ok(())
    }

    /// Records that have been lost so far.
    pub fn lost(&self) -> Losses {
        let map = map(&self.object, "lost").expect("the object has it");
        let count = |kind: usize| -> u64 {
            let counts = map.lookup_percpu(&(kind as u32).to_ne_bytes(), MapFlags::ANY);
            let counts = counts.expect("the map is ours").expect("an array has all its entries");
            counts.iter().map(|count| u64::from_ne_bytes(count[..8].try_into().expect("eight"))).sum()
        };
        Losses(std::array::from_fn(count))
    }
}

pub(crate) fn map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Result<libbpf_rs::Map<'a>> {
    let missing = || libbpf_rs::Error::from_raw_os_error(libc::ENOENT);
    object.maps().find(|map| map.name() == name).ok_or_else(missing)
}

/// Opens the object, sets its options, and has the kernel check it.
fn load(filter: &Filter, cpus: u32, ring_bytes: u32, published: Option<&MapHandle>) -> Result<Object, Lack> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(|e| Lack::of("open the programs", &e))?;
    let tick = if filter.tick { tick_function() } else { 0 };
    let set_up = |e: libbpf_rs::Error| Lack::of("set up the programs", &e);
    set_options(&mut open, filter, ring_bytes, tick, published.is_some());
    set_maps(&mut open, cpus, published).map_err(set_up)?;
    for mut program in open.progs_mut() {
        let wanted = match program.name().to_str() {
            Some("schedlab_softirq_entry" | "schedlab_softirq_exit") => filter.softirq,
            Some("schedlab_tick") => tick != 0,
            _ => true,
        };
        program.set_autoload(wanted);
    }
    open.load().map_err(|e| Lack::of("load the programs", &e))
}

/// Writes `options` of bpf/recorder.bpf.c.
fn set_options(open: &mut OpenObject, filter: &Filter, ring_bytes: u32, tick: u64, publishes: bool) {
    let preempt_count = preempt_count::from_run_queue();
    let mut options = vec![u8::from(filter.everything), u8::from(preempt_count.is_some()), u8::from(publishes), 0];
    options.extend((ring_bytes / 2).to_ne_bytes());
    options.extend(tick.to_ne_bytes());
    options.extend(preempt_count.unwrap_or(0).to_ne_bytes());
    options.extend(filter.others_below.to_ne_bytes());
    let mut constants = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"));
    let value = constants.as_mut().and_then(|map| map.initial_value_mut()).expect("the object has constants");
    value[..options.len()].copy_from_slice(&options);
}

/// As many rings as CPUs, and the policy's map of words about tasks; none is made without a policy that has one.
fn set_maps(open: &mut OpenObject, cpus: u32, published: Option<&MapHandle>) -> libbpf_rs::Result<()> {
    for mut map in open.maps_mut() {
        match (map.name().to_str(), published) {
            (Some("rings"), _) => map.set_max_entries(cpus)?,
            (Some("published"), Some(published)) => map.reuse_fd(published.as_fd())?,
            (Some("published" | "told"), None) => map.set_autocreate(false)?,
            _ => {}
        }
    }
    Ok(())
}

/// The map in which a policy that is in charge publishes a word about each task; of several the newest.
fn published() -> Option<MapHandle> {
    let is_it = |map: &MapInfo| map.name == STATUS_MAP && map.ty == MapType::TaskStorage && map.value_size == 8;
    let newest = MapInfoIter::default().filter(is_it).map(|map| map.id).max()?;
    MapHandle::from_map_id(newest).ok()
}

/// Makes a ring for each CPU and passes them to the programs.
fn rings(object: &Object, cpus: u32, bytes: u32) -> libbpf_rs::Result<Rings> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64,
        ..libbpf_sys::bpf_map_create_opts::default()
    };
    let place = map(object, "rings")?;
    let mut made = Vec::new();
    for cpu in 0..cpus {
        let ring = MapHandle::create(MapType::RingBuf, Some("schedlab_ring"), 0, 0, bytes, &options)?;
        place.update(&cpu.to_ne_bytes(), &ring.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY)?;
        made.push(ring);
    }
    Ok(Rings::new(&made, bytes, page_bytes())?)
}

fn attach(object: &Object) -> Result<Vec<Link>, Lack> {
    let attached = object.progs_mut().filter(|program| program.autoload() && program.name() != "schedlab_running");
    attached
        .map(|program| program.attach().map_err(|e| Lack::of(&format!("attach {}", program.name().display()), &e)))
        .collect()
}

/// The function that the timer interrupt runs for the tick, under its name in newer and older kernels.
fn tick_function() -> u64 {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let address = |wanted: &str| {
        symbols.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            (words.nth(1) == Some(wanted)).then_some(address)
        })
    };
    address("tick_nohz_handler").or_else(|| address("tick_sched_timer")).unwrap_or(0)
}

/// Returns when every program that ran at the call has ended: the kernel waits for a grace period of RCU, under which
/// tracepoints call programs.
fn wait_for_running_programs() {
    const MEMBARRIER_CMD_GLOBAL: libc::c_long = 1;
    // SAFETY: a plain system call without memory.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
}

fn page_bytes() -> usize {
    // SAFETY: a plain question to the C library.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// `0-3,5` as numbers.
fn online_cpus(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(online_cpus("0-3,5,8-9\n"), [0, 1, 2, 3, 5, 8, 9]);
        assert_eq!(online_cpus("0\n"), [0]);
    }

    #[test]
    fn a_recorder_can_go_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Recorder>();
    }
}
