//! The headers that a policy includes, carried inside of the program and unpacked into the cache once.

use crate::cache;
use schedlab_model::hash::sha256;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/headers.tar.zst"));

/// The include folder under `cache`, named by the hash of what it holds; unpacked when it is not there.
pub fn folder(cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(format!("headers-{}", &identity()[..16]));
    cache::make(&folder, unpack)?;
    Ok(folder)
}

/// The hash of all headers.
pub fn identity() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| sha256(ARCHIVE))
}

fn archive() -> io::Result<tar::Archive<impl Read>> {
    ruzstd::decoding::StreamingDecoder::new(ARCHIVE).map(tar::Archive::new).map_err(io::Error::other)
}

fn unpack(folder: &Path) -> io::Result<()> {
    let mut archive = archive()?;
    archive.set_preserve_mtime(false);
    archive.unpack(folder).map_err(with_cause)
}

/// The texts of the headers in some folders of the archive, by the path with which they are included.
pub fn texts(folders: &[&str]) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in archive()?.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if folders.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            texts.insert(path, text);
        }
    }
    Ok(texts)
}

/// The archive's reader says what it tried, and leaves why it failed to the cause of its error.
fn with_cause(error: io::Error) -> io::Error {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match cause.to_string() {
        why if error.to_string().contains(&why) => error,
        why => io::Error::new(error.kind(), format!("{error}: {why}")),
    }
}

/// A cache for tests, in which the headers that the build has unpacked are in for the archive's.
#[cfg(test)]
pub fn test_cache() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let link = cache.path().join(format!("headers-{}", &identity()[..16]));
    std::os::unix::fs::symlink(concat!(env!("OUT_DIR"), "/headers"), link).unwrap();
    cache
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_is_told_with_the_cause() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = unpack(&file.join("below")).expect_err("a file is not a folder").to_string();
        assert!(error.contains("failed to create") && error.ends_with("Not a directory (os error 20)"), "{error}");
        assert_eq!(with_cause(io::Error::other("plain")).to_string(), "plain");
    }

    #[test]
    fn what_a_policy_includes_is_there() {
        let cache = tempfile::tempdir().unwrap();
        let headers = folder(cache.path()).unwrap();
        for name in ["vmlinux.h", "scx/common.bpf.h", "bpf/bpf_helpers.h", "schedlab/common.bpf.h", "lib/cgroup.h"] {
            assert!(headers.join(name).is_file(), "{name}");
        }
        assert_eq!(folder(cache.path()).unwrap(), headers);
        let built = std::fs::read(concat!(env!("OUT_DIR"), "/headers/vmlinux.h")).unwrap();
        assert!(std::fs::read(headers.join("vmlinux.h")).unwrap() == built);
    }
}
