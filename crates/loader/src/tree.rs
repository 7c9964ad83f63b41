//! The files that a supervised program sees: those made for it, in a folder of ours, and the few real ones that it may
//! read. It can make files only where a machine has folders for that, and then they are in our folder too.

use crate::process::Errno;
use schedlab_boundary::own::Folder;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Where programs may write.
const WRITABLE: [&str; 3] = ["/run", "/tmp", "/dev/shm"];
/// Other names of places.
const ALIASES: [(&str, &str); 3] = [("/var/run", "/run"), ("/var/tmp", "/tmp"), ("/proc/thread-self", "/proc/self")];

/// Files made for a program, by the path at which it sees them.
#[derive(Clone, Debug, Default)]
pub struct Files(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Files {
    /// Adds a file.
    pub fn file(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        self.0.push((path.into(), Some(content.into())));
    }

    /// The text of a file.
    #[cfg(test)]
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let (_, content) = self.0.iter().find(|(at, _)| at == Path::new(path))?;
        std::str::from_utf8(content.as_deref()?).ok()
    }

    /// Adds a folder, with those that it is in.
    pub fn folder(&mut self, path: impl Into<PathBuf>) {
        self.0.push((path.into(), None));
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into our folder, whether something is there or not. `writable`: the program may make files there.
    Made { at: PathBuf, writable: bool },
    /// To a real file that it may read.
    Real(PathBuf),
    /// To something of its own process, by the rest of the path.
    Own(PathBuf),
}

/// All that a program can name.
pub struct Tree {
    root: Folder,
    real: BTreeSet<PathBuf>,
    own: [PathBuf; 2],
}

impl Tree {
    /// Makes the files. `real` are those that it may read as they are, `pid` the number by which it knows itself.
    pub fn new(files: &Files, real: impl IntoIterator<Item = PathBuf>, pid: u32) -> io::Result<Tree> {
        let root = Folder::new()?;
        for folder in WRITABLE {
            fs::create_dir_all(within(root.path(), Path::new(folder)))?;
        }
        for (path, content) in &files.0 {
            let at = within(root.path(), path);
            match content {
                None => fs::create_dir_all(at)?,
                Some(content) => {
                    fs::create_dir_all(at.parent().unwrap_or(root.path()))?;
                    fs::write(at, content)?;
                }
            }
        }
        let own = [PathBuf::from("/proc/self"), PathBuf::from(format!("/proc/{pid}"))];
        Ok(Tree { root, real: real.into_iter().map(|path| plain(&path)).collect(), own })
    }

    /// Where a whole path leads.
    pub fn place(&self, path: &Path) -> Place {
        let path = self.known(path);
        if self.real.contains(&path) {
            return Place::Real(path);
        }
        if let Some(rest) = self.own.iter().find_map(|own| path.strip_prefix(own).ok()) {
            return Place::Own(rest.to_path_buf());
        }
        let writable = WRITABLE.iter().any(|folder| path.starts_with(folder));
        Place::Made { at: within(self.root.path(), &path), writable }
    }

    /// A path without detours, by its first name.
    fn known(&self, path: &Path) -> PathBuf {
        let path = plain(path);
        for (other, name) in ALIASES {
            if let Ok(rest) = path.strip_prefix(other) {
                return Path::new(name).join(rest);
            }
        }
        path
    }

    /// The path by which the program knows a place of ours.
    pub fn seen(&self, at: &Path) -> Option<PathBuf> {
        at.strip_prefix(self.root.path()).ok().map(|rest| Path::new("/").join(rest))
    }

    /// What is in a folder of ours, in order.
    pub fn entries(&self, folder: &Path) -> Result<Vec<(OsString, bool)>, Errno> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            found.push((entry.file_name(), entry.file_type()?.is_dir()));
        }
        found.sort();
        Ok(found)
    }

    /// Replaces the content of a file of ours, or makes one.
    pub fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let at = within(self.root.path(), &plain(path));
        fs::create_dir_all(at.parent().unwrap_or(self.root.path()))?;
        fs::write(at, content)
    }
}

fn within(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// A whole path without `.`, `..` and double slashes, read as text: there are no links among what is made.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => _ = plain.pop(),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_what_was_made_and_to_nothing_else() {
        let mut files = Files::default();
        files.file("/sys/kernel/notes", "x");
        files.folder("/sys/devices/system/cpu/cpu0");
        let tree = Tree::new(&files, [PathBuf::from("/bin/true")], 1000).unwrap();
        let made = |path: &str| match tree.place(Path::new(path)) {
            Place::Made { at, writable } => (tree.seen(&at).unwrap(), at.exists(), writable),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(made("/sys//kernel/../kernel/notes"), ("/sys/kernel/notes".into(), true, false));
        assert_eq!(made("/var/run/scx/root"), ("/run/scx/root".into(), false, true));
        assert_eq!(made("/etc/passwd"), ("/etc/passwd".into(), false, false));
        assert_eq!(made("/../../etc/passwd"), ("/etc/passwd".into(), false, false));
        assert_eq!(tree.place(Path::new("/usr/../bin/true")), Place::Real("/bin/true".into()));
        assert_eq!(tree.place(Path::new("/proc/1000/maps")), Place::Own("maps".into()));
        assert_eq!(tree.place(Path::new("/proc/thread-self/maps")), Place::Own("maps".into()));
        let Place::Made { at, .. } = tree.place(Path::new("/sys/devices/system/cpu")) else { panic!() };
        assert_eq!(tree.entries(&at).unwrap(), [("cpu0".into(), true)]);
    }
}
