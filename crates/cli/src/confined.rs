//! A command in a process of its own that can do little: this program once more, within limits, with its output read here.

use crate::failure::Failure;
use schedlab_boundary::confine::{Confined, Confinement};
use schedlab_boundary::own::Folder;
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_venue::{Monitor, cache_folder};
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// What any program and the compiler read.
const SYSTEM: [&str; 10] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/urandom",
];

/// How often the memory of the process is looked at, and whether it has ended.
const PERIOD: Duration = Duration::from_millis(20);

/// The most that it may print.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Limits of a confined command.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// CPU time, in whole seconds.
    pub time: Time,
    /// Memory in MiB.
    pub memory_mib: u64,
}

/// How a confined command ended.
pub enum End {
    /// By itself: what it printed.
    Output(Vec<u8>),
    /// It met a limit.
    Limit(String),
    /// It failed with this exit code, and said why.
    Code(u8),
}

/// Confines this process. Files next to `files`, and a policy's own, stay readable.
///
/// # Errors
///
/// The kernel refuses.
pub fn enter(limits: Limits, policy: &PolicySpec, files: &[&Path]) -> Result<Confined, Failure> {
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    // Where a compiler or a scheduler may be.
    let path = std::env::var_os("PATH").unwrap_or_default();
    read.extend(std::env::split_paths(&path).filter_map(|folder| folder.canonicalize().ok()));
    let named = std::env::var_os("CLANG").map(PathBuf::from).filter(|path| path.is_absolute());
    for file in named.iter().chain(std::env::current_exe().iter()).map(PathBuf::as_path).chain(files.iter().copied()) {
        read.extend(folders(file));
    }
    read.extend(policy.file().into_iter().flat_map(folders));
    let mut write = vec![Folder::place(), PathBuf::from("/dev/null")];
    write.extend(cache_folder());
    let confinement = Confinement { read, write, cpu_seconds: limits.time.ns() / Time::from_s(1).ns() };
    confinement.enter().map_err(|error| Failure::Failed(format!("cannot confine this process: {error}")))
}

/// The folder of a file, and that of the file behind a link.
fn folders(file: &Path) -> Vec<PathBuf> {
    let folder = |file: &Path| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    [Some(folder(file)), file.canonicalize().ok().map(|file| folder(&file))].into_iter().flatten().collect()
}

/// Runs this command once more with a flag that lets it confine itself.
///
/// # Errors
///
/// There is no process, or it was stopped from outside.
pub fn run(limits: Limits, monitor: &Monitor) -> Result<End, Failure> {
    let failed = |what: &'static str| move |error: io::Error| Failure::Failed(format!("{what}: {error}"));
    let program = std::env::current_exe().map_err(failed("cannot find the running program"))?;
    let scratch = Folder::new().map_err(failed("cannot make a folder for temporary files"))?;
    if let Some(cache) = cache_folder() {
        // Where it cannot be made nothing is kept, which the other process says.
        let _ = fs::create_dir_all(cache);
    }
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--confined").env("TMPDIR", scratch.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(failed("cannot start the confined process"))?;
    let mut said = child.stdout.take().expect("it is piped").take(OUTPUT_BYTES);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        said.read_to_end(&mut bytes).map(|_| bytes)
    });
    let (status, is_too_large) =
        watch(&mut child, limits, monitor).map_err(failed("cannot watch the confined process"))?;
    let output = reader.join().expect("reading does not panic").map_err(failed("cannot read what it says"))?;
    let Limits { time, memory_mib } = limits;
    match (status.code(), status.signal()) {
        _ if is_too_large => Ok(End::Limit(format!("it uses more than {memory_mib} MiB of memory"))),
        _ if monitor.is_stopped() => Err(Failure::Interrupted),
        (_, Some(libc::SIGXCPU | libc::SIGKILL)) => Ok(End::Limit(format!("it takes more than {time} of CPU time"))),
        (Some(0), _) => Ok(End::Output(output)),
        (Some(code), _) => Ok(End::Code(code as u8)),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Err(Failure::Failed(format!(
                "signal {signal} ended the confined process: this is a defect, please report it"
            )))
        }
    }
}

/// Waits for the end, and whether memory was the cause.
fn watch(child: &mut Child, limits: Limits, monitor: &Monitor) -> io::Result<(ExitStatus, bool)> {
    let most = limits.memory_mib << 20;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        let is_too_large = resident_bytes(child.id()).is_some_and(|bytes| bytes > most);
        if is_too_large || monitor.is_stopped() {
            child.kill()?;
            return Ok((child.wait()?, is_too_large));
        }
        thread::sleep(PERIOD);
    }
}

/// What a process has in memory; none of one that has ended.
fn resident_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: it only asks.
    Some(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64)
}
