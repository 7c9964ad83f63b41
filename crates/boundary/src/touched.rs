//! Which files a command or a call reads, and which it writes: none replaces what it reads.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that a command or a call names.
#[derive(Default)]
pub struct Touched {
    /// What each is, and where.
    read: Vec<(&'static str, PathBuf)>,
    written: Vec<PathBuf>,
}

impl Touched {
    /// Files that are read; `what` says in a refusal what they are.
    #[must_use]
    pub fn reads(mut self, what: &'static str, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Touched {
        self.read.extend(files.into_iter().map(|file| (what, file.as_ref().into())));
        self
    }

    /// Files that are written.
    #[must_use]
    pub fn writes(mut self, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Touched {
        self.written.extend(files.into_iter().map(|file| file.as_ref().into()));
        self
    }

    /// Whether each file that is to be written is another one than those that are read, under any name, and than the
    /// others that are written.
    ///
    /// # Errors
    ///
    /// A line that names the file.
    pub fn check(&self) -> Result<(), String> {
        for (index, file) in self.written.iter().enumerate() {
            let there = identity(file);
            let replaced = self.read.iter().find(|(_, read)| there.is_some() && identity(read) == there);
            if let Some((what, _)) = replaced {
                let name = file.display();
                return Err(format!("{name}: this would replace {what}, which the command reads; name another file"));
            }
            if self.written[..index].iter().any(|other| place(other) == place(file)) {
                return Err(format!("{} is named twice: name another file", file.display()));
            }
        }
        Ok(())
    }
}

/// What a path leads to, also through links; none where there is no file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((data.dev(), data.ino()))
}

/// A file that may not be there yet, by its name in its folder, however it is written.
fn place(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().map_or_else(|_| file.into(), |folder| folder.join(file.file_name().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_that_is_read_is_replaced_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        symlink("a", at("link")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        let touched = |name: &str| Touched::default().reads("the trace", [at("a")]).writes([at(name)]);
        for name in ["a", "./a", "link", "hard"] {
            let why = touched(name).check().unwrap_err();
            assert!(
                why.ends_with(": this would replace the trace, which the command reads; name another file"),
                "{why}"
            );
        }
        for name in ["other", "new"] {
            assert_eq!(touched(name).check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn two_files_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        assert_eq!(Touched::default().writes([&a, &b]).check(), Ok(()));
        for again in [&a, &folder.path().join("./a")] {
            let why = Touched::default().writes([&a, &b, again]).check().unwrap_err();
            assert!(why.ends_with("is named twice: name another file"), "{why}");
        }
    }
}
