//! Files that a command writes in addition to its output. They are checked before anything runs, as far as possible;
//! what fails afterwards does not cost the output.

use crate::failure::Failure;
use schedlab_boundary::{FileName, file};
use schedlab_trace::{Partial, Writer};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Whether these can be written.
pub fn check<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let mut files = files.into_iter();
    files.try_for_each(|file| Partial::check(file).map_err(|error| Failure::Input(unwritten(file, &error))))
}

/// What a file has that a command keeps from call to call; nothing where there is none yet, or an empty one. A file in
/// which `parsed` finds nothing is not of this command.
pub fn check_kept<T>(
    file: &Path,
    command: &str,
    parsed: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<T>, Failure> {
    check([file])?;
    match file::bytes(file, file::RESULT_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Input(format!("{}: the file cannot be read: {error}", file.display()))),
        Ok(bytes) if bytes.is_empty() => Ok(None),
        Ok(bytes) => parsed(&bytes).map(Some).ok_or_else(|| {
            let name = file.display();
            Failure::Input(format!(
                "{name}: `{command}` did not write this file and would replace it; name another file"
            ))
        }),
    }
}

/// Whether these trace files can be written.
pub fn check_traces(traces: &[impl AsRef<Path>]) -> Result<(), Failure> {
    traces.iter().try_for_each(|trace| Writer::check(trace.as_ref()).map_err(|error| Failure::Input(error.to_string())))
}

/// Whether files can be written into this folder, which is made when they are.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    let there = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    let there = there.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if there.is_file() {
        return Err(Failure::Input(unwritten(folder, &io::ErrorKind::NotADirectory.into())));
    }
    Partial::check(&there.join("file")).map_err(|error| Failure::Input(unwritten(folder, &error)))
}

/// Writes a file into a folder, which is made if need be; the file appears whole or not at all.
/// Its name cannot leave the folder; the extension is ours.
pub fn write_in(folder: &Path, name: &FileName, extension: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::Failed(unwritten(folder, &error)))?;
    let file = folder.join(name.with(extension));
    write(&file, bytes)?;
    Ok(file)
}

/// Writes a file, whole or not at all.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Partial::write(file, bytes).map_err(|error| Failure::Failed(unwritten(file, &error)))
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_made_later_and_stands_in_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        assert!(check_folder(&at("new/below")).is_ok() && check_folder(folder.path()).is_ok());
        for wrong in ["file", "file/below"] {
            let Err(Failure::Input(why)) = check_folder(&at(wrong)) else { panic!("{wrong}") };
            assert!(why.starts_with("cannot write ") && why.contains("/file"), "{why}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write_in(&at("new/below"), &FileName::check("page").unwrap(), "", b"text").unwrap();
        assert_eq!(fs::read(at("new/below/page")).unwrap(), b"text");
    }

    #[test]
    fn what_a_command_keeps_replaces_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let kept =
            |name: &str| check_kept(&at(name), "schedlab count", |bytes| std::str::from_utf8(bytes).ok()?.parse().ok());
        fs::write(at("empty"), "").unwrap();
        fs::write(at("ours"), "5").unwrap();
        fs::write(at("notes"), "mine").unwrap();
        assert!(matches!((kept("none"), kept("empty"), kept("ours")), (Ok(None), Ok(None), Ok(Some(5)))));
        let Err(Failure::Input(why)) = kept("notes") else { panic!("notes are replaced") };
        assert!(
            why.ends_with("/notes: `schedlab count` did not write this file and would replace it; name another file"),
            "{why}"
        );
    }
}
