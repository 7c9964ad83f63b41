//! What a policy says about the first task of each role, as it goes.

use crate::language::StatusSpec;
use schedlab_campaign::{Ear, Hearing};
use schedlab_model::ids::TaskId;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is heard of statuses is kept under this name.
pub const NAME: &str = "statuses";

/// By role: when its first task's status became which word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statuses(BTreeMap<String, Vec<(Time, u64)>>);

impl Statuses {
    /// By role: when its first task's status became which word.
    pub fn words(&self) -> impl Iterator<Item = (&str, &[(Time, u64)])> {
        self.0.iter().map(|(role, words)| (role.as_str(), words.as_slice()))
    }

    /// The part of the word that is asked for; none where nothing was said by then. Words begin with 0 and changes are heard: under a
    /// policy that speaks of other tasks, the word of one of which nothing is ever heard is 0.
    pub fn at(&self, of: &StatusSpec, time: Time) -> Option<u64> {
        let words = self.0.get(&of.role)?;
        if words.is_empty() && self.0.values().any(|others| !others.is_empty()) {
            return Some(0);
        }
        let (_, word) = words[..words.partition_point(|(since, _)| *since <= time)].last()?;
        let [lowest, bits] = of.bits;
        let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |above| above - 1);
        Some(word.checked_shr(lowest)? & mask)
    }
}

/// Hears statuses.
pub struct StatusEar;

impl Ear for StatusEar {
    fn name(&self) -> String {
        NAME.into()
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        Box::new(Hearer { workload, heard: BTreeMap::new() })
    }
}

/// Writes statuses down while a run continues.
struct Hearer<'a> {
    workload: &'a Workload,
    /// The first task of each role, and what was said about it.
    heard: BTreeMap<usize, (TaskId, Vec<(Time, u64)>)>,
}

impl Hearing for Hearer<'_> {
    fn end(self: Box<Self>) -> Value {
        let name = |role: usize| self.workload.roles[role].name.clone();
        json!(Statuses(self.heard.into_iter().map(|(role, (_, words))| (name(role), words)).collect()))
    }
}

impl Sink for Hearer<'_> {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { task, role, .. } => _ = self.heard.entry(role.index()).or_insert((task, Vec::new())),
            EventKind::Status { task, word } => {
                if let Some((_, words)) = self.heard.values_mut().find(|(first, _)| *first == task) {
                    words.push((event.time, word));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_until_the_next() {
        let words = vec![(Time(5), 0x176), (Time(9), 0x80)];
        let statuses = Statuses(BTreeMap::from([("a".to_string(), words)]));
        let at = |time, bits| statuses.at(&StatusSpec { role: "a".into(), at: String::new(), bits }, Time(time));
        assert_eq!([4, 5, 8, 9].map(|time| at(time, [0, 64])), [None, Some(0x176), Some(0x176), Some(0x80)]);
        assert_eq!((at(5, [0, 8]), at(5, [8, 1]), at(9, [8, 1])), (Some(0x76), Some(1), Some(0)));
    }

    #[test]
    fn a_word_that_never_changes_is_the_first_one() {
        let role = |name: &str, words: &[(Time, u64)]| (name.to_string(), words.to_vec());
        let of = StatusSpec { role: "b".into(), at: String::new(), bits: [0, 64] };
        let spoken = Statuses(BTreeMap::from([role("a", &[(Time(5), 7)]), role("b", &[])]));
        assert_eq!(spoken.at(&of, Time(9)), Some(0));
        let silent = Statuses(BTreeMap::from([role("a", &[]), role("b", &[])]));
        assert_eq!(silent.at(&of, Time(9)), None);
    }
}
