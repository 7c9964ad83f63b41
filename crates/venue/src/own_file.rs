//! The file that this code was loaded from.

use std::path::PathBuf;
use std::{fs, io};

/// The program, or the library that a program has loaded: whatever file holds this function, as `/proc/self/maps` says.
///
/// # Errors
///
/// There is no `/proc`.
pub fn own_file() -> io::Result<PathBuf> {
    let here = own_file as *const () as u64;
    let maps = fs::read_to_string("/proc/self/maps")?;
    maps.lines().find_map(|line| file_at(line, here)).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The file of a line `from-to rights offset device inode file` where the address lies within.
fn file_at(line: &str, address: u64) -> Option<PathBuf> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let holds = (number(from)?..number(to)?).contains(&address);
    let file = rest.find('/').map(|at| &rest[at..]);
    file.filter(|_| holds).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_running_program_where_nothing_else_holds_the_code() {
        assert_eq!(own_file().unwrap(), std::env::current_exe().unwrap());
    }

    #[test]
    fn a_line_without_a_file_holds_none() {
        let line = "7f00-7f80 r-xp 00000000 fe:00 42        /opt/with space/lib.so";
        assert_eq!(file_at(line, 0x7f10), Some("/opt/with space/lib.so".into()));
        assert_eq!([file_at(line, 0x7f80), file_at("7f00-7f80 rw-p 0 00:00 0", 0x7f10)], [None, None]);
    }
}
