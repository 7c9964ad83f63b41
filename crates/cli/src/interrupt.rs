//! Ctrl-C.

use crate::failure::{Failure, code};
use schedlab_venue::Monitor;
use std::sync::Arc;

/// From now on Ctrl-C asks the runs to end, and a second one ends the program at once.
pub fn watch(monitor: &Arc<Monitor>) -> Result<(), Failure> {
    let monitor = monitor.clone();
    let handler = move || {
        if monitor.is_stopped() {
            std::process::exit(i32::from(code::INTERRUPTED));
        }
        monitor.stop();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Failed(format!("cannot watch for Ctrl-C: {error}")))
}

/// From now on SIGTERM does what Ctrl-C does.
pub fn watch_termination() {
    extern "C" fn interrupt(_: libc::c_int) {
        // SAFETY: a signal's handler may raise another signal.
        unsafe { libc::raise(libc::SIGINT) };
    }
    // SAFETY: the handler is a function of the right form that lives as long as the program.
    unsafe { libc::signal(libc::SIGTERM, interrupt as *const () as libc::sighandler_t) };
}
