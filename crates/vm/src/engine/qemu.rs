//! QEMU's own translator (TCG) with `-icount`: each instruction takes the same virtual time, and time that nobody uses is
//! passed over.
//!
//! It is right for one CPU only. Several take turns against one counter, so that two busy ones each have half the speed.

use super::{Engine, Guest, KERNEL_PARAMETERS, version};
use std::io;
use std::process::{Command, Stdio};

const PROGRAM: &str = "qemu-system-x86_64";

/// QEMU with one CPU.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// An instruction takes 2^shift ns.
    pub shift: u32,
}

impl Default for Qemu {
    /// 125 million instructions a second: what a slow processor does, and about what this emulator does.
    fn default() -> Qemu {
        Qemu { shift: 3 }
    }
}

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn probe(&self) -> Result<String, String> {
        version(PROGRAM).ok_or_else(|| format!("there is no {PROGRAM}; on Debian it is in qemu-system-x86"))
    }

    fn max_cpus(&self) -> u32 {
        1
    }

    fn clock(&self) -> String {
        format!("{} ns for each instruction", 1_u64 << self.shift)
    }

    fn command(&self, guest: &Guest) -> io::Result<Command> {
        let mut command = Command::new(PROGRAM);
        command
            .args(["-accel", "tcg,thread=single", "-smp", "1", "-cpu", "max", "-m", "512M"])
            .args(["-icount", &format!("shift={},sleep=off,align=off", self.shift)])
            .args(["-seed", &(guest.seed & 0xffff_ffff).to_string(), "-rtc", "base=2026-01-01,clock=vm"])
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .arg("-serial")
            .arg(format!("file:{}", guest.console().display()))
            .arg("-debugcon")
            .arg(format!("file:{}", guest.frames().display()))
            .arg("-kernel")
            .arg(guest.kernel)
            .arg("-initrd")
            .arg(guest.initramfs)
            .args(["-append", KERNEL_PARAMETERS]);
        command.stdout(Stdio::null());
        Ok(command)
    }
}
