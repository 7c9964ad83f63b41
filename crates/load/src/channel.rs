//! Channels as the kernel has them: pipes, and TCP over the loopback interface. Messages have no content, only a size.
//!
//! Each message has a place of its own in a pipe (`O_DIRECT`), of which there is a power of two. A socket's buffers are counted
//! in bytes and in the kernel's own memory, so its places are counted by a semaphore that the senders take from.

use crate::futex::{self, Waited};
use crate::shared::Shared;
use schedlab_model::workload::{Channel, ChannelKind};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes of a message.
const MESSAGE: usize = 64;
/// What a place in a pipe counts for when its size is set.
const PAGE: u64 = 4096;
/// The size of a pipe that no right exceeds (`round_pipe_size`).
const MAX_PIPE_BYTES: u64 = 1 << 31;

/// Both ends of a channel.
pub struct Ends {
    receiver: OwnedFd,
    sender: OwnedFd,
    /// The semaphore that counts the places of a socket.
    room: Option<u32>,
}

/// Why a transfer ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl Ends {
    /// Opens a channel; `room` is an object of `shared` that it may use.
    pub fn open(channel: &Channel, shared: &Shared, room: u32) -> io::Result<Ends> {
        Ok(match channel.kind {
            ChannelKind::Pipe => {
                let (receiver, sender) = pipe(channel.slots())?;
                Ends { receiver, sender, room: None }
            }
            ChannelKind::Socket => {
                let (receiver, sender) = socket()?;
                futex::semaphore_post(shared, room, channel.capacity);
                Ends { receiver, sender, room: Some(room) }
            }
        })
    }

    /// Puts messages in, sleeping while there is no room.
    pub fn send(&self, shared: &Shared, messages: u32) -> Result<(), Interrupted> {
        let message = [0u8; MESSAGE];
        for _ in 0..messages {
            if self.room.is_some_and(|room| futex::semaphore_wait(shared, room) == Waited::Stopped) {
                return Err(Interrupted);
            }
            let fd = self.sender.as_raw_fd();
            // SAFETY: the buffer is as long as a message.
            transfer(|at, left| unsafe { libc::write(fd, message.as_ptr().add(at).cast(), left) })?;
        }
        Ok(())
    }

    /// Takes messages out, sleeping while there are none.
    pub fn receive(&self, shared: &Shared, messages: u32) -> Result<(), Interrupted> {
        let mut message = [0u8; MESSAGE];
        for _ in 0..messages {
            let fd = self.receiver.as_raw_fd();
            let to = message.as_mut_ptr();
            // SAFETY: as above.
            transfer(|at, left| unsafe { libc::read(fd, to.add(at).cast(), left) })?;
            if let Some(room) = self.room {
                futex::semaphore_post(shared, room, 1);
            }
        }
        Ok(())
    }
}

/// How many places a pipe may have here.
pub fn most_places(is_privileged: bool) -> u64 {
    let limit = || std::fs::read_to_string("/proc/sys/fs/pipe-max-size").ok()?.trim().parse().ok();
    let bytes = if is_privileged { MAX_PIPE_BYTES } else { limit().unwrap_or(MAX_PIPE_BYTES) };
    bytes / PAGE
}

/// Calls until all bytes of a message have gone; a signal or an error ends it.
fn transfer(mut call: impl FnMut(usize, usize) -> isize) -> Result<(), Interrupted> {
    let mut done = 0;
    while done < MESSAGE {
        match call(done, MESSAGE - done) {
            n if n > 0 => done += n as usize,
            _ => return Err(Interrupted),
        }
    }
    Ok(())
}

/// A pipe; the number of its places is a power of two.
fn pipe(places: u64) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel fills the two descriptors, which are ours alone then.
    let (receiver, sender) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_DIRECT) != 0 {
            return Err(io::Error::last_os_error());
        }
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    let bytes = places.saturating_mul(PAGE).min(MAX_PIPE_BYTES) as libc::c_uint;
    // SAFETY: the descriptor is open.
    if unsafe { libc::fcntl(sender.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((receiver, sender))
}

fn socket() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    Ok((receiver.into(), sender.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::*};

    fn channel(capacity: u32, kind: ChannelKind) -> (Ends, Shared) {
        let shared = Shared::new(1, 0).unwrap();
        let ends = Ends::open(&Channel { name: "c".into(), capacity, kind, work: None }, &shared, 0).unwrap();
        (ends, shared)
    }

    #[test]
    fn a_channel_holds_as_many_messages_as_it_should() {
        use ChannelKind::*;
        for (kind, capacity, places) in [(Pipe, 1, 1), (Pipe, 4, 4), (Pipe, 5, 8), (Pipe, 64, 64), (Socket, 5, 5)] {
            let (ends, shared) = channel(capacity, kind);
            let sent = AtomicU32::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..places + 3 {
                        ends.send(&shared, 1).unwrap();
                        sent.fetch_add(1, SeqCst);
                    }
                });
                // The sender is stopped by the full channel, however long it is left alone.
                while sent.load(SeqCst) < places {
                    std::thread::yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert_eq!(sent.load(SeqCst), places);
                ends.receive(&shared, places + 3).unwrap();
            });
        }
    }

    #[test]
    fn messages_pass_through_a_socket() {
        let (ends, shared) = channel(8, ChannelKind::Socket);
        std::thread::scope(|scope| {
            scope.spawn(|| ends.send(&shared, 1000).unwrap());
            ends.receive(&shared, 1000).unwrap();
        });
    }
}
