//! Reads a Perfetto trace of ours back, packet by packet.

use super::{HEADER_KEY, annotations, messages::TracePacket};
use crate::{
    Error,
    header::Header,
    reader::{EventResult, Events, header_error},
};
use prost::Message;
use schedlab_model::time::Time;
use std::{
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

/// The bytes before a packet: field 1 of a message, length-delimited.
const PACKET_TAG: u8 = 0x0a;

/// Opens a Perfetto trace: its header, as it is at the end, and its events. The whole file is looked through for
/// where packets end, so that one which is cut off is refused before any event is given.
pub(crate) fn open(path: &Path, file: File) -> Result<(Header, Events), Error> {
    let mut packets = Packets::new(path, file)?;
    let foreign = |what: &str| Error::Foreign { path: path.into(), what: what.to_owned() };
    let first = match packets.next_packet() {
        Ok(Some(packet)) => packet,
        Err(Error::Read { path, source }) => return Err(Error::Read { path, source }),
        _ => return Err(foreign("it does not begin with a whole Perfetto packet")),
    };
    let first = header_text(&first).ok_or_else(|| foreign("a Perfetto trace without schedlab's header"))?;
    Header::from_json(first).map_err(|error| header_error(path, error))?;
    let body = packets.at;
    let mut last = None;
    while let Some(length) = packets.next_length()? {
        last = Some(packets.at);
        packets.pass_over(length)?;
    }
    let cut = Error::Truncated { path: path.into(), at: Some(packets.at) };
    let Some(last) = last else { return Err(cut) };
    let length = packets.at - last;
    packets.go_to(last)?;
    let last = packets.read(length)?;
    let Some(text) = header_text(&last) else { return Err(cut) };
    let header = Header::from_json(text).map_err(|error| header_error(path, error))?;
    packets.go_to(body)?;
    Ok((header, Box::new(packets)))
}

/// The header in a packet, if it has one.
fn header_text(packet: &TracePacket) -> Option<&str> {
    let attributes = &packet.trace_attributes.as_ref()?.attribute;
    attributes.iter().find(|attribute| attribute.key.as_deref() == Some(HEADER_KEY))?.string_value.as_deref()
}

/// The packets of a file; as an iterator the events in them.
struct Packets {
    path: PathBuf,
    file: BufReader<File>,
    /// Where the next byte to be read stands.
    at: u64,
    length: u64,
    buffer: Vec<u8>,
}

impl Packets {
    fn new(path: &Path, file: File) -> Result<Packets, Error> {
        let unreadable = |source| Error::Read { path: path.into(), source };
        let length = file.metadata().map_err(unreadable)?.len();
        let mut packets = Packets { path: path.into(), file: BufReader::new(file), at: 0, length, buffer: Vec::new() };
        packets.go_to(0)?;
        Ok(packets)
    }

    fn read_error(&self, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Error::Truncated { path: self.path.clone(), at: Some(self.length) },
            _ => Error::Read { path: self.path.clone(), source },
        }
    }

    fn damaged(&self, what: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.clone(), what: format!("before byte {}: {}", self.at, what.into()) }
    }

    fn go_to(&mut self, at: u64) -> Result<(), Error> {
        self.at = at;
        self.file.seek(io::SeekFrom::Start(at)).map(drop).map_err(|error| self.read_error(error))
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.file.read_exact(&mut byte).map_err(|error| self.read_error(error))?;
        self.at += 1;
        Ok(byte[0])
    }

    /// Reads what is before a packet and gives the packet's length; none at the end of the file.
    fn next_length(&mut self) -> Result<Option<u64>, Error> {
        if self.at == self.length {
            return Ok(None);
        }
        if self.byte()? != PACKET_TAG {
            return Err(self.damaged("something that is no packet"));
        }
        let mut length = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return match self.length - self.at {
                    rest if rest < length => Err(Error::Truncated { path: self.path.clone(), at: Some(self.length) }),
                    _ => Ok(Some(length)),
                };
            }
        }
        Err(self.damaged("a packet of impossible length"))
    }

    fn pass_over(&mut self, length: u64) -> Result<(), Error> {
        self.at += length;
        // The length of a file fits an i64.
        self.file.seek_relative(length as i64).map_err(|error| self.read_error(error))
    }

    fn read(&mut self, length: u64) -> Result<TracePacket, Error> {
        self.buffer.clear();
        let mut packet = self.file.by_ref().take(length);
        let read = packet.read_to_end(&mut self.buffer);
        let read = read.map_err(|error| self.read_error(error))? as u64;
        self.at += read;
        if read < length {
            return Err(Error::Truncated { path: self.path.clone(), at: Some(self.at) });
        }
        TracePacket::decode(&self.buffer[..]).map_err(|error| self.damaged(error.to_string()))
    }

    fn next_packet(&mut self) -> Result<Option<TracePacket>, Error> {
        match self.next_length()? {
            Some(length) => self.read(length).map(Some),
            None => Ok(None),
        }
    }
}

impl Iterator for Packets {
    type Item = EventResult;

    fn next(&mut self) -> Option<EventResult> {
        loop {
            let packet = match self.next_packet() {
                Ok(packet) => packet?,
                Err(error) => return Some(Err(error)),
            };
            let Some(drawn) = packet.track_event else { continue };
            match annotations::event(Time(packet.timestamp.unwrap_or(0)), &drawn.debug_annotations) {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(what) => return Some(Err(self.damaged(what))),
            }
        }
    }
}
