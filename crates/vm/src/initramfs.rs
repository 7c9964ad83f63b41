//! The files of a guest, as the archive that a kernel unpacks into its memory: `cpio` in the form "newc".
//!
//! The same files give the same bytes: no times, no owners, numbers in the order of the names.

use std::collections::{BTreeMap, BTreeSet};

/// Files by path, and the folders that they need.
#[derive(Clone, Debug, Default)]
pub struct Initramfs {
    files: BTreeMap<String, (u32, Vec<u8>)>,
    folders: BTreeSet<String>,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DATA: u32 = 0o100_644;

impl Initramfs {
    /// Adds a file that can be executed. The path begins with a slash.
    pub fn program(&mut self, path: &str, content: Vec<u8>) {
        self.files.insert(path.trim_start_matches('/').into(), (PROGRAM, content));
    }

    /// Adds any other file.
    pub fn data(&mut self, path: &str, content: Vec<u8>) {
        self.files.insert(path.trim_start_matches('/').into(), (DATA, content));
    }

    /// Adds a folder, which may stay empty.
    pub fn folder(&mut self, path: &str) {
        self.folders.insert(path.trim_matches('/').into());
    }

    /// The archive.
    pub fn archive(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number = 0;
        for folder in self.folders() {
            entry(&mut bytes, &mut number, &folder, FOLDER, &[]);
        }
        for (path, (mode, content)) in &self.files {
            entry(&mut bytes, &mut number, path, *mode, content);
        }
        entry(&mut bytes, &mut number, "TRAILER!!!", 0, &[]);
        bytes
    }

    /// Every folder above a file, parents first, and those onto which a guest mounts.
    fn folders(&self) -> BTreeSet<String> {
        let mounts = ["dev", "proc", "sys", "tmp"].map(String::from);
        let above = |path: &str| path.match_indices('/').map(|(at, _)| path[..at].to_string()).collect::<Vec<_>>();
        let own = self.folders.iter().filter(|path| !path.is_empty());
        let own = own.flat_map(|path| above(path).into_iter().chain([path.clone()]));
        mounts.into_iter().chain(self.files.keys().flat_map(|path| above(path))).chain(own).collect()
    }
}

/// One entry: a head of hexadecimal numbers, the name with a zero behind it, the content, both up to a multiple of four.
fn entry(bytes: &mut Vec<u8>, number: &mut u32, name: &str, mode: u32, content: &[u8]) {
    *number += 1;
    let links = if mode == FOLDER { 2 } else { 1 };
    let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
    bytes.extend_from_slice(b"070701");
    for field in [*number, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0] {
        bytes.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend_from_slice(content);
    pad(bytes);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel's own reader would find: name, mode, content.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |n: usize| {
                u32::from_str_radix(std::str::from_utf8(&bytes[6 + 8 * n..14 + 8 * n]).unwrap(), 16).unwrap()
            };
            let (mode, size, name_size) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(bytes[110..110 + name_size - 1].to_vec()).unwrap();
            let content_at = (110 + name_size).next_multiple_of(4);
            let content = bytes[content_at..content_at + size].to_vec();
            if name == "TRAILER!!!" {
                return entries;
            }
            entries.push((name, mode, content));
            bytes = &bytes[(content_at + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn files_come_back_behind_their_folders() {
        let mut files = Initramfs::default();
        files.program("/init", b"run".to_vec());
        files.data("/lib/x86/libc.so", b"library".to_vec());
        files.folder("/srv/data");
        files.folder("/");
        let entries = read(&files.archive());
        let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            ["dev", "lib", "lib/x86", "proc", "srv", "srv/data", "sys", "tmp", "init", "lib/x86/libc.so"]
        );
        assert_eq!(entries[8], ("init".into(), PROGRAM, b"run".to_vec()));
        assert_eq!(entries[9].2, b"library");
    }

    #[test]
    fn the_order_of_adding_does_not_matter() {
        let (mut one, mut other) = (Initramfs::default(), Initramfs::default());
        one.data("/a", vec![1]);
        one.data("/b", vec![2]);
        other.data("/b", vec![2]);
        other.data("/a", vec![1]);
        assert_eq!(one.archive(), other.archive());
        assert!(one.archive().len().is_multiple_of(4));
    }
}
