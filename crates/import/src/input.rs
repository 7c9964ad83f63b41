//! What is imported, as a file that can be read anywhere: standard input and what is compressed is put on disk first.

use crate::Error;
use schedlab_boundary::{file, own};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The most that comes out of a compressed file, or through standard input.
const UNPACKED_BYTES: u64 = 64 << 30;
/// Less than this is always unpacked; beyond it, no recording is that much smaller when it is compressed.
const FREE_BYTES: u64 = 1 << 30;
const RATIO: u64 = 200;
/// How often something may be compressed again.
const LAYERS: usize = 3;

/// Where a recording is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// What is piped into the program.
    Standard,
}

impl Place {
    /// What a user named: `-` is standard input.
    pub fn of(path: &Path) -> Place {
        if path == Path::new("-") { Place::Standard } else { Place::File(path.into()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::Standard => f.write_str("standard input"),
        }
    }
}

/// The file, unpacked.
pub struct Input {
    file: File,
    length: u64,
}

impl Input {
    /// Opens what is there. What has to be kept is kept in a file without a name in `scratch`.
    pub fn open(place: &Place, scratch: &Path) -> Result<Input, Error> {
        let unreadable = |source: io::Error| Error::Read { place: place.clone(), source };
        let foreign = |what: &str| Error::Foreign { place: place.clone(), what: what.into() };
        let mut file = match place {
            Place::File(path) => file::open(path, file::ANY_BYTES).map_err(|source| match source.kind() {
                ErrorKind::InvalidInput | ErrorKind::IsADirectory => {
                    foreign("this is not a file; save the recording to one first, or pipe it into `schedlab import -`")
                }
                _ => unreadable(source),
            })?,
            Place::Standard => {
                kept(io::stdin().lock(), u64::MAX, scratch).map_err(|problem| problem.of(place, scratch))?
            }
        };
        for _ in 0..LAYERS {
            let input = Input::of(file).map_err(unreadable)?;
            if input.length == 0 {
                return Err(foreign("the file is empty"));
            }
            let Some(packing) = Packing::of(&input.start(16).map_err(unreadable)?) else { return Ok(input) };
            file = packing.unpacked(&input, scratch).map_err(|problem| problem.of(place, scratch))?;
        }
        Err(foreign("this is compressed again and again; unpack it first"))
    }

    fn of(file: File) -> io::Result<Input> {
        let length = file.metadata()?.len();
        Ok(Input { file, length })
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The first bytes, fewer where there are not this many.
    pub fn start(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader(0, most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// this many bytes from a place in it; nothing where they are not all there.
    pub fn at(&self, offset: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(Some(bytes))
    }

    /// Reads from a place on, at most this many bytes.
    pub fn reader(&self, offset: u64, most: u64) -> BufReader<Part<'_>> {
        let end = offset.saturating_add(most).min(self.length);
        BufReader::with_capacity(1 << 16, Part { file: &self.file, at: offset, end })
    }
}

/// A part of a file, as a stream.
pub struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = self.end.saturating_sub(self.at).min(bytes.len() as u64) as usize;
        let read = self.file.read_at(&mut bytes[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Why something could not be unpacked.
enum Problem {
    Input(String),
    Read(io::Error),
    Disk(io::Error),
}

impl Problem {
    fn of(self, place: &Place, scratch: &Path) -> Error {
        match self {
            Problem::Input(what) => Error::Foreign { place: place.clone(), what },
            Problem::Read(source) => Error::Read { place: place.clone(), source },
            Problem::Disk(source) => Error::Scratch { folder: scratch.into(), source },
        }
    }
}

#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
    /// What atrace writes with `-z`, behind its first line.
    Zlib(u64),
}

impl Packing {
    fn of(start: &[u8]) -> Option<Packing> {
        match start {
            [0x1f, 0x8b, 8, ..] => Some(Packing::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            [b'T', b'R', b'A', b'C', b'E', b':', b'\n', 0x78, ..] => Some(Packing::Zlib(7)),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
            Packing::Zlib(_) => "zlib",
        }
    }

    fn unpacked(self, input: &Input, scratch: &Path) -> Result<File, Problem> {
        let packed = input.reader(0, u64::MAX);
        let most = FREE_BYTES.max(input.length.saturating_mul(RATIO));
        let told = match self {
            Packing::Gzip => kept(flate2::bufread::MultiGzDecoder::new(packed), most, scratch),
            Packing::Xz => kept(lzma_rust2::XzReader::new(packed, true), most, scratch),
            Packing::Zlib(from) => kept(flate2::bufread::ZlibDecoder::new(input.reader(from, u64::MAX)), most, scratch),
            Packing::Zstd => kept(Frames { packed, decoder: None }, most, scratch),
        };
        told.map_err(|problem| match problem {
            Problem::Read(error) => Problem::Input(format!("this is {} that cannot be unpacked: {error}", self.name())),
            problem => problem,
        })
    }
}

/// All frames of a zstd file, one after the other.
struct Frames<R: io::BufRead> {
    packed: R,
    decoder: Option<ruzstd::decoding::FrameDecoder>,
}

impl<R: io::BufRead> Read for Frames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                None if self.packed.fill_buf()?.is_empty() => return Ok(0),
                None => {
                    let mut decoder = ruzstd::decoding::FrameDecoder::new();
                    decoder.init(&mut self.packed).map_err(io::Error::other)?;
                    self.decoder.insert(decoder)
                }
            };
            let read = decoder.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            if decoder.is_finished() {
                self.decoder = None;
                continue;
            }
            let strategy = ruzstd::decoding::BlockDecodingStrategy::UptoBlocks(1);
            decoder.decode_blocks(&mut self.packed, strategy).map_err(io::Error::other)?;
        }
    }
}

/// Puts all that can be read into a file without a name, up to a limit.
fn kept(mut from: impl Read, most: u64, scratch: &Path) -> Result<File, Problem> {
    let mut file = own::unnamed(scratch).map_err(Problem::Disk)?;
    let (mut bytes, mut length) = (vec![0; 1 << 16], 0_u64);
    loop {
        let read = match from.read(&mut bytes) {
            Ok(0) => return Ok(file),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Problem::Read(error)),
        };
        length += read as u64;
        if length > most.min(UNPACKED_BYTES) {
            return Err(Problem::Input(format!(
                "more than {} GiB would come out of this; unpack it first",
                length >> 30
            )));
        }
        file.write_all(&bytes[..read]).map_err(Problem::Disk)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder, write::ZlibEncoder};

    fn opened(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e");
        std::fs::write(&path, bytes).unwrap();
        let input = Input::open(&Place::of(&path), folder.path()).map_err(|error| error.to_string())?;
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        Ok(input.start(usize::MAX >> 1).unwrap())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// The text of the test, as `xz` writes it.
    const XZ: &[u8] =
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\xe2\
        \x55\xa7\x00\x6e\x5d\x00\x39\x98\xc9\x4e\xb0\xd7\xe7\xb9\xb3\x80\x8d\x76\x6b\xda\x7e\x60\x6a\x23\xd9\
        \x74\xc9\x67\xfa\x9f\xe2\xc6\xea\x7e\x5d\x01\x2c\xfa\x4d\xb4\x8f\x23\xfe\x9c\x81\x37\x4a\xb5\xe4\xea\
        \x30\x7f\x26\x1a\x9e\x07\x71\x14\x3b\x0e\xf2\x21\xa8\x4e\xc9\x9d\x8f\x70\x90\xf6\xa8\x27\x65\xe2\x10\
        \x99\x74\x25\x35\xab\xab\x4f\x45\x0b\x75\x20\x91\x7a\x11\xee\xb3\x2f\x7f\x41\xa6\x0d\x3f\xf6\xd6\x7c\
        \x47\x15\x1e\x22\x97\x44\x9f\xc2\x26\x15\x40\xe2\xcc\x57\x00\x00\x00\x00\x00\x63\x35\x8d\xe9\xb5\x9a\
        \xc6\xe2\x00\x01\x8a\x01\xa8\xab\x09\x00\xf1\xf2\x2e\xcd\xb1\xc4\x67\xfb\x02\x00\x00\x00\x00\x04\x59\
        \x5a";

    #[test]
    fn what_is_compressed_is_unpacked() {
        let text = b"scheduler events\n".repeat(9000);
        let mut zlib = ZlibEncoder::new(b"TRACE:\n".to_vec(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let frames = [zstd(&text[..50_000]), zstd(&text[50_000..])].concat();
        for packed in [gzip(&text), zlib.finish().unwrap(), XZ.to_vec(), frames, gzip(&zstd(&text)), text.clone()] {
            assert!(opened(&packed).unwrap() == text, "{:?}", &packed[..8]);
        }
    }

    #[test]
    fn what_cannot_be_unpacked_is_told() {
        let packed = gzip(&b"scheduler events\n".repeat(9000));
        assert!(opened(&packed[..packed.len() / 2]).unwrap_err().contains("this is gzip that cannot be unpacked"));
        assert!(opened(&zstd(b"events")[..8]).unwrap_err().contains("this is zstd that cannot be unpacked"));
        assert!(opened(b"").unwrap_err().ends_with("the file is empty"));
        let many = (0..5).fold(b"x".to_vec(), |bytes, _| gzip(&bytes));
        assert!(opened(&many).unwrap_err().contains("again and again"));
        let folder = tempfile::tempdir().unwrap();
        let zeros = io::repeat(0);
        let problem = kept(zeros, 1 << 20, folder.path()).err().unwrap();
        assert!(matches!(problem, Problem::Input(what) if what.contains("would come out")));
    }
}
