//! The first and only program of a virtual machine.

use crate::charge::{InCharge, Ready};
use crate::frame::FrameWriter;
use crate::handover;
use crate::measurer::Measurer;
use crate::message::{Message, Outcome, PolicyJob, SETUP_PATH, Setup, Work};
use crate::port::Port;
use crate::watch::{MeasureError, Measured, measure};
use schedlab_kernel::{Record, SchedulerError};
use schedlab_load::{Algorithm, Calibration, Ranks, Served, Settings, TICKS_NS, calm, now_ns, obtain, sleep_until};
use schedlab_model::rng::Rng;
use schedlab_model::time::Time;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// That many records are in one message.
const RECORDS_AT_ONCE: usize = 4096;
/// What a kernel does next to the tasks every now and then, and what has it stop: its threads would be tasks that a policy has
/// to share the CPUs among, too. Counters of memory are brought together, memory is compacted, pages are written to disks.
const QUIET: [(&str, &str); 3] =
    [("vm/stat_interval", "3600"), ("vm/compaction_proactiveness", "0"), ("vm/dirty_writeback_centisecs", "0")];
/// What keeps programs of different builds apart.
pub(crate) const ONE_BUILD: &str = "schedlab and schedlab-guest must be of one build";
/// How often the run says how far it is, and a policy is asked whether it is in charge.
/// It takes the CPU from a task for that, whose slice then no longer ends where it would have.
const LOOK: Duration = Duration::from_secs(10);
/// Next to real-time tasks it is silent to the end, where that is known: it would drive one of them from its CPU, and the kernel would put that one on
/// another.
const NO_LOOK: Duration = Duration::from_secs(24 * 3600);

/// Does the job and switches the machine off. Does not return, whatever happens.
pub fn main() -> ! {
    let told = std::panic::catch_unwind(|| {
        prepare();
        match Port::open() {
            Ok(port) => work(&mut FrameWriter::new(port)),
            Err(error) => eprintln!("guest: no right to the port: {error}"),
        }
    });
    if told.is_err() {
        eprintln!("guest: panicked");
    }
    power_off()
}

/// The file systems that a run looks into, and a place for temporary files.
fn prepare() {
    for (kind, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/dev/shm"),
        ("tracefs", "/sys/kernel/tracing"),
        ("bpf", "/sys/fs/bpf"),
    ] {
        // Programs of the run may lie there. The guest's root is in memory too.
        let is_used = kind == "tmpfs" && fs::read_dir(place).is_ok_and(|mut files| files.next().is_some());
        if !is_used {
            mount(kind, place);
        }
    }
    // Without waiting for a grace period when a thread changes its group, which costs seconds on a slow CPU; kernels before
    // 6.0 do not know the word.
    if !mount_with("cgroup2", "/sys/fs/cgroup", "favordynmods") {
        mount("cgroup2", "/sys/fs/cgroup");
    }
    for name in ["HOME", "TMPDIR"] {
        // SAFETY: there is one thread yet.
        unsafe { std::env::set_var(name, "/tmp") };
    }
    loopback_up();
    QUIET.iter().for_each(|(knob, value)| drop(fs::write(Path::new("/proc/sys").join(knob), value)));
}

/// What schedulers' own programs look for: their sockets' folder, and the kernel's model of energy.
fn prepare_for_programs() {
    let _ = fs::create_dir_all("/var/run");
    mount("debugfs", "/sys/kernel/debug");
}

/// What a kernel does not have is missed by the code that needs it.
fn mount(kind: &str, place: &str) {
    mount_with(kind, place, "");
}

/// The same with options; whether it is mounted.
fn mount_with(kind: &str, place: &str, options: &str) -> bool {
    let _ = fs::create_dir_all(place);
    let [kind, place, options] = [kind, place, options].map(|text| CString::new(text).expect("no zero inside"));
    // SAFETY: the strings live during the call.
    unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) == 0 }
}

/// Sockets between tasks go over the loopback interface.
fn loopback_up() {
    // SAFETY: plain system calls on a request that lives.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        (request.ifr_name[0], request.ifr_name[1]) = (b'l' as libc::c_char, b'o' as libc::c_char);
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request);
        libc::close(socket);
    }
}

fn work(to: &mut FrameWriter<Port>) {
    send(to, &hello());
    match run(to) {
        Ok((outcome, records)) => {
            for some in records.chunks(RECORDS_AT_ONCE) {
                send(to, &Message::Records(some.to_vec()));
            }
            send(to, &Message::Outcome(Box::new(outcome)));
        }
        Err(message) => send(to, &message),
    }
}

fn hello() -> Message {
    Message::Hello { kernel: release(), at_ns: now_ns() }
}

fn run(to: &mut FrameWriter<Port>) -> Result<(Outcome, Vec<Record>), Message> {
    let ready = SetUp::by(&read_setup()?)?;
    let work = handover::take(to, hello).map_err(|error| Message::Failed(format!("it has no work: {error}")))?;
    ready.carry_out(&work, to)
}

fn read_setup() -> Result<Setup, Message> {
    let failed = Message::Failed;
    let setup = fs::read(SETUP_PATH).map_err(|error| failed(format!("cannot read the setup: {error}")))?;
    postcard::from_bytes(&setup).map_err(|error| failed(format!("this is no setup for it ({error}): {ONE_BUILD}")))
}

/// What is the same for all runs of a policy.
struct SetUp {
    algorithm: Algorithm,
    calibration: Calibration,
    policy: Option<Ready>,
    /// A scheduler's own program takes part of the CPUs, and its turns are to be known.
    is_program: bool,
}

impl SetUp {
    fn by(setup: &Setup) -> Result<SetUp, Message> {
        let algorithm: Algorithm = setup.algorithm.parse().map_err(Message::Failed)?;
        let calibration = obtain(algorithm, true).map_err(|error| Message::Failed(error.to_string()))?;
        let is_program = matches!(setup.policy, Some(PolicyJob::Program(_)));
        if is_program {
            prepare_for_programs();
        }
        let policy = setup.policy.as_ref().map(Ready::load).transpose().map_err(ejected)?;
        Ok(SetUp { algorithm, calibration, policy, is_program })
    }

    fn carry_out(self, work: &Work, to: &mut FrameWriter<Port>) -> Result<(Outcome, Vec<Record>), Message> {
        let settings = self.settings(work);
        stir(work.seed).map_err(|error| Message::Failed(format!("cannot set the kernel's randomness: {error}")))?;
        wait_for_any_part_of_a_tick(work.seed);
        let mut policy = self.policy.map(Ready::take).transpose().map_err(ejected)?;
        send(to, &Message::Begun { at_ns: now_ns() });
        let mut go_on = |now: Time| {
            send(to, &Message::Progress(now.ns()));
            true
        };
        // What looks after the run is no load that a policy should see. A workload without a rank for it is refused.
        if let Some(ranks) = Ranks::of(&work.workload) {
            ranks.hurry();
        }
        let measured = measure(&work.workload, &settings, policy.as_mut(), Measurer::start, &mut go_on);
        calm();
        let costs = |measurer: io::Result<Measurer>| measurer.map_err(|error| error.to_string())?.measure();
        // The process that would measure is there either way: a run is the same with its costs measured and without.
        let measured = measured.map(|(run, measurer)| (run, work.costs.then(|| costs(measurer))));
        // Tasks may have failed because their policy did.
        let loaded = policy.map(InCharge::end).transpose().map_err(ejected)?;
        let (Measured { report, recorded, counted: _ }, costs) = measured.map_err(|error| match error {
            MeasureError::Policy(error) => ejected(error),
            MeasureError::Load(error) => Message::Failed(error.to_string()),
        })?;
        let (records, recorded) = match recorded {
            Ok((records, stats)) => (records, Ok(stats)),
            Err(lack) => (Vec::new(), Err(lack)),
        };
        let calibration = self.calibration;
        Ok((Outcome { report, recorded, loaded, calibration, costs, records: records.len() as u64 }, records))
    }

    fn settings(&self, work: &Work) -> Settings {
        let is_silent = work.workload.has_realtime() && work.workload.run.end().is_some();
        Settings {
            algorithm: self.algorithm,
            calibration: self.calibration.clone(),
            seed: work.seed,
            look: if is_silent { NO_LOOK } else { LOOK },
            others: self.is_program.then_some(Served::Ext),
            reads_cpu_time: false,
        }
    }
}

fn ejected(error: SchedulerError) -> Message {
    match error.was_in_charge() {
        true => Message::PolicyFailed(error.to_string()),
        false => Message::PolicyRefused(error.to_string()),
    }
}

/// What is random in the kernel from here on depends on the seed: copies of one machine would have it alike.
fn stir(seed: u64) -> io::Result<()> {
    /// `RNDRESEEDCRNG` of `linux/random.h`.
    const RESEED: libc::c_ulong = 0x5207;
    let mut random = File::options().write(true).open("/dev/urandom")?;
    random.write_all(&Rng::split(seed, "kernel").next_u64().to_le_bytes())?;
    // SAFETY: this request takes no argument, and the descriptor is open.
    match unsafe { libc::ioctl(random.as_raw_fd(), RESEED as _) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A policy that counts ticks of its own begins anywhere in the kernel's, under each seed elsewhere.
fn wait_for_any_part_of_a_tick(seed: u64) {
    let wait_ns = Rng::split(seed, "policy").below(TICKS_NS);
    sleep_until(now_ns() + wait_ns);
}

/// What cannot be said is missed by what waits for it.
fn send(to: &mut FrameWriter<Port>, message: &Message) {
    if let Err(error) = to.send(message) {
        eprintln!("guest: {error}");
    }
}

fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string()
}

fn power_off() -> ! {
    // SAFETY: plain system calls. What a machine cannot switch off is stopped by the waiting program.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        loop {
            libc::pause();
        }
    }
}
