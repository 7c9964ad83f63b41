//! Functions with little or no effect: casts, exceptions, text.

use std::cmp::Ordering;

use crate::arguments::{Pointer, host_functions};
use crate::fault::FaultKind;

/// The longest text that is looked at.
const TEXT_MAX: u64 = 4096;

host_functions! {
    /// What has nothing to do.
    fn zero(call) {
        Some(0)
    }

    /// Casts: the argument itself.
    fn first(call, object: u64) {
        Some(object)
    }

    /// `bpf_throw(cookie)`: ends the program, whose result the cookie is.
    fn throw(call, cookie: u64) {
        let budget = call.budget();
        call.raise(FaultKind::Thrown { cookie, budget })
    }

    /// `__bpf_trap()`: where the compiler saw that no code can come.
    fn trap(call) {
        call.fail("comes to a place that its compiler took for impossible")
    }

    /// `bpf_strlen(text)`.
    fn text_len(call, text: Pointer) {
        Some(call.text(text, TEXT_MAX)?.len() as u64)
    }

    /// `bpf_strcmp(a, b)`.
    fn text_compare(call, a: Pointer, b: Pointer) {
        let (a, b) = (call.text(a, TEXT_MAX)?, call.text(b, TEXT_MAX)?);
        Some(match a.cmp(&b) {
            Ordering::Less => -1i64 as u64,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }
}
