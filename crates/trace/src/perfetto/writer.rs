//! Writes a Perfetto trace, packet by packet.

use super::{
    HEADER_KEY,
    annotations::{Label, annotation, interned_data, overhead_iid, record},
    messages::*,
    tracks::{self, Track, tid},
};
use crate::{fields::Field, header::Header, words::Words, writer};
use schedlab_model::{
    ids::{CpuId, RoleId, TaskId},
    names::Names,
    time::Time,
    trace::{Event, EventKind, Reason},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Write},
};

/// Perfetto refuses a trace with kernel events of more CPUs; on the others tasks are drawn as slices.
const KERNEL_CPUS: u32 = 1024;

/// The one sequence to which all packets belong. 0 would be none.
const SEQUENCE: u32 = 1;

/// What has been drawn of a task.
#[derive(Default)]
struct Drawn {
    slice: Option<Label>,
    /// Whether a limit holds it back, which may be said before it leaves its CPU.
    held: bool,
    requests: bool,
    status: bool,
}

/// Writes events as packets.
pub(crate) struct Encoder<W: Write> {
    out: BufWriter<W>,
    header: Header,
    names: Names,
    cpus: BTreeSet<CpuId>,
    roles: BTreeSet<Option<RoleId>>,
    tasks: BTreeMap<TaskId, Drawn>,
    /// Arrows drawn so far.
    flows: u64,
    buffer: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    /// Begins a file: the header as it is known now, and the strings that packets name by number.
    pub(crate) fn new(out: W, header: &Header) -> io::Result<Encoder<W>> {
        let mut encoder = Encoder {
            out: BufWriter::new(out),
            header: header.clone(),
            names: Names::new(header.role_names()),
            cpus: BTreeSet::new(),
            roles: BTreeSet::new(),
            tasks: BTreeMap::new(),
            flows: 0,
            buffer: Vec::new(),
        };
        encoder.header_packet(header)?;
        encoder.packet(TracePacket {
            interned_data: Some(interned_data()),
            sequence_flags: Some(sequence_flags::INCREMENTAL_STATE_CLEARED),
            ..Default::default()
        })?;
        Ok(encoder)
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.buffer.clear();
        prost::encoding::message::encode(1, &packet, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    fn header_packet(&mut self, header: &Header) -> io::Result<()> {
        let attribute = Attribute { key: Some(HEADER_KEY.into()), string_value: Some(header.to_json()) };
        let trace_attributes = Some(TraceAttributes { attribute: vec![attribute] });
        self.packet(TracePacket { trace_attributes, ..Default::default() })
    }

    fn declare(&mut self, time: Time, descriptor: TrackDescriptor) -> io::Result<()> {
        let timestamp = Some(time.ns());
        self.packet(TracePacket { timestamp, track_descriptor: Some(descriptor), ..Default::default() })
    }

    fn draw(&mut self, time: Time, track: Track, kind: EventType, event: TrackEvent) -> io::Result<()> {
        let event = TrackEvent { track_uuid: Some(track.uuid()), r#type: Some(kind.into()), ..event };
        self.packet(TracePacket {
            timestamp: Some(time.ns()),
            track_event: Some(event),
            sequence_flags: Some(sequence_flags::NEEDS_INCREMENTAL_STATE),
            ..Default::default()
        })
    }

    fn kernel_event(&mut self, cpu: CpuId, event: FtraceEvent) -> io::Result<()> {
        if cpu.0 >= KERNEL_CPUS {
            return Ok(());
        }
        let bundle = FtraceEventBundle { cpu: Some(cpu.0), event: vec![event] };
        self.packet(TracePacket { ftrace_events: Some(bundle), ..Default::default() })
    }

    /// The track of a CPU, declared at its first use.
    fn cpu_track(&mut self, time: Time, cpu: CpuId) -> io::Result<Track> {
        if self.cpus.is_empty() {
            self.declare(time, tracks::cpus())?;
        }
        if self.cpus.insert(cpu) {
            self.declare(time, tracks::cpu(cpu))?;
        }
        Ok(Track::Cpu(cpu))
    }

    /// What has been drawn of a task, whose track is declared at its first use.
    fn task(&mut self, time: Time, task: TaskId) -> io::Result<&mut Drawn> {
        if !self.tasks.contains_key(&task) {
            let role = self.names.get(task).map(|(role, _)| role);
            if self.roles.insert(role) {
                let name = role.map_or_else(|| "unknown".into(), |role| self.names.role(role));
                self.declare(time, tracks::role(role, name))?;
            }
            self.declare(time, tracks::task(task, role, self.names.task(task)))?;
        }
        Ok(self.tasks.entry(task).or_default())
    }

    /// Ends the slice that is open on the track of a task and begins another. The event goes to the slice that begins,
    /// or to the end when none does.
    fn change(&mut self, time: Time, task: TaskId, slice: Option<Label>, event: TrackEvent) -> io::Result<()> {
        let before = std::mem::replace(&mut self.task(time, task)?.slice, slice);
        let track = Track::Task(task);
        let Some(label) = slice else {
            return self.draw(time, track, EventType::SliceEnd, event);
        };
        if before.is_some() {
            self.draw(time, track, EventType::SliceEnd, TrackEvent::default())?;
        }
        self.draw(time, track, EventType::SliceBegin, TrackEvent { name_iid: Some(label.iid()), ..event })
    }

    fn instant(&mut self, time: Time, track: Track, label: Label, event: TrackEvent) -> io::Result<()> {
        self.draw(time, track, EventType::Instant, TrackEvent { name_iid: Some(label.iid()), ..event })
    }

    fn task_instant(&mut self, event: &Event, task: TaskId, label: Label) -> io::Result<()> {
        self.task(event.time, task)?;
        self.instant(event.time, Track::Task(task), label, carrying(event))
    }

    fn exit(&mut self, event: &Event, task: TaskId) -> io::Result<()> {
        self.task_instant(event, task, Label::Exit)?;
        // A task that ends on its CPU leaves it by the switch that follows.
        if matches!(self.tasks[&task].slice, Some(Label::Runnable | Label::Blocked | Label::Throttle)) {
            self.change(event.time, task, None, TrackEvent::default())?;
        }
        Ok(())
    }

    /// A task that waits does so for its limit from now on, or for a CPU again.
    fn throttle(&mut self, event: &Event, task: TaskId, on: bool) -> io::Result<()> {
        let drawn = self.task(event.time, task)?;
        drawn.held = on;
        match (drawn.slice, on) {
            (Some(Label::Runnable), true) => self.change(event.time, task, Some(Label::Throttle), carrying(event)),
            (Some(Label::Throttle), false) => self.change(event.time, task, Some(Label::Runnable), carrying(event)),
            _ => self.task_instant(event, task, Label::Throttle),
        }
    }

    fn wakeup(&mut self, event: &Event, task: TaskId, target: CpuId, waker: Option<TaskId>) -> io::Result<()> {
        let mut wakee = carrying(event);
        if let Some(waker) = waker {
            self.task(event.time, waker)?;
            self.flows += 1;
            wakee.terminating_flow_ids.push(self.flows);
            let debug_annotations = vec![annotation(Field::Task, task.0.into())];
            let arrow = TrackEvent { flow_ids: vec![self.flows], debug_annotations, ..Default::default() };
            self.instant(event.time, Track::Task(waker), Label::Wakes, arrow)?;
        }
        self.change(event.time, task, Some(Label::Runnable), wakee)?;
        let waking = SchedWaking { pid: Some(tid(Some(task))), target_cpu: i32::try_from(target.0).ok() };
        self.kernel_event(event.cpu, FtraceEvent { sched_waking: Some(waking), ..kernel(event, waker) })
    }

    fn switch(
        &mut self,
        event: &Event,
        previous: Option<TaskId>,
        reason: Reason,
        next: Option<TaskId>,
    ) -> io::Result<()> {
        if let Some(task) = previous {
            let (slice, _) = after(reason);
            let held = self.task(event.time, task)?.held;
            let slice = slice.map(|slice| if held && slice == Label::Runnable { Label::Throttle } else { slice });
            let why =
                TrackEvent { debug_annotations: vec![annotation(Field::Reason, reason.code())], ..Default::default() };
            let carried = if next.is_none() { carrying(event) } else { why };
            self.change(event.time, task, slice, carried)?;
        }
        match (previous, next) {
            (_, Some(task)) => {
                self.task(event.time, task)?.held = false;
                self.change(event.time, task, Some(Label::Running), carrying(event))?;
            }
            (Some(_), None) => {}
            (None, None) => {
                let track = self.cpu_track(event.time, event.cpu)?;
                self.instant(event.time, track, Label::Idle, carrying(event))?;
            }
        }
        if event.cpu.0 >= KERNEL_CPUS {
            return self.switch_slices(event, previous, next);
        }
        let prev_state = Some(after(reason).1);
        let switch = SchedSwitch { prev_pid: Some(tid(previous)), prev_state, next_pid: Some(tid(next)) };
        self.kernel_event(event.cpu, FtraceEvent { sched_switch: Some(switch), ..kernel(event, previous) })
    }

    /// Draws the running task on a CPU for which Perfetto takes no kernel events.
    fn switch_slices(&mut self, event: &Event, previous: Option<TaskId>, next: Option<TaskId>) -> io::Result<()> {
        let track = self.cpu_track(event.time, event.cpu)?;
        if previous.is_some() {
            self.draw(event.time, track, EventType::SliceEnd, TrackEvent::default())?;
        }
        if let Some(task) = next {
            let slice = TrackEvent { name: Some(self.names.task(task)), ..Default::default() };
            self.draw(event.time, track, EventType::SliceBegin, slice)?;
        }
        Ok(())
    }

    fn request(&mut self, event: &Event, task: TaskId, kind: EventType) -> io::Result<()> {
        if !std::mem::replace(&mut self.task(event.time, task)?.requests, true) {
            self.declare(event.time, tracks::requests(task))?;
        }
        let name_iid = (kind == EventType::SliceBegin).then(|| Label::Request.iid());
        self.draw(event.time, Track::Requests(task), kind, TrackEvent { name_iid, ..carrying(event) })
    }

    fn status(&mut self, event: &Event, task: TaskId, word: u64) -> io::Result<()> {
        if !std::mem::replace(&mut self.task(event.time, task)?.status, true) {
            self.declare(event.time, tracks::status(task))?;
        }
        let value = TrackEvent { counter_value: Some(word as i64), ..carrying(event) };
        self.draw(event.time, Track::Status(task), EventType::Counter, value)
    }
}

/// A packet's event with all fields of ours.
fn carrying(event: &Event) -> TrackEvent {
    TrackEvent { debug_annotations: record(event), ..Default::default() }
}

fn kernel(event: &Event, running: Option<TaskId>) -> FtraceEvent {
    FtraceEvent { timestamp: Some(event.time.ns()), pid: Some(tid(running) as u32), ..Default::default() }
}

/// What a task does after it left its CPU for this reason, for the slices and for the kernel's event.
fn after(reason: Reason) -> (Option<Label>, i64) {
    match reason {
        Reason::SliceEnd | Reason::Preempted => (Some(Label::Runnable), prev_state::PREEMPTED),
        Reason::Yielded => (Some(Label::Runnable), prev_state::RUNNABLE),
        Reason::Blocked => (Some(Label::Blocked), prev_state::SLEEPING),
        Reason::Exited => (None, prev_state::DEAD),
        Reason::Idle => (None, prev_state::RUNNABLE),
    }
}

impl<W: Write + Send> writer::Encoder for Encoder<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        for task in self.names.observe(event) {
            self.tasks.remove(&task);
        }
        match event.kind {
            EventKind::Fork { task, .. } => self.task_instant(event, task, Label::Fork),
            EventKind::Exit { task } => self.exit(event, task),
            EventKind::Wakeup { task, target, waker, .. } => self.wakeup(event, task, target, waker),
            EventKind::Switch { previous, reason, next } => self.switch(event, previous, reason, next),
            EventKind::Migrate { task, .. } => self.task_instant(event, task, Label::Migrate),
            EventKind::Tick => {
                let track = self.cpu_track(event.time, event.cpu)?;
                self.instant(event.time, track, Label::Tick, carrying(event))
            }
            EventKind::Untraced { .. } => {
                let track = self.cpu_track(event.time, event.cpu)?;
                self.instant(event.time, track, Label::Untraced, carrying(event))
            }
            EventKind::RequestQueue { task: Some(task), .. } => self.task_instant(event, task, Label::Waits),
            EventKind::RequestQueue { task: None, .. } => {
                let track = self.cpu_track(event.time, event.cpu)?;
                self.instant(event.time, track, Label::Waits, carrying(event))
            }
            EventKind::RequestBegin { task, .. } => self.request(event, task, EventType::SliceBegin),
            EventKind::RequestEnd { task, .. } => self.request(event, task, EventType::SliceEnd),
            EventKind::Status { task, word } => self.status(event, task, word),
            EventKind::Share { task, .. } => self.task_instant(event, task, Label::Share),
            EventKind::Join { task, .. } => self.task_instant(event, task, Label::Join),
            EventKind::Release { task, .. } => self.task_instant(event, task, Label::Release),
            EventKind::Throttle { task, on } => self.throttle(event, task, on),
            EventKind::Call { task: Some(task), .. } => self.task_instant(event, task, Label::Call),
            EventKind::Call { task: None, .. } => {
                let track = self.cpu_track(event.time, event.cpu)?;
                self.instant(event.time, track, Label::Call, carrying(event))
            }
            EventKind::Overhead { what, length } => {
                let track = self.cpu_track(event.time, event.cpu)?;
                let slice = TrackEvent { name_iid: Some(overhead_iid(what)), ..carrying(event) };
                self.draw(event.time, track, EventType::SliceBegin, slice)?;
                // Perfetto sorts packets by their time, so an end may be before what happens until then.
                self.draw(event.time + length, track, EventType::SliceEnd, TrackEvent::default())
            }
        }
    }

    fn end(&mut self, end: Time, lost: u64) -> io::Result<()> {
        let open: Vec<_> =
            self.tasks.iter().filter(|(_, drawn)| drawn.slice.is_some()).map(|(&task, _)| task).collect();
        for task in open {
            self.change(end, task, None, TrackEvent::default())?;
        }
        let header = Header { end, lost, ..self.header.clone() };
        self.header_packet(&header)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{any_event, header, story};
    use proptest::prelude::*;
    use prost::Message;
    use schedlab_model::trace::WakeSource;
    use std::collections::BTreeMap;

    /// A whole file, as protobuf sees it.
    #[derive(Clone, PartialEq, Message)]
    struct Trace {
        #[prost(message, repeated, tag = "1")]
        packet: Vec<TracePacket>,
    }

    fn encode(events: &[Event]) -> Trace {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, &header()).unwrap();
        for event in events {
            writer::Encoder::event(&mut encoder, event).unwrap();
        }
        writer::Encoder::end(&mut encoder, Time::from_ms(20), 0).unwrap();
        drop(encoder);
        Trace::decode(&bytes[..]).unwrap()
    }

    fn drawn(trace: &Trace) -> impl Iterator<Item = (u64, &TrackEvent)> {
        trace.packet.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
    }

    /// The slices of a track: begin and end in microseconds, and the label.
    fn slices(trace: &Trace, track: Track) -> Vec<(u64, u64, &'static str)> {
        let mut slices = Vec::new();
        for (time, event) in drawn(trace).filter(|(_, event)| event.track_uuid == Some(track.uuid())) {
            match event.r#type() {
                EventType::SliceBegin => {
                    let label = Label::from_code(event.name_iid.unwrap() - 1).unwrap();
                    slices.push((time / 1000, u64::MAX, label.word()));
                }
                EventType::SliceEnd => slices.last_mut().unwrap().1 = time / 1000,
                _ => {}
            }
        }
        slices
    }

    #[test]
    fn tasks_show_what_they_do_and_their_requests() {
        let trace = encode(&story());
        let expected =
            [(0, 0, "runnable"), (0, 10_000, "running"), (10_000, 11_000, "runnable"), (11_000, 12_500, "running")];
        assert_eq!(slices(&trace, Track::Task(TaskId(0))), expected);
        let expected = [(0, 10_000, "runnable"), (10_000, 14_000, "running"), (14_000, 20_000, "blocked")];
        assert_eq!(slices(&trace, Track::Task(TaskId(1))), expected);
        assert_eq!(slices(&trace, Track::Requests(TaskId(0))), [(0, 12_500, "request")]);
        assert_eq!(slices(&trace, Track::Requests(TaskId(1))), [(13_000, u64::MAX, "request")]);
        let status = drawn(&trace).find(|(_, event)| event.r#type() == EventType::Counter).unwrap().1;
        assert_eq!((status.track_uuid, status.counter_value), (Some(Track::Status(TaskId(1)).uuid()), Some(3)));
    }

    #[test]
    fn a_wait_for_a_limit_is_a_slice_between_two_waits_for_a_cpu() {
        let at = |ms, kind| Event { time: Time::from_ms(ms), cpu: CpuId(0), kind };
        let task = TaskId(0);
        let switch = |previous, reason, next| EventKind::Switch { previous, reason, next };
        let trace = encode(&[
            at(0, switch(None, Reason::Idle, Some(task))),
            // One that still runs is throttled when it leaves.
            at(2, EventKind::Throttle { task, on: true }),
            at(2, switch(Some(task), Reason::Preempted, None)),
            at(8, EventKind::Throttle { task, on: false }),
            at(9, switch(None, Reason::Idle, Some(task))),
            at(10, switch(Some(task), Reason::Preempted, None)),
            at(10, EventKind::Throttle { task, on: true }),
        ]);
        let expected = [
            (0, 2_000, "running"),
            (2_000, 8_000, "throttled"),
            (8_000, 9_000, "runnable"),
            (9_000, 10_000, "running"),
            (10_000, 10_000, "runnable"),
            (10_000, 20_000, "throttled"),
        ];
        assert_eq!(slices(&trace, Track::Task(task)), expected);
    }

    #[test]
    fn tracks_have_the_names_of_roles_and_tasks() {
        let trace = encode(&story());
        let descriptors: Vec<_> = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
        let threads = descriptors.iter().filter_map(|track| track.thread.as_ref());
        let threads: Vec<_> = threads.map(|t| (t.pid(), t.tid(), t.thread_name())).collect();
        assert_eq!(threads, [(1, 1_000_000, "worker/0"), (1, 1_000_001, "worker/1")]);
        let processes = descriptors.iter().filter_map(|track| track.process.as_ref());
        assert_eq!(processes.map(|p| (p.pid(), p.process_name())).collect::<Vec<_>>(), [(1, "worker")]);
        assert_eq!(descriptors.iter().filter(|track| track.name() == "cpu 0").count(), 1);
    }

    #[test]
    fn cpus_show_who_ran_as_kernel_events() {
        let trace = encode(&story());
        let bundles = trace.packet.iter().filter_map(|packet| packet.ftrace_events.as_ref());
        let switches: Vec<_> = bundles
            .flat_map(|bundle| bundle.event.iter().map(|event| (bundle.cpu(), event)))
            .filter_map(|(cpu, event)| Some((cpu, event.timestamp() / 1000, event.sched_switch.clone()?)))
            .map(|(cpu, time, s)| (cpu, time, s.prev_pid(), s.prev_state(), s.next_pid()))
            .collect();
        let (idle, first, second) = (0, 1_000_000, 1_000_001);
        let expected = [
            (0, 0, idle, prev_state::RUNNABLE, first),
            (0, 10_000, first, prev_state::PREEMPTED, second),
            (1, 11_000, idle, prev_state::RUNNABLE, first),
            (1, 12_500, first, prev_state::DEAD, idle),
            (0, 14_000, second, prev_state::SLEEPING, idle),
        ];
        assert_eq!(switches, expected);
    }

    #[test]
    fn a_cpu_beyond_the_kernel_events_shows_who_ran_as_slices() {
        let cpu = CpuId(KERNEL_CPUS);
        let switch = EventKind::Switch { previous: None, reason: Reason::Idle, next: Some(TaskId(4)) };
        let trace = encode(&[Event { time: Time::ZERO, cpu, kind: switch }]);
        let names: Vec<_> = drawn(&trace).filter_map(|(_, event)| event.name.as_deref()).collect();
        assert_eq!(names, ["task4"]);
        assert!(trace.packet.iter().all(|packet| packet.ftrace_events.is_none()));
    }

    #[test]
    fn an_arrow_leads_from_the_waker_to_the_wakee() {
        let (waker, wakee) = (TaskId(0), TaskId(1));
        let kind = EventKind::Wakeup { task: wakee, target: CpuId(1), waker: Some(waker), source: WakeSource::Pipe };
        let trace = encode(&[Event { time: Time::ZERO, cpu: CpuId(0), kind }]);
        let from = drawn(&trace).find(|(_, event)| !event.flow_ids.is_empty()).unwrap().1;
        let to = drawn(&trace).find(|(_, event)| !event.terminating_flow_ids.is_empty()).unwrap().1;
        assert_eq!(from.flow_ids, to.terminating_flow_ids);
        let tracks = (from.track_uuid, to.track_uuid);
        assert_eq!(tracks, (Some(Track::Task(waker).uuid()), Some(Track::Task(wakee).uuid())));
    }

    proptest! {
        #[test]
        fn tracks_are_declared_before_use_and_arrows_arrive(events in proptest::collection::vec(any_event(), 0..60)) {
            let trace = encode(&events);
            let (mut declared, mut arrows) = (BTreeSet::new(), BTreeMap::<u64, (u32, u32)>::new());
            for packet in &trace.packet {
                prop_assert_eq!(packet.trusted_packet_sequence_id, Some(SEQUENCE));
                if let Some(track) = &packet.track_descriptor {
                    prop_assert!(track.parent_uuid.is_none_or(|parent| declared.contains(&parent)));
                    declared.insert(track.uuid());
                }
                let Some(event) = &packet.track_event else { continue };
                prop_assert!(declared.contains(&event.track_uuid()));
                event.flow_ids.iter().for_each(|&id| arrows.entry(id).or_default().0 += 1);
                event.terminating_flow_ids.iter().for_each(|&id| arrows.entry(id).or_default().1 += 1);
            }
            prop_assert!(arrows.values().all(|&ends| ends == (1, 1)));
        }
    }
}
