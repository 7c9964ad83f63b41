//! A policy says that it has to go, and why.

use super::kernel_functions;
use crate::scx::consts::{SCX_EXIT_ERROR_BPF, SCX_EXIT_UNREG_BPF};
use schedlab_bpf::{GuestMemory, format};

/// The longest format that is looked at.
const FORMAT_BYTES: usize = 1024;

/// The text of a format string with its arguments in an array of 64-bit words.
fn text(memory: &GuestMemory, text: u64, data: u64, length: u32) -> String {
    let words: Vec<u64> = (0..(length / 8).min(12) as u64).map(|i| memory.read(data + 8 * i)).collect();
    format(memory, &memory.read_text(text, FORMAT_BYTES), &words)
}

kernel_functions! {
    fn scx_bpf_error_bstr(call, message: u64, data: u64, length: u32) {
        let text = text(&call.core.memory, message, data, length);
        let slot = call.core.running_slot;
        call.core.fail(SCX_EXIT_ERROR_BPF, 0, slot, format!("it gives up: {text}"));
    }

    fn scx_bpf_exit_bstr(call, code: i64, message: u64, data: u64, length: u32) {
        let text = text(&call.core.memory, message, data, length);
        let slot = call.core.running_slot;
        call.core.fail(SCX_EXIT_UNREG_BPF, code, slot, format!("it ends itself (code {code}): {text}"));
    }

    /// Nothing is ever dumped here.
    fn scx_bpf_dump_bstr(call, _format: u64, _data: u64, _length: u32) {}
}
