//! Libraries that panic on a damaged file where an error is due.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// How many calls of this thread are inside [`guarded`].
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The library panicked. What the call changed is half done: do not use it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

/// Calls a library with bytes of a stranger.
///
/// # Errors
///
/// It panics. [`is_guarded`] is true then, so that the panic hook of the program can keep silent.
pub fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Panicked> {
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    outcome.map_err(|_| Panicked)
}

/// Whether this thread is in a call whose panics become errors.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_guard_is_gone() {
        let nested = guarded(|| {
            assert_eq!(guarded(|| panic!("a damaged file")), Err::<(), _>(Panicked));
            is_guarded()
        });
        assert_eq!((nested, is_guarded()), (Ok(true), false));
    }
}
