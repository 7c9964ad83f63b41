//! The small recording as trace-cmd writes it.

use super::{story, tracepoints};

const PAGE: usize = 4096;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all, in version 6.
    Version6,
    /// Not at all, in version 7.
    None,
    /// By zstd, in version 7.
    Zstd,
}

/// The page of a CPU.
fn page(cpu: u32) -> Vec<u8> {
    let happenings: Vec<_> = story().into_iter().filter(|happening| happening.cpu == cpu).collect();
    let (mut now, mut data) = (happenings[0].time_ns, Vec::new());
    let begin = now;
    for happening in happenings {
        let (raw, delta) = (tracepoints::raw(&happening), (happening.time_ns - now) as u32);
        let words = raw.len() as u32 / 4;
        // Up to 28 words have their number in the first one, others have it in the next.
        let head = if words <= 28 { words | delta << 5 } else { delta << 5 };
        data.extend(head.to_le_bytes());
        if words > 28 {
            data.extend((raw.len() as u32 + 4).to_le_bytes());
        }
        data.extend(raw);
        now = happening.time_ns;
    }
    let mut page = [begin.to_le_bytes(), (data.len() as u64).to_le_bytes()].concat();
    page.extend(data);
    page.resize(PAGE, 0);
    page
}

fn begin(version: &str) -> Vec<u8> {
    [&b"\x17\x08\x44tracing"[..], version.as_bytes(), b"\0\0\x08", &(PAGE as u32).to_le_bytes()].concat()
}

/// `trace.dat`.
pub fn trace_dat(packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Version6 => version_6(),
        Packing::None | Packing::Zstd => version_7(packing == Packing::Zstd),
    }
}

fn version_6() -> Vec<u8> {
    // No symbols, formats of prints, or names of tasks; two CPUs.
    let mut file = [begin("6"), tracepoints::header(), vec![0; 16], 2_u32.to_le_bytes().to_vec()].concat();
    let clock = b"local [mono]\0";
    file.extend(
        [&b"options  \0"[..], &4_u16.to_le_bytes(), &(clock.len() as u32).to_le_bytes(), clock, &[0, 0]].concat(),
    );
    file.extend(b"flyrecord\0");
    let pages_at = (file.len() + 32).next_multiple_of(PAGE) as u64;
    for cpu in 0..2 {
        file.extend([pages_at + cpu * PAGE as u64, PAGE as u64].map(u64::to_le_bytes).concat());
    }
    file.resize(pages_at as usize, 0);
    [file, page(0), page(1)].concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let packed = ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    [&(packed.len() as u32).to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), &packed].concat()
}

fn section(id: u16, content: &[u8], is_packed: bool) -> Vec<u8> {
    let content = if is_packed { packed(content) } else { content.to_vec() };
    let flags = u16::from(is_packed);
    [&id.to_le_bytes()[..], &flags.to_le_bytes(), &[0; 4], &(content.len() as u64).to_le_bytes(), &content].concat()
}

fn option(id: u16, content: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(content.len() as u32).to_le_bytes(), content].concat()
}

fn version_7(is_packed: bool) -> Vec<u8> {
    let name: &[u8] = if is_packed { b"zstd\x001.5.5\0" } else { b"none\0\0" };
    let options_at = begin("7").len() + name.len() + 8;
    // The first options name the next ones, which come when everything has its place.
    let mut file = [&begin("7")[..], name, &(options_at as u64).to_le_bytes()].concat();
    let first = section(0, &option(0, &[0; 8]), false);
    let next_at = file.len() + first.len() - 8;
    file.extend(first);
    let header_at = file.len() as u64;
    file.extend(section(16, &tracepoints::page_formats(), is_packed));
    let formats_at = file.len() as u64;
    file.extend(section(18, &tracepoints::systems(), is_packed));
    let buffer_at = file.len() as u64;
    let mut cpus = Vec::new();
    let mut pages = vec![];
    let mut at = (file.len() + 16).next_multiple_of(PAGE);
    for cpu in 0..2_u32 {
        let bytes = if is_packed { [1_u32.to_le_bytes().to_vec(), packed(&page(cpu))].concat() } else { page(cpu) };
        cpus.extend([&cpu.to_le_bytes()[..], &(at as u64).to_le_bytes(), &(bytes.len() as u64).to_le_bytes()].concat());
        at += bytes.len();
        pages.extend(bytes);
    }
    let padding = (file.len() + 16).next_multiple_of(PAGE) - file.len() - 16;
    file.extend(section(3, &[vec![0; padding], pages].concat(), false));
    let options_at = (file.len() as u64).to_le_bytes();
    file[next_at..next_at + 8].copy_from_slice(&options_at);
    let buffer =
        [&buffer_at.to_le_bytes()[..], b"\0mono\0", &(PAGE as u32).to_le_bytes(), &2_u32.to_le_bytes(), &cpus].concat();
    let last = [
        option(8, &2_u32.to_le_bytes()),
        option(16, &header_at.to_le_bytes()),
        option(18, &formats_at.to_le_bytes()),
        option(3, &buffer),
        option(0, &[0; 8]),
    ];
    file.extend(section(0, &last.concat(), is_packed));
    file
}
