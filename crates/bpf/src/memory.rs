//! Guest memory: the one 4 GiB range in which everything lives that a BPF program can point at.
//!
//! A BPF pointer is an offset into the range, so a program's arithmetic on pointers gives the same numbers in every
//! process and machine code that masks a pointer to 32 bits cannot reach anything else. Untouched memory reads as
//! zero, and page 0 is never handed out: a load through a NULL kernel pointer reads 0, as in a kernel.
//!
//! The WebAssembly of a page has 32-bit addresses itself, so guests get less there.

mod sharing;

use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::rc::Rc;

use crate::account::Account;
use crate::mapping::Mapping;

/// Bytes in a page, the grain in which memory is given to regions.
pub const PAGE_SIZE: u64 = 4096;
/// Bytes of guest memory. Miri, which keeps much about each byte, has fewer, and so has a page.
pub const MEMORY_SIZE: u64 = match () {
    () if cfg!(miri) => 1 << 22,
    () if cfg!(target_arch = "wasm32") => 1 << 27,
    () => 1 << 32,
};
/// Bytes of scratch on each side, so that a masked pointer plus a 16-bit offset stays inside the mapping.
const GUARD_SIZE: u64 = 64 * 1024;
/// Addresses from here on are handles (functions), never memory.
pub const HANDLE_BASE: u64 = MEMORY_SIZE / 16 * 15;

/// Why guest memory could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The host refused the address range.
    #[error("cannot reserve 4 GiB of address space for a simulation: {0}; raise the limit (ulimit -v)")]
    Reserve(String),
    /// The 4 GiB are used up.
    #[error(
        "guest memory is full: {what} needs {len} bytes, {left} of 4 GiB are left; use fewer tasks or smaller maps"
    )]
    Full {
        /// Name of the region that was asked for.
        what: String,
        /// Bytes asked for.
        len: u64,
        /// Bytes left.
        left: u64,
    },
    /// What a policy may make grow has reached its limit.
    #[error(
        "{what} needs {} more, and the maps and objects of a policy may use {}, of which {} are in use; release what is not \
         needed, or make maps smaller",
        size(*len),
        size(*limit),
        size(*used)
    )]
    Limit {
        /// What was to grow.
        what: String,
        /// Bytes asked for.
        len: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
}

/// A number of bytes, in MiB where it is some of those.
fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes.div_ceil(1 << 20)) }
}

/// What programs may do with a region. Host code is not bound by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads and stores.
    ReadWrite,
    /// Loads only.
    ReadOnly,
    /// Loads everywhere, stores inside these byte ranges of an element.
    WritableRanges(&'static [Range<u32>]),
    /// Loads everywhere, stores from this byte of an element on.
    WritableFrom(u32),
    /// Nothing: memory of the host's own bookkeeping.
    Hidden,
}

/// A piece of guest memory: an array of equal elements, `stride` bytes apart, each `element_size` bytes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// What a person calls it: `task_struct`, `map stats`, `stack`.
    pub name: Cow<'static, str>,
    /// Bytes from one element to the next; an access must stay inside one element.
    pub stride: u32,
    /// Bytes of an element that exist.
    pub element_size: u32,
    /// What programs may do.
    pub access: Access,
    /// What its elements are to the loaded program.
    pub(crate) content: Content,
}

/// What lies in a region, where the virtual machine has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing that it knows.
    #[default]
    Other,
    /// Elements of a map, by number.
    Map(u32),
    /// A section of globals, by its index in the object.
    Section(u32),
    /// Objects that the program makes for itself.
    Objects,
}

impl Region {
    /// Elements of `element_size` bytes, `stride` apart.
    pub fn array(name: impl Into<Cow<'static, str>>, stride: u32, element_size: u32, access: Access) -> Region {
        debug_assert!(element_size <= stride && stride > 0);
        Region { name: name.into(), stride, element_size, access, content: Content::Other }
    }

    /// One single element that fills the whole region.
    pub fn whole(name: impl Into<Cow<'static, str>>, access: Access) -> Region {
        Region { name: name.into(), stride: 0, element_size: u32::MAX, access, content: Content::Other }
    }

    /// The same with a known content.
    pub(crate) fn with(self, content: Content) -> Region {
        Region { content, ..self }
    }
}

/// Why a program may not touch an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// No region holds the address.
    Outside,
    /// The region, or this part of it, is not to be written.
    ReadOnly(String),
    /// The access runs over the end of an element of the region.
    Overrun(String),
}

/// A region where it was placed.
#[derive(Debug)]
struct Placed {
    start: u32,
    len: u32,
    /// Bytes from an element to the next, where that is a power of two or the whole region, less 1; else 0.
    mask: u32,
    stride: u32,
    element_size: u32,
    /// Whether any load, and any store, inside an element is allowed without a further look.
    simple_load: bool,
    simple_store: bool,
    /// Not all pages are open: the last byte's page is looked at too.
    sparse: bool,
    region: Region,
}

impl Placed {
    fn new(region: Region, start: u64, len: u64, sparse: bool) -> Placed {
        let mask = match region.stride {
            0 => u32::MAX,
            stride if stride.is_power_of_two() => stride - 1,
            _ => 0,
        };
        Placed {
            start: start as u32,
            len: len as u32,
            mask,
            stride: region.stride.max(1),
            element_size: region.element_size,
            simple_load: !sparse && region.access != Access::Hidden,
            simple_store: !sparse && region.access == Access::ReadWrite,
            sparse,
            region,
        }
    }

    /// The place of a byte of the region in its element.
    #[inline(always)]
    fn within_element(&self, offset: u32) -> u32 {
        if self.mask != 0 { offset & self.mask } else { offset % self.stride }
    }
}

#[derive(Debug)]
struct State {
    next: u64,
    /// Index 0 stands for "nothing".
    regions: Vec<Placed>,
    /// Region of each page.
    pages: Vec<u16>,
    account: Account,
    /// What another process can see.
    shared: Vec<Range<u64>>,
}

#[derive(Debug)]
struct Shared {
    mapping: Mapping,
    state: UnsafeCell<State>,
}

/// A handle to one simulation's guest memory. Cloning is cheap and gives the same memory.
///
/// All handles of one memory belong to one thread.
#[derive(Clone, Debug)]
pub struct GuestMemory {
    base: *mut u8,
    shared: Rc<Shared>,
}

mod sealed {
    /// Plain integers.
    pub trait Word: Copy {}
    impl Word for u8 {}
    impl Word for u16 {}
    impl Word for u32 {}
    impl Word for u64 {}
    impl Word for i8 {}
    impl Word for i16 {}
    impl Word for i32 {}
    impl Word for i64 {}
}

pub use sealed::Word;

impl GuestMemory {
    /// Reserves the range; no memory is used before it is touched.
    pub fn new() -> Result<GuestMemory, MemoryError> {
        let len = (MEMORY_SIZE + 2 * GUARD_SIZE) as usize;
        let mapping = Mapping::new(len).map_err(|error| MemoryError::Reserve(error.to_string()))?;
        // SAFETY: the mapping is longer than the guard.
        let base = unsafe { mapping.start().add(GUARD_SIZE as usize) };
        let nothing = Placed::new(Region::whole("nothing", Access::Hidden), 0, 0, true);
        let state = State {
            next: PAGE_SIZE,
            regions: vec![nothing],
            pages: vec![0; (MEMORY_SIZE / PAGE_SIZE) as usize],
            account: Account::default(),
            shared: Vec::new(),
        };
        Ok(GuestMemory { base, shared: Rc::new(Shared { mapping, state: UnsafeCell::new(state) }) })
    }

    /// Hands out `len` bytes, zeroed, as a region that starts on a page of its own.
    pub fn alloc(&self, len: u64, align: u64, region: Region) -> Result<u64, MemoryError> {
        let start = self.place(len, align, region, false)?;
        self.open_pages(start, len);
        Ok(start)
    }

    /// Reserves `len` bytes as a region; its pages must not be touched before [`open_pages`](Self::open_pages).
    pub fn alloc_sparse(&self, len: u64, align: u64, region: Region) -> Result<u64, MemoryError> {
        self.place(len, align, region, true)
    }

    fn place(&self, len: u64, align: u64, region: Region, sparse: bool) -> Result<u64, MemoryError> {
        debug_assert!(align.is_power_of_two());
        self.change(|state| {
            let start = state.next.next_multiple_of(align.max(PAGE_SIZE));
            let left = HANDLE_BASE.saturating_sub(start);
            if len > left || state.regions.len() > usize::from(u16::MAX) {
                return Err(MemoryError::Full { what: region.name.into_owned(), len, left });
            }
            state.next = (start + len.max(1)).next_multiple_of(PAGE_SIZE);
            state.regions.push(Placed::new(region, start, len, sparse));
            Ok(start)
        })
    }

    /// What is known about the memory.
    #[inline(always)]
    fn state(&self) -> &State {
        // SAFETY: one thread only. A reference from here is not alive while `change` runs, which is only called where
        // none is and calls functions that know of no memory.
        unsafe { &*self.shared.state.get() }
    }

    /// Changes what is known about the memory.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // SAFETY: as in `state`.
        change(unsafe { &mut *self.shared.state.get() })
    }

    /// Lets programs touch the pages of `len` bytes at `addr`, inside the region that was reserved there.
    pub fn open_pages(&self, addr: u64, len: u64) {
        self.mark(addr, len, true);
    }

    /// Takes pages back from programs.
    pub fn close_pages(&self, addr: u64, len: u64) {
        self.mark(addr, len, false);
    }

    fn mark(&self, addr: u64, len: u64, open: bool) {
        // They follow one another, and the last one is usually meant; those above all others come in between.
        let found = self.state().regions.iter().rposition(|placed| u64::from(placed.start) <= addr).unwrap_or(0);
        let id = if open { found as u16 } else { 0 };
        let pages = (addr / PAGE_SIZE) as usize..(addr + len).div_ceil(PAGE_SIZE) as usize;
        self.change(|state| state.pages[pages].fill(id));
    }

    /// Host address of guest address 0.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Host address of a guest address, which is masked to 32 bits.
    #[inline(always)]
    pub fn host(&self, addr: u64) -> *mut u8 {
        // SAFETY: the mapping spans every offset.
        unsafe { self.base.add(Self::offset(addr)) }
    }

    #[inline(always)]
    fn offset(addr: u64) -> usize {
        (addr % MEMORY_SIZE) as usize
    }

    /// Whether a program may load (`write` false) or store `len` bytes at `addr`.
    #[inline]
    pub fn allows(&self, addr: u64, len: u64, write: bool) -> bool {
        let state = self.state();
        let Some(&id) = state.pages.get((addr / PAGE_SIZE) as usize) else { return false };
        let placed = &state.regions[usize::from(id)];
        let offset = (addr as u32).wrapping_sub(placed.start);
        let within = u64::from(placed.within_element(offset));
        let fits = len <= u64::from(placed.element_size.saturating_sub(within as u32))
            && u64::from(offset) + len <= u64::from(placed.len);
        let simple = if write { placed.simple_store } else { placed.simple_load };
        fits && id != 0 && (simple || self.check(addr, len, write).is_ok())
    }

    /// As [`allows`](Self::allows), with the reason if not.
    pub fn check(&self, addr: u64, len: u64, write: bool) -> Result<(), AccessError> {
        let state = self.state();
        let id = state.pages.get((addr / PAGE_SIZE) as usize).copied().unwrap_or(0);
        let placed = &state.regions[usize::from(id)];
        if id == 0 || placed.region.access == Access::Hidden {
            return Err(AccessError::Outside);
        }
        let offset = addr as u32 - placed.start;
        let from = u64::from(placed.within_element(offset));
        let to = from.saturating_add(len);
        if to > u64::from(placed.element_size) || u64::from(offset).saturating_add(len) > u64::from(placed.len) {
            return Err(placed.refusal(offset, AccessError::Overrun));
        }
        if placed.sparse && len > 0 && state.pages[((addr + len - 1) / PAGE_SIZE) as usize] != id {
            return Err(AccessError::Outside);
        }
        let is_inside = |range: &Range<u32>| u64::from(range.start) <= from && to <= u64::from(range.end);
        match &placed.region.access {
            Access::WritableRanges(ranges) if write && !ranges.iter().any(is_inside) => {
                Err(placed.refusal(offset, AccessError::ReadOnly))
            }
            Access::WritableFrom(first) if write && from < u64::from(*first) => {
                Err(placed.refusal(offset, AccessError::ReadOnly))
            }
            Access::ReadOnly if write => Err(placed.refusal(offset, AccessError::ReadOnly)),
            _ => Ok(()),
        }
    }

    /// Whether `len` bytes at `addr` may be read by a program.
    pub fn readable(&self, addr: u64, len: u64) -> bool {
        self.allows(addr, len, false)
    }

    /// Whether `len` bytes at `addr` may be written by a program.
    pub fn writable(&self, addr: u64, len: u64) -> bool {
        self.allows(addr, len, true)
    }

    /// The name of the region around `addr`, for messages.
    pub fn region_name(&self, addr: u64) -> Option<String> {
        let state = self.state();
        let id = *state.pages.get((addr / PAGE_SIZE) as usize)?;
        (id != 0).then(|| state.regions[usize::from(id)].region.name.to_string())
    }

    /// How many of `limit` bytes at `addr` a program may read one after the other.
    pub fn readable_len(&self, addr: u64, limit: u64) -> u64 {
        let state = self.state();
        let page = |addr: u64| state.pages.get((addr / PAGE_SIZE) as usize).copied().unwrap_or(0);
        let id = page(addr);
        let placed = &state.regions[usize::from(id)];
        if id == 0 || placed.region.access == Access::Hidden {
            return 0;
        }
        let offset = addr as u32 - placed.start;
        let element = placed.element_size.saturating_sub(placed.within_element(offset));
        let len = limit.min(u64::from(element)).min(u64::from(placed.len).saturating_sub(u64::from(offset)));
        if !placed.sparse {
            return len;
        }
        let mut end = (addr / PAGE_SIZE + 1) * PAGE_SIZE;
        while end < addr + len && page(end) == id {
            end += PAGE_SIZE;
        }
        len.min(end - addr)
    }

    /// What the region around `addr` holds, and where the element of `addr` begins.
    pub(crate) fn element(&self, addr: u64) -> Option<(Content, u64)> {
        let state = self.state();
        let id = *state.pages.get((addr / PAGE_SIZE) as usize)?;
        let placed = &state.regions[usize::from(id)];
        let offset = (addr as u32).wrapping_sub(placed.start);
        let start = match placed.region.stride {
            0 => u64::from(placed.start),
            _ => addr - u64::from(placed.within_element(offset)),
        };
        (id != 0).then_some((placed.region.content, start))
    }

    /// Takes bytes from what a policy may make grow, here or in the host's own memory; `what` is what grows.
    pub fn charge(&self, what: &str, bytes: u64) -> Result<(), MemoryError> {
        self.change(|state| state.account.charge(what, bytes))
    }

    /// Gives bytes back.
    pub fn refund(&self, bytes: u64) {
        self.change(|state| state.account.refund(bytes));
    }

    /// Reads an integer. Anything that lies in guest memory may be read, whatever its region allows.
    #[inline(always)]
    pub fn read<T: Word>(&self, addr: u64) -> T {
        // SAFETY: `host` plus 8 bytes is inside the mapping, guard included.
        unsafe { self.host(addr).cast::<T>().read_unaligned() }
    }

    /// Writes an integer.
    #[inline(always)]
    pub fn write<T: Word>(&self, addr: u64, value: T) {
        // SAFETY: as in `read`.
        unsafe { self.host(addr).cast::<T>().write_unaligned(value) }
    }

    /// How many of `len` bytes at `addr` lie inside guest memory.
    fn inside(addr: u64, len: usize) -> usize {
        len.min(MEMORY_SIZE as usize - Self::offset(addr))
    }

    /// What `look` finds in bytes of guest memory; those behind its end are not there.
    #[inline]
    fn look<T>(&self, addr: u64, len: usize, look: impl FnOnce(&[u8]) -> T) -> T {
        // SAFETY: the range is inside the mapping, which is initialised (zeroed) from the start. Nothing writes to it
        // while `look` runs: the callers in this file give functions that know of no memory.
        look(unsafe { std::slice::from_raw_parts(self.host(addr), Self::inside(addr, len)) })
    }

    /// Whether the bytes at `addr` are these.
    #[inline]
    pub(crate) fn holds(&self, addr: u64, bytes: &[u8]) -> bool {
        self.look(addr, bytes.len(), |found| found == bytes)
    }

    /// A hash of the bytes at `addr`.
    #[inline]
    pub(crate) fn hash(&self, addr: u64, len: usize, hasher: &impl std::hash::BuildHasher) -> u64 {
        self.look(addr, len, |bytes| hasher.hash_one(bytes))
    }

    /// The first byte in which two runs of at most `len` bytes differ or both end, as C `strncmp` compares.
    pub(crate) fn compare_text(&self, a: u64, b: u64, len: usize) -> std::cmp::Ordering {
        let end = |bytes: &[u8]| bytes.iter().position(|&byte| byte == 0).map_or(bytes.len(), |at| at + 1);
        let (a_len, b_len) = (self.look(a, len, end), self.look(b, len, end));
        self.look(a, a_len, |a| self.look(b, b_len, |b| a.cmp(b)))
    }

    /// Copies bytes out; what would lie behind the end of guest memory reads as zero.
    pub fn read_bytes(&self, addr: u64, into: &mut [u8]) {
        let (inside, outside) = into.split_at_mut(Self::inside(addr, into.len()));
        // SAFETY: the range is inside the mapping, and a host slice never overlaps guest memory.
        unsafe { std::ptr::copy_nonoverlapping(self.host(addr), inside.as_mut_ptr(), inside.len()) };
        outside.fill(0);
    }

    /// Copies bytes in; what would lie behind the end of guest memory is dropped.
    pub fn write_bytes(&self, addr: u64, bytes: &[u8]) {
        // SAFETY: as in `read_bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host(addr), Self::inside(addr, bytes.len())) };
    }

    /// Copies `len` bytes inside guest memory; the two ranges may overlap.
    pub fn copy(&self, from: u64, to: u64, len: usize) {
        let len = Self::inside(from, len).min(Self::inside(to, len));
        // SAFETY: both ranges are inside the mapping.
        unsafe { std::ptr::copy(self.host(from), self.host(to), len) };
    }

    /// Sets `len` bytes to zero.
    pub fn zero(&self, addr: u64, len: usize) {
        // SAFETY: the range is inside the mapping.
        unsafe { std::ptr::write_bytes(self.host(addr), 0, Self::inside(addr, len)) };
    }

    /// Sets whole pages to zero and gives what they take to the system.
    pub fn discard(&self, addr: u64, len: u64) {
        debug_assert!(addr.is_multiple_of(PAGE_SIZE) && len.is_multiple_of(PAGE_SIZE));
        let at = GUARD_SIZE as usize + Self::offset(addr);
        let is_shared = self.state().shared.iter().any(|range| range.contains(&addr));
        if is_shared || !self.shared.mapping.discard(at, Self::inside(addr, len as usize)) {
            self.zero(addr, len as usize);
        }
    }

    /// The bytes at `addr` up to the first zero, at most `limit` of them.
    pub fn read_text(&self, addr: u64, limit: usize) -> String {
        self.look(addr, self.text_len(addr, limit), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The number of bytes at `addr` before the first zero, at most `limit`.
    pub(crate) fn text_len(&self, addr: u64, limit: usize) -> usize {
        self.look(addr, limit, |bytes| bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()))
    }
}

impl Placed {
    #[cold]
    fn refusal(&self, offset: u32, kind: fn(String) -> AccessError) -> AccessError {
        let Region { name, stride, .. } = &self.region;
        match offset.checked_div(*stride) {
            None => kind(format!("{name} (offset {offset} of {})", self.len)),
            Some(index) => kind(format!("{name} (element {index}, offset {})", offset % stride)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_memory_reads_zero_and_page_zero_is_nobodys() {
        let memory = GuestMemory::new().unwrap();
        assert_eq!(memory.read::<u64>(16), 0);
        assert_eq!(memory.check(16, 8, false), Err(AccessError::Outside));
        assert_eq!(memory.alloc(10, 8, Region::whole("first", Access::ReadWrite)).unwrap(), PAGE_SIZE);
    }

    #[test]
    fn an_access_stays_inside_one_element() {
        let memory = GuestMemory::new().unwrap();
        let at = memory.alloc(320, 8, Region::array("things", 32, 20, Access::ReadWrite)).unwrap();
        assert!(memory.writable(at + 32 + 12, 8));
        assert!(!memory.readable(at + 32 + 16, 8));
        assert!(!memory.readable(at + 32 + 24, 1));
        assert!(!memory.readable(at + 320, 1));
        assert!(!memory.readable(at.wrapping_sub(1), 1));
        assert!(!memory.readable(u64::MAX, 8));
    }

    #[test]
    fn only_the_listed_ranges_are_writable() {
        const RANGES: &[Range<u32>] = &[8..16, 24..28];
        let memory = GuestMemory::new().unwrap();
        let at = memory.alloc(64, 8, Region::array("task", 32, 32, Access::WritableRanges(RANGES))).unwrap();
        assert!(memory.readable(at, 8) && !memory.writable(at, 8));
        assert!(memory.writable(at + 32 + 8, 8) && memory.writable(at + 24, 4) && !memory.writable(at + 24, 8));
        assert_eq!(memory.region_name(at + 40), Some("task".to_string()));
        let at = memory.alloc(64, 8, Region::array("element", 32, 32, Access::WritableFrom(8))).unwrap();
        assert!(memory.readable(at, 32) && memory.writable(at + 8, 24) && memory.writable(at + 40, 8));
        assert!(!memory.writable(at, 16) && !memory.writable(at + 39, 1));
    }

    #[test]
    fn sparse_pages_open_and_close() {
        let memory = GuestMemory::new().unwrap();
        let at = memory.alloc_sparse(4 * PAGE_SIZE, 8, Region::whole("arena", Access::ReadWrite)).unwrap();
        memory.alloc(8, 8, Region::whole("behind", Access::ReadWrite)).unwrap();
        assert!(!memory.readable(at, 1));
        memory.open_pages(at + PAGE_SIZE, PAGE_SIZE);
        assert!(memory.readable(at + PAGE_SIZE, 8) && !memory.readable(at + 2 * PAGE_SIZE - 4, 8));
        memory.close_pages(at + PAGE_SIZE, PAGE_SIZE);
        assert!(!memory.readable(at + PAGE_SIZE, 8));
    }

    #[test]
    fn the_end_of_memory_is_an_error() {
        let memory = GuestMemory::new().unwrap();
        let error = memory.alloc(MEMORY_SIZE, 8, Region::whole("map big", Access::ReadWrite)).unwrap_err();
        assert!(error.to_string().contains(&format!("map big needs {MEMORY_SIZE} bytes")), "{error}");
        memory.write_bytes(MEMORY_SIZE - 2, &[1, 2, 3, 4]);
        let mut bytes = [9; 4];
        memory.read_bytes(MEMORY_SIZE - 2, &mut bytes);
        assert_eq!(bytes, [1, 2, 0, 0]);
    }
}
