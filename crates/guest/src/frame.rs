//! Messages as bytes that can be checked: nothing that a guest, an emulator or a full disk does to them goes unseen.
//!
//! A frame is a mark of four bytes, a number that counts frames from 0, the length of what follows the head, a CRC-32 of
//! number, length and content, each of the three a little-endian word; then the content, a message in postcard's form.

use crate::message::Message;
use std::io::{self, Write};

const MARK: [u8; 4] = *b"SLG1";
const HEAD_BYTES: usize = 16;
/// No message is longer; a length above this is damage.
const LONGEST: u32 = 64 << 20;

/// No emulator writes more around the frames.
const MOST_NOISE_BYTES: usize = 1 << 20;

/// Why frames cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else stands where a frame should begin.
    #[error("byte {at} of what the guest sent does not start a frame")]
    NoFrame {
        /// Where.
        at: usize,
    },
    /// The content, or the head, is not what was sent.
    #[error("frame {number} from the guest is damaged")]
    Damaged {
        /// The number that was due.
        number: u32,
    },
    /// More of something else came than an emulator has to say.
    #[error("the guest floods its port: {bytes} bytes that are no frame")]
    Flood {
        /// That many, up to here.
        bytes: usize,
    },
    /// A frame is missing.
    #[error("frame {due} from the guest is missing; frame {got} came instead")]
    Missing {
        /// The number that was due.
        due: u32,
        /// The number that came.
        got: u32,
    },
    /// A frame is right, but says what this version does not know.
    #[error("frame {number} from the guest cannot be understood; it was made by another version")]
    Unknown {
        /// Its number.
        number: u32,
    },
}

/// Writes frames.
#[derive(Debug)]
pub struct FrameWriter<W> {
    to: W,
    next: u32,
}

impl<W: Write> FrameWriter<W> {
    /// Begins with frame 0.
    pub fn new(to: W) -> FrameWriter<W> {
        FrameWriter { to, next: 0 }
    }

    /// The next frame is the first of others.
    pub fn begin_again(&mut self) {
        self.next = 0;
    }

    /// Writes one.
    pub fn send(&mut self, message: &Message) -> io::Result<()> {
        let content = postcard::to_stdvec(message).map_err(io::Error::other)?;
        let length = u32::try_from(content.len()).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&MARK);
        head[4..8].copy_from_slice(&self.next.to_le_bytes());
        head[8..12].copy_from_slice(&length.to_le_bytes());
        head[12..].copy_from_slice(&checksum(self.next, length, &content).to_le_bytes());
        self.next += 1;
        self.to.write_all(&head)?;
        self.to.write_all(&content)?;
        self.to.flush()
    }
}

/// Reads frames from bytes that come little by little.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Bytes before those in `bytes`.
    passed: usize,
    next: u32,
    noise: bool,
    noise_bytes: usize,
}

impl FrameReader {
    /// For frames that share their way with other bytes: those between frames are passed over.
    pub fn amid_noise() -> FrameReader {
        FrameReader { noise: true, ..FrameReader::default() }
    }

    /// Adds what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes of a frame that is not complete.
    pub fn rest(&self) -> usize {
        self.bytes.len()
    }

    /// Drops what is no begin of a frame.
    fn skip(&mut self) {
        let begins = |rest: &[u8]| {
            let known = rest.len().min(MARK.len());
            rest[..known] == MARK[..known]
        };
        let noise = (0..self.bytes.len()).find(|&at| begins(&self.bytes[at..])).unwrap_or(self.bytes.len());
        self.bytes.drain(..noise);
        self.passed += noise;
        self.noise_bytes += noise;
    }

    /// The next message, once all of it has come.
    pub fn take(&mut self) -> Result<Option<Message>, FrameError> {
        if self.noise {
            self.skip();
            if self.noise_bytes > MOST_NOISE_BYTES {
                return Err(FrameError::Flood { bytes: self.noise_bytes });
            }
        }
        let known = self.bytes.len().min(MARK.len());
        if self.bytes[..known] != MARK[..known] {
            return Err(FrameError::NoFrame { at: self.passed });
        }
        if self.bytes.len() < HEAD_BYTES {
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"));
        let (number, length, sum) = (word(4), word(8), word(12));
        let due = self.next;
        if length > LONGEST {
            return Err(FrameError::Damaged { number: due });
        }
        let end = HEAD_BYTES + length as usize;
        let Some(content) = self.bytes.get(HEAD_BYTES..end) else { return Ok(None) };
        if checksum(number, length, content) != sum {
            return Err(FrameError::Damaged { number: due });
        }
        if number != due {
            return Err(FrameError::Missing { due, got: number });
        }
        let message = postcard::from_bytes(content).map_err(|_| FrameError::Unknown { number })?;
        self.bytes.drain(..end);
        (self.passed, self.next) = (self.passed + end, due + 1);
        Ok(Some(message))
    }
}

fn checksum(number: u32, length: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> Vec<Message> {
        vec![
            Message::Hello { kernel: "6.1.0".into(), at_ns: 5 },
            Message::Begun { at_ns: 1 << 40 },
            Message::Records(Vec::new()),
            Message::Failed("no".into()),
        ]
    }

    fn sent(messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        messages.iter().for_each(|message| writer.send(message).unwrap());
        bytes
    }

    fn received(bytes: &[u8]) -> Result<Vec<Message>, FrameError> {
        let mut reader = FrameReader::default();
        reader.push(bytes);
        let mut messages = Vec::new();
        while let Some(message) = reader.take()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn messages_come_back_however_they_are_cut() {
        let bytes = sent(&messages());
        let mut reader = FrameReader::default();
        let mut back = Vec::new();
        for piece in bytes.chunks(3) {
            reader.push(piece);
            while let Some(message) = reader.take().unwrap() {
                back.push(message);
            }
        }
        assert_eq!((back, reader.rest()), (messages(), 0));
    }

    #[test]
    fn a_missing_frame_and_what_is_no_frame_are_told() {
        let all = sent(&messages());
        let first = sent(&messages()[..1]).len();
        assert_eq!(received(&all[first..]), Err(FrameError::Missing { due: 0, got: 1 }));
        assert_eq!(received(b"SLGx"), Err(FrameError::NoFrame { at: 0 }));
        let flood = [&all[..first], b"panic"].concat();
        assert_eq!(received(&flood), Err(FrameError::NoFrame { at: first }));
    }

    #[test]
    fn what_stands_around_frames_may_be_passed_over() {
        let noisy = [b"SL Bochs\n", &sent(&messages())[..], b"the end SLG"].concat();
        let mut reader = FrameReader::amid_noise();
        let mut back = Vec::new();
        for byte in noisy {
            reader.push(&[byte]);
            back.extend(reader.take().unwrap());
        }
        assert_eq!((back, reader.rest()), (messages(), 3));
    }

    #[test]
    fn a_flood_is_no_noise() {
        let mut reader = FrameReader::amid_noise();
        reader.push(&vec![b'~'; MOST_NOISE_BYTES]);
        assert_eq!(reader.take(), Ok(None));
        reader.push(b"~");
        assert_eq!(reader.take(), Err(FrameError::Flood { bytes: MOST_NOISE_BYTES + 1 }));
    }

    proptest! {
        /// A changed byte is never taken for a message, and never makes one disappear without a word.
        #[test]
        fn damage_is_seen(place in any::<prop::sample::Index>(), bit in 0u32..8) {
            let mut bytes = sent(&messages());
            let at = place.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(back) = received(&bytes) {
                // A length that grew: the frame is waited for in vain.
                prop_assert!(back.len() < messages().len());
                prop_assert_eq!(&back[..], &messages()[..back.len()]);
            }
        }
    }
}
