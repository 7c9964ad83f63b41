//! Whether guests start at all: the smallest one is started.
//!
//! That an emulator is installed, or that a device exists, does not say so. `/dev/kvm` is there on machines whose
//! processor state no emulator may set, and emulators lack files of their own.

use super::{Engine, Guest, MEMORY_BYTES, Part};
use crate::image::Image;
use schedlab_boundary::own::Folder;
use schedlab_load::{Ended, Guarded};
use std::fs::{self, File};
use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A guest that has not said its word by then is taken for one that does not start. It takes a tenth of a second under
/// QEMU and a second under Bochs.
const LIMIT: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Where the guest lies in its machine's memory, and the page behind it for the table that its paging needs.
const ADDRESS: u64 = 0x10_0000;
const MEMORY: u64 = 0x2000;
/// What it says.
const WORD: &[u8] = b"up";

assembled! {
    /// The guest's instructions.
    code: "trial.s" in ".rodata.schedlab_trial", schedlab_trial_begin to schedlab_trial_end
}

/// Starts the smallest guest there is in an engine, and ends it.
///
/// # Errors
///
/// It did not start: what the engine said about it, in a line.
pub fn starts(engine: &dyn Engine) -> Result<(), String> {
    watch(engine, LIMIT).map_err(|why| format!("{} is here, but no guest starts: {why}", engine.name()))
}

fn watch(engine: &dyn Engine, limit: Duration) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    let folder = Folder::new().map_err(told)?;
    let kernel = Image::of_program(program());
    let (folder, memory_bytes) = (folder.path(), MEMORY_BYTES);
    let guest = Guest { kernel: &kernel, files: &[0], cpus: 1, memory_bytes, seed: 1, part: Part::Whole, folder };
    let errors = folder.join("errors");
    let mut command = engine.command(&guest).map_err(told)?;
    command.stdin(Stdio::null()).stderr(File::create(&errors).map_err(told)?);
    let mut emulator = Guarded::start_apart(&mut command).map_err(told)?;
    emulator.go().map_err(told)?;
    let begun = Instant::now();
    loop {
        let ended = emulator.ended().map_err(told)?;
        let said = fs::read(guest.frames()).unwrap_or_default();
        if memchr::memmem::find(&said, WORD).is_some() {
            return Ok(());
        }
        match ended {
            Some(Ended::NotStarted(error)) => return Err(told(io::Error::from_raw_os_error(error))),
            Some(Ended::Status(status)) => {
                let said = String::from_utf8_lossy(&fs::read(&errors).unwrap_or_default()).into_owned();
                return Err(format!("it ended with {status}: {}", cause(engine, &said)));
            }
            None if begun.elapsed() >= limit => return Err(format!("nothing was heard of one in {limit:?}")),
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Why an emulator ended, of all it wrote: the first line that is an error, or else what the engine takes for its reason.
fn cause<'a>(engine: &dyn Engine, said: &'a str) -> &'a str {
    let error = said.lines().find_map(|line| line.split_once("error: ")).map(|(_, error)| error);
    error.or_else(|| engine.complaint(said)).unwrap_or("it did not say why").trim()
}

/// The guest as a kernel's program: an ELF file of one segment, with the note that says where it is entered.
fn program() -> Vec<u8> {
    elf::program(code(), ADDRESS, MEMORY)
}

mod elf {
    //! As little of an ELF file as loaders ask for (System V ABI, chapter 4 and 5).

    const HEADER: u64 = 64;
    const SEGMENT_HEADER: u64 = 56;
    const SECTION_HEADER: u64 = 64;
    /// Where the file has a zero, which ends an empty name.
    const EMPTY_AT: u64 = 8;
    /// The note: sizes of its name and its content, its kind, both. See [`crate::image`].
    const NOTE: [u32; 6] = [4, 8, 18, u32::from_le_bytes(*b"Xen\0"), 0, 0];

    /// An executable of one segment at `address`, where it begins. It takes `memory` bytes.
    pub fn program(code: &[u8], address: u64, memory: u64) -> Vec<u8> {
        let note_at = HEADER + 2 * SEGMENT_HEADER;
        let sections_at = note_at + size_of_val(&NOTE) as u64;
        let code_at = (sections_at + 3 * SECTION_HEADER).next_multiple_of(0x1000);
        let (code_bytes, note_bytes) = (code.len() as u64, size_of_val(&NOTE) as u64);
        let mut file = Vec::new();
        file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        // An executable for x86-64, version 1.
        put16(&mut file, &[2, 62]);
        put32(&mut file, &[1]);
        put64(&mut file, &[address, HEADER, sections_at]);
        put32(&mut file, &[0]);
        put16(&mut file, &[HEADER as u16, SEGMENT_HEADER as u16, 2, SECTION_HEADER as u16, 3, 2]);
        // What is loaded (1), to be read, written and run (7); the note (4), to be read (4).
        put32(&mut file, &[1, 7]);
        put64(&mut file, &[code_at, address, address, code_bytes, memory, 0x1000]);
        put32(&mut file, &[4, 4]);
        put64(&mut file, &[note_at, 0, 0, note_bytes, note_bytes, 4]);
        put32(&mut file, &NOTE[..4]);
        put64(&mut file, &[address]);
        // No section, as every file has it first, that of the note (7), and that of the names (3): one, which is empty.
        file.resize(file.len() + SECTION_HEADER as usize, 0);
        for (kind, at, bytes) in [(7, note_at, note_bytes), (3, EMPTY_AT, 1)] {
            put32(&mut file, &[0, kind]);
            put64(&mut file, &[0, 0, at, bytes]);
            put32(&mut file, &[0, 0]);
            put64(&mut file, &[4, 0]);
        }
        file.resize(code_at as usize, 0);
        file.extend(code);
        file
    }

    fn put16(file: &mut Vec<u8>, words: &[u16]) {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    }

    fn put32(file: &mut Vec<u8>, words: &[u32]) {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    }

    fn put64(file: &mut Vec<u8>, words: &[u64]) {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// An emulator that is a shell's script, with its frames as the script's first word.
    #[derive(Debug)]
    struct Script(&'static str);

    impl Engine for Script {
        fn name(&self) -> &'static str {
            "script"
        }

        fn probe(&self) -> Result<String, String> {
            Ok("a script".into())
        }

        fn max_cpus(&self) -> u32 {
            1
        }

        fn clock(&self) -> String {
            String::new()
        }

        fn ns_per_instruction(&self) -> Option<f64> {
            None
        }

        fn command(&self, guest: &Guest) -> io::Result<Command> {
            let mut command = Command::new("sh");
            command.args(["-c", self.0]).arg(guest.frames());
            Ok(command)
        }
    }

    #[test]
    fn an_emulator_that_gives_up_says_why() {
        let aborts = "echo 'emulator: error: failed to set MSR 0x10a' >&2; echo 'Assertion failed' >&2; kill -ABRT $$";
        let why = starts(&Script(aborts)).unwrap_err();
        assert!(why.starts_with("script is here, but no guest starts: it ended with signal: 6"), "{why}");
        assert!(why.ends_with(": failed to set MSR 0x10a"), "{why}");
        assert!(starts(&Script("exit 0")).unwrap_err().ends_with("it did not say why"));
    }

    #[test]
    fn silence_is_no() {
        let why = watch(&Script("sleep 1000"), Duration::ZERO).unwrap_err();
        assert_eq!(why, "nothing was heard of one in 0ns");
    }

    #[test]
    fn a_word_is_yes_whatever_else_stands_there_and_nothing_is_waited_for() {
        assert_eq!(starts(&Script("echo 'banner: up.' > \"$0\"; sleep 1000")), Ok(()));
    }

    /// The file is one that both ways of loading it understand.
    #[test]
    fn the_guest_is_a_kernel_with_a_direct_entry() {
        let image = Image::of_program(program());
        assert_eq!(image.direct_entry(), Some(ADDRESS as u32));
        let segments = image.segments();
        assert_eq!(segments.len(), 1);
        assert_eq!((segments[0].address, segments[0].size), (ADDRESS, MEMORY));
        // The table of its paging is behind its code, and zero.
        assert!(segments[0].bytes.len() < 0x1000);
    }
}
