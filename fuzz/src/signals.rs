//! Signals that ask the program to end, so that it can still say what was tried.

use std::sync::atomic::{AtomicI32, Ordering};

/// The last signal that came; 0 is none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Those of a terminal, of `timeout` and of a session that ends.
const SIGNALS: [(i32, &str); 3] = [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM"), (libc::SIGHUP, "SIGHUP")];

extern "C" fn note(signal: libc::c_int) {
    CAME.store(signal, Ordering::Relaxed);
}

/// From now on signals are noted.
pub fn watch() {
    for (signal, _) in SIGNALS {
        // SAFETY: the handler is a function of the right form that lives as long as the program, and only stores a number.
        unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
    }
}

/// The name of the signal that asked the program to end.
pub fn came() -> Option<&'static str> {
    name(CAME.load(Ordering::Relaxed))
}

/// The name of a signal that is no finding: the process was asked to end.
pub fn name(signal: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}
