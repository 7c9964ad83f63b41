//! The size of the buffer between the kernel and a recording.

use std::str::FromStr;

/// Bytes of a ring: from a page to what the kernel allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring(usize);

impl Ring {
    /// What `record` uses by default.
    pub const DEFAULT: &str = "16MiB";

    /// In bytes.
    pub fn bytes(self) -> usize {
        self.0
    }
}

impl FromStr for Ring {
    type Err = String;

    fn from_str(text: &str) -> Result<Ring, String> {
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit = [("KiB", 10), ("MiB", 20), ("GiB", 30)].into_iter().find(|(name, _)| *name == unit);
        let bytes = unit.and_then(|(_, shift)| number.parse::<usize>().ok()?.checked_mul(1 << shift));
        let wrong = || format!("`{text}` is not the size of a ring: write it as 512KiB or 64MiB, from 4KiB to 1GiB");
        bytes.filter(|bytes| (1 << 12..=1 << 30).contains(bytes)).map(Ring).ok_or_else(wrong)
    }
}
