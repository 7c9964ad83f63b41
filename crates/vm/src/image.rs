//! A kernel's image, opened: the program that its own decompressor would unpack, ready to be laid into a machine's memory.
//!
//! Emulators decompress slowly what a host unpacks at once, and what is unpacked can be asked what it can do before it runs.

use crate::error::VmError;
use object::elf::PT_LOAD;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection};
use schedlab_boundary::file;
use std::io::{self, Read};
use std::path::Path;

/// The boot protocol of x86 (Documentation/arch/x86/boot.rst): places of what it says about the image.
const SETUP_SECTORS: usize = 0x1f1;
const SIGNATURE: std::ops::Range<usize> = 0x202..0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR_BYTES: usize = 512;

/// The most that a block of LZ4's old form holds.
const LZ4_BLOCK_BYTES: usize = 8 << 20;

/// The note that says where a kernel is entered in 32-bit mode without a boot loader (Xen's PVH, xen/include/public/elfnote.h).
const NOTE_OWNER: &[u8] = b"Xen";
const NOTE_ENTRY: u32 = 18;

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// A kernel's program.
#[derive(Clone, Debug)]
pub struct Image {
    /// The image as it was, where the program lay inside of one.
    packed: Option<Vec<u8>>,
    elf: Vec<u8>,
}

/// A piece of a kernel and its place in the machine's memory.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Where.
    pub address: u64,
    /// What.
    pub bytes: &'a [u8],
    /// How much memory it takes: what is beyond its bytes is zero.
    pub size: u64,
}

impl Image {
    /// Opens the image in a file: a bzImage (which distributions call vmlinuz), or the vmlinux inside of one.
    pub fn read(path: &Path) -> Result<Image, VmError> {
        let lack = |why: &dyn std::fmt::Display| VmError::Lack(format!("{}: {why}", path.display()));
        let bytes = file::bytes(path, file::OBJECT_BYTES)
            .map_err(|error| lack(&format!("the kernel cannot be read: {error}")))?;
        let (packed, elf) = match () {
            () if bytes.starts_with(b"\x7fELF") => (None, bytes),
            () if bytes.get(SIGNATURE) == Some(b"HdrS") => {
                let elf = unpack(&bytes).map_err(|error| lack(&error))?;
                (Some(bytes), elf)
            }
            () => return Err(lack(&"this is not a kernel image (bzImage, vmlinuz, vmlinux) for x86")),
        };
        let image = Image { packed, elf };
        match image.parsed() {
            Ok(_) => Ok(image),
            Err(error) => Err(lack(&format!("what the image holds is no kernel: {error}"))),
        }
    }

    /// A program that is known to be one.
    pub(crate) fn of_program(elf: Vec<u8>) -> Image {
        Image { packed: None, elf }
    }

    /// A file from which an emulator with a boot loader of its own can start: the program, or, if it has no direct entry,
    /// the image as it was.
    pub fn bootable(&self) -> &[u8] {
        self.packed.as_ref().filter(|_| self.direct_entry().is_none()).unwrap_or(&self.elf)
    }

    fn parsed(&self) -> object::Result<Elf<'_>> {
        Elf::parse(self.elf.as_slice())
    }

    fn section(&self, name: &str) -> Option<&[u8]> {
        self.parsed().ok()?.section_by_name(name)?.data().ok()
    }

    /// The release that it says it is, as in `6.1.0-50-cloud-amd64`.
    pub fn release(&self) -> Option<String> {
        const BEFORE: &[u8] = b"Linux version ";
        let text = self.section(".rodata")?;
        let at = memchr::memmem::find(text, BEFORE)? + BEFORE.len();
        let end = at + memchr::memchr(b' ', &text[at..])?;
        Some(String::from_utf8_lossy(&text[at..end]).into_owned())
    }

    /// Whether it describes its types, which programs in BPF are fitted to.
    pub fn has_btf(&self) -> bool {
        self.section(".BTF").is_some()
    }

    /// Whether it takes schedulers: whether its types have the table of their operations.
    pub fn has_sched_ext(&self) -> bool {
        self.section(".BTF").is_some_and(|btf| memchr::memmem::find(btf, b"\0sched_ext_ops\0").is_some())
    }

    /// What is to be in memory.
    pub fn segments(&self) -> Vec<Segment<'_>> {
        let Ok(elf) = self.parsed() else { return Vec::new() };
        let loaded = elf.elf_program_headers().iter().filter(|header| header.p_type(LittleEndian) == PT_LOAD);
        let segment = |header: &object::elf::ProgramHeader64<LittleEndian>| {
            let bytes = header.data(LittleEndian, self.elf.as_slice()).ok()?;
            Some(Segment { address: header.p_paddr(LittleEndian), bytes, size: header.p_memsz(LittleEndian) })
        };
        loaded.filter_map(segment).collect()
    }

    /// Where it is entered without a boot loader, if it can be.
    pub fn direct_entry(&self) -> Option<u32> {
        let elf = self.parsed().ok()?;
        let header = elf.elf_header();
        let sections = header.sections(LittleEndian, self.elf.as_slice()).ok()?;
        sections.iter().find_map(|section| {
            let mut notes = section.notes(LittleEndian, self.elf.as_slice()).ok()??;
            while let Ok(Some(note)) = notes.next() {
                if note.name() == NOTE_OWNER && note.n_type(LittleEndian).0 == NOTE_ENTRY {
                    return Some(u32::from_le_bytes(note.desc().get(..4)?.try_into().ok()?));
                }
            }
            None
        })
    }
}

/// The program inside of a bzImage.
fn unpack(image: &[u8]) -> io::Result<Vec<u8>> {
    let word = |at: usize| image.get(at..at + 4).map(|four| u32::from_le_bytes(four.try_into().expect("four bytes")));
    // No number of sectors stands for four, as it was long ago.
    let setup = match image[SETUP_SECTORS] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let payload = word(PAYLOAD_OFFSET).zip(word(PAYLOAD_LENGTH)).and_then(|(offset, length)| {
        let begin = (setup + 1) * SECTOR_BYTES + offset as usize;
        image.get(begin..begin + length as usize)
    });
    let payload = payload.ok_or_else(|| io::Error::other("the kernel's image is cut off"))?;
    let unpacked = decompress(payload)?;
    match unpacked.starts_with(b"\x7fELF") {
        true => Ok(unpacked),
        false => Err(io::Error::other("the kernel's image holds no ELF file")),
    }
}

/// By the marks with which each form begins. All but gzip have the length of the content behind them.
fn decompress(payload: &[u8]) -> io::Result<Vec<u8>> {
    let content = &payload[..payload.len().saturating_sub(4)];
    let mut unpacked = Vec::new();
    match payload {
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(payload).read_to_end(&mut unpacked)?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(content);
            decoder.map_err(io::Error::other)?.read_to_end(&mut unpacked)?
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => lzma_rust2::XzReader::new(content, false).read_to_end(&mut unpacked)?,
        [0x02, 0x21, 0x4c, 0x18, blocks @ ..] => lz4_blocks(&blocks[..blocks.len().saturating_sub(4)], &mut unpacked)?,
        _ => return Err(io::Error::other("the kernel's compression is none of gzip, zstd, xz and lz4")),
    };
    Ok(unpacked)
}

/// LZ4's old form, which the kernel's build uses: blocks, each behind its length. Gives how much came out.
fn lz4_blocks(mut blocks: &[u8], unpacked: &mut Vec<u8>) -> io::Result<usize> {
    while let Some((length, rest)) = blocks.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let block = rest.get(..length).ok_or_else(|| io::Error::other("the kernel's image is cut off"))?;
        let done = unpacked.len();
        unpacked.resize(done + LZ4_BLOCK_BYTES, 0);
        let written = lz4_flex::block::decompress_into(block, &mut unpacked[done..]).map_err(io::Error::other)?;
        unpacked.truncate(done + written);
        blocks = &rest[length..];
    }
    Ok(unpacked.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"\x7fELF and what follows, and what follows, and what follows";

    /// What `xz --check=crc32 --x86 --lzma2=dict=4096` makes of it.
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x01, 0x04, 0x00, 0x21, 0x01,
        0x00, 0x00, 0xda, 0x33, 0xad, 0x03, 0xe0, 0x00, 0x38, 0x00, 0x1e, 0x5d, 0x00, 0x3f, 0x91, 0x45, 0x84, 0x69,
        0x4d, 0x5f, 0x64, 0x9b, 0x49, 0xf5, 0xed, 0x28, 0x4b, 0xe6, 0xc4, 0x3f, 0x76, 0x29, 0xc9, 0x36, 0x56, 0x6d,
        0x3c, 0x1c, 0xe2, 0x05, 0x70, 0x00, 0x00, 0x00, 0x00, 0x00, 0x58, 0x58, 0x6a, 0x14, 0x00, 0x01, 0x36, 0x39,
        0x56, 0xac, 0x9f, 0xf6, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    /// An image as a kernel's build makes it, with no code in it.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 3 * SECTOR_BYTES];
        image[SETUP_SECTORS] = 1;
        image[SIGNATURE].copy_from_slice(b"HdrS");
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&(SECTOR_BYTES as u32).to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(payload);
        image
    }

    #[test]
    fn each_compression_gives_the_program_back() {
        let mut gzip = Vec::new();
        flate2::read::GzEncoder::new(CONTENT, flate2::Compression::fast()).read_to_end(&mut gzip).unwrap();
        let with_length = |packed: Vec<u8>| [packed, (CONTENT.len() as u32).to_le_bytes().to_vec()].concat();
        let zstd = ruzstd::encoding::compress_to_vec(CONTENT, ruzstd::encoding::CompressionLevel::Fastest);
        // A block of literals alone: fifteen and more in the first byte, the rest in the second.
        let block = [vec![0xf0, CONTENT.len() as u8 - 15], CONTENT.to_vec()].concat();
        let lz4 = [vec![0x02, 0x21, 0x4c, 0x18], (block.len() as u32).to_le_bytes().to_vec(), block].concat();
        for payload in [gzip, with_length(zstd), with_length(XZ.to_vec()), with_length(lz4)] {
            assert_eq!(unpack(&image(&payload)).unwrap(), CONTENT);
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_in_a_line() {
        let error = |path: &Path| Image::read(path).unwrap_err().to_string();
        assert!(error(Path::new("/no/such/vmlinuz")).contains("/no/such/vmlinuz: the kernel cannot be read"));
        assert!(error(Path::new("/etc/passwd")).contains("/etc/passwd: this is not a kernel image"));
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_told() {
        let error = |bytes: &[u8]| unpack(bytes).unwrap_err().to_string();
        let whole = image(b"no such compression");
        assert_eq!(error(&whole), "the kernel's compression is none of gzip, zstd, xz and lz4");
        assert_eq!(error(&whole[..whole.len() - 1]), "the kernel's image is cut off");
    }
}
