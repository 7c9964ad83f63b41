//! The disk from which a machine starts: a loader of one sector, what the kernel has to know, the kernel, its files.
//!
//! The kernel is entered where virtual machines enter it (PVH), unpacked as it is, so that neither a boot loader nor a
//! decompressor has to be emulated.

use super::Guest;
use crate::image::Segment;
use std::io;

const SECTOR_BYTES: usize = 512;
/// The loader reads that much at once.
const PIECE_BYTES: usize = 256 * SECTOR_BYTES;
/// The disk's geometry wants whole cylinders.
const CYLINDER_BYTES: usize = 16 * 63 * SECTOR_BYTES;
/// Where what the kernel has to know lies in memory, and three parts of it from there.
const INFO_ADDRESS: u64 = 0x2_0000;
const MODULES_AT: usize = 0x100;
const MEMORY_MAP_AT: usize = 0x200;
const COMMAND_LINE_AT: usize = 0x800;
/// What the BIOS keeps at the end of memory for the tables that describe the machine.
const BIOS_TABLES_BYTES: u64 = 0x1_0000;
/// What begins a start information of version 1 (xen/include/public/arch-x86/hvm/start_info.h).
const START_INFO: [u32; 2] = [0x336e_c578, 1];
const RAM: u32 = 1;
const RESERVED: u32 = 2;
const ACPI: u32 = 3;

core::arch::global_asm!(
    ".pushsection .rodata.schedlab_boot, \"a\"",
    include_str!("boot.s"),
    ".popsection",
    options(att_syntax)
);

unsafe extern "C" {
    static schedlab_boot_begin: [u8; SECTOR_BYTES];
    static schedlab_boot_entry: u8;
    static schedlab_boot_info: u8;
    static schedlab_boot_parts: u8;
}

/// Something that the loader lays into memory.
struct Part<'a> {
    address: u64,
    bytes: &'a [u8],
}

/// The disk for a kernel and its files.
pub fn image(guest: &Guest, command_line: &str) -> io::Result<Vec<u8>> {
    let Guest { kernel, files, memory_bytes, .. } = *guest;
    let entry = kernel.direct_entry().ok_or_else(|| {
        let why = "this kernel cannot be entered directly (it is built without CONFIG_PVH); use --engine qemu";
        io::Error::new(io::ErrorKind::Unsupported, why)
    })?;
    let (address, memory) = flat(&kernel.segments());
    let files_address = (memory_bytes - (1 << 20) - files.len() as u64) & !0xfff;
    let info = start_info(memory_bytes, files_address, files.len() as u64, command_line);
    let parts = [
        Part { address: INFO_ADDRESS, bytes: &info },
        Part { address, bytes: &memory },
        Part { address: files_address, bytes: files },
    ];
    let mut disk = loader(entry, &parts);
    for part in &parts {
        disk.extend_from_slice(part.bytes);
        let over = (disk.len() - SECTOR_BYTES) % PIECE_BYTES;
        disk.resize(disk.len() + (PIECE_BYTES - over) % PIECE_BYTES, 0);
    }
    disk.resize(disk.len().next_multiple_of(CYLINDER_BYTES), 0);
    Ok(disk)
}

/// A kernel's pieces as one, and its address.
fn flat(segments: &[Segment]) -> (u64, Vec<u8>) {
    let begin = segments.iter().map(|segment| segment.address).min().unwrap_or(0);
    let end = segments.iter().map(|segment| segment.address + segment.size).max().unwrap_or(0);
    let mut memory = vec![0; (end - begin) as usize];
    for segment in segments {
        let at = (segment.address - begin) as usize;
        memory[at..at + segment.bytes.len()].copy_from_slice(segment.bytes);
    }
    (begin, memory)
}

/// The first sector, with what it has to load.
fn loader(entry: u32, parts: &[Part]) -> Vec<u8> {
    // SAFETY: the sector is a constant of this size, and the others are places inside of it.
    let (mut sector, at) = unsafe {
        let begin = (&raw const schedlab_boot_begin).cast::<u8>();
        let at = |place: *const u8| place.offset_from_unsigned(begin);
        let places = (at(&raw const schedlab_boot_entry), at(&raw const schedlab_boot_info));
        (schedlab_boot_begin.to_vec(), (places.0, places.1, at(&raw const schedlab_boot_parts)))
    };
    let mut put = |at: usize, word: u64| sector[at..at + 4].copy_from_slice(&(word as u32).to_le_bytes());
    put(at.0, u64::from(entry));
    put(at.1, INFO_ADDRESS);
    let mut first_sector = 1;
    for (number, part) in parts.iter().enumerate() {
        let pieces = part.bytes.len().div_ceil(PIECE_BYTES);
        let place = at.2 + 12 * number;
        put(place, pieces as u64);
        put(place + 4, first_sector);
        put(place + 8, part.address);
        first_sector += (pieces * PIECE_BYTES / SECTOR_BYTES) as u64;
    }
    sector
}

/// What a kernel has to know when it is entered: its files, its command line, and which memory there is.
fn start_info(memory_bytes: u64, files_address: u64, files_bytes: u64, command_line: &str) -> Vec<u8> {
    let map = [
        (0, 0x9_fc00, RAM),
        (0x9_fc00, 0x400, RESERVED),
        (0xe_8000, 0x1_8000, RESERVED),
        (1 << 20, memory_bytes - BIOS_TABLES_BYTES - (1 << 20), RAM),
        (memory_bytes - BIOS_TABLES_BYTES, BIOS_TABLES_BYTES, ACPI),
    ];
    let address = |at: usize| INFO_ADDRESS + at as u64;
    let mut info = Words::default();
    info.u32s(&START_INFO).u32s(&[0, 1]);
    // The last is the place of the machine's tables, which the kernel is to look for.
    info.u64s(&[address(MODULES_AT), address(COMMAND_LINE_AT), 0, address(MEMORY_MAP_AT)]).u32s(&[map.len() as u32, 0]);
    info.up_to(MODULES_AT).u64s(&[files_address, files_bytes, 0, 0]).up_to(MEMORY_MAP_AT);
    for (begin, length, kind) in map {
        info.u64s(&[begin, length]).u32s(&[kind, 0]);
    }
    info.up_to(COMMAND_LINE_AT).0.extend_from_slice(command_line.as_bytes());
    info.0.push(0);
    info.0
}

/// Little-endian words, one behind the other.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn u32s(&mut self, words: &[u32]) -> &mut Words {
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self
    }

    fn u64s(&mut self, words: &[u64]) -> &mut Words {
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self
    }

    fn up_to(&mut self, at: usize) -> &mut Words {
        self.0.resize(at, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_a_boot_sector_that_lists_its_parts() {
        let parts = [Part { address: 0x2_0000, bytes: &[1; 10] }, Part { address: 0x100_0000, bytes: &[2; 200_000] }];
        let sector = loader(0x1234_5678, &parts);
        assert_eq!((sector.len(), &sector[510..]), (SECTOR_BYTES, &[0x55, 0xaa][..]));
        let words: Vec<u32> = [1, 1, 0x2_0000, 2, 257, 0x100_0000, 0].to_vec();
        let list: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(sector.windows(list.len()).any(|window| window == list));
        assert!(sector.windows(4).any(|window| window == 0x1234_5678_u32.to_le_bytes()));
    }

    #[test]
    fn a_kernel_finds_its_files_and_its_memory() {
        let info = start_info(512 << 20, 0x1e00_0000, 5000, "quiet");
        let word = |at: usize| u64::from_le_bytes(info[at..at + 8].try_into().unwrap());
        assert_eq!((word(16), word(24), word(40)), (0x2_0100, 0x2_0800, 0x2_0200));
        assert_eq!((word(MODULES_AT), word(MODULES_AT + 8)), (0x1e00_0000, 5000));
        // The last range ends where memory ends.
        let last = MEMORY_MAP_AT + 4 * 24;
        assert_eq!(word(last) + word(last + 8), 512 << 20);
        assert_eq!(&info[COMMAND_LINE_AT..], b"quiet\0");
    }

    #[test]
    fn pieces_of_a_kernel_are_laid_side_by_side() {
        let segment = |address, bytes, size| Segment { address, bytes, size };
        let (address, memory) = flat(&[segment(0x1010, b"data", 6), segment(0x1000, b"code", 4)]);
        assert_eq!((address, memory.len()), (0x1000, 0x16));
        assert_eq!((&memory[..4], &memory[0x10..]), (&b"code"[..], &b"data\0\0"[..]));
    }
}
