//! Where things lie in `trace.dat`, of versions 6 and 7 (`trace-cmd.dat.v6(5)`, `trace-cmd.dat.v7(5)`).

use super::options::{self, Buffer, Options};
use super::packed::{PIECE_BYTES, Unpacker};
use crate::bytes::Bytes;
use crate::error::Trouble;
use crate::input::Input;
use crate::tracepoint::{self, Formats, PageHeader};

/// The most sections of options, each of which names the next.
const SECTIONS: usize = 1024;
/// A flag of a section: it is compressed.
const IS_PACKED: u16 = 1;

/// All that is known before the pages are read.
#[derive(Debug)]
pub struct Layout {
    pub big: bool,
    pub page_size: u32,
    pub page: PageHeader,
    pub formats: Formats,
    pub buffers: Vec<Buffer>,
    pub options: Options,
    pub unpacker: Option<Unpacker>,
}

pub fn of(input: &Input) -> Result<Layout, Trouble> {
    // Version 6 has all of it at the front of the file, version 7 only where the rest is.
    let front = input.start(PIECE_BYTES as usize).map_err(Trouble::Read)?;
    let mut bytes = Bytes::new(&front, false);
    let tracing = tracepoint::header_of(&mut bytes).ok_or_else(cut_off)?;
    let layout = match tracing.version.as_str() {
        "6" => version_6(input, &mut bytes, tracing.page_size)?,
        "7" => version_7(input, &mut bytes, tracing.page_size)?,
        other => {
            let way = "`trace-cmd convert --file-version 7` makes one that can be read";
            return Err(Trouble::Foreign(format!("this is trace.dat of version {other:?}; {way}")));
        }
    };
    let sizes = layout.buffers.iter().map(|buffer| buffer.page_size).chain([layout.page_size]);
    if sizes.into_iter().any(|size| !(512..=1 << 20).contains(&size)) {
        return Err(Trouble::damaged("its pages have no size that pages have"));
    }
    Ok(layout)
}

fn cut_off() -> Trouble {
    Trouble::damaged("its header is cut off")
}

fn version_6(input: &Input, bytes: &mut Bytes, page_size: u32) -> Result<Layout, Trouble> {
    let (page, formats) = tracepoint::formats(bytes).ok_or_else(cut_off)?;
    let (options, top) = rest_of_6(bytes).ok_or_else(cut_off)?;
    let Some(cpus) = top else { return Err(text_within()) };
    let mut buffers = vec![Buffer { name: String::new(), clock: String::new(), page_size, cpus }];
    for (offset, name) in &options.buffers_at {
        let length = 10 + 16 * u64::from(options.cpus);
        let table = input.at(*offset, length).map_err(Trouble::Read)?.ok_or_else(cut_off)?;
        let mut table = Bytes::new(&table, bytes.big);
        let cpus = (table.take(10) == Some(b"flyrecord\0")).then(|| cpu_table(&mut table, options.cpus)).flatten();
        let cpus = cpus.ok_or_else(|| Trouble::damaged("a buffer is not where it is said to be"))?;
        buffers.push(Buffer { name: name.clone(), clock: String::new(), page_size, cpus });
    }
    for buffer in &mut buffers {
        buffer.clock.clone_from(&options.clock);
    }
    Ok(Layout { big: bytes.big, page_size, page, formats, buffers, options, unpacker: None })
}

/// Symbols, formats of prints and names of tasks are passed over. Then come options, and where each CPU's pages are.
#[expect(clippy::type_complexity, reason = "the rest of a header, for one caller")]
fn rest_of_6(bytes: &mut Bytes) -> Option<(Options, Option<Vec<(u32, u64, u64)>>)> {
    for _ in ["kallsyms", "printk"] {
        let size = bytes.u32()?;
        bytes.skip(size as usize)?;
    }
    let names = usize::try_from(bytes.u64()?).ok()?;
    bytes.skip(names)?;
    let cpus = bytes.u32().filter(|&cpus| cpus <= 1 << 16)?;
    let mut options = Options { cpus, ..Options::default() };
    let mut kind = bytes.take(10)?;
    if kind == b"options  \0" {
        options::read(bytes, &mut options)?;
        kind = bytes.take(10)?;
    }
    options.cpus = options.cpus.max(cpus);
    let top = if kind == b"flyrecord\0" { Some(cpu_table(bytes, cpus)?) } else { None };
    Some((options, top))
}

fn cpu_table(bytes: &mut Bytes, cpus: u32) -> Option<Vec<(u32, u64, u64)>> {
    (0..cpus).map(|cpu| Some((cpu, bytes.u64()?, bytes.u64()?))).collect()
}

fn text_within() -> Trouble {
    let way = "import what `trace-cmd report` prints of it";
    Trouble::Foreign(format!("this trace.dat holds the text of a latency tracer; {way}"))
}

fn version_7(input: &Input, bytes: &mut Bytes, page_size: u32) -> Result<Layout, Trouble> {
    let big = bytes.big;
    let (name, _version) = (bytes.string().ok_or_else(cut_off)?, bytes.string().ok_or_else(cut_off)?);
    let mut unpacker = Unpacker::of(name, input.length())?;
    let mut next = bytes.u64().ok_or_else(cut_off)?;
    let mut options = Options::default();
    for _ in 0..SECTIONS {
        let content = section(input, next, big, unpacker.as_mut())?;
        next = options::read(&mut Bytes::new(&content, big), &mut options).ok_or_else(cut_off)?;
        if next == 0 {
            break;
        }
    }
    let mut formats = Formats::default();
    let mut part = |at: u64, read: &mut dyn FnMut(&mut Bytes) -> Option<()>| -> Result<(), Trouble> {
        if at == 0 {
            return Ok(());
        }
        let content = section(input, at, big, unpacker.as_mut())?;
        read(&mut Bytes::new(&content, big)).ok_or_else(|| Trouble::damaged("the formats of its events are cut off"))
    };
    let mut page = None;
    part(options.header_at, &mut |bytes| {
        page = Some(tracepoint::page_header(bytes)?);
        Some(())
    })?;
    part(options.own_formats_at, &mut |bytes| tracepoint::own_formats(bytes, &mut formats))?;
    part(options.formats_at, &mut |bytes| tracepoint::system_formats(bytes, &mut formats))?;
    let page = page.ok_or_else(|| Trouble::damaged("it does not say how its pages begin"))?;
    let buffers = std::mem::take(&mut options.buffers);
    Ok(Layout { big, page_size, page, formats, buffers, options, unpacker })
}

/// The content of a section.
fn section(input: &Input, at: u64, big: bool, unpacker: Option<&mut Unpacker>) -> Result<Vec<u8>, Trouble> {
    let lost = || Trouble::damaged("a section is not where it is said to be");
    let header = input.at(at, 16).map_err(Trouble::Read)?.ok_or_else(lost)?;
    let mut header = Bytes::new(&header, big);
    let (_id, flags, _name) = (header.u16(), header.u16().ok_or_else(lost)?, header.u32());
    let size = header.u64().filter(|&size| size <= PIECE_BYTES).ok_or_else(lost)?;
    let content = input.at(at + 16, size).map_err(Trouble::Read)?.ok_or_else(lost)?;
    match unpacker {
        Some(unpacker) if flags & IS_PACKED != 0 => {
            let mut bytes = Bytes::new(&content, big);
            let (packed, unpacked) = (bytes.u32().ok_or_else(lost)?, bytes.u32().ok_or_else(lost)?);
            let packed = bytes.take(packed as usize).ok_or_else(lost)?;
            unpacker.unpack(packed, unpacked.into())
        }
        _ => Ok(content),
    }
}
