//! Sockets: those between the program's own threads work; there is no peer outside.

use super::{Result, error, go_on, value};
use crate::supervisor::Supervisor;
use crate::sys;
use std::os::fd::AsFd;

pub fn answer(with: &mut Supervisor, number: libc::c_long, args: [u64; 6]) -> Option<Result> {
    Some(match number {
        libc::SYS_socket | libc::SYS_socketpair if args[0] as i32 == libc::AF_UNIX => go_on(),
        libc::SYS_socket | libc::SYS_socketpair => {
            with.refuse(format!("a socket of family {}", args[0] as i32));
            error(libc::EAFNOSUPPORT)
        }
        // No peer will ever connect.
        libc::SYS_bind | libc::SYS_listen | libc::SYS_setsockopt | libc::SYS_shutdown => value(0),
        libc::SYS_connect => error(libc::ECONNREFUSED),
        libc::SYS_sendto if args[4] == 0 => go_on(),
        libc::SYS_sendto => error(libc::ECONNREFUSED),
        libc::SYS_sendmsg => send(with, args[1]),
        libc::SYS_getsockname | libc::SYS_getpeername | libc::SYS_getsockopt => go_on(),
        libc::SYS_epoll_ctl => epoll(with, args),
        _ => return None,
    })
}

fn send(with: &mut Supervisor, message: u64) -> Result {
    // The message begins with the address that it goes to.
    let [address, _] = with.process.read_pair(message)?;
    if address == 0 { go_on() } else { error(libc::ECONNREFUSED) }
}

/// An object of ours is a file in memory, which cannot be waited for: an event file stands in for it.
fn epoll(with: &mut Supervisor, [epoll, what, fd, event, ..]: [u64; 6]) -> Result {
    let Some(object) = with.process.object(fd as i32) else { return go_on() };
    let counter = with.counter(object)?;
    let counter = counter.try_clone()?;
    let epoll = with.process.descriptor(epoll as i32)?;
    let event = match event {
        0 => None,
        at => {
            let bytes = with.process.read_vec(at, 12)?;
            let (events, data) = bytes.split_at(4);
            let events = u32::from_le_bytes(events.try_into().expect("four bytes"));
            Some((events, u64::from_le_bytes(data.try_into().expect("eight bytes"))))
        }
    };
    sys::epoll_control(epoll.as_fd(), what as i32, counter.as_fd(), event)?;
    value(0)
}
