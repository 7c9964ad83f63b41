//! What all tasks of a run work with: shared memory, channels, the disk, the amount of work in a nanosecond.

use crate::algorithm::{Algorithm, Engine};
use crate::attributes;
use crate::calibration::Calibration;
use crate::channel::Ends;
use crate::control_groups::ControlGroups;
use crate::futex::{self, Waited};
use crate::gate::Gate;
use crate::rank::Ranks;
use crate::requests::{Outside, Queue, from_outside};
use crate::rwlock;
use crate::shared::Shared;
use schedlab_model::cpuset::CpuSet;
use schedlab_model::workload::{Protocol, Workload};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::Ordering::Relaxed;

/// Everything of a run that tasks share.
pub struct Site<'a> {
    /// What the tasks do.
    pub workload: &'a Workload,
    /// Memory that outlives them.
    pub shared: Shared,
    /// Where they wait for the start.
    pub gate: Gate,
    /// Channels, as numbered in the workload.
    pub channels: Vec<Ends>,
    /// What comes into each of them from outside.
    pub outside: Vec<Option<Outside>>,
    /// Requests that come from outside: numbers from here on are those of requests that tasks send.
    pub from_outside: u32,
    /// A file for tasks that use a device.
    pub disk: Option<Disk>,
    /// What they compute.
    pub engine: Engine,
    /// The algorithm behind it.
    pub algorithm: Algorithm,
    /// Pieces of work in a nanosecond.
    pub pieces_per_ns: f64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether tasks read their CPU time before their first step, and processes after their last one.
    pub reads_cpu_time: bool,
    /// Control groups of the tasks.
    pub control_groups: ControlGroups,
    /// Real-time priorities of the tasks and of what looks after them.
    pub ranks: Ranks,
}

impl<'a> Site<'a> {
    /// Sets the CPUs of the calling task. Where CPUs go offline it may ask for some of which none is there: it then keeps those
    /// that it has.
    pub fn set_own_cpus(&self, cpus: &CpuSet) -> io::Result<()> {
        let set = attributes::set_cpus(0, cpus);
        let is_refused = set.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL));
        if is_refused && !self.workload.hotplug.is_empty() { Ok(()) } else { set }
    }

    /// Opens everything that the workload names.
    pub fn open(
        workload: &'a Workload,
        calibration: &Calibration,
        algorithm: Algorithm,
        seed: u64,
        control_groups: ControlGroups,
    ) -> io::Result<Site<'a>> {
        let objects = &workload.objects;
        let queues = objects.semaphores.len() + objects.channels.len();
        let words = objects.locks.len() + objects.barriers.len() + objects.devices.len() + objects.conditions.len();
        let before_rooms = (objects.semaphores.len() + words + queues) as u32;
        let rooms = objects.channels.len() as u32;
        let shared = Shared::new(before_rooms + rooms + workload.roles.len() as u32, queues as u32)?;
        let (outside, from_outside) = from_outside(workload, seed);
        for (index, semaphore) in objects.semaphores.iter().enumerate() {
            shared.object(index as u32)[0].store(semaphore.initial, Relaxed);
        }
        let channels = objects.channels.iter().zip(before_rooms..);
        let channels = channels.map(|(channel, room)| Ends::open(channel, &shared, room)).collect::<io::Result<_>>()?;
        Ok(Site {
            workload,
            shared,
            gate: Gate::new()?,
            outside,
            from_outside,
            channels,
            disk: if objects.devices.is_empty() { None } else { Some(Disk::open()?) },
            engine: Engine::new(algorithm),
            algorithm,
            pieces_per_ns: 1.0 / calibration.ns_per_piece,
            seed,
            reads_cpu_time: false,
            control_groups,
            ranks: Ranks::of(workload).expect("the workload was looked at before"),
        })
    }

    /// The place of a lock among the objects; semaphores come before, barriers, devices and condition
    /// variables after.
    pub fn lock(&self, index: usize) -> u32 {
        (self.workload.objects.semaphores.len() + index) as u32
    }

    /// Takes a lock. `to_read`: together with others that read. `has_slept`: after a
    /// sleep, so that its release looks for further waiters.
    pub fn take_lock(&self, index: usize, to_read: bool, has_slept: bool) -> Waited {
        let (place, lock) = (self.lock(index), &self.workload.objects.locks[index]);
        match (lock.readers, lock.protocol) {
            (Some(prefer), _) => rwlock::take(&self.shared, place, prefer, to_read),
            (None, Protocol::Inherit) => futex::lock_inheriting(&self.shared, place),
            (None, Protocol::None) if has_slept => futex::relock(&self.shared, place),
            (None, Protocol::None) => futex::lock(&self.shared, place),
        }
    }

    /// Whether a task that wants a lock, to read or to write, would have to wait for it now.
    pub fn is_held(&self, index: usize, to_read: bool) -> bool {
        let words = self.shared.object(self.lock(index));
        match self.workload.objects.locks[index].readers {
            Some(prefer) => !rwlock::may_take(words, prefer, to_read),
            None => words[0].load(Relaxed) != 0,
        }
    }

    /// Releases a lock.
    pub fn release_lock(&self, index: usize) {
        let (place, lock) = (self.lock(index), &self.workload.objects.locks[index]);
        match (lock.readers, lock.protocol) {
            (Some(prefer), _) => rwlock::release(&self.shared, place, prefer),
            (None, Protocol::Inherit) => futex::unlock_inheriting(&self.shared, place),
            (None, Protocol::None) => futex::unlock(&self.shared, place),
        }
    }

    /// The place of a barrier.
    pub fn barrier(&self, index: usize) -> u32 {
        self.lock(self.workload.objects.locks.len() + index)
    }

    /// The place of a device: words 0 and 1 say until when it is busy.
    pub fn device(&self, index: usize) -> u32 {
        self.barrier(self.workload.objects.barriers.len() + index)
    }

    /// The place of a condition variable.
    pub fn condition(&self, index: usize) -> u32 {
        self.device(self.workload.objects.devices.len() + index)
    }

    /// The requests that wait in a semaphore, if it carries any.
    pub fn at_semaphore(&self, index: usize) -> Option<Queue<'_>> {
        self.workload.objects.semaphores[index].work.map(|_| self.queue(index))
    }

    /// The requests that wait in a channel, if it carries any.
    pub fn at_channel(&self, index: usize) -> Option<Queue<'_>> {
        let work = self.workload.objects.channels[index].work;
        work.map(|_| self.queue(self.workload.objects.semaphores.len() + index))
    }

    /// The object whose first word counts the messages from outside that were claimed of a channel.
    pub fn claims(&self, channel: usize) -> u32 {
        self.queue_object(self.workload.objects.semaphores.len() + channel)
    }

    /// The object whose first word counts the recorded items that tasks of a role have taken from a common list.
    pub fn items(&self, role: u32) -> u32 {
        let objects = &self.workload.objects;
        let queues = objects.semaphores.len() + objects.channels.len();
        self.queue_object(queues + objects.channels.len()) + role
    }

    fn queue(&self, queue: usize) -> Queue<'_> {
        Queue::new(&self.shared, queue as u32, self.queue_object(queue))
    }

    fn queue_object(&self, queue: usize) -> u32 {
        self.condition(self.workload.objects.conditions.len() + queue)
    }
}

/// A file of one block without a name that is read past the page cache where the file system allows it.
pub struct Disk {
    file: std::fs::File,
}

const BLOCK: usize = 4096;

#[repr(align(4096))]
struct Block([u8; BLOCK]);

impl Disk {
    fn open() -> io::Result<Disk> {
        let folder = std::env::var_os("TMPDIR").map_or_else(|| "/var/tmp".into(), std::path::PathBuf::from);
        let mut file = schedlab_boundary::own::unnamed(&folder)?;
        file.write_all(&[0; BLOCK])?;
        file.sync_data()?;
        // Opened once more, as how a file is read is said when it is opened.
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(again);
        Ok(Disk { file: direct.unwrap_or(file) })
    }

    /// Reads the block once.
    pub fn read(&self) {
        use std::os::unix::fs::FileExt;
        let mut block = Block([0; BLOCK]);
        // A failed read costs what it costs; the service time follows in any case.
        let _ = self.file.read_at(&mut block.0, 0);
    }
}
