//! What a file is, from how it begins; and what to do with one that is something else.

use crate::error::Trouble;

/// How much of a file shows what it is.
pub const START: usize = 4096;

/// What there is a reader for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What `perf record` writes to a file.
    PerfData,
    /// trace-cmd's `trace.dat`.
    TraceDat,
    /// Perfetto's protobuf.
    Perfetto,
    /// A page or JSON in which a text stands, with its lines escaped perhaps.
    Wrapped,
    /// Lines.
    Text,
}

/// How files begin that are often taken for recordings of a scheduler, and what to do with each.
const OTHERS: [(&[u8], &str); 24] = [
    (b"PAR1", "this is a trace already; look into it with `schedlab trace`"),
    (b"# schedlab.trace/", "this is a trace already, as a text for people; import the recording that it was made of"),
    (
        b"\xd4\xc3\xb2\xa1",
        "this is a pcap file, with packets of a network; record the scheduler with `perf sched record`",
    ),
    (
        b"\xa1\xb2\xc3\xd4",
        "this is a pcap file, with packets of a network; record the scheduler with `perf sched record`",
    ),
    (
        b"\x4d\x3c\xb2\xa1",
        "this is a pcap file, with packets of a network; record the scheduler with `perf sched record`",
    ),
    (
        b"\x0a\x0d\x0d\x0a",
        "this is a pcapng file, with packets of a network; record the scheduler with `perf sched record`",
    ),
    (b"\x7fELF", "this is a program or an object file; run it under `schedlab record`"),
    (b"PK\x03\x04", "this is a zip archive; unpack it and import the recording in it"),
    (b"BZh", "this is compressed by bzip2; unpack it first"),
    (b"\x04\x22\x4d\x18", "this is compressed by lz4; unpack it first"),
    (b"\x5d\x00\x00", "this is compressed by lzma; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "this is a 7z archive; unpack it and import the recording in it"),
    (b"Rar!", "this is a rar archive; unpack it and import the recording in it"),
    (b"\xc1\x1f\xfc\xc1", "this is a stream of CTF, as LTTng writes; record with ftrace, perf or Perfetto"),
    (b"\x75\xd1\x1d\x57", "this is the metadata of CTF, as LTTng writes; record with ftrace, perf or Perfetto"),
    (b"/* CTF", "this is the metadata of CTF, as LTTng writes; record with ftrace, perf or Perfetto"),
    (
        b"SQLite format 3\0",
        "this is a database of SQLite, as Perfetto's trace processor exports; import the trace itself",
    ),
    (
        b"SIMPLEPERF",
        "this is a report of simpleperf; record with `simpleperf record -e sched:sched_switch` and perf's format",
    ),
    (b"\x89PNG", "this is a picture; import the recording itself"),
    (b"%PDF", "this is a PDF document; import the recording itself"),
    (
        b"JFR\0",
        "this is a recording of the Java flight recorder, which sees threads of Java; record with perf or ftrace",
    ),
    (
        b"FLR\0",
        "this is a recording of the Java flight recorder, which sees threads of Java; record with perf or ftrace",
    ),
    (b"LPKSHHRH", "this is a journal of systemd; record the scheduler with `perf sched record`"),
    (b"Ftrace!", "this is a recording of uftrace, which sees functions; record with perf or ftrace"),
];

/// What other programs print, by words of their first lines.
const PRINTED: [(&str, &str); 6] = [
    (
        "\"linux-perf-json-version\"",
        "this is what `perf data convert --to-json` writes, which does not say which task ran; import the file perf.data itself",
    ),
    (
        " secs A0 => ",
        "this is what `perf sched map` prints, which leaves out wake-ups; import the file perf.data itself",
    ),
    (
        "task name                       wait time  sch delay",
        "this is what `perf sched timehist` prints, which does not say which task ran; import the file perf.data itself",
    ),
    (
        "Task                  |   Runtime ms",
        "this is what `perf sched latency` prints; import the file perf.data itself",
    ),
    ("# Samples:", "this is what `perf report` prints; import the file perf.data itself"),
    ("Attaching ", "this is what bpftrace prints; record with perf, ftrace or Perfetto"),
];

/// What the file is that begins so.
pub fn of(start: &[u8]) -> Result<Kind, Trouble> {
    let foreign = |what: &str| Err(Trouble::Foreign(what.into()));
    match start {
        [b'P', b'E', b'R', b'F', b'I', b'L', b'E', b'2', ..] | [b'2', b'E', b'L', b'I', b'F', b'R', b'E', b'P', ..] => {
            return Ok(Kind::PerfData);
        }
        [0x17, 0x08, 0x44, rest @ ..] if rest.starts_with(b"tracing") => return Ok(Kind::TraceDat),
        _ => {}
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return foreign(what);
    }
    if is_tar(start) {
        return foreign("this is a tar archive; unpack it and import the recording in it");
    }
    if is_packet(start) {
        return Ok(Kind::Perfetto);
    }
    let text = String::from_utf8_lossy(start);
    if let Some((_, what)) = PRINTED.iter().find(|(words, _)| text.contains(words)) {
        return foreign(what);
    }
    let begin = text.trim_start_matches('\u{feff}').trim_start().get(..15).unwrap_or_default().to_ascii_lowercase();
    let is_page = begin.starts_with("<!doctype html") || begin.starts_with("<html");
    let is_json =
        begin.starts_with('{') || begin.starts_with("[{") || begin.starts_with("[\n") || begin.starts_with('"');
    Ok(if is_page || is_json { Kind::Wrapped } else { Kind::Text })
}

/// Whether it begins with a packet of Perfetto's: field 1 of the trace, its length, and a first field that packets have.
fn is_packet(start: &[u8]) -> bool {
    let Some((0x0a, rest)) = start.split_first().map(|(&first, rest)| (first, rest)) else { return false };
    let Some(length) = rest.iter().take(5).position(|byte| byte & 0x80 == 0) else { return false };
    let Some(&tag) = rest.get(length + 1) else { return rest.len() == length + 1 && rest[length] == 0 };
    // A field has a number and one of four forms; text has neither where the second byte is a letter's length.
    let (form, field) = (tag & 7, tag >> 3);
    matches!(form, 0 | 1 | 2 | 5) && (field > 0) && !start.iter().take(64).all(|byte| is_of_text(*byte))
}

fn is_of_text(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte.is_ascii_whitespace()
}

fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(start: &[u8]) -> String {
        match of(start) {
            Err(Trouble::Foreign(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_can_be_read_is_known() {
        assert_eq!(of(b"PERFILE2\x68\0").unwrap(), Kind::PerfData);
        assert_eq!(of(b"2ELIFREP\0\0").unwrap(), Kind::PerfData);
        assert_eq!(of(b"\x17\x08\x44tracing7\0").unwrap(), Kind::TraceDat);
        assert_eq!(of(&[0x0a, 2, 0x50, 1]).unwrap(), Kind::Perfetto);
        assert_eq!(of(b"<!DOCTYPE html>\n<html>").unwrap(), Kind::Wrapped);
        assert_eq!(of(b"{\"traceEvents\":[").unwrap(), Kind::Wrapped);
        for text in [&b"# tracer: nop\n"[..], b"\nsh 12 [000] 5.1: sched:sched_switch: x", b"cpus=2\n", b"x"] {
            assert_eq!(of(text).unwrap(), Kind::Text, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn what_is_something_else_gets_its_name_and_a_way() {
        for (magic, _) in OTHERS {
            let what = refusal(magic);
            assert!(what.starts_with("this is ") && what.contains(';'), "{what}");
        }
        assert!(refusal(b"\xd4\xc3\xb2\xa1\x02\0").starts_with("this is a pcap file"));
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(refusal(&tar).contains("tar archive"));
        assert!(refusal(b"  *A0       81589.297366 secs A0 => migration/0:18\n").contains("perf sched map"));
        let json = refusal(b"{\n\t\"linux-perf-json-version\": 1,\n");
        assert!(json.contains("perf data convert") && json.ends_with("import the file perf.data itself"), "{json}");
        assert!(refusal(b"time  cpu  task name                       wait time  sch delay").contains("timehist"));
    }
}
