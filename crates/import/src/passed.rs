//! What a recording says in addition to what its trace shows: counted by kind, with the first of each.

use schedlab_boundary::Shown;
use std::collections::BTreeMap;

/// The most kinds that are kept apart.
const KINDS: usize = 200;
/// The kind of all further ones.
const FURTHER: &str = "all further kinds";

/// One kind of what was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing {
    /// How many.
    pub count: u64,
    /// Where the first one is: a line, or a place in the file.
    pub first: String,
}

/// All that was passed over, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    kinds: BTreeMap<String, Passing>,
}

impl PassedOver {
    /// Counts one. `first` is asked for what to show of the first of its kind.
    pub fn count(&mut self, kind: &str, first: impl FnOnce() -> String) {
        let is_known = self.kinds.contains_key(kind);
        let kind = if is_known || self.kinds.len() < KINDS { kind } else { FURTHER };
        if let Some(passing) = self.kinds.get_mut(kind) {
            passing.count += 1;
            return;
        }
        let passing = self.kinds.entry(Shown::name(kind).into_string());
        passing.or_insert_with(|| Passing { count: 0, first: first() }).count += 1;
    }

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|passing| passing.count).sum()
    }

    /// The kinds by name.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &Passing)> {
        self.kinds.iter().map(|(kind, passing)| (kind.as_str(), passing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_and_not_without_end() {
        let mut passed = PassedOver::default();
        (0..3).for_each(|number| passed.count("irq", || format!("line {number}")));
        assert_eq!(passed.kinds().next(), Some(("irq", &Passing { count: 3, first: "line 0".into() })));
        (0..1000).for_each(|number| passed.count(&format!("kind {number}"), String::new));
        assert_eq!((passed.total(), passed.kinds().count()), (1003, KINDS + 1));
    }
}
