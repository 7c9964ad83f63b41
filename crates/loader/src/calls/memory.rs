//! Memory that others could see, which no limit of a process counts. Its own memory it takes without asking.

use super::{Outcome, Result, error, go_on};
use crate::supervisor::Supervisor;
use crate::sys;
use std::ffi::CString;

/// The longest name of a file in memory.
const NAME_BYTES: usize = 249;

pub fn answer(with: &mut Supervisor, number: libc::c_long, args: [u64; 6]) -> Option<Result> {
    Some(match number {
        libc::SYS_mmap => map(with, args),
        libc::SYS_memfd_create => file_in_memory(with, args[0], args[1]),
        _ => return None,
    })
}

/// Only mappings that are not private come here, or that grow.
fn map(with: &mut Supervisor, [_, len, _, flags, fd, _]: [u64; 6]) -> Result {
    if flags & libc::MAP_GROWSDOWN as u64 != 0 {
        with.refuse("memory that grows by itself".into());
        return error(libc::ENOMEM);
    }
    let is_anonymous = flags & libc::MAP_ANONYMOUS as u64 != 0;
    if is_anonymous || with.process.object(fd as i32).is_none() {
        with.allowance.take_shared(len)?;
    }
    go_on()
}

fn file_in_memory(with: &mut Supervisor, name: u64, flags: u64) -> Result {
    let name = CString::new(with.process.read_text(name, NAME_BYTES)?).unwrap_or_default();
    with.allowance.take_file()?;
    let closes = flags & u64::from(libc::MFD_CLOEXEC) != 0;
    Ok(Outcome::File(sys::memory_file(&name, &[])?, closes))
}
