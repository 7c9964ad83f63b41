//! Bochs: several CPUs that advance side by side, a few instructions each in turn, in one virtual time.
//!
//! Two things make its runs repeat: a CPU without RDRAND, and a clock that does not look at the host's
//! (`sync=none`, a constant beginning, `rtc_sync=0`). `idle=halt` keeps the ticks of its guests true.

use super::{Engine, Guest, KERNEL_PARAMETERS};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What Bochs needs, each with Debian's package.
const PARTS: [(&str, &str); 4] = [
    ("/usr/share/bochs/BIOS-bochs-latest", "bochsbios"),
    ("/usr/share/bochs/VGABIOS-lgpl-latest", "vgabios"),
    ("/usr/lib/ISOLINUX/isolinux.bin", "isolinux"),
    ("/usr/lib/syslinux/modules/bios/ldlinux.c32", "isolinux"),
];
const PROGRAMS: [(&str, &str); 2] = [("bochs", "bochs and bochs-term"), ("xorriso", "xorriso")];
/// The last word of a machine that switches itself off.
const POWER_OFF: &str = "ACPI control: soft power off";

/// Bochs with one or more CPUs.
#[derive(Clone, Debug)]
pub struct Bochs {
    /// Instructions of each CPU in a second of virtual time.
    pub instructions_per_s: u64,
    /// So many instructions of a CPU are done before the next one's turn.
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
        let programs = PROGRAMS.into_iter().find(|(program, _)| !in_path(program));
        let parts = PARTS.into_iter().find(|(part, _)| !Path::new(part).exists());
        match programs.or(parts) {
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

    fn command(&self, guest: &Guest) -> io::Result<Command> {
        let (settings, debugger) = (guest.folder.join("bochsrc"), guest.folder.join("debugger"));
        fs::write(&settings, self.settings(guest, &image(guest)?))?;
        // Debian's Bochs begins in its debugger, which waits for a word.
        fs::write(&debugger, "c\n")?;
        let mut command = Command::new("bochs");
        command.arg("-q").arg("-f").arg(settings).arg("-rc").arg(debugger).env("TERM", "vt100");
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
}

impl Bochs {
    fn settings(&self, guest: &Guest, image: &Path) -> String {
        let Bochs { instructions_per_s, quantum } = self;
        let (console, log) = (guest.console(), guest.folder.join("log"));
        let [(bios, _), (vga, _), ..] = PARTS;
        format!(
            "megs: 512\n\
             cpu: model=corei5_lynnfield_750, count={}, quantum={quantum}, ips={instructions_per_s}\n\
             clock: sync=none, time0=1767225600, rtc_sync=0\n\
             romimage: file={bios}\n\
             vgaromimage: file={vga}\n\
             ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
             ata0-master: type=cdrom, path={}, status=inserted\n\
             boot: cdrom\n\
             com1: enabled=1, mode=file, dev={}\n\
             port_e9_hack: enabled=1\n\
             display_library: term\n\
             log: {}\n\
             panic: action=fatal\n\
             error: action=ignore\n\
             info: action=ignore\n",
            guest.cpus,
            image.display(),
            console.display(),
            log.display()
        )
    }
}

/// The disc from which the machine starts: loader, kernel, files.
fn image(guest: &Guest) -> io::Result<PathBuf> {
    let (tree, image) = (guest.folder.join("disc"), guest.folder.join("disc.iso"));
    let loader = tree.join("isolinux");
    fs::create_dir_all(&loader)?;
    let [_, _, (program, _), (module, _)] = PARTS;
    fs::copy(program, loader.join("isolinux.bin"))?;
    fs::copy(module, loader.join("ldlinux.c32"))?;
    fs::copy(guest.kernel, tree.join("kernel"))?;
    fs::copy(guest.initramfs, tree.join("files"))?;
    let menu = format!(
        "DEFAULT guest\nPROMPT 0\nTIMEOUT 0\nLABEL guest\n KERNEL /kernel\n INITRD /files\n APPEND {KERNEL_PARAMETERS} idle=halt\n"
    );
    fs::write(loader.join("isolinux.cfg"), menu)?;
    let made = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-o"])
        .args([image.as_os_str(), OsStr::new("-b"), OsStr::new("isolinux/isolinux.bin")])
        .args(["-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"])
        .arg(&tree)
        .output()?;
    match made.status.success() {
        true => Ok(image),
        false => Err(io::Error::other(String::from_utf8_lossy(&made.stderr).trim().to_string())),
    }
}

/// What it says about itself when asked for help.
fn version() -> Option<String> {
    let output = Command::new("bochs").args(["--help", "features"]).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| line.starts_with("Bochs x86 Emulator")).map(str::to_string)
}
