//! `union bpf_attr`: words at offsets that the kernel's interface fixes.

use super::Caller;

/// As many bytes as there are in any kernel's.
const BYTES: usize = 256;

/// The attributes of a call; what the caller did not pass is zero.
pub struct Attributes {
    bytes: [u8; BYTES],
    /// Where they are in the caller's memory.
    pub address: u64,
}

impl Attributes {
    /// Reads them.
    pub fn read(caller: &dyn Caller, address: u64, size: u32) -> Result<Attributes, i32> {
        let mut bytes = [0; BYTES];
        caller.read(address, &mut bytes[..(size as usize).min(BYTES)])?;
        Ok(Attributes { bytes, address })
    }

    /// 32 bits at an offset.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// 64 bits at an offset.
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// A name of at most 16 bytes.
    pub fn name(&self, at: usize) -> String {
        let bytes = &self.bytes[at..at + 16];
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        crate::btf::printable(&String::from_utf8_lossy(&bytes[..len]))
    }
}

/// `len` bytes of the caller's memory.
pub fn read_vec(caller: &dyn Caller, address: u64, len: usize) -> Result<Vec<u8>, i32> {
    let mut bytes = vec![0; len];
    caller.read(address, &mut bytes)?;
    Ok(bytes)
}
