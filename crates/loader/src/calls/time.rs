//! Clocks.

use super::{Result, error, value};
use crate::clock;
use crate::supervisor::Supervisor;

pub fn answer(with: &mut Supervisor, number: libc::c_long, args: [u64; 6]) -> Option<Result> {
    Some(match number {
        libc::SYS_clock_gettime => read(with, args[0] as i32, args[1]),
        libc::SYS_clock_getres => resolution(with, args[1]),
        libc::SYS_gettimeofday => time_of_day(with, args[0]),
        libc::SYS_time => {
            let seconds = with.clock.wall_ns() / 1_000_000_000;
            match args[0] {
                0 => value(seconds as i64),
                at => with.process.write(at, &seconds.to_le_bytes()).and_then(|()| value(seconds as i64)),
            }
        }
        libc::SYS_times => value((with.clock.now_ns / 10_000_000) as i64),
        _ => return None,
    })
}

fn read(with: &mut Supervisor, clock: i32, at: u64) -> Result {
    let Some(shown) = with.clock.read(clock) else { return error(libc::EINVAL) };
    with.process.write(at, &clock::parts(shown, 1))?;
    value(0)
}

fn resolution(with: &mut Supervisor, at: u64) -> Result {
    if at != 0 {
        with.process.write(at, &clock::parts(1, 1))?;
    }
    value(0)
}

fn time_of_day(with: &mut Supervisor, at: u64) -> Result {
    if at != 0 {
        with.process.write(at, &clock::parts(with.clock.wall_ns(), 1_000))?;
    }
    value(0)
}
