//! Sections of `trace.dat` that are compressed.

use crate::error::Trouble;
use std::io::Read;

/// The largest piece that is unpacked at once.
pub const PIECE_BYTES: u64 = 64 << 20;
/// How much more than the file may come out of it, and a part that always may.
const RATIO: u64 = 200;
const FREE_BYTES: u64 = 1 << 30;

/// How the pieces of a file are compressed, and how much may still come out of them.
#[derive(Debug)]
pub struct Unpacker {
    algorithm: Algorithm,
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Zstd,
    Zlib,
}

impl Unpacker {
    /// By the name that the file gives; none where it is not compressed.
    pub fn of(name: &[u8], file_bytes: u64) -> Result<Option<Unpacker>, Trouble> {
        let algorithm = match name {
            b"none" | b"" => return Ok(None),
            b"zstd" => Algorithm::Zstd,
            b"zlib" => Algorithm::Zlib,
            other => {
                let name = String::from_utf8_lossy(other).into_owned();
                let way = "`trace-cmd convert --compression none` makes one that can be read";
                return Err(Trouble::Foreign(format!(
                    "the recording is compressed by {name:?}, which is not known here; {way}"
                )));
            }
        };
        Ok(Some(Unpacker { algorithm, left: FREE_BYTES.max(file_bytes.saturating_mul(RATIO)) }))
    }

    /// Unpacks a piece, of which the file says how long it will be.
    pub fn unpack(&mut self, packed: &[u8], length: u64) -> Result<Vec<u8>, Trouble> {
        self.left = self.left.checked_sub(length).ok_or_else(|| Trouble::damaged("it claims more than it can hold"))?;
        if length > PIECE_BYTES {
            return Err(Trouble::damaged("a piece of it claims more than it can hold"));
        }
        let mut bytes = vec![0; length as usize];
        let unpacked = match self.algorithm {
            Algorithm::Zstd => {
                ruzstd::decoding::FrameDecoder::new().decode_all(packed, &mut bytes).map_err(|error| error.to_string())
            }
            Algorithm::Zlib => {
                let mut decoder = flate2::read::ZlibDecoder::new(packed);
                decoder.read_exact(&mut bytes).map(|()| bytes.len()).map_err(|error| error.to_string())
            }
        };
        match unpacked {
            Ok(found) if found as u64 == length => Ok(bytes),
            Ok(found) => Err(Trouble::Damaged(format!("a compressed piece has {found} bytes and claims {length}"))),
            Err(error) => Err(Trouble::Damaged(format!("a compressed piece: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    #[test]
    fn pieces_are_as_long_as_they_claim() {
        let text = b"events ".repeat(100);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        for (name, packed) in [("zlib", zlib.finish().unwrap()), ("zstd", zstd)] {
            let mut unpacker = Unpacker::of(name.as_bytes(), 0).unwrap().unwrap();
            assert_eq!(unpacker.unpack(&packed, 700).unwrap(), text);
            assert!(unpacker.unpack(&packed, 701).is_err(), "{name}");
            assert!(unpacker.unpack(&packed[..9], 700).is_err());
            assert!(unpacker.unpack(&packed, PIECE_BYTES + 1).is_err());
            unpacker.left = 699;
            assert!(unpacker.unpack(&packed, 700).is_err());
        }
        assert!(Unpacker::of(b"none", 0).unwrap().is_none());
        assert!(matches!(Unpacker::of(b"brotli", 0), Err(Trouble::Foreign(_))));
    }
}
