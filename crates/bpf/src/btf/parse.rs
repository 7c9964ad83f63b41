//! From bytes to types.

use super::{Btf, BtfError, BtfMember, BtfType, Kind, SectionVariable};

/// Bytes of the longest name that a kernel takes, with its end (`KSYM_NAME_LEN`). Each type has a copy of its own.
const NAME_BYTES: usize = 512;

/// Reads little-endian words and says where the bytes end.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub what: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, at: 0, what }
    }

    pub fn u32(&mut self) -> Result<u32, BtfError> {
        let end = self.at + 4;
        let bytes = self.bytes.get(self.at..end).ok_or_else(|| self.truncated())?;
        self.at = end;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn truncated(&self) -> BtfError {
        BtfError(format!("{} ends in the middle of a record, at byte {}", self.what, self.bytes.len()))
    }

    /// A part of the bytes, by offset and length.
    pub fn part(&self, offset: u32, len: u32, what: &'static str) -> Result<Reader<'a>, BtfError> {
        let start = offset as usize;
        let bytes = start.checked_add(len as usize).and_then(|end| self.bytes.get(start..end));
        let bytes = bytes.ok_or_else(|| BtfError(format!("{what} lie outside of {}", self.what)))?;
        Ok(Reader::new(bytes, what))
    }
}

/// A name from an untrusted file, without control characters, which would break a line.
pub fn printable(name: &str) -> String {
    name.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// Checks magic and version and gives the header and what follows it.
pub(super) fn header<'a>(bytes: &'a [u8], what: &'static str) -> Result<(Reader<'a>, Reader<'a>), BtfError> {
    let mut reader = Reader::new(bytes, what);
    let first = reader.u32()?;
    if first & 0xFFFF != 0xEB9F {
        return Err(BtfError(format!("{what} does not begin with its magic number")));
    }
    if (first >> 16) & 0xFF != 1 {
        return Err(BtfError(format!("{what} has version {}, only 1 is known", (first >> 16) & 0xFF)));
    }
    let len = reader.u32()?;
    let head = bytes.get(..len as usize).filter(|head| head.len() >= 24);
    let head = head.ok_or_else(|| BtfError(format!("{what} has a header of {len} bytes")))?;
    let head = Reader { bytes: head, at: 8, what };
    Ok((head, Reader::new(&bytes[len as usize..], what)))
}

impl Btf {
    /// Reads a `.BTF` section.
    pub fn parse(bytes: &[u8]) -> Result<Btf, BtfError> {
        let (mut head, body) = header(bytes, ".BTF")?;
        let (type_offset, type_len) = (head.u32()?, head.u32()?);
        let (string_offset, string_len) = (head.u32()?, head.u32()?);
        let strings = body.part(string_offset, string_len, "BTF strings")?.bytes.to_vec();
        let mut btf = Btf { types: vec![BtfType { name: String::new(), kind: Kind::Void }], strings };
        let mut reader = body.part(type_offset, type_len, "BTF types")?;
        while reader.at < reader.bytes.len() {
            let ty = btf.parse_type(&mut reader)?;
            btf.types.push(ty);
        }
        Ok(btf)
    }

    /// The string at an offset of the string table.
    pub fn string(&self, offset: u32) -> Result<&str, BtfError> {
        let bytes = self.strings.get(offset as usize..);
        let bytes = bytes.ok_or_else(|| BtfError(format!("BTF names a string at {offset}, behind its strings")))?;
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..len]).map_err(|_| BtfError(format!("the BTF string at {offset} is not UTF-8")))
    }

    /// The name at an offset, fit to be shown in one line.
    fn name(&self, offset: u32) -> Result<String, BtfError> {
        let name = self.string(offset)?;
        match name.len() < NAME_BYTES {
            true => Ok(printable(name)),
            false => Err(BtfError(format!("the BTF name at {offset} has more than {NAME_BYTES} bytes"))),
        }
    }

    fn parse_type(&self, reader: &mut Reader) -> Result<BtfType, BtfError> {
        let name = self.name(reader.u32()?)?;
        let info = reader.u32()?;
        let (count, flag) = (info & 0xFFFF, info >> 31 != 0);
        let size_or_type = reader.u32()?;
        let kind = match (info >> 24) & 0x1F {
            1 => {
                let encoding = reader.u32()? >> 24;
                Kind::Int { size: size_or_type, signed: encoding & 1 != 0, boolean: encoding & 4 != 0 }
            }
            2 => Kind::Pointer(size_or_type),
            3 => {
                let element = reader.u32()?;
                reader.u32()?;
                Kind::Array { element, count: reader.u32()? }
            }
            kind @ (4 | 5) => {
                let members = self.parse_members(reader, count, flag)?;
                Kind::Composite { union: kind == 5, size: size_or_type, members }
            }
            6 => self.parse_enum(reader, count, size_or_type, flag, false)?,
            7 => Kind::Forward,
            8 => Kind::Typedef(size_or_type),
            9 => Kind::Volatile(size_or_type),
            10 => Kind::Const(size_or_type),
            11 => Kind::Restrict(size_or_type),
            12 => Kind::Function(size_or_type),
            13 => {
                let mut parameters = Vec::new();
                for _ in 0..count {
                    let name = self.name(reader.u32()?)?;
                    parameters.push(BtfMember { name, ty: reader.u32()?, bit_offset: 0, bits: 0 });
                }
                Kind::Prototype { result: size_or_type, parameters }
            }
            14 => Kind::Variable { ty: size_or_type, external: reader.u32()? == 2 },
            15 => {
                let mut variables = Vec::new();
                for _ in 0..count {
                    let ty = reader.u32()?;
                    let offset = reader.u32()?;
                    variables.push(SectionVariable { ty, offset, size: reader.u32()? });
                }
                Kind::DataSection(variables)
            }
            16 => Kind::Float(size_or_type),
            17 => Kind::DeclTag { ty: size_or_type, component: reader.u32()? as i32 },
            18 => Kind::TypeTag(size_or_type),
            19 => self.parse_enum(reader, count, size_or_type, flag, true)?,
            kind => return Err(BtfError(format!("BTF type {} has the unknown kind {kind}", self.types.len()))),
        };
        Ok(BtfType { name, kind })
    }

    fn parse_members(&self, reader: &mut Reader, count: u32, has_bits: bool) -> Result<Vec<BtfMember>, BtfError> {
        let mut members = Vec::new();
        for _ in 0..count {
            let name = self.name(reader.u32()?)?;
            let ty = reader.u32()?;
            let offset = reader.u32()?;
            let (bit_offset, bits) = if has_bits { (offset & 0xFF_FFFF, offset >> 24) } else { (offset, 0) };
            members.push(BtfMember { name, ty, bit_offset, bits });
        }
        Ok(members)
    }

    fn parse_enum(
        &self,
        reader: &mut Reader,
        count: u32,
        size: u32,
        signed: bool,
        wide: bool,
    ) -> Result<Kind, BtfError> {
        let mut values = Vec::new();
        for _ in 0..count {
            let name = self.name(reader.u32()?)?;
            let low = reader.u32()?;
            let value = match (wide, signed) {
                (true, _) => u64::from(low) | u64::from(reader.u32()?) << 32,
                (false, true) => low as i32 as u64,
                (false, false) => u64::from(low),
            };
            values.push((name, value));
        }
        Ok(Kind::Enum { size, signed, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// `int` as type 1 and `struct p { int x; int y:3; }` as type 2.
    fn small() -> Vec<u8> {
        let strings = b"\0int\0p\0x\0y\0\0";
        let types = words(&[
            1,
            1 << 24,
            4,
            1 << 24 | 32, // int
            5,
            1 << 31 | 4 << 24 | 2,
            8,
            7,
            1,
            0,
            9,
            1,
            3 << 24 | 32, // struct p
        ]);
        let mut bytes = words(&[0x0001_EB9F, 24, 0, types.len() as u32, types.len() as u32, strings.len() as u32]);
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn reads_types_by_number() {
        let btf = Btf::parse(&small()).unwrap();
        assert_eq!(btf.get(1).unwrap().kind, Kind::Int { size: 4, signed: true, boolean: false });
        let Kind::Composite { size: 8, members, union: false } = &btf.get(2).unwrap().kind else { panic!() };
        assert_eq!((members[1].name.as_str(), members[1].bit_offset, members[1].bits), ("y", 32, 3));
        assert!(btf.get(3).is_err());
    }

    #[test]
    fn every_truncation_is_an_error() {
        let whole = small();
        for len in 0..whole.len() {
            assert!(Btf::parse(&whole[..len]).is_err(), "{len} bytes");
        }
    }
}
