//! The small recording as Perfetto writes it.

use super::{Happening, What, story};
use crate::perfetto::messages::*;
use prost::Message;
use std::io::Write;

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each event as a message.
    Messages,
    /// Switches and wakings in columns.
    Compact,
    /// Messages, in packets that are compressed.
    Packed,
}

/// A trace in protobuf. Perfetto has no account of CPU time.
pub fn perfetto(form: Form) -> Vec<u8> {
    let system = SystemInfo { utsname: Some(Utsname { release: Some("6.18.0".into()) }), num_cpus: Some(2) };
    let first = packet(&TracePacket { system_info: Some(system), ..Default::default() });
    let bundles: Vec<u8> = [0, 1].into_iter().flat_map(|cpu| packet(&bundle(cpu, form == Form::Compact))).collect();
    if form != Form::Packed {
        return [first, bundles].concat();
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&bundles).expect("a vector takes everything");
    let packed = zlib.finish().expect("a vector takes everything");
    [first, packet(&TracePacket { compressed_packets: Some(packed), ..Default::default() })].concat()
}

fn packet(packet: &TracePacket) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::message::encode(1, packet, &mut bytes);
    bytes
}

fn bundle(cpu: u32, is_compact: bool) -> TracePacket {
    let mut events: Vec<Happening> = story().into_iter().filter(|happening| happening.cpu == cpu).collect();
    events.retain(|happening| !matches!(happening.what, What::Ran(..)));
    let mut bundle = FtraceEventBundle { cpu: Some(cpu), ..Default::default() };
    if is_compact {
        let (columns, others) = compact(&events);
        (bundle.compact_sched, events) = (Some(columns), others);
    }
    bundle.event = events.iter().map(|happening| single(happening).encode_to_vec()).collect();
    TracePacket { ftrace_events: Some(bundle), ..Default::default() }
}

fn flags(happening: &Happening) -> u32 {
    if happening.in_interrupt { 0x08 } else { 0 }
}

fn compact(events: &[Happening]) -> (CompactSched, Vec<Happening>) {
    let (mut columns, mut others) = (CompactSched::default(), Vec::new());
    let (mut last_switch, mut last_waking) = (0, 0);
    for happening in events {
        match happening.what {
            What::Switch(_, state, (tid, name)) => {
                columns.switch_timestamp.push(happening.time_ns - last_switch);
                last_switch = happening.time_ns;
                columns.switch_prev_state.push(state as i64);
                columns.switch_next_pid.push(tid);
                columns.switch_next_prio.push(120);
                columns.switch_next_comm_index.push(columns.intern_table.len() as u32);
                columns.intern_table.push(name.into());
            }
            What::Waking((tid, name), target) => {
                columns.waking_timestamp.push(happening.time_ns - last_waking);
                last_waking = happening.time_ns;
                columns.waking_pid.push(tid);
                columns.waking_target_cpu.push(target as i32);
                columns.waking_prio.push(120);
                columns.waking_common_flags.push(flags(happening));
                columns.waking_comm_index.push(columns.intern_table.len() as u32);
                columns.intern_table.push(name.into());
            }
            _ => others.push(*happening),
        }
    }
    (columns, others)
}

fn single(happening: &Happening) -> FtraceEvent {
    let bytes = |name: &str| Some(name.as_bytes().to_vec());
    let woken = |(tid, name): (i32, &str), cpu: u32| {
        Some(SchedWakeup { comm: bytes(name), pid: Some(tid), prio: Some(120), target_cpu: Some(cpu as i32) })
    };
    let mut event = FtraceEvent {
        timestamp: Some(happening.time_ns),
        pid: Some(happening.on as u32),
        common_flags: Some(flags(happening)),
        ..Default::default()
    };
    match happening.what {
        What::Switch((from, left), state, (to, came)) => {
            event.sched_switch = Some(SchedSwitch {
                prev_comm: bytes(left),
                prev_pid: Some(from),
                prev_prio: Some(120),
                prev_state: Some(state as i64),
                next_comm: bytes(came),
                next_pid: Some(to),
                next_prio: Some(120),
            });
        }
        What::Waking(task, cpu) => event.sched_waking = woken(task, cpu),
        What::Wakeup(task, cpu) => event.sched_wakeup = woken(task, cpu),
        What::WakeupNew(task, cpu) => event.sched_wakeup_new = woken(task, cpu),
        What::Fork(parent, (child, name)) => {
            event.sched_process_fork =
                Some(SchedProcessFork { parent_pid: Some(parent), child_comm: bytes(name), child_pid: Some(child) });
        }
        What::Exit((tid, name)) => {
            event.sched_process_exit = Some(SchedProcessExit { comm: bytes(name), pid: Some(tid), prio: Some(120) });
        }
        What::Ran(..) => {}
    }
    event
}
