//! Sections of a program that are counted, since they may lie in one another.

/// A kind of section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What is read under RCU stays.
    Rcu,
    /// Nothing else runs on the CPU.
    Preemption,
}

/// How many sections of each kind a call is in: as one word, so that one look finds that it is in none. A call executes
/// fewer instructions than there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Sections(pub u64);

impl Section {
    const ALL: [Section; 2] = [Section::Rcu, Section::Preemption];

    /// What one more of it adds to the word.
    pub const fn one(self) -> u64 {
        1 << self.shift()
    }

    /// The bits of the word that count it.
    pub const fn bits(self) -> u64 {
        0xffff_ffff << self.shift()
    }

    const fn shift(self) -> u32 {
        match self {
            Section::Rcu => 0,
            Section::Preemption => 32,
        }
    }

    /// The functions that enter and leave it.
    pub const fn calls(self) -> [&'static str; 2] {
        match self {
            Section::Rcu => ["bpf_rcu_read_lock()", "bpf_rcu_read_unlock()"],
            Section::Preemption => ["bpf_preempt_disable()", "bpf_preempt_enable()"],
        }
    }
}

impl Sections {
    /// Whether the call is in one of a kind.
    pub fn has(self, section: Section) -> bool {
        self.0 & section.bits() != 0
    }

    /// A kind in which the call is.
    pub fn any(self) -> Option<Section> {
        Section::ALL.into_iter().find(|section| self.has(*section))
    }

    /// A kind in which the call is more or less often than before.
    pub fn other_than(self, before: Sections) -> Option<Section> {
        Section::ALL.into_iter().find(|section| (self.0 ^ before.0) & section.bits() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_apart() {
        let mut sections = Sections::default();
        assert_eq!(sections.any(), None);
        sections.0 += 2 * Section::Preemption.one();
        assert!(sections.has(Section::Preemption) && !sections.has(Section::Rcu));
        let before = sections;
        sections.0 += Section::Rcu.one();
        assert_eq!((sections.any(), sections.other_than(before)), (Some(Section::Rcu), Some(Section::Rcu)));
        sections.0 -= Section::Rcu.one() + Section::Preemption.one();
        assert_eq!(sections.other_than(before), Some(Section::Preemption));
        sections.0 -= Section::Preemption.one();
        assert_eq!(sections, Sections::default());
    }
}
