//! What a loader hears about an object that it has.

use super::attributes::{Attributes, read_vec};
use super::{Caller, Item, Reply, Syscalls};

/// The most bytes that the call returns.
const MOST_BYTES: usize = 256;
/// Where the structures of the kernel's interface have what is reported: type and number are their first words.
mod place {
    pub const MAP_NAME: usize = 24;
    pub const PROGRAM_NAME: usize = 64;
    pub const BTF_SIZE: usize = 8;
    pub const BTF_ID: usize = 12;
}
/// Numbers begin at 1.
const FIRST_ID: u32 = 1;
/// The kind of a link to operations, `enum bpf_link_type`.
const STRUCT_OPS_LINK: u32 = 9;

impl<H> Syscalls<H> {
    pub(super) fn info(&self, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let (number, item) = self.item(caller, at.u32(0))?;
        let asked = at.u32(4) as usize;
        let id = number + FIRST_ID;
        let mut bytes = [0; MOST_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        match item {
            Item::Map(map) => {
                let definition = &map.definition;
                let words = [
                    definition.kind,
                    id,
                    definition.key_size,
                    definition.value_size,
                    definition.max_entries,
                    definition.flags,
                ];
                (0..).zip(words).for_each(|(index, word)| put(index * 4, &word.to_le_bytes()));
                put(place::MAP_NAME, &name(&definition.name));
            }
            Item::Program(program) => {
                put(0, &program.kind.to_le_bytes());
                put(4, &id.to_le_bytes());
                put(20, &(program.instructions * 8).to_le_bytes());
                put(place::PROGRAM_NAME, &name(&program.name));
            }
            Item::Btf(_, content) => {
                let told = read_vec(caller, at.u64(8), asked.min(16))?;
                let word = |at: usize| {
                    told.get(at..at + 4).map_or(0, |word| u32::from_le_bytes(word.try_into().expect("four bytes")))
                };
                let to = u64::from(word(0)) | u64::from(word(4)) << 32;
                let room = word(place::BTF_SIZE) as usize;
                if to != 0 {
                    caller.write(to, &content[..content.len().min(room)])?;
                }
                put(0, &to.to_le_bytes());
                put(place::BTF_SIZE, &(content.len() as u32).to_le_bytes());
                put(place::BTF_ID, &id.to_le_bytes());
            }
            Item::Link(of) => {
                put(0, &STRUCT_OPS_LINK.to_le_bytes());
                put(4, &id.to_le_bytes());
                put(8, &(of + FIRST_ID).to_le_bytes());
            }
        }
        let len = asked.min(MOST_BYTES);
        caller.write(at.u64(8), &bytes[..len])?;
        caller.write(at.address + 4, &(len as u32).to_le_bytes())?;
        Ok(Reply::Value(0))
    }
}

fn name(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let len = text.len().min(15);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    bytes
}
