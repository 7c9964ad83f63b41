//! Files: what was made for the program, its own binary and libraries, and nothing else.

use super::{Outcome, Result, error, go_on, value};
use crate::process::Errno;
use crate::supervisor::{PID, Supervisor};
use crate::sys;
use crate::tree::Place;
use libc::c_long;
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Devices that mean nothing for this machine.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/zero"];

pub fn answer(with: &mut Supervisor, number: c_long, args: [u64; 6]) -> Option<Result> {
    let here = libc::AT_FDCWD;
    Some(match number {
        libc::SYS_open => open(with, here, args[0], args[1] as i32),
        libc::SYS_creat => open(with, here, args[0], libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
        libc::SYS_openat => open(with, args[0] as i32, args[1], args[2] as i32),
        libc::SYS_stat => status(with, here, args[0], args[1], true),
        libc::SYS_lstat => status(with, here, args[0], args[1], false),
        libc::SYS_newfstatat => status_at(with, args),
        libc::SYS_statx => error(libc::ENOSYS),
        libc::SYS_access => access(with, here, args[0], args[1] as i32),
        libc::SYS_faccessat | libc::SYS_faccessat2 => access(with, args[0] as i32, args[1], args[2] as i32),
        libc::SYS_readlink => read_link(with, here, [args[0], args[1], args[2]]),
        libc::SYS_readlinkat => read_link(with, args[0] as i32, [args[1], args[2], args[3]]),
        libc::SYS_getcwd => folder(with, args[0], args[1]),
        libc::SYS_chdir | libc::SYS_chmod | libc::SYS_fchmod | libc::SYS_fchmodat | libc::SYS_chown => value(0),
        libc::SYS_fchown | libc::SYS_fchownat | libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_flock => value(0),
        libc::SYS_mkdir => make_folder(with, here, args[0]),
        libc::SYS_mkdirat => make_folder(with, args[0] as i32, args[1]),
        libc::SYS_unlink | libc::SYS_rmdir => remove(with, here, args[0]),
        libc::SYS_unlinkat => remove(with, args[0] as i32, args[1]),
        libc::SYS_getdents64 => list(with, args),
        libc::SYS_statfs => file_system(with, args),
        libc::SYS_fstatfs | libc::SYS_fadvise64 => go_on(),
        libc::SYS_fcntl => descriptor_control(with, args[1] as i32, args[2] as i32),
        libc::SYS_ioctl => control(args),
        _ => return None,
    })
}

/// The whole path that a call names.
fn path(with: &Supervisor, folder: i32, at: u64) -> std::result::Result<PathBuf, Errno> {
    let named = with.process.read_path(at)?;
    if named.as_os_str().is_empty() {
        return error(libc::ENOENT);
    }
    if named.is_absolute() {
        return Ok(named);
    }
    if folder == libc::AT_FDCWD {
        return Ok(with.command.folder.join(named));
    }
    let link = with.process.link(folder)?;
    let seen = with.tree.seen(&link).ok_or(Errno(libc::ENOENT))?;
    Ok(seen.join(named))
}

fn place(with: &Supervisor, folder: i32, at: u64) -> std::result::Result<Place, Errno> {
    Ok(with.tree.place(&path(with, folder, at)?))
}

fn open(with: &mut Supervisor, folder: i32, at: u64, flags: i32) -> Result {
    let named = path(with, folder, at)?;
    let closes = flags & libc::O_CLOEXEC != 0;
    let writes = flags & (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) != 0;
    if DEVICES.iter().any(|device| named == Path::new(device)) {
        let device = OpenOptions::new().read(true).write(true).open(named)?;
        return Ok(Outcome::File(OwnedFd::from(device), closes));
    }
    let file = match with.tree.place(&named) {
        Place::Made { at, writable } => {
            if writes && !writable && !at.is_file() {
                return error(libc::EACCES);
            }
            if writes && !writable {
                // A setting of the kernel: it is kept and decides nothing.
                with.refuse(format!("that {} has an effect", named.display()));
            }
            if flags & libc::O_CREAT != 0 && !at.exists() {
                with.allowance.take_file()?;
            }
            made(&at, flags)?
        }
        Place::Real(_) if writes => return error(libc::EACCES),
        Place::Real(path) => OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY).open(path)?,
        Place::Own(rest) => own(with, &rest)?,
    };
    Ok(Outcome::File(OwnedFd::from(file), closes))
}

fn made(at: &Path, flags: i32) -> std::result::Result<fs::File, Errno> {
    let mode = flags & libc::O_ACCMODE;
    let mut options = OpenOptions::new();
    options.read(mode != libc::O_WRONLY).write(mode != libc::O_RDONLY).mode(0o600);
    if flags & libc::O_CREAT != 0 {
        options.create(true).write(true);
        if flags & libc::O_EXCL != 0 {
            options.create_new(true);
        }
    }
    let kept = libc::O_DIRECTORY | libc::O_APPEND | libc::O_TRUNC | libc::O_NONBLOCK;
    Ok(options.custom_flags(flags & kept | libc::O_NOFOLLOW).open(at)?)
}

/// What a program may know of its own process: where its memory is. Else, what was made.
fn own(with: &Supervisor, rest: &Path) -> std::result::Result<fs::File, Errno> {
    match rest.to_str() {
        Some("maps") => Ok(fs::File::open(format!("/proc/{}/maps", with.process.pid()))?),
        _ => match with.tree.place(&Path::new("/proc/of-itself").join(rest)) {
            Place::Made { at, .. } => made(&at, libc::O_RDONLY),
            _ => error(libc::ENOENT),
        },
    }
}

/// The real file that a place is; none for what the program may not see.
fn real(with: &Supervisor, place: Place) -> std::result::Result<PathBuf, Errno> {
    match place {
        Place::Made { at, .. } | Place::Real(at) => Ok(at),
        Place::Own(rest) if rest == Path::new("exe") => Ok(PathBuf::from(&with.command.words[0])),
        Place::Own(rest) if rest == Path::new("maps") => Ok(PathBuf::from("/proc/self/maps")),
        Place::Own(rest) => match with.tree.place(&Path::new("/proc/of-itself").join(rest)) {
            Place::Made { at, .. } => Ok(at),
            _ => error(libc::ENOENT),
        },
    }
}

fn status(with: &mut Supervisor, folder: i32, at: u64, to: u64, follow: bool) -> Result {
    let named = path(with, folder, at)?;
    let real = match DEVICES.iter().any(|device| named == Path::new(device)) {
        true => named,
        false => real(with, with.tree.place(&named))?,
    };
    let name = CString::new(real.as_os_str().as_bytes()).map_err(|_| Errno(libc::ENOENT))?;
    let status = sys::status(&name, follow)?;
    with.process.write(to, &sys::bytes_of(&status))?;
    value(0)
}

fn status_at(with: &mut Supervisor, [folder, at, to, flags, ..]: [u64; 6]) -> Result {
    let mut first = [0];
    with.process.read(at, &mut first)?;
    if first == [0] {
        // A descriptor of its own.
        return if flags as i32 & libc::AT_EMPTY_PATH != 0 { go_on() } else { error(libc::ENOENT) };
    }
    status(with, folder as i32, at, to, flags as i32 & libc::AT_SYMLINK_NOFOLLOW == 0)
}

fn access(with: &mut Supervisor, folder: i32, at: u64, mode: i32) -> Result {
    let named = path(with, folder, at)?;
    let found = with.tree.place(&named);
    let writable = matches!(found, Place::Made { writable: true, .. });
    if !real(with, found)?.exists() {
        return error(libc::ENOENT);
    }
    if mode & libc::W_OK != 0 && !writable { error(libc::EACCES) } else { value(0) }
}

fn read_link(with: &mut Supervisor, folder: i32, [at, to, len]: [u64; 3]) -> Result {
    let text = match place(with, folder, at)? {
        Place::Own(rest) if rest == Path::new("exe") => PathBuf::from(&with.command.words[0]),
        Place::Own(rest) if rest.as_os_str().is_empty() => PathBuf::from(PID.to_string()),
        Place::Own(rest) => match rest.strip_prefix("fd").ok().and_then(|fd| fd.to_str()?.parse().ok()) {
            Some(fd) => {
                let link = with.process.link(fd)?;
                with.tree.seen(&link).unwrap_or(link)
            }
            None => return error(libc::ENOENT),
        },
        place => match real(with, place)?.exists() {
            true => return error(libc::EINVAL),
            false => return error(libc::ENOENT),
        },
    };
    let bytes = text.as_os_str().as_bytes();
    let bytes = &bytes[..bytes.len().min(len as usize)];
    with.process.write(to, bytes)?;
    value(bytes.len() as i64)
}

fn folder(with: &mut Supervisor, to: u64, len: u64) -> Result {
    let bytes = [with.command.folder.as_os_str().as_bytes(), &[0]].concat();
    if bytes.len() as u64 > len {
        return error(libc::ERANGE);
    }
    with.process.write(to, &bytes)?;
    value(bytes.len() as i64)
}

fn make_folder(with: &mut Supervisor, folder: i32, at: u64) -> Result {
    match place(with, folder, at)? {
        Place::Made { at, .. } if at.exists() => error(libc::EEXIST),
        Place::Made { at, writable: true } => {
            with.allowance.take_file()?;
            fs::create_dir(at)?;
            value(0)
        }
        _ => error(libc::EROFS),
    }
}

fn remove(with: &mut Supervisor, folder: i32, at: u64) -> Result {
    match place(with, folder, at)? {
        Place::Made { at, .. } if !at.exists() => error(libc::ENOENT),
        Place::Made { at, writable: true } if at.is_dir() => {
            fs::remove_dir(at)?;
            value(0)
        }
        Place::Made { at, writable: true } => {
            fs::remove_file(at)?;
            value(0)
        }
        _ => error(libc::EROFS),
    }
}

/// The entries of a folder in the order of their names: those of a file system come as it likes.
fn list(with: &mut Supervisor, [fd, to, len, ..]: [u64; 6]) -> Result {
    let fd = fd as i32;
    let link = with.process.link(fd)?;
    if with.tree.seen(&link).is_none() {
        return error(libc::ENOTDIR);
    }
    let entries = with.tree.entries(&link)?;
    let from = with.listed.get(&fd).copied().unwrap_or(0);
    let mut bytes = Vec::new();
    let mut next = from;
    for (name, is_folder) in entries.iter().skip(from) {
        let size = (19 + name.len() + 1).next_multiple_of(8);
        if bytes.len() + size > len as usize {
            break;
        }
        next += 1;
        let start = bytes.len();
        bytes.extend_from_slice(&(next as u64).to_le_bytes());
        bytes.extend_from_slice(&(next as u64).to_le_bytes());
        bytes.extend_from_slice(&(size as u16).to_le_bytes());
        bytes.push(if *is_folder { libc::DT_DIR } else { libc::DT_REG });
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(start + size, 0);
    }
    if bytes.is_empty() && from < entries.len() {
        return error(libc::EINVAL);
    }
    with.listed.insert(fd, next);
    with.process.write(to, &bytes)?;
    value(bytes.len() as i64)
}

fn file_system(with: &mut Supervisor, [at, to, ..]: [u64; 6]) -> Result {
    let named = path(with, libc::AT_FDCWD, at)?;
    let at = real(with, with.tree.place(&named))?;
    if !at.exists() {
        return error(libc::ENOENT);
    }
    // What kind of file system, as programs ask for it; sizes mean nothing.
    let kind: u64 = match named.to_str().unwrap_or_default() {
        path if path.starts_with("/sys/fs/bpf") => libc::BPF_FS_MAGIC as u64,
        path if path.starts_with("/sys/fs/cgroup") => libc::CGROUP2_SUPER_MAGIC as u64,
        path if path.starts_with("/sys/kernel/tracing") => libc::TRACEFS_MAGIC as u64,
        path if path.starts_with("/sys/kernel/debug") => libc::DEBUGFS_MAGIC as u64,
        path if path.starts_with("/sys") => libc::SYSFS_MAGIC as u64,
        path if path.starts_with("/proc") => libc::PROC_SUPER_MAGIC as u64,
        _ => libc::TMPFS_MAGIC as u64,
    };
    let mut words = [0u64; 15];
    (words[0], words[1]) = (kind, 4096);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    with.process.write(to, &bytes)?;
    value(0)
}

/// What changes a descriptor alone. Signals about files and owners of files reach other processes.
fn descriptor_control(with: &mut Supervisor, command: i32, argument: i32) -> Result {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC | libc::F_GETFD | libc::F_SETFD | libc::F_GETFL => go_on(),
        libc::F_SETFL if argument & libc::O_ASYNC == 0 => go_on(),
        libc::F_GETPIPE_SZ | libc::F_ADD_SEALS | libc::F_GET_SEALS => go_on(),
        // Nothing else could lock its files.
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => value(0),
        other => {
            with.refuse(format!("fcntl with command {other}"));
            error(libc::EINVAL)
        }
    }
}

fn control(args: [u64; 6]) -> Result {
    match args[1] {
        libc::FIONBIO | libc::FIOCLEX | libc::FIONCLEX | libc::FIONREAD => go_on(),
        _ => error(libc::ENOTTY),
    }
}
