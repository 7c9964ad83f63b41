//! Bochs: several CPUs that advance side by side, a few instructions each in turn, in one virtual time.
//!
//! Three things make its runs repeat: a CPU without RDRAND, a clock that does not look at the host's (`sync=none`, a constant
//! beginning, `rtc_sync=0`), and one time zone. `idle=halt` keeps the ticks of its guests true.

mod disk;

use super::{Engine, Guest, KERNEL_PARAMETERS, emulator};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// What Bochs starts with, each with Debian's package.
const BIOS: (&str, &str) = ("/usr/share/bochs/BIOS-bochs-latest", "bochsbios");
const VGA_BIOS: (&str, &str) = ("/usr/share/bochs/VGABIOS-lgpl-latest", "vgabios");
const PROGRAM: (&str, &str) = ("bochs", "bochs and bochs-term");
/// What is before its last words, and those of a machine that switches itself off.
const LAST_WORDS: &str = "exiting with the following message";
const POWER_OFF: &str = "ACPI control: soft power off";

/// Bochs with one or more CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bochs {
    /// Instructions of each CPU in a second of virtual time.
    pub instructions_per_s: u64,
    /// That many instructions of a CPU are done before the next one's turn.
    pub quantum: u32,
}

impl Default for Bochs {
    fn default() -> Bochs {
        Bochs { instructions_per_s: 50_000_000, quantum: 16 }
    }
}

impl Engine for Bochs {
    fn name(&self) -> &'static str {
        "bochs"
    }

    fn probe(&self) -> Result<String, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let in_path = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
        let program = Some(PROGRAM).filter(|(program, _)| !in_path(program));
        let missing = program.or_else(|| [BIOS, VGA_BIOS].into_iter().find(|(file, _)| !Path::new(file).exists()));
        match missing {
            Some((what, package)) => Err(format!("there is no {what}; on Debian it is in {package}")),
            None => Ok(version().unwrap_or_else(|| "Bochs".into())),
        }
    }

    fn max_cpus(&self) -> u32 {
        8
    }

    fn clock(&self) -> String {
        let Bochs { instructions_per_s, quantum } = self;
        format!("{instructions_per_s} instructions of each CPU a second, {quantum} at a time")
    }

    fn ns_per_instruction(&self) -> Option<f64> {
        Some(1e9 / self.instructions_per_s as f64)
    }

    fn command(&self, guest: &Guest) -> io::Result<Command> {
        let (settings, debugger) = (guest.folder.join("bochsrc"), guest.folder.join("debugger"));
        let command_line = format!("{KERNEL_PARAMETERS} idle=halt");
        fs::write(guest.folder.join("disk"), disk::image(guest, &command_line)?)?;
        fs::write(&settings, self.settings(guest))?;
        // Debian's Bochs begins in its debugger, which waits for a word.
        fs::write(&debugger, "c\n")?;
        let mut command = emulator("bochs");
        command.arg("-q").arg("-f").arg(settings).arg("-rc").arg(debugger);
        // The port's bytes come out here, behind a few words of its own.
        command.stdout(Stdio::from(File::create(guest.frames())?));
        Ok(command)
    }

    fn has_noise(&self) -> bool {
        true
    }

    /// Switching off is an error to Bochs, which ends with code 1.
    fn ended_well(&self, code: Option<i32>, errors: &str) -> bool {
        code == Some(1) && errors.contains(POWER_OFF)
    }

    fn complaint<'a>(&self, errors: &'a str) -> Option<&'a str> {
        errors.lines().skip_while(|line| !line.contains(LAST_WORDS)).nth(1)
    }
}

impl Bochs {
    /// Without a driver that does nothing, Bochs mixes sound in a thread, which ends it where the host has no sound card.
    fn settings(&self, guest: &Guest) -> String {
        let Bochs { instructions_per_s, quantum } = self;
        format!(
            "megs: {}\n\
             cpu: model=corei5_lynnfield_750, count={}, quantum={quantum}, ips={instructions_per_s}\n\
             clock: sync=none, time0=1767225600, rtc_sync=0\n\
             romimage: file={}, options=fastboot\n\
             vgaromimage: file={}\n\
             ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
             ata0-master: type=disk, path={}, mode=flat\n\
             boot: disk\n\
             com1: enabled=1, mode=file, dev={}\n\
             port_e9_hack: enabled=1\n\
             sound: driver=dummy\n\
             display_library: term\n\
             log: {}\n\
             panic: action=fatal\n\
             error: action=ignore\n\
             info: action=ignore\n",
            guest.memory_bytes >> 20,
            guest.cpus,
            BIOS.0,
            VGA_BIOS.0,
            guest.folder.join("disk").display(),
            guest.console().display(),
            guest.folder.join("log").display()
        )
    }
}

/// What it says about itself when asked for help.
fn version() -> Option<String> {
    let output = Command::new("bochs").args(["--help", "features"]).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| line.starts_with("Bochs x86 Emulator")).map(str::to_string)
}
