//! The shared libraries that a program needs, found as its loader finds them.

use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A program's loader and all libraries, by the path at which the program looks for them.
pub fn of(program: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let bytes = fs::read(program)?;
    if let Some(loader) = interpreter(&bytes) {
        found.insert(loader.clone(), fs::read(&loader)?);
    }
    let mut wanted = needed(&bytes)?;
    while let Some(name) = wanted.pop() {
        let Some(path) = place_of(&name) else {
            return Err(io::Error::other(format!("the library {name}, which the guest needs, is in no usual folder")));
        };
        let path = path.to_string_lossy().into_owned();
        if found.contains_key(&path) || found.keys().any(|known| known.ends_with(&format!("/{name}"))) {
            continue;
        }
        let library = fs::read(&path)?;
        wanted.extend(needed(&library)?);
        found.insert(path, library);
    }
    Ok(found)
}

/// A program without what only linkers and debuggers look at, which is most of it: what is behind the last segment, and
/// the table that leads there.
pub fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
    let Ok(file) = ElfFile64::<object::LittleEndian>::parse(&bytes[..]) else { return bytes };
    let ends = file.elf_program_headers().iter().map(|segment| {
        let (offset, size) = segment.file_range(object::LittleEndian);
        offset + size
    });
    let end = ends.max().unwrap_or(bytes.len() as u64) as usize;
    // e_shoff, then e_shnum and e_shstrndx.
    for range in [0x28..0x30, 0x3c..0x40] {
        bytes[range].fill(0);
    }
    bytes.truncate(end);
    bytes
}

/// Where loaders look on Debian, Fedora, Arch and their kin.
fn place_of(name: &str) -> Option<PathBuf> {
    let folders = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
    folders.into_iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

fn wrong(error: object::Error) -> io::Error {
    io::Error::other(format!("not a program of this machine: {error}"))
}

/// The names of the libraries that an object asks for.
fn needed(bytes: &[u8]) -> io::Result<Vec<String>> {
    let file = ElfFile64::<object::Endianness>::parse(bytes).map_err(wrong)?;
    let (endian, header) = (file.endian(), file.elf_header());
    let sections = header.sections(endian, bytes).map_err(wrong)?;
    let Some((entries, link)) = sections.dynamic(endian, bytes).map_err(wrong)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, bytes, link).map_err(wrong)?;
    let mut names = Vec::new();
    for entry in entries {
        if entry.tag(endian) == object::elf::DT_NEEDED {
            let name = entry.string(endian, strings).map_err(wrong)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

/// The loader that the kernel is to start.
fn interpreter(bytes: &[u8]) -> Option<String> {
    let file = ElfFile64::<object::Endianness>::parse(bytes).ok()?;
    let data = file.section_by_name(".interp")?.data().ok()?;
    Some(String::from_utf8_lossy(data).trim_end_matches('\0').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_c_library_and_a_loader() {
        let found = of(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.keys().any(|path| path.ends_with("/libc.so.6")), "{:?}", found.keys());
        assert!(found.keys().any(|path| path.contains("/ld-linux")), "{:?}", found.keys());
        assert!(found.values().all(|bytes| bytes.starts_with(b"\x7fELF")));
    }
}
