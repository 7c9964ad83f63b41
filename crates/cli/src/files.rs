//! Files that a command writes in addition to its output. They are checked before anything runs, as far as possible;
//! what fails afterwards does not cost the output.

use crate::failure::Failure;
use schedlab_boundary::FileName;
use schedlab_trace::{Partial, Writer};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Whether these can be written, each to a file of its own.
pub fn check<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let mut known: Vec<PathBuf> = Vec::new();
    for file in files {
        Partial::check(file).map_err(|error| Failure::Input(unwritten(file, &error)))?;
        let place = place(file);
        if known.contains(&place) {
            return Err(Failure::Input(format!("{} is named twice: name another file", file.display())));
        }
        known.push(place);
    }
    Ok(())
}

/// A file that may not be there yet, by its name in its folder, however it is written.
fn place(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().map_or_else(|_| file.into(), |folder| folder.join(file.file_name().unwrap_or_default()))
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
    fn two_files_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        assert!(check([a.as_path(), b.as_path()]).is_ok());
        let also_a = folder.path().join("./a");
        for again in [&a, &also_a] {
            assert!(matches!(check([a.as_path(), b.as_path(), again.as_path()]), Err(Failure::Input(_))));
        }
    }
}
