//! The I/O port that emulators write down: one byte at a time, at no virtual time.

use std::io::{self, Write};

/// QEMU's debug console and Bochs' port hack.
const PORT: u16 = 0xe9;

/// Writes to the port. This needs the right to do so, which [`Port::open`] gets.
#[derive(Debug)]
pub struct Port(());

impl Port {
    /// Asks the kernel for the port.
    pub fn open() -> io::Result<Port> {
        // SAFETY: a plain system call.
        match unsafe { libc::syscall(libc::SYS_ioperm, libc::c_ulong::from(PORT), 1_u64, 1_i32) } {
            0 => Ok(Port(())),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Write for Port {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            // SAFETY: the right to this port was given, and writing there changes nothing in this machine.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                std::arch::asm!("out dx, al", in("dx") PORT, in("al") byte, options(nomem, nostack, preserves_flags));
            }
            #[cfg(not(target_arch = "x86_64"))]
            return Err(io::Error::other(format!("byte {byte} has no port to go to on this processor")));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
