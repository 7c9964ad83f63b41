//! `.BTF.ext`: source lines and CO-RE relocations of each code section.

use std::collections::BTreeMap;

use super::parse::{Reader, header, printable};
use super::{Btf, BtfError, TypeId};

/// The source line of the instructions from an offset on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Byte offset in the section.
    pub offset: u32,
    /// File name without folders.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// A CO-RE relocation as the compiler wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreRelocation {
    /// Byte offset of the instruction in its section.
    pub offset: u32,
    /// Root type in the object's BTF.
    pub ty: TypeId,
    /// Access path: `0:1:0:5`.
    pub access: String,
    /// What is asked for (`enum bpf_core_relo_kind`).
    pub kind: u32,
}

/// The content of `.BTF.ext` by section name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ext {
    /// Source lines, ascending in offset.
    pub lines: BTreeMap<String, Vec<LineInfo>>,
    /// CO-RE relocations.
    pub relocations: BTreeMap<String, Vec<CoreRelocation>>,
}

impl Ext {
    /// Reads a `.BTF.ext` section.
    pub fn parse(bytes: &[u8], btf: &Btf) -> Result<Ext, BtfError> {
        let (mut head, body) = header(bytes, ".BTF.ext")?;
        let mut part = |what| {
            let (offset, len) = (head.u32()?, head.u32()?);
            body.part(offset, len, what)
        };
        part("function records")?;
        let lines = part("line records")?;
        // An old compiler writes a short header, without CO-RE.
        let relocations = part("CO-RE records").unwrap_or(Reader::new(&[], "CO-RE records"));
        let mut ext = Ext {
            lines: records(lines, btf, |record| {
                let (offset, file) = (record.u32()?, btf.string(record.u32()?)?);
                record.u32()?;
                let line = record.u32()? >> 10;
                let file = printable(file.rsplit('/').next().unwrap_or(file));
                Ok(LineInfo { offset, file, line })
            })?,
            relocations: records(relocations, btf, |record| {
                let (offset, ty) = (record.u32()?, record.u32()?);
                let access = printable(btf.string(record.u32()?)?);
                Ok(CoreRelocation { offset, ty, access, kind: record.u32()? })
            })?,
        };
        ext.lines.values_mut().for_each(|lines| lines.sort_by_key(|line| line.offset));
        Ok(ext)
    }
}

/// Reads records of one size, grouped by section.
fn records<T>(
    mut reader: Reader,
    btf: &Btf,
    read: impl Fn(&mut Reader) -> Result<T, BtfError>,
) -> Result<BTreeMap<String, Vec<T>>, BtfError> {
    let mut found: BTreeMap<String, Vec<T>> = BTreeMap::new();
    if reader.bytes.is_empty() {
        return Ok(found);
    }
    let size = reader.u32()?;
    while reader.at < reader.bytes.len() {
        let section = printable(btf.string(reader.u32()?)?);
        let count = reader.u32()?;
        let into = found.entry(section).or_default();
        for _ in 0..count {
            let mut record = reader.part(reader.at as u32, size, reader.what)?;
            into.push(read(&mut record)?);
            reader.at += size as usize;
        }
    }
    Ok(found)
}
