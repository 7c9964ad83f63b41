//! Tables that the core looks into dozens of times in a switch.

use std::ops::{Index, IndexMut};

/// Elements by number.
///
/// A number is one of an element that is there; debug builds look at that. The places are always a power of two, and a
/// number is wrapped into them, which takes one instruction and no branch. So a wrong number finds another place of the
/// table, and never memory that is not the table's.
pub struct Table<T> {
    /// `mask + 1` of them.
    places: Vec<T>,
    mask: u32,
    len: u32,
}

impl<T> Table<T> {
    /// A table of `len` elements; `make` gives one for a number, for spare places too.
    pub fn new(len: u32, make: impl FnMut(u32) -> T) -> Table<T> {
        let mut table = Table { places: Vec::new(), mask: 0, len: 0 };
        table.make_places(len.next_power_of_two(), make);
        table.len = len;
        table
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Makes that there are at least `len` elements.
    pub fn reach(&mut self, len: u32, make: impl FnMut(u32) -> T) {
        if len as usize > self.places.len() {
            self.make_places(len.next_power_of_two(), make);
        }
        self.len = self.len.max(len);
    }

    /// `count` is a power of two.
    fn make_places(&mut self, count: u32, mut make: impl FnMut(u32) -> T) {
        assert!(count.is_power_of_two());
        let first = self.places.len() as u32;
        self.places.extend((first..count).map(&mut make));
        // Only now, since `make` may have panicked.
        self.mask = count - 1;
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        debug_assert!(number < self.len, "element {number} of {}", self.len);
        // SAFETY: there are at least `mask + 1` places: `new` makes one at least, `make_places` sets the mask to one less
        // than it has made, and nothing takes a place away.
        unsafe { self.places.get_unchecked((number & self.mask) as usize) }
    }
}

impl<T> IndexMut<u32> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        debug_assert!(number < self.len, "element {number} of {}", self.len);
        // SAFETY: as in `index`.
        unsafe { self.places.get_unchecked_mut((number & self.mask) as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(table: &Table<u32>) -> Vec<u32> {
        (0..table.len()).map(|number| table[number]).collect()
    }

    #[test]
    fn elements_stay_as_the_table_grows() {
        let mut table = Table::new(0, |number| number);
        for len in 1..40 {
            table.reach(len, |number| number);
            table[len - 1] += 100;
            assert_eq!(elements(&table), (100..100 + len).collect::<Vec<_>>());
        }
        table.reach(3, |_| unreachable!("they are there"));
        assert_eq!((table.len(), table[38]), (39, 138));
    }

    #[test]
    fn a_wrong_number_stays_in_the_table() {
        for len in [0, 1, 2, 5, 8, 9] {
            let mut table = Table::new(len, |number| number);
            for number in [len, len + 1, 1 << 20, u32::MAX - 1, u32::MAX] {
                let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    table[number] = 7;
                    table[number]
                }));
                // Debug builds say so.
                assert_eq!(found.ok(), (!cfg!(debug_assertions)).then_some(7));
            }
        }
    }

    #[test]
    fn an_element_that_is_not_made_is_no_place() {
        let mut table = Table::new(2, |number| number);
        let grown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            table.reach(8, |number| if number < 5 { number } else { panic!("no more") });
        }));
        assert!(grown.is_err() && table.len() == 2 && table[1] == 1);
        table.reach(8, |number| number);
        assert_eq!(elements(&table), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
