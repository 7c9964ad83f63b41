//! Emulators: those that count time in instructions, and the machine below as one, which does not.

/// A function that gives what an assembler made of a file: the bytes between two of its labels, in a section of read-only data.
macro_rules! assembled {
    ($(#[$about:meta])* $name:ident: $file:literal in $section:literal, $begin:ident to $end:ident) => {
        core::arch::global_asm!(
            concat!(".pushsection ", $section, ", \"a\""),
            include_str!($file),
            ".popsection",
            options(att_syntax)
        );
        unsafe extern "C" {
            static $begin: u8;
            static $end: u8;
        }
        $(#[$about])*
        fn $name() -> &'static [u8] {
            // SAFETY: both symbols bound the same bytes of the read-only data.
            unsafe {
                let (begin, end) = (&raw const $begin, &raw const $end);
                std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin))
            }
        }
    };
}

mod bochs;
mod kvm;
mod monitor;
mod qcow2;
mod qemu;
mod spec;
mod still;
mod trial;

use crate::image::Image;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use bochs::Bochs;
pub use kvm::Kvm;
pub use qemu::Qemu;
pub use spec::EngineSpec;
pub use trial::starts;

/// Memory of a guest whose policy is an object, or the kernel's own.
pub const MEMORY_BYTES: u64 = 512 << 20;

/// What an engine is to start.
#[derive(Clone, Debug)]
pub struct Guest<'a> {
    /// The kernel.
    pub kernel: &'a Image,
    /// The archive of its files.
    pub files: &'a [u8],
    /// CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// The seed of whatever is random in the machine.
    pub seed: u64,
    /// How much of its life.
    pub part: Part<'a>,
    /// A folder for what the engine writes: [`Guest::console`], [`Guest::frames`] and [`Guest::state`].
    pub folder: &'a Path,
}

/// A part of a guest's life.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// All of it; its work is among its files.
    Whole,
    /// From its boot to where it has set up all that is the same for many runs.
    Setup,
    /// From there on, in a copy of the machine that is in [`Guest::state`]: its work, which it is handed now.
    Work(&'a [u8]),
}

impl Guest<'_> {
    /// What the guest's kernel prints.
    pub fn console(&self) -> PathBuf {
        self.folder.join("console")
    }

    /// What the guest's program sends.
    pub fn frames(&self) -> PathBuf {
        self.folder.join("frames")
    }

    /// The machine when it had set up all.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }
}

/// An emulator.
pub trait Engine: Debug + Sync {
    /// Its name, as users write it.
    fn name(&self) -> &'static str;

    /// What it is called and which version it has, for the result; or what to do so that it works here. That what it needs is
    /// there does not say that a guest starts: see [`starts`].
    fn probe(&self) -> Result<String, String>;

    /// The most CPUs with which its time is true.
    fn max_cpus(&self) -> u32;

    /// How it counts time, for the result.
    fn clock(&self) -> String;

    /// Virtual time of an instruction; none where time is the host's.
    fn ns_per_instruction(&self) -> Option<f64>;

    /// Whether the same inputs give the same bytes, wherever and whenever it runs.
    fn repeats(&self) -> bool {
        true
    }

    /// The command that runs a guest until it switches itself off. What the guest sends goes to [`Guest::frames`].
    fn command(&self, guest: &Guest) -> std::io::Result<Command>;

    /// Whether it runs a guest in parts; else only as a whole.
    fn has_parts(&self) -> bool {
        false
    }

    /// Writes a guest whose first part is over to [`Guest::state`], and ends the engine.
    fn save(&self, _guest: &Guest) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Whether something else may stand around the frames.
    fn has_noise(&self) -> bool {
        false
    }

    /// Whether it ended because the guest switched itself off, by its code and by what it wrote to standard error.
    fn ended_well(&self, code: Option<i32>, _errors: &str) -> bool {
        code == Some(0)
    }

    /// Why it ended otherwise, in a line of what it wrote to standard error.
    fn complaint<'a>(&self, errors: &'a str) -> Option<&'a str> {
        errors.lines().next_back()
    }
}

/// The kernel's parameters that all engines share: no line more than needed on the console, no self-tests, no
/// randomness from outside, a fixed layout of memory, no mitigations, since a guest has no attackers, none of the
/// rewriting of itself with which a kernel on one CPU saves locks, no thread that looks at memory all the time, and none that takes
/// each CPU every four seconds to show that it is not stuck (`softlockup_fn`).
const KERNEL_PARAMETERS: &str = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable random.trust_cpu=off \
                                 cryptomgr.notests noreplace-smp damon_stat.enabled=N nosoftlockup rdinit=/init";

/// An emulator in surroundings that are the same on every host. Bochs passes its guest the time of the host's zone.
fn emulator(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("TZ", "UTC0").env("TERM", "vt100");
    let found_by = ["PATH", "LD_LIBRARY_PATH"];
    command.envs(found_by.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// The first line of what a program prints when asked for its version.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_string)
}
