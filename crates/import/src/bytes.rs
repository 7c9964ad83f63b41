//! Numbers and strings in bytes that another person wrote.

/// A part of a file, read from its front. A read beyond its end gives nothing.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    left: &'a [u8],
    /// The most significant byte of a number comes first.
    pub big: bool,
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8], big: bool) -> Bytes<'a> {
        Bytes { left: bytes, big }
    }

    /// How many bytes there still are.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// What is still there.
    pub fn rest(&self) -> &'a [u8] {
        self.left
    }

    /// The next bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(length)?;
        self.left = left;
        Some(taken)
    }

    /// Leaves some out.
    pub fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(|_| ())
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// A number of up to eight bytes.
    pub fn number(&mut self, length: usize) -> Option<u64> {
        if length > 8 {
            return None;
        }
        let bytes = self.take(length)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }

    /// A string that a zero ends.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let end = self.left.iter().position(|&byte| byte == 0)?;
        let text = self.take(end)?;
        self.skip(1)?;
        Some(text)
    }
}

/// The first bytes of a string in a field that zeros fill.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_both_orders_and_never_beyond_the_end() {
        let mut little = Bytes::new(&[1, 2, 3, 4, 5, 6, 7], false);
        assert_eq!(
            (little.u16(), little.u32(), little.u32(), little.u8()),
            (Some(0x201), Some(0x6050403), None, Some(7))
        );
        let mut big = Bytes::new(&[1, 2, 3, 4, 5, 6, 7, 8, b'a', 0, b'b'], true);
        assert_eq!(big.u64(), Some(0x0102_0304_0506_0708));
        assert_eq!((big.string(), big.string(), big.rest()), (Some(&b"a"[..]), None, &b"b"[..]));
        assert_eq!(Bytes::new(&[0; 16], false).number(9), None);
        assert_eq!(until_zero(b"sh\0\0x"), b"sh");
    }
}
