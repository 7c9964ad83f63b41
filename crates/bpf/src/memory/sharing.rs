//! Guest memory that another process maps too.

use std::io;

use crate::descriptor::BorrowedFd;

use super::{GUARD_SIZE, GuestMemory, HANDLE_BASE, MEMORY_SIZE, PAGE_SIZE, Placed, Region};

impl GuestMemory {
    /// Maps a file over `len` bytes from a page's start, from an offset of the file: all mappings of the file share
    /// them.
    pub(crate) fn share(&self, addr: u64, len: u64, file: BorrowedFd, offset: u64) -> io::Result<()> {
        let at = GUARD_SIZE as usize + Self::offset(addr);
        self.shared.mapping.share(at, Self::inside(addr, len as usize), file, offset)?;
        self.change(|state| state.shared.push(addr..addr + len));
        Ok(())
    }

    /// Makes a region of addresses that are never handed out: those of handles. All its pages can be touched.
    pub(crate) fn place_above(&self, addr: u64, len: u64, region: Region) {
        debug_assert!(addr >= HANDLE_BASE && addr + len <= MEMORY_SIZE);
        let pages = (addr / PAGE_SIZE) as usize..((addr + len) / PAGE_SIZE) as usize;
        self.change(|state| {
            state.regions.push(Placed::new(region, addr, len, false));
            let id = (state.regions.len() - 1) as u16;
            state.pages[pages].fill(id);
        });
    }
}
