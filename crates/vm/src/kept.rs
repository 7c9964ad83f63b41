//! What finished guests sent, and machines that are set up, kept so that the same guest need not run twice and boots once for many runs.
//!
//! A guest is decided by what its emulator is handed: kernel, files, settings, seed, work. The name of what is kept is a hash of exactly
//! that, taken from the emulator's command and the files that were written for it. What is made of the frames is no part of the name:
//! after a change of the metrics or of the simulator the guest is the same one.

use crate::engine::{Engine, Guest};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use memchr::memmem;
use schedlab_boundary::own::Partial;
use schedlab_model::hash::sha256;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What is kept, and how it is named. Another number makes every guest run again.
const FORM: &str = "schedlab.guest/2";

/// More than this is not kept, neither of what guests sent nor of machines: those that were not asked for the longest give way.
pub const MOST_BYTES: u64 = 4 << 30;

/// Two folders, of what guests sent and of machines. Several processes may use them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptGuests {
    frames: Shelf,
    states: Shelf,
    memory: Memory,
}

/// What is known of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    All,
    /// Nothing; but all is kept.
    None,
    /// Machines. What guests sent is not kept either.
    States,
}

impl KeptGuests {
    /// Those in this folder, which is made when there is something to keep.
    pub fn new(folder: &Path) -> KeptGuests {
        let shelf = |name, extension| Shelf { folder: folder.join(name), extension, most_bytes: MOST_BYTES };
        KeptGuests { frames: shelf("guests", "frames.gz"), states: shelf("states", "qcow2"), memory: Memory::All }
    }

    /// The same that keeps what is new and does not know what was.
    pub fn forgetful(self) -> KeptGuests {
        KeptGuests { memory: Memory::None, ..self }
    }

    /// The same that has every guest run, and no machine boot twice.
    pub fn of_states(self) -> KeptGuests {
        KeptGuests { memory: Memory::States, ..self }
    }

    /// What the guest of this name sent.
    pub(crate) fn find(&self, name: &str) -> Option<Vec<u8>> {
        if self.memory != Memory::All {
            return None;
        }
        let file = File::open(self.frames.find(name)?).ok()?;
        let mut frames = Vec::new();
        GzDecoder::new(&file).read_to_end(&mut frames).ok()?;
        Some(frames)
    }

    /// Keeps what a guest sent.
    pub(crate) fn keep(&self, name: &str, frames: &[u8]) -> io::Result<()> {
        if self.memory == Memory::States {
            return Ok(());
        }
        self.frames.keep(name, |file| {
            let mut packed = GzEncoder::new(file, Compression::default());
            packed.write_all(frames)?;
            packed.finish().map(drop)
        })
    }

    /// Where the machine of this name is.
    pub(crate) fn state(&self, name: &str) -> Option<PathBuf> {
        self.states.find(name).filter(|_| self.memory != Memory::None)
    }

    /// Keeps a machine.
    pub(crate) fn keep_state(&self, name: &str, state: &Path) -> io::Result<()> {
        self.states.keep(name, |mut file| io::copy(&mut File::open(state)?, &mut file).map(drop))
    }
}

/// A folder of files of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shelf {
    folder: PathBuf,
    extension: &'static str,
    most_bytes: u64,
}

impl Shelf {
    /// The file of this name, which has been asked for now.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        let file = File::options().read(true).append(true).open(&path).ok()?;
        // Without the time it is forgotten sooner: nothing worse.
        let _ = file.set_modified(SystemTime::now());
        Some(path)
    }

    /// Keeps what `write` writes; readers see it whole or not at all.
    fn keep(&self, name: &str, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let (partial, file) = Partial::create(&self.path(name))?;
        write(file)?;
        partial.commit()?;
        self.make_room()
    }

    /// Forgets the files least recently asked for, until the others fit.
    fn make_room(&self) -> io::Result<()> {
        let mut known = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            // Another process may have removed it meanwhile.
            let Ok(about) = entry.metadata() else { continue };
            known.push((about.modified()?, about.len(), entry.path()));
        }
        known.sort();
        let mut bytes: u64 = known.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in known {
            if bytes <= self.most_bytes {
                break;
            }
            let _ = fs::remove_file(path);
            bytes -= size;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{}", self.extension))
    }
}

/// The name of a guest: a hash of the emulator and of all that it is handed. The guest's folder, which is another each time,
/// is left out wherever it is mentioned.
pub(crate) fn name(engine: &dyn Engine, version: &str, guest: &Guest, command: &Command) -> io::Result<String> {
    let folder = guest.folder.as_os_str().as_encoded_bytes();
    let mut told = vec![FORM.to_string(), format!("{engine:?}"), version.into()];
    told.push(format!("{} CPUs, seed {}", guest.cpus, guest.seed));
    let words = [command.get_program()].into_iter().chain(command.get_args());
    told.extend(words.map(|word| sha256(&without(word.as_encoded_bytes(), folder))));
    let mut files = fs::read_dir(guest.folder)?.collect::<io::Result<Vec<_>>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let content = sha256(&without(&fs::read(file.path())?, folder));
        told.push(format!("{:?} {content}", file.file_name()));
    }
    Ok(sha256(told.join("\n").as_bytes()))
}

/// Bytes without those of the folder's name.
fn without(bytes: &[u8], folder: &[u8]) -> Vec<u8> {
    let mut rest = 0;
    let mut left = Vec::with_capacity(bytes.len());
    for at in memmem::find_iter(bytes, folder) {
        left.extend_from_slice(&bytes[rest..at]);
        rest = at + folder.len();
    }
    left.extend_from_slice(&bytes[rest..]);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_sent_comes_back_unless_nobody_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptGuests::new(folder.path());
        let frames = b"SLG1 and more ".repeat(1000);
        assert_eq!(kept.find("a"), None);
        kept.keep("a", &frames).unwrap();
        assert_eq!(kept.find("a").as_ref(), Some(&frames));
        assert_eq!(kept.clone().forgetful().find("a"), None);
        assert_eq!(names(&folder.path().join("guests")), ["a.frames.gz"]);
        fs::write(folder.path().join("guests/a.frames.gz"), b"half").unwrap();
        assert_eq!(kept.find("a"), None, "what is damaged is not there");
    }

    #[test]
    fn machines_are_kept_apart_from_what_guests_sent() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptGuests::new(folder.path());
        let state = folder.path().join("state");
        fs::write(&state, b"machine").unwrap();
        kept.keep_state("a", &state).unwrap();
        assert_eq!(fs::read(kept.state("a").unwrap()).unwrap(), b"machine");
        assert_eq!((kept.state("b"), kept.find("a")), (None, None));
        assert_eq!(kept.clone().forgetful().state("a"), None);
        let states = kept.of_states();
        states.keep("a", b"frames").unwrap();
        assert!(states.state("a").is_some());
        assert!(!folder.path().join("guests").exists(), "what guests sent is not kept");
    }

    #[test]
    fn the_one_that_nobody_asked_for_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        // Bytes that no compression makes fewer.
        let frames: Vec<u8> = sha256(b"x").into_bytes();
        let mut kept = KeptGuests::new(folder.path());
        kept.frames.most_bytes = 150;
        for (name, age) in [("a", 3), ("b", 2)] {
            kept.keep(name, &frames).unwrap();
            let file = File::options().append(true).open(kept.frames.path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        assert!(kept.find("a").is_some());
        kept.keep("c", &frames).unwrap();
        assert_eq!(names(&folder.path().join("guests")), ["a.frames.gz", "c.frames.gz"]);
    }

    #[test]
    fn folders_are_left_out_of_names() {
        assert_eq!(without(b"file:/f/x and /f/y", b"/f"), b"file:/x and /y");
        assert_eq!(without(b"nothing", b"/f"), b"nothing");
    }
}
