//! Records that perf compressed with `-z`: one stream of zstd, in pieces.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// No header of a frame is longer.
const HEADER_BYTES: usize = 18;

/// Unpacks the pieces of a stream in their order.
#[derive(Default)]
pub struct Stream {
    frame: Option<Frame>,
    /// What is not yet unpacked.
    packed: Vec<u8>,
}

struct Frame {
    decoder: FrameDecoder,
    /// Whether a checksum, which is not checked, follows the last block.
    has_checksum: bool,
}

impl Stream {
    /// The rest, when nothing more comes. perf never ends its stream, and the last window of it is given out at its end only:
    /// so an empty last block is put behind it.
    pub fn finish(&mut self, most: u64) -> Result<Vec<u8>, String> {
        match &self.frame {
            Some(Frame { has_checksum: true, .. }) => self.unpack(&[1, 0, 0, 0, 0, 0, 0], most),
            Some(_) => self.unpack(&[1, 0, 0], most),
            None => Ok(Vec::new()),
        }
    }

    /// What comes out of a further piece, which is at most `most` bytes.
    pub fn unpack(&mut self, piece: &[u8], most: u64) -> Result<Vec<u8>, String> {
        self.packed.extend_from_slice(piece);
        let mut unpacked = Vec::new();
        while self.step(&mut unpacked).map_err(|error| format!("a compressed record: {error}"))? {
            if unpacked.len() as u64 > most {
                return Err("a compressed record claims more than it can hold".into());
            }
        }
        Ok(unpacked)
    }

    /// Unpacks what is there as a whole, the header of a frame or a block. Says whether anything was.
    fn step(&mut self, unpacked: &mut Vec<u8>) -> Result<bool, String> {
        let mut rest = self.packed.as_slice();
        let Some(frame) = &mut self.frame else {
            if rest.len() < HEADER_BYTES {
                return Ok(false);
            }
            let (mut decoder, has_checksum) = (FrameDecoder::new(), rest[4] & 4 != 0);
            decoder.init(&mut rest).map_err(|error| error.to_string())?;
            self.frame = Some(Frame { decoder, has_checksum });
            self.packed.drain(..self.packed.len() - rest.len());
            return Ok(true);
        };
        if block_length(rest, frame.has_checksum).is_none_or(|length| length > rest.len()) {
            return Ok(false);
        }
        let strategy = BlockDecodingStrategy::UptoBlocks(1);
        frame.decoder.decode_blocks(&mut rest, strategy).map_err(|error| error.to_string())?;
        frame.decoder.read_to_end(unpacked).map_err(|error| error.to_string())?;
        if frame.decoder.is_finished() {
            self.frame = None;
        }
        self.packed.drain(..self.packed.len() - rest.len());
        Ok(true)
    }
}

/// The length of a block with its header, and with the frame's sum behind the last one.
fn block_length(bytes: &[u8], has_checksum: bool) -> Option<usize> {
    let header = bytes.get(..3)?;
    let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let size = (header >> 3) as usize;
    // A block of one byte that is repeated has just that byte.
    let sum = if header & 1 == 1 && has_checksum { 4 } else { 0 };
    Some(3 + sum + if header >> 1 & 3 == 1 { 1 } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_unpacked_however_it_is_cut() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(|number| (number % 977).to_le_bytes()).collect();
        let packed = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        for size in [1000, 7777, packed.len()] {
            let mut stream = Stream::default();
            let mut unpacked = Vec::new();
            packed.chunks(size).for_each(|piece| unpacked.extend(stream.unpack(piece, 1 << 30).unwrap()));
            assert!(unpacked == text, "{size}: {} of {}", unpacked.len(), text.len());
        }
        // A stream without its end, as perf leaves it.
        let mut stream = Stream::default();
        let mut unpacked = stream.unpack(&packed[..packed.len() - 1], 1 << 30).unwrap();
        unpacked.extend(stream.finish(1 << 30).unwrap());
        assert!(text.starts_with(&unpacked) && unpacked.len() > text.len() / 2);
        assert_eq!(Stream::default().finish(1000), Ok(Vec::new()));
        assert!(Stream::default().unpack(&packed, 1000).is_err());
        assert!(Stream::default().unpack(b"no zstd at all, whatever", 1000).is_err());
    }
}
