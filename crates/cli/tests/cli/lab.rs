//! A folder of its own for each test, and the program in it.

use crate::skip::skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A folder that goes away with it.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// What the program did.
#[derive(Debug, PartialEq, Eq)]
pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// One CPU and two tasks that compute; short.
pub const SMALL: &str = r#"
name = "small"
about = "Two tasks take turns."

[machine]
cpus = 1

[[task]]
name = "worker"
count = 2
loop = [{ compute = "30ms" }, { sleep = "exp(5ms)" }]

[run]
duration = "2s"
"#;

/// Why this process cannot record; nothing where it can. A recorder is started to know.
pub fn lack_of_recorder() -> Option<String> {
    static LACK: OnceLock<Option<String>> = OnceLock::new();
    LACK.get_or_init(|| Some(schedlab_kernel::Recorder::probe().err()?.to_string())).clone()
}

/// Whether a command did all that it was asked for. On a machine that others use a run of its kernel may be inconclusive,
/// which has an exit code of its own and says nothing about the program.
pub fn is_done(code: Option<i32>, command: &str) -> bool {
    // `overhead` measures this machine where no venue is named.
    let is_host = command.contains("host") || (command.contains("overhead") && !command.contains("--venue"));
    code == Some(0) || (code == Some(3) && is_host)
}

/// Whether a command that measures this machine refuses to, as others use it: that says nothing about the program either.
fn is_too_noisy(errors: &str) -> bool {
    ["schedlab: this machine is too noisy to calibrate ", "` does not grow with its work: "]
        .iter()
        .any(|refusal| errors.contains(refusal))
}

/// Whether this machine can run guests with these kernels.
pub fn may_virtualize(kernels: &[&str]) -> bool {
    let engines: [&dyn schedlab_vm::engine::Engine; 2] =
        [&schedlab_vm::engine::Qemu::default(), &schedlab_vm::engine::Bochs::default()];
    let lack = schedlab_vm::lack(&engines, kernels);
    lack.iter().for_each(|lack| skip(lack));
    lack.is_none()
}

/// Whether a process has a handler for SIGINT.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (libc::SIGINT - 1) & 1 == 1)
}

impl Lab {
    /// Whether a process writes a trace into this folder. Its file has no name yet, as the one that it opens before, to see
    /// whether it could: that is closed again before it catches Ctrl-C.
    pub fn is_tracing(&self, pid: u32) -> bool {
        catches_interrupts(pid) && self.has_nameless_file(pid)
    }

    /// Whether a process has a file open in this folder that has no name.
    fn has_nameless_file(&self, pid: u32) -> bool {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        let is_nameless =
            |path: PathBuf| path.starts_with(self.folder.path()) && path.to_string_lossy().ends_with("(deleted)");
        targets.any(is_nameless)
    }

    /// An empty folder.
    pub fn new() -> Lab {
        Lab { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with the scenario `small.toml`.
    pub fn with_small() -> Lab {
        let lab = Lab::new();
        lab.write("small.toml", SMALL);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Copies a policy from the tests' own.
    pub fn policy(&self, name: &str) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/policies").join(name);
        fs::copy(source, self.path(name)).unwrap();
    }

    /// The names of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program, not yet started. Compiled policies are kept in the build folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("RUST_BACKTRACE");
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Output { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What a line for a shell prints, which finds the program first. It does all that it is asked for.
    pub fn shell(&self, line: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_schedlab")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.path(""))
            .env("PATH", path)
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(is_done(output.status.code(), line) || is_too_noisy(&errors), "{line}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the program prints when all is well.
    pub fn out(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.code, Some(0), "{args:?}: {}", output.err);
        output.out
    }

    /// Whether a value is as its schema says, with no other key in it.
    pub fn assert_described(&self, name: &str, value: &serde_json::Value) {
        let mut schema = self.json(&["schema", name]);
        refuse_unknown(&mut schema);
        let validator = jsonschema::validator_for(&schema).unwrap();
        validator
            .validate(value)
            .unwrap_or_else(|error| panic!("{name}: {}: {error}\n{value:#}", error.instance_path()));
    }

    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.out(args)).unwrap()
    }
}

/// Objects of a schema have no keys but those that it describes.
fn refuse_unknown(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Array(list) => list.iter_mut().for_each(refuse_unknown),
        serde_json::Value::Object(object) => {
            object.values_mut().for_each(refuse_unknown);
            if object.get("properties").is_some_and(serde_json::Value::is_object) {
                object.entry("additionalProperties").or_insert(false.into());
            }
        }
        _ => {}
    }
}
