//! Ctrl-C, and the other ways to ask a program to end.

use crate::failure::{Failure, code};
use schedlab_venue::Monitor;
use std::sync::Arc;

/// From now on Ctrl-C, SIGTERM and SIGHUP ask the runs to end, and a second one ends the program at once.
pub fn watch(monitor: &Arc<Monitor>) -> Result<(), Failure> {
    let monitor = monitor.clone();
    let handler = move || {
        if monitor.is_stopped() {
            std::process::exit(i32::from(code::INTERRUPTED));
        }
        monitor.stop();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Failed(format!("cannot watch for Ctrl-C: {error}")))?;
    watch_others();
    Ok(())
}

/// Lets SIGTERM and SIGHUP do what Ctrl-C does, except for one that is ignored, as under `nohup`.
fn watch_others() {
    extern "C" fn interrupt(_: libc::c_int) {
        // SAFETY: a signal's handler may raise another signal.
        unsafe { libc::raise(libc::SIGINT) };
    }
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is a function of the right form that lives as long as the program.
        unsafe {
            if libc::signal(signal, interrupt as *const () as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}
