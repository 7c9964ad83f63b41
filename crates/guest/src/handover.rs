//! How a guest gets its work after it was set up: it stops its machine, and finds the work when it goes on.
//!
//! A watchdog stops the machine while it idles, so that its state is the same each time; what goes on is a copy of it. An instruction that
//! stops it would not do: QEMU's main loop, which passes idle time over, sometimes takes a stopped CPU for an idle one before it knows of
//! the stop, and the clock jumps (`cpu_thread_is_idle` next to `icount_start_warp_timer`). A watchdog's time is up in the main loop itself.
//!
//! The work is read from QEMU's table of configuration items (fw_cfg), byte by byte: a disk would answer at some time of the host's.

use crate::frame::FrameWriter;
use crate::message::{Message, WORK_PATH, Work};
use crate::port::{Port, Ports};
use schedlab_load::{now_ns, sleep_until};
use std::{fs, io};

/// What QEMU calls the work.
pub const ITEM: &str = "opt/schedlab/work";

/// The port of an iB700 watchdog. What is written there says how soon its time is up: it takes two seconds less than half a minute for
/// each step, so that this is the shortest time above none (`ib700_write_enable_reg` of QEMU).
const WATCHDOG_PORT: u16 = 0x443;
const SOON: u8 = 14;
/// Then the time is up.
const WATCHDOG_NS: u64 = 2_000_000_000;
/// The guest idles longer than that.
const IDLE_NS: u64 = WATCHDOG_NS + 100_000_000;

/// QEMU's fw_cfg: a port that selects an item, and one that gives its bytes, one after the other.
const SELECTOR: u16 = 0x510;
/// The item that lists the others: their number, and for each its size and key, two zero bytes, and its name in 56 bytes. Numbers are
/// big-endian.
const LIST: u16 = 0x19;
const ENTRY_BYTES: usize = 64;
const NAME_AT: usize = 8;
/// More items than any machine has.
const MOST_ITEMS: u32 = 4096;
/// A scenario of the largest size that is read takes less.
const MOST_BYTES: u32 = 256 << 20;

/// What a guest has to do, from where it lies. If it has to be handed over, `to` hears that the guest is prepared, the machine stops,
/// and what follows are the first messages of others, which begin with `hello`.
///
/// # Errors
///
/// There is no work, or it was written by another version.
pub fn take(to: &mut FrameWriter<Port>, hello: impl Fn() -> Message) -> io::Result<Work> {
    match fs::read(WORK_PATH) {
        Ok(bytes) => read(&bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            to.send(&Message::Prepared)?;
            stop()?;
            let items = Ports::open(SELECTOR, 2)?;
            let work = read(&found(&items)?)?;
            items.close()?;
            to.begin_again();
            to.send(&hello())?;
            Ok(work)
        }
        Err(error) => Err(error),
    }
}

fn read(bytes: &[u8]) -> io::Result<Work> {
    postcard::from_bytes(bytes)
        .map_err(|error| io::Error::other(format!("this is no work for it ({error}): {}", crate::init::ONE_BUILD)))
}

/// Idles until the machine has been stopped and goes on.
fn stop() -> io::Result<()> {
    let watchdog = Ports::open(WATCHDOG_PORT, 1)?;
    let begun_ns = now_ns();
    watchdog.write_byte(0, SOON);
    watchdog.close()?;
    sleep_until(begun_ns + IDLE_NS);
    Ok(())
}

/// The bytes that the machine finds after its stop.
fn found(items: &Ports) -> io::Result<Vec<u8>> {
    let be = |bytes: &[u8]| bytes.iter().fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
    items.write_word(0, LIST);
    let mut count = [0; 4];
    items.read_bytes(1, &mut count);
    for _ in 0..be(&count).min(MOST_ITEMS) {
        let mut entry = [0; ENTRY_BYTES];
        items.read_bytes(1, &mut entry);
        let name = entry[NAME_AT..].split(|byte| *byte == 0).next();
        if name == Some(ITEM.as_bytes()) {
            let mut bytes = vec![0; be(&entry[..4]).min(MOST_BYTES) as usize];
            items.write_word(0, be(&entry[4..6]) as u16);
            items.read_bytes(1, &mut bytes);
            return Ok(bytes);
        }
    }
    Err(io::Error::other("the machine went on without any work"))
}
