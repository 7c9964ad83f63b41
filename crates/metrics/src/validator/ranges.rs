//! Sets of numbers.

use std::collections::BTreeMap;

/// A set of numbers as ranges, small when they come roughly in order.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u32, u32>);

impl Ranges {
    pub fn contains(&self, id: u32) -> bool {
        self.0.range(..=id).next_back().is_some_and(|(_, &last)| id <= last)
    }

    pub fn insert(&mut self, id: u32) {
        if self.contains(id) {
            return;
        }
        let mut last = id;
        if let Some(next) = id.checked_add(1).and_then(|next| self.0.remove(&next)) {
            last = next;
        }
        match self.0.range_mut(..id).next_back() {
            Some((_, end)) if *end + 1 == id => *end = last,
            _ => {
                self.0.insert(id, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join() {
        let mut ranges = Ranges::default();
        [1, 3, 2, 7, 0, 6, 2].into_iter().for_each(|id| ranges.insert(id));
        assert_eq!(ranges.0.into_iter().collect::<Vec<_>>(), [(0, 3), (6, 7)]);
    }
}
