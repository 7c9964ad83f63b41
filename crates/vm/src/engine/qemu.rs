//! QEMU's own translator (TCG) with `-icount`: each instruction takes the same virtual time, and idle time is skipped.
//!
//! It is right for one CPU only. Several take turns against one counter, so that two busy ones each have half the speed.

use super::monitor::Monitor;
use super::{Engine, Guest, KERNEL_PARAMETERS, Part, emulator, qcow2, still, version};
use schedlab_guest::handover;
use std::fs;
use std::io;
use std::process::{Command, Stdio};

const PROGRAM: &str = "qemu-system-x86_64";

/// QEMU with one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// An instruction takes 2^shift ns.
    pub shift: u32,
    /// The most CPUs that it takes. The time of more than one is false, which this lets see.
    pub max_cpus: u32,
}

/// Has the guest's CPU and QEMU's main loop take turns, which only a recording makes them do. The recording is not
/// read.
///
/// The main loop passes idle time over. It looks at any time whether the CPU has halted, and adds the time to the next timer to a
/// clock that may not yet have the instructions before the halt (`icount_start_warp_timer` next to `icount_process_data`): the clock
/// then jumps some microseconds too far. While a run is recorded, the CPU holds a lock from its first instruction until all of them
/// are counted.
///
/// QEMU records machines of one CPU only.
fn by_turns(cpus: u32) -> &'static str {
    if cpus == 1 { ",rr=record,rrfile=/dev/null" } else { "" }
}

impl Default for Qemu {
    /// 125 million instructions a second: what a slow processor does, and about what this emulator does.
    fn default() -> Qemu {
        Qemu { shift: 3, max_cpus: 1 }
    }
}

/// All that the emulator can, but CMPXCHG16B: QEMU 7.2 spoils the flags where an interrupt meets that instruction, and a
/// kernel may panic with a double fault in its allocator (seen with 6.12). Kernels do without it, except that those that
/// take schedulers allocate for BPF programs by it.
fn cpu(guest: &Guest) -> &'static str {
    if guest.kernel.has_sched_ext() { "max" } else { "max,-cx16" }
}

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn probe(&self) -> Result<String, String> {
        probe()
    }

    fn max_cpus(&self) -> u32 {
        self.max_cpus
    }

    fn clock(&self) -> String {
        let ns = 1_u64 << self.shift;
        match self.max_cpus {
            1 => format!("{ns} ns for each instruction"),
            _ => format!("{ns} ns for each instruction of any CPU, so that the time of several is false"),
        }
    }

    fn ns_per_instruction(&self) -> Option<f64> {
        Some((1_u64 << self.shift) as f64)
    }

    fn command(&self, guest: &Guest) -> io::Result<Command> {
        let mut command = machine(guest)?;
        command
            .args(["-accel", "tcg,thread=single", "-cpu", cpu(guest)])
            .args(["-icount", &format!("shift={},sleep=off,align=off{}", self.shift, by_turns(guest.cpus))])
            .args(["-seed", &(guest.seed & 0xffff_ffff).to_string(), "-rtc", "base=2026-01-01,clock=vm"]);
        add_part(&mut command, guest)?;
        still::stop_the_clock_of(&mut command, guest.folder)?;
        Ok(command)
    }

    /// Main loop and CPU take turns where there is one CPU only; without that a copy's time would not be the same each time.
    fn has_parts(&self) -> bool {
        self.max_cpus == 1
    }

    fn save(&self, guest: &Guest) -> io::Result<()> {
        let mut monitor = Monitor::of(&guest.folder.join(MONITOR))?;
        monitor.wait_until_stopped()?;
        monitor.save(STATE)?;
        monitor.quit()
    }
}

/// Where QEMU listens for what it is to do, in the guest's folder, which it works in: the path of a socket has to be short.
const MONITOR: &str = "monitor";
/// What the state is called in its file.
const STATE: &str = "prepared";

/// What a guest in parts needs: a device that stops it, a table in which it finds its work, and a file for its state. These are the same
/// in both parts, since the state is that of all devices.
fn add_part(command: &mut Command, guest: &Guest) -> io::Result<()> {
    let work = match guest.part {
        Part::Whole => return Ok(()),
        Part::Setup => &[0],
        Part::Work(work) => work,
    };
    let file = guest.folder.join("work");
    fs::write(&file, work)?;
    command
        .args(["-device", "ib700"])
        .args(["-fw_cfg", &format!("name={},file={}", handover::ITEM, file.display())])
        // The host's file need not survive the host; the guest has no device for it.
        .args(["-drive", &format!("if=none,format=qcow2,cache=unsafe,file={}", guest.state().display())]);
    match guest.part {
        Part::Setup => {
            qcow2::create(&guest.state())?;
            let socket = format!("socket,id=monitor,server=on,wait=off,path={MONITOR}");
            command.args(["-action", "watchdog=pause", "-chardev", &socket, "-mon", "chardev=monitor,mode=control"]);
        }
        _ => drop(command.args(["-loadvm", STATE])),
    }
    Ok(())
}

/// Which QEMU is here, or how to get one.
pub(super) fn probe() -> Result<String, String> {
    version(PROGRAM).ok_or_else(|| format!("there is no {PROGRAM}; on Debian it is in qemu-system-x86"))
}

/// QEMU with a guest, and with no device that a run does not need.
pub(super) fn machine(guest: &Guest) -> io::Result<Command> {
    let (kernel, files) = (guest.folder.join("kernel"), guest.folder.join("files"));
    fs::write(&kernel, guest.kernel.bootable())?;
    fs::write(&files, guest.files)?;
    let mut command = emulator(PROGRAM);
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-m", &format!("{}M", guest.memory_bytes >> 20), "-smp", &guest.cpus.to_string()])
        .arg("-serial")
        .arg(format!("file:{}", guest.console().display()))
        .arg("-debugcon")
        .arg(format!("file:{}", guest.frames().display()))
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(files)
        .args(["-append", KERNEL_PARAMETERS]);
    command.stdout(Stdio::null());
    Ok(command)
}
