//! Perfetto's protobuf, as Android, Chrome and Linux record it, and as schedlab itself writes it: the events of ftrace in it.

mod bundle;
pub(crate) mod messages;
mod packets;

use crate::error::Trouble;
use crate::gather::Gather;
use crate::input::Input;
use crate::told::States;
use messages::{FtraceEvent, FtraceStats, TracePacket};
use prost::Message;
use schedlab_record::Comm;
use std::collections::BTreeMap;

/// The most threads that are known by name.
const THREADS: usize = 1 << 22;
/// A phase of the statistics: at the end.
const AT_END: i32 = 2;

/// What the trace says as a whole, at any place in it.
#[derive(Debug)]
pub struct About {
    /// Names of threads, for events that do not tell them.
    pub names: BTreeMap<i32, Comm>,
    /// The numbers of states.
    pub states: States,
    /// New tasks are seen by forks, and not by `task_newtask` alone.
    pub has_forks: bool,
    overwritten: bool,
    /// Events that the kernel dropped, at the beginning and at the end.
    dropped: [u64; 2],
}

/// Reads it twice: for what holds for all of it, and for its events.
pub fn read(input: &Input, gather: &mut Gather) -> Result<(), Trouble> {
    let mut about = About {
        names: BTreeMap::new(),
        // Without a word of the kernel its states are read as those of Linux 4.4, as Perfetto does.
        states: States::Before,
        has_forks: false,
        overwritten: false,
        dropped: [0; 2],
    };
    packets::each(input, &mut |packet| {
        about.note(&packet, gather);
        Ok(())
    })?;
    let mut begins = BTreeMap::new();
    packets::each(input, &mut |packet| match packet.ftrace_events {
        Some(bundle) => bundle::tell(&bundle, &about, &mut begins, gather),
        None => Ok(()),
    })?;
    let dropped = about.dropped[1].saturating_sub(about.dropped[0]);
    gather.facts.lost = gather.facts.lost.max(dropped);
    start(&about, begins, gather)
}

/// Where older packets were overwritten, or the buffers of CPUs were read one after the other, each CPU begins at another
/// time.
fn start(about: &About, begins: BTreeMap<u32, bundle::Begin>, gather: &mut Gather) -> Result<(), Trouble> {
    let first_ns = begins.values().map(|begin| begin.first_ns).min().unwrap_or(0);
    for (cpu, begin) in begins {
        let at_ns = match begin.known_from_ns {
            0 if about.overwritten => begin.first_ns,
            known => known,
        };
        if at_ns > first_ns {
            gather.started(at_ns, cpu)?;
        }
    }
    Ok(())
}

impl About {
    fn note(&mut self, packet: &TracePacket, gather: &mut Gather) {
        for process in packet.process_tree.iter().flat_map(|tree| &tree.processes) {
            let program = process.cmdline.first().and_then(|file| file.rsplit(|&byte| byte == b'/').next());
            self.name(process.pid, program);
        }
        for thread in packet.process_tree.iter().flat_map(|tree| &tree.threads) {
            self.name(thread.tid, thread.name.as_deref());
            gather.process(thread.tid.unwrap_or(0), thread.tgid.unwrap_or(0));
        }
        if let Some(thread) = packet.track_descriptor.as_ref().and_then(|track| track.thread.as_ref()) {
            let tid = thread.tid.and_then(|tid| i32::try_from(tid).ok());
            self.name(tid, thread.thread_name.as_deref());
            gather.process(tid.unwrap_or(0), thread.pid.unwrap_or(0));
        }
        if let Some(system) = &packet.system_info {
            gather.facts.cpus = system.num_cpus.unwrap_or(0);
            let release = system.utsname.as_ref().and_then(|name| name.release.as_deref());
            self.states = release.map_or(self.states, states_of);
        }
        if let Some(stats) = &packet.ftrace_stats {
            self.dropped[usize::from(stats.phase == Some(AT_END))] = dropped(stats);
        }
        let buffers = packet.trace_stats.iter().flat_map(|stats| &stats.buffer_stats);
        self.overwritten |= buffers.into_iter().any(|buffer| buffer.chunks_overwritten.unwrap_or(0) > 0);
        let events = packet.ftrace_events.iter().flat_map(|bundle| &bundle.event);
        let is_fork =
            |event: &Vec<u8>| FtraceEvent::decode(event.as_slice()).is_ok_and(|e| e.sched_process_fork.is_some());
        self.has_forks = self.has_forks || events.into_iter().any(is_fork);
    }

    /// The last name counts.
    fn name(&mut self, tid: Option<i32>, name: Option<&[u8]>) {
        if let (Some(tid), Some(name)) = (tid.filter(|&tid| tid > 0), name.filter(|name| !name.is_empty()))
            && (self.names.len() < THREADS || self.names.contains_key(&tid))
        {
            self.names.insert(tid, Comm::new(name));
        }
    }
}

fn dropped(stats: &FtraceStats) -> u64 {
    let of = |cpu: &messages::FtraceCpuStats| {
        [cpu.overrun, cpu.commit_overrun, cpu.dropped_events].into_iter().flatten().fold(0, u64::saturating_add)
    };
    stats.cpu_stats.iter().map(of).fold(0, u64::saturating_add)
}

/// `4.9.186-perf`: the states of tasks got other numbers with Linux 4.14.
fn states_of(release: &str) -> States {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (4, 14) { States::Since414 } else { States::Before }
}
