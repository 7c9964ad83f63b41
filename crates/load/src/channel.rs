//! Channels as the kernel has them: pipes, and TCP over the loopback interface. Messages have no content, only a size,
//! chosen so that a pipe of one page holds as many as the scenario says; a socket's buffers are as small as the kernel
//! allows, which is more than the scenario may ask for.

use schedlab_model::workload::{Channel, ChannelKind};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of the smallest pipe.
const PAGE: u32 = 4096;

/// Both ends of a channel.
pub struct Ends {
    receiver: OwnedFd,
    sender: OwnedFd,
    message_bytes: usize,
}

/// Why a transfer ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl Ends {
    /// Opens a channel.
    pub fn open(channel: &Channel) -> io::Result<Ends> {
        let message_bytes = (PAGE / channel.capacity.max(1)).max(1) as usize;
        let (receiver, sender) = match channel.kind {
            ChannelKind::Pipe => pipe(channel.capacity.max(PAGE))?,
            ChannelKind::Socket => socket()?,
        };
        Ok(Ends { receiver, sender, message_bytes })
    }

    /// Puts messages in, sleeping while there is no room.
    pub fn send(&self, messages: u32) -> Result<(), Interrupted> {
        let message = [0u8; PAGE as usize];
        for _ in 0..messages {
            let fd = self.sender.as_raw_fd();
            // SAFETY: the buffer is as long as a message at least.
            transfer(self.message_bytes, |at, left| unsafe { libc::write(fd, message.as_ptr().add(at).cast(), left) })?;
        }
        Ok(())
    }

    /// Takes messages out, sleeping while there are none.
    pub fn receive(&self, messages: u32) -> Result<(), Interrupted> {
        let mut message = [0u8; PAGE as usize];
        for _ in 0..messages {
            let fd = self.receiver.as_raw_fd();
            let to = message.as_mut_ptr();
            // SAFETY: as above.
            transfer(self.message_bytes, |at, left| unsafe { libc::read(fd, to.add(at).cast(), left) })?;
        }
        Ok(())
    }
}

/// Calls until all bytes have gone; a signal or an error ends it.
fn transfer(bytes: usize, mut call: impl FnMut(usize, usize) -> isize) -> Result<(), Interrupted> {
    let mut done = 0;
    while done < bytes {
        match call(done, bytes - done) {
            n if n > 0 => done += n as usize,
            _ => return Err(Interrupted),
        }
    }
    Ok(())
}

fn pipe(bytes: u32) -> io::Result<(OwnedFd, OwnedFd)> {
    let (receiver, sender) = io::pipe()?;
    let sender = OwnedFd::from(sender);
    // SAFETY: the descriptor is open.
    if unsafe { libc::fcntl(sender.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((receiver.into(), sender))
}

fn socket() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    set_buffer(&sender, libc::SO_SNDBUF)?;
    set_buffer(&receiver, libc::SO_RCVBUF)?;
    Ok((receiver.into(), sender.into()))
}

fn set_buffer(socket: &TcpStream, which: libc::c_int) -> io::Result<()> {
    let bytes = PAGE as libc::c_int;
    // SAFETY: the value is an int, as the option wants.
    let failed = unsafe {
        let value = (&raw const bytes).cast();
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            which,
            value,
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::*};

    fn channel(capacity: u32, kind: ChannelKind) -> Ends {
        Ends::open(&Channel { name: "c".into(), capacity, kind, work: None }).unwrap()
    }

    #[test]
    fn a_pipe_holds_as_many_messages_as_it_should() {
        for capacity in [1, 4, 64] {
            let ends = channel(capacity, ChannelKind::Pipe);
            let sent = AtomicU32::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..capacity + 3 {
                        ends.send(1).unwrap();
                        sent.fetch_add(1, SeqCst);
                    }
                });
                // The sender is stopped by the full pipe, however long it is left alone.
                while sent.load(SeqCst) < capacity {
                    std::thread::yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert_eq!(sent.load(SeqCst), capacity);
                ends.receive(capacity + 3).unwrap();
            });
        }
    }

    #[test]
    fn messages_pass_through_a_socket() {
        let ends = channel(8, ChannelKind::Socket);
        std::thread::scope(|scope| {
            scope.spawn(|| ends.send(1000).unwrap());
            ends.receive(1000).unwrap();
        });
    }
}
