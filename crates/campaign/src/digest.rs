//! Hashes of files that decide what comes of a run: the program, a guest's first program, a kernel.

use schedlab_boundary::file;
use schedlab_boundary::own::Partial;
use schedlab_model::hash::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Remembers hashes, so that a large program is not read for each command.
pub(crate) struct Digests {
    /// Where they are kept.
    file: PathBuf,
}

/// A hash, and how the file looked when it was made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    look: Look,
    sha256: String,
}

/// What changes when a file is written to or replaced.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Digests {
    /// Those that are kept in this folder.
    pub fn new(folder: &Path) -> Digests {
        Digests { file: folder.join("digests.json") }
    }

    /// The SHA-256 of a file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn of(&self, path: &Path) -> io::Result<String> {
        let metadata = fs::metadata(path)?;
        let look = Look {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            // The change time follows the content, and no program can set it back.
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        let kept = file::bytes(&self.file, file::RESULT_BYTES).ok();
        let mut known: BTreeMap<String, Known> =
            kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let key = path.display().to_string();
        if let Some(known) = known.get(&key).filter(|known| known.look == look) {
            return Ok(known.sha256.clone());
        }
        let sha256 = sha256(&file::bytes(path, file::OBJECT_BYTES)?);
        known.retain(|path, _| Path::new(path).exists());
        known.insert(key, Known { look, sha256: sha256.clone() });
        // Without it the file is read again the next time: nothing worse.
        let _ = write_whole(&self.file, &serde_json::to_vec(&known)?);
        Ok(sha256)
    }
}

/// Writes a file so that readers see it whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    Partial::keep(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_has_another_hash() {
        let folder = tempfile::tempdir().unwrap();
        let (digests, file) = (Digests::new(folder.path()), folder.path().join("f"));
        fs::write(&file, "abc").unwrap();
        let first = digests.of(&file).unwrap();
        assert_eq!(first, sha256(b"abc"));
        assert_eq!(digests.of(&file).unwrap(), first);
        fs::write(folder.path().join("g"), "abd").unwrap();
        fs::rename(folder.path().join("g"), &file).unwrap();
        assert_eq!(digests.of(&file).unwrap(), sha256(b"abd"));
        assert!(digests.of(&folder.path().join("none")).is_err());
    }
}
