//! A policy says that it has to go, and why.

use super::{Call, kernel_functions};
use crate::scx::consts::{SCX_EXIT_ERROR_BPF, SCX_EXIT_UNREG_BPF};
use schedlab_bpf::{Pointer, Readable, format};

/// The longest format that is looked at, and the longest text.
const FORMAT_BYTES: u64 = 1024;
const TEXT_BYTES: usize = 4096;
/// The most values of a text.
const VALUES: usize = 12;

/// The text of a format string with its arguments in an array of 64-bit words.
fn text(call: &mut Call<'_, '_>, message: Pointer, data: Readable) -> Option<String> {
    let words = data.first_words(call.check, VALUES);
    let message = call.check.text(message, FORMAT_BYTES)?;
    Some(format(&call.core.memory, &message, &words, TEXT_BYTES))
}

kernel_functions! {
    fn scx_bpf_error_bstr(call, message: Pointer, data: Readable) {
        let text = text(&mut call, message, data)?;
        let slot = call.core.running_slot;
        call.core.fail(SCX_EXIT_ERROR_BPF, 0, slot, format!("scx_bpf_error: {text}"));
    }

    fn scx_bpf_exit_bstr(call, code: i64, message: Pointer, data: Readable) {
        let text = text(&mut call, message, data)?;
        let slot = call.core.running_slot;
        call.core.fail(SCX_EXIT_UNREG_BPF, code, slot, format!("it ends itself (code {code}): {text}"));
    }

    /// Nothing is ever dumped here.
    fn scx_bpf_dump_bstr(call, _format: u64, _data: u64, _length: u32) {}
}
