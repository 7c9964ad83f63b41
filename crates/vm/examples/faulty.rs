//! A guest that does something wrong, for tests: the name of its job's workload says what.

use schedlab_guest::frame::FrameWriter;
use schedlab_guest::{Message, Port, handover};
use std::io::Write;

fn main() {
    assert_eq!(std::process::id(), 1, "this is the first program of a virtual machine");
    let mut port = FrameWriter::new(Port::open().unwrap());
    let hello = || Message::Hello { kernel: "faulty".into(), at_ns: 1 };
    port.send(&hello()).unwrap();
    let work = handover::take(&mut port, hello).unwrap();
    match work.workload.name.as_str() {
        // A kernel cannot live without its first program.
        "panics" => {}
        "hangs" => loop {
            // SAFETY: it takes nothing.
            unsafe { libc::pause() };
        },
        "floods" => loop {
            let _ = Port::open().unwrap().write_all(&[b'~'; 4096]);
        },
        "switches-off" => power_off(),
        "breaks-off" => {
            port.send(&Message::Begun { at_ns: 2 }).unwrap();
            let _ = Port::open().unwrap().write_all(b"SLG1 half");
            power_off();
        }
        other => panic!("nothing is known of `{other}`"),
    }
}

fn power_off() {
    // SAFETY: a plain system call.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}
