//! The packets of a Perfetto trace, one after the other, unpacked where they are compressed.

use super::messages::TracePacket;
use crate::error::Trouble;
use crate::input::Input;
use prost::Message;
use std::io::{BufRead, ErrorKind, Read};

/// The largest packet, and the most that comes out of a compressed one.
const PACKET_BYTES: u64 = 16 << 20;
/// How much more than the file may come out of it, and a part that always may.
const RATIO: u64 = 200;
const FREE_BYTES: u64 = 1 << 30;

/// Hands on each packet.
pub fn each(input: &Input, each: &mut dyn FnMut(TracePacket) -> Result<(), Trouble>) -> Result<(), Trouble> {
    let mut left = FREE_BYTES.max(input.length().saturating_mul(RATIO));
    let mut reader = input.reader(0, u64::MAX);
    let mut bytes = Vec::new();
    while next(&mut reader, &mut bytes)? {
        packet(&bytes, &mut left, each)?;
    }
    Ok(())
}

fn packet(
    bytes: &[u8],
    left: &mut u64,
    each: &mut dyn FnMut(TracePacket) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let packet = decoded(bytes)?;
    let unpacked = match (&packet.compressed_packets, &packet.zstd_compressed_packets) {
        (Some(packed), _) => Some(all_of(flate2::bufread::ZlibDecoder::new(packed.as_slice()), left)?),
        (_, Some(packed)) => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice());
            Some(all_of(decoder.map_err(|error| Trouble::Damaged(format!("a compressed packet: {error}")))?, left)?)
        }
        _ => None,
    };
    let Some(unpacked) = unpacked else { return each(packet) };
    let (mut reader, mut bytes) = (unpacked.as_slice(), Vec::new());
    while next(&mut reader, &mut bytes)? {
        // What is compressed holds no compressed packets.
        each(decoded(&bytes)?)?;
    }
    Ok(())
}

fn decoded(bytes: &[u8]) -> Result<TracePacket, Trouble> {
    TracePacket::decode(bytes).map_err(|error| Trouble::Damaged(format!("a packet: {error}")))
}

fn all_of(reader: impl Read, left: &mut u64) -> Result<Vec<u8>, Trouble> {
    let (mut bytes, most) = (Vec::new(), PACKET_BYTES.min(*left));
    let damaged = |error| Trouble::Damaged(format!("a compressed packet: {error}"));
    reader.take(most + 1).read_to_end(&mut bytes).map_err(damaged)?;
    *left -= (bytes.len() as u64).min(*left);
    if bytes.len() as u64 > most {
        return Err(Trouble::damaged("a compressed packet claims more than it can hold"));
    }
    Ok(bytes)
}

/// The bytes of the next packet: field 1 of the trace. Other fields are left out. Says whether there was one.
fn next(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> Result<bool, Trouble> {
    loop {
        let Some(tag) = varint(reader)? else { return Ok(false) };
        let length = match (tag & 7, tag >> 3) {
            (2, _) => varint(reader)?.ok_or_else(cut_off)?,
            (0, _) => {
                varint(reader)?.ok_or_else(cut_off)?;
                continue;
            }
            (1, _) => 8,
            (5, _) => 4,
            _ => return Err(Trouble::damaged("no packet where one should begin")),
        };
        if length > PACKET_BYTES {
            return Err(Trouble::damaged("a packet that is larger than any"));
        }
        bytes.clear();
        let read = reader.by_ref().take(length).read_to_end(bytes).map_err(Trouble::Read)?;
        if (read as u64) < length {
            return Err(cut_off());
        }
        if tag == 1 << 3 | 2 {
            return Ok(true);
        }
    }
}

fn cut_off() -> Trouble {
    Trouble::damaged("it is cut off")
}

/// A number of up to ten bytes; none at the end.
fn varint(reader: &mut impl Read) -> Result<Option<u64>, Trouble> {
    let mut number = 0_u64;
    for place in 0..10 {
        let mut byte = [0];
        match reader.read_exact(&mut byte) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && place == 0 => return Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(cut_off()),
            Err(error) => return Err(Trouble::Read(error)),
        }
        number |= u64::from(byte[0] & 0x7f) << (7 * place);
        if byte[0] & 0x80 == 0 {
            return Ok(Some(number));
        }
    }
    Err(Trouble::damaged("a number that is longer than any"))
}
