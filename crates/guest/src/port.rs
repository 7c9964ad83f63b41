//! I/O ports. Emulators write down what goes to one of them, one byte at a time, at no virtual time.

use std::io::{self, Write};

/// QEMU's debug console and Bochs' port hack.
const PORT: u16 = 0xe9;

/// Some ports in a row that the kernel has given this process the right to use.
#[derive(Debug)]
pub(crate) struct Ports {
    first: u16,
    count: u16,
}

impl Ports {
    /// Asks the kernel for them.
    pub(crate) fn open(first: u16, count: u16) -> io::Result<Ports> {
        Self::allow(first, count, true)?;
        Ok(Ports { first, count })
    }

    fn allow(first: u16, count: u16, may: bool) -> io::Result<()> {
        let (first, count) = (libc::c_ulong::from(first), libc::c_ulong::from(count));
        // SAFETY: a plain system call.
        match unsafe { libc::syscall(libc::SYS_ioperm, first, count, libc::c_int::from(may)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Gives the right back: the kernel copies what a process may do with ports whenever another one has run, up to the last of them.
    pub(crate) fn close(self) -> io::Result<()> {
        Self::allow(self.first, self.count, false)
    }

    /// One of them.
    fn port(&self, number: u16) -> u16 {
        assert!(number < self.count, "{number} of {} ports", self.count);
        self.first + number
    }

    /// Writes a byte to one of them.
    pub(crate) fn write_byte(&self, number: u16, byte: u8) {
        let port = self.port(number);
        // SAFETY: the right to this port was given, and no device behind those that we name touches this process's memory.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("out dx, al", in("dx") port, in("al") byte, options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("byte {byte} for port {port}: no other processor gives the right to a port");
    }

    /// Writes a word to one of them.
    pub(crate) fn write_word(&self, number: u16, word: u16) {
        let port = self.port(number);
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("out dx, ax", in("dx") port, in("ax") word, options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("word {word} for port {port}: no other processor gives the right to a port");
    }

    /// Fills memory with what one of them gives.
    pub(crate) fn read_bytes(&self, number: u16, into: &mut [u8]) {
        let port = self.port(number);
        // SAFETY: as above; the instruction writes the bytes of this slice and no other.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "rep insb",
                in("dx") port,
                inout("rcx") into.len() => _,
                inout("rdi") into.as_mut_ptr() => _,
                options(nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("{} bytes from port {port}: no other processor gives the right to a port", into.len());
    }
}

/// Writes to the port that emulators write down. This needs the right to do so, which [`Port::open`] gets.
#[derive(Debug)]
pub struct Port(Ports);

impl Port {
    /// Asks the kernel for the port.
    pub fn open() -> io::Result<Port> {
        Ports::open(PORT, 1).map(Port)
    }
}

impl Write for Port {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.iter().for_each(|&byte| self.0.write_byte(0, byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
