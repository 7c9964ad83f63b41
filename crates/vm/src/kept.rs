//! What finished guests sent, kept so that the same guest need not run twice.
//!
//! A guest is decided by what its emulator is handed: kernel, files (with the job in them), settings, seed. The name of what
//! is kept is a hash of exactly that, taken from the emulator's command and the files that were written for it. What is made
//! of the frames is no part of the name: after a change of the metrics or of the simulator the guest is the same one.

use crate::engine::{Engine, Guest};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use memchr::memmem;
use schedlab_boundary::own::Partial;
use schedlab_model::hash::sha256;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

/// What is kept, and how it is named. Another number makes every guest run again.
const FORM: &str = "schedlab.guest/1";
const EXTENSION: &str = "frames.gz";

/// More than this is not kept: those that were not asked for the longest give way.
pub const MOST_BYTES: u64 = 4 << 30;

/// A folder of what guests sent. Several processes may use it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptGuests {
    folder: PathBuf,
    most_bytes: u64,
    forgetful: bool,
}

impl KeptGuests {
    /// Those in this folder, which is made when there is something to keep.
    pub fn new(folder: PathBuf) -> KeptGuests {
        KeptGuests { folder, most_bytes: MOST_BYTES, forgetful: false }
    }

    /// The same that keeps what is new and does not know what was.
    pub fn forgetful(self) -> KeptGuests {
        KeptGuests { forgetful: true, ..self }
    }

    /// What the guest of this name sent.
    pub(crate) fn find(&self, name: &str) -> Option<Vec<u8>> {
        if self.forgetful {
            return None;
        }
        let path = self.path(name);
        let file = File::options().read(true).append(true).open(&path).ok()?;
        // The time says when it was last asked for. Without it the guest is forgotten sooner: nothing worse.
        let _ = file.set_modified(SystemTime::now());
        let mut frames = Vec::new();
        GzDecoder::new(&file).read_to_end(&mut frames).ok()?;
        Some(frames)
    }

    /// Keeps what a guest sent; readers see it whole or not at all.
    pub(crate) fn keep(&self, name: &str, frames: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let (partial, file) = Partial::create(&self.path(name))?;
        let mut packed = GzEncoder::new(file, Compression::default());
        packed.write_all(frames)?;
        packed.finish()?;
        partial.commit()?;
        self.make_room()
    }

    /// Forgets the guests least recently asked for, until the others fit.
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
        self.folder.join(format!("{name}.{EXTENSION}"))
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
    use std::path::Path;
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
        let kept = KeptGuests::new(folder.path().join("guests"));
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
    fn the_one_that_nobody_asked_for_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        // Bytes that no compression makes fewer.
        let frames: Vec<u8> = sha256(b"x").into_bytes();
        let kept = KeptGuests { most_bytes: 150, ..KeptGuests::new(folder.path().into()) };
        for (name, age) in [("a", 3), ("b", 2)] {
            kept.keep(name, &frames).unwrap();
            let file = File::options().append(true).open(kept.path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        assert!(kept.find("a").is_some());
        kept.keep("c", &frames).unwrap();
        assert_eq!(names(folder.path()), ["a.frames.gz", "c.frames.gz"]);
    }

    #[test]
    fn folders_are_left_out_of_names() {
        assert_eq!(without(b"file:/f/x and /f/y", b"/f"), b"file:/x and /y");
        assert_eq!(without(b"nothing", b"/f"), b"nothing");
    }
}
