//! Links: what a loader attaches. One of a table of operations is the end of a load.

use super::attributes::Attributes;
use super::maps::MapObject;
use super::programs::ProgramObject;
use super::{Caller, Item, Reply, Syscalls, command, errno};
use crate::btf::{BtfMember, Kind};
use crate::object::{Member, StructOps};

/// A table of operations that a loader put in charge.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Its members; the programs of operations by the names that the machine has for them.
    pub operations: StructOps,
    /// The number of the link, which the loader has not been given yet.
    pub link: u32,
}

/// The name of the member of a map's value that is the table.
const DATA: &str = "data";

impl<H> Syscalls<H> {
    pub(super) fn link(&mut self, caller: &dyn Caller, command: u32, at: &Attributes) -> Result<Reply, i32> {
        let fd = if command == command::RAW_TRACEPOINT_OPEN { at.u32(8) } else { at.u32(0) };
        let (number, item) = self.item(caller, fd)?;
        let attached = match item {
            Item::Map(map) if !map.value.is_empty() => Some(self.operations(caller, map)?),
            Item::Program(_) => None,
            _ => return Err(errno::EINVAL),
        };
        if let Some(Item::Program(ProgramObject { watches: Some(watched), .. })) = self.items.get(number as usize) {
            self.watched.insert(watched.clone());
        }
        self.items.push(Item::Link(number));
        let link = self.items.len() as u32 - 1;
        Ok(match attached {
            Some(operations) => Reply::Attached(Box::new(Attached { operations, link })),
            None => Reply::Object(link, None),
        })
    }

    fn operations(&self, caller: &dyn Caller, map: &MapObject) -> Result<StructOps, i32> {
        let types = &self.types.types;
        let members = types.members(map.value_type).map_err(|_| errno::EINVAL)?;
        let data = members.iter().find(|member| member.name == DATA).ok_or(errno::EINVAL)?;
        let base = (data.bit_offset / 8) as usize;
        let table = types.get(data.ty).map_err(|_| errno::EINVAL)?;
        let mut found = Vec::new();
        for member in types.members(data.ty).map_err(|_| errno::EINVAL)? {
            if let Some(value) = self.member(caller, map, base, member)? {
                found.push((member.name.clone(), value));
            }
        }
        Ok(StructOps { name: map.definition.name.clone(), type_name: table.name.clone(), members: found })
    }

    fn member(
        &self,
        caller: &dyn Caller,
        map: &MapObject,
        base: usize,
        member: &BtfMember,
    ) -> Result<Option<Member>, i32> {
        let types = &self.types.types;
        let from = base + (member.bit_offset / 8) as usize;
        let size = types.size_of(member.ty).map_err(|_| errno::EINVAL)? as usize;
        let bytes = map.value.get(from..from + size).ok_or(errno::EINVAL)?;
        let mut word = [0; 8];
        word[..size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
        let word = u64::from_le_bytes(word);
        Ok(match &types.resolve(member.ty).map_err(|_| errno::EINVAL)?.1.kind {
            Kind::Pointer(_) if word == 0 => None,
            Kind::Pointer(to) => match types.get(*to).map(|ty| &ty.kind) {
                Ok(Kind::Prototype { .. }) => {
                    let (_, program) = self.program(caller, word as u32)?;
                    Some(Member::Program(program.name.clone()))
                }
                _ => None,
            },
            Kind::Array { .. } => {
                let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
                Some(Member::Text(crate::btf::printable(&text)))
            }
            _ => Some(Member::Integer(word)),
        })
    }
}
