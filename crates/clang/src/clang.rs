//! Finds clang and runs it. Shared by the build scripts, which compile what is shipped, and the program, which
//! compiles a user's: with one compiler both make the same bytes from the same source.

use crate::limits;
use crate::strip::strip;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The oldest clang whose BPF back end knows what sched_ext needs.
pub const OLDEST: u32 = 19;

/// Where the compiler is to be looked for, the pinned version first, so that machines which have several agree.
const CANDIDATES: [&str; 6] = ["clang-19", "clang-20", "clang-21", "clang-22", "clang-23", "clang"];

/// The message for a user without a compiler.
pub const REMEDY: &str = "install the package clang-19 (or newer), or set CLANG to the compiler's path";

/// A compiler that was found.
#[derive(Clone, Debug)]
pub struct Clang {
    /// The command.
    pub command: OsString,
    /// The first line of `--version`.
    pub version: String,
}

impl Clang {
    /// The compiler that the environment variable `CLANG` names, else the first good one of the path.
    pub fn find() -> Result<Clang, String> {
        if let Some(command) = std::env::var_os("CLANG") {
            return Clang::probe(&command).map_err(|why| format!("CLANG={}: {why}", command.to_string_lossy()));
        }
        CANDIDATES
            .iter()
            .find_map(|name| Clang::probe(&OsString::from(name)).ok())
            .ok_or_else(|| format!("no clang {OLDEST} or newer on the path; {REMEDY}"))
    }

    fn probe(command: &OsString) -> Result<Clang, String> {
        let output = Command::new(command).arg("--version").output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_string();
        match major(&version) {
            Some(major) if major >= OLDEST => Ok(Clang { command: command.clone(), version }),
            Some(major) => Err(format!("clang {major} is too old, {OLDEST} is the oldest that works")),
            None => Err(format!("not a clang: `--version` says `{version}`")),
        }
    }

    /// The compiler's file, for a build script that is to run again where that is another: a command without a folder is looked for
    /// where the shell would find it.
    pub fn file(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|folder| folder.join(&self.command)).find(|file| file.is_file())
    }

    /// Runs the compiler on `source` with upstream's and our headers from `headers`, `-c` or `-E` being `mode`. The
    /// working directory is the source's own and every path is mapped, so that no place of this machine enters the
    /// output.
    pub fn run(&self, mode: &str, source: &Path, headers: &Path, output: &Path) -> std::io::Result<Output> {
        let name = source.file_name().unwrap_or(source.as_os_str());
        let directory = source.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut command = Command::new(&self.command);
        command.current_dir(directory).args(FLAGS);
        if let Some(own) = own_headers(source) {
            command.arg(joined("-ffile-prefix-map=", &own, "=include")).arg(joined("-I", &own, ""));
        }
        command.arg(joined("-ffile-prefix-map=", headers, "=include"));
        command.arg(joined("-I", headers, "")).arg(joined("-I", headers, "/bpf-compat"));
        // Where Debian keeps <asm/...>: found when a scheduler includes a header of the C library.
        command.args(["-idirafter", "/usr/include/x86_64-linux-gnu"]);
        // What it leaves when it crashes goes with the folder of its output.
        if let Some(folder) = output.parent() {
            command.env("TMPDIR", folder);
        }
        limits::output(command.arg(mode).arg(name).arg("-o").arg(output))
    }

    /// Compiles `source` to the stripped `object`: the compiler's warnings, or why there is no object.
    pub fn compile(&self, source: &Path, headers: &Path, object: &Path) -> Result<String, String> {
        let output = self.run("-c", source, headers, object).map_err(|e| format!("cannot run clang: {e}"))?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(format!("{} does not compile:\n{messages}", source.display()));
        }
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", object.display());
        let bytes = fs::read(object).map_err(|e| failed(&e))?;
        let stripped = strip(&bytes).map_err(|e| failed(&e))?;
        fs::write(object, stripped).map_err(|e| failed(&e))?;
        Ok(messages)
    }
}

/// One architecture's kernel types for all: field offsets are relocated at load time, and the same source is the same
/// object on every machine. The suppressed warning is about libbpf's own `bpf_for`.
const FLAGS: [&str; 11] = [
    "-g",
    "-O2",
    "-Wall",
    "-Wno-compare-distinct-pointer-types",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-D__TARGET_ARCH_x86",
    "-D__SCX_TARGET_ARCH_x86",
    "-ffile-compilation-dir=.",
    "-fno-addrsig",
];

/// How far above its source a scheduler's own headers are looked for: sched-ext/scx has five folders between them.
const FOLDERS_ABOVE: usize = 6;

/// The headers that a scheduler brings along: the nearest folder `include` above its source of which a folder has headers for
/// BPF programs, as upstream's `scx/common.bpf.h`. They come before ours, since a scheduler is written for one state of them.
fn own_headers(source: &Path) -> Option<PathBuf> {
    let source = source.canonicalize().ok()?;
    let folders = source.ancestors().skip(1).take(FOLDERS_ABOVE).map(|folder| folder.join("include"));
    folders.into_iter().find(|include| entries(include).any(|folder| entries(&folder).any(|file| is_bpf_header(&file))))
}

/// What is in a folder; nothing in what is none.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

fn is_bpf_header(file: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().ends_with(b".bpf.h")
}

fn joined(before: &str, path: &Path, after: &str) -> OsString {
    let mut text = OsString::from(before);
    text.push(path);
    text.push(after);
    text
}

/// `19` from `Debian clang version 19.1.7 (3~deb12u1)`.
fn major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("clang version ")?;
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version_as_vendors_write_it() {
        assert_eq!(major("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
        assert_eq!(major("clang version 22.0.0git"), Some(22));
        assert_eq!(major("gcc (Debian) 12.2.0"), None);
    }

    #[test]
    fn a_command_is_a_file_of_the_path() {
        let file = |command: &str| Clang { command: command.into(), version: String::new() }.file();
        assert!(file("sh").is_some_and(|file| file.ends_with("sh") && file.is_absolute()));
        assert_eq!(file("/bin/sh"), Some("/bin/sh".into()), "a path is the file itself");
        assert_eq!(file("no-such-compiler"), None);
    }

    #[test]
    fn a_compiler_that_is_too_old_or_no_compiler_is_named() {
        let error = Clang::probe(&OsString::from("no-such-compiler")).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
        let error = Clang::probe(&OsString::from("echo")).unwrap_err();
        assert!(error.contains("not a clang"), "{error}");
    }
}
