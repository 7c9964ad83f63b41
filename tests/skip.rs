//! Tests that need what a machine may not have. Each test binary that has some takes this file as a module.

use std::io::Write;

/// Reports that the running test, or the rest of it, is skipped, and what this machine lacks. It is printed past the harness,
/// which keeps what tests print to itself, and `make test` repeats it at its end. With `SCHEDLAB_ALL_TESTS` nothing
/// may be lacking.
#[expect(clippy::explicit_write, reason = "the harness keeps what the macro prints")]
pub fn skip(lack: &str) {
    assert!(std::env::var_os("SCHEDLAB_ALL_TESTS").is_none(), "{lack}");
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    writeln!(std::io::stderr(), "\nSKIPPED: {test}: {lack}").unwrap();
}
