//! What a linked program can rely on: constants, with the settings of the user in them, that nothing ever changes.

use crate::program::Size;

/// The sections of constants of a program, each with its guest address.
///
/// Machine code takes them as they are, as the kernel's verifier does: a test of a parameter costs nothing, and what it
/// rules out is not even compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constants(Vec<(u64, Vec<u8>)>);

impl Constants {
    /// Adds a section.
    pub fn add(&mut self, address: u64, bytes: Vec<u8>) {
        self.0.push((address, bytes));
    }

    /// The word at an address, extended with zeros; none where not all of it is constant.
    pub fn read(&self, address: u64, size: Size) -> Option<u64> {
        self.0.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            let found = bytes.get(at..at.checked_add(size.bytes() as usize)?)?;
            let mut word = [0; 8];
            word[..found.len()].copy_from_slice(found);
            Some(u64::from_le_bytes(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_where_they_are_whole() {
        let mut constants = Constants::default();
        constants.add(100, vec![1, 2, 3, 4, 5]);
        constants.add(200, vec![0xff]);
        assert_eq!(constants.read(100, Size::B4), Some(0x0403_0201));
        assert_eq!((constants.read(104, Size::B1), constants.read(200, Size::B1)), (Some(5), Some(0xff)));
        for (address, size) in [(99, Size::B1), (102, Size::B4), (105, Size::B1), (u64::MAX, Size::B8)] {
            assert_eq!(constants.read(address, size), None, "{address}");
        }
    }
}
