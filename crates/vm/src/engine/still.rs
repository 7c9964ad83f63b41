//! A clock of the host's that does not continue, for an emulator that looks at it where it should not.
//!
//! QEMU gives its cache of a guest's page tables another size where a tenth of a second has passed by `gettimeofday`
//! (`tlb_mmu_resize_locked`). An entry that is still in that cache lets a thread write to a page that a `fork` of its process has
//! protected in the table and not yet flushed; without the entry it meets a page fault. Real processors do both, too; but here it
//! depended on the host's time which of them a guest saw.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

assembled! {
    /// The shared object.
    object: "still.s" in ".rodata.schedlab_still", schedlab_still_begin to schedlab_still_end
}

const NAME: &str = "still.so";

/// Has a program see a clock that stands still. The program is started in `folder`, which gets a file for that.
///
/// # Errors
///
/// The file cannot be written.
pub fn stop_the_clock_of(command: &mut Command, folder: &Path) -> io::Result<()> {
    fs::write(folder.join(NAME), object())?;
    // By a path without blanks and colons, which would end it in this variable.
    command.current_dir(folder).env("LD_PRELOAD", format!("./{NAME}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_boundary::own::Folder;

    #[test]
    fn a_program_sees_the_same_time_each_time() {
        let folder = Folder::new().unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", "echo $EPOCHREALTIME; sleep 0.002; echo $EPOCHREALTIME"]);
        stop_the_clock_of(&mut command, folder.path()).unwrap();
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "1767225600.000000\n1767225600.000000\n");
    }
}
