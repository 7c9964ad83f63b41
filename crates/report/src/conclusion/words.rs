//! Rankings in words.

use super::rank::{Rank, Ranking, Standing};
use crate::ratio::{SAME, amount};

/// How many candidates are named one by one; of more, the first ones and the last.
const MOST_NAMED: usize = 4;

impl Ranking {
    /// In a line: `worker, p99 of response: best rr 1050 ms; then mlfq 1250 ms (1.19×)`.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.subject(), self.answer())
    }

    /// What it is about: `worker, p99 of response`.
    pub(super) fn subject(&self) -> String {
        format!("{}, {}", self.role, self.metric().name)
    }

    fn answer(&self) -> String {
        let leaders: Vec<String> = self.leaders().map(|rank| self.entry(rank, true)).collect();
        // The evidence is shown for the second only.
        let behind = self.behind().enumerate().map(|(place, rank)| self.entry(rank, place == 0));
        let behind: Vec<String> = behind.collect();
        let ranked = match (self.has_best(), self.lack_of_best()) {
            (false, _) => some_of(&[leaders, behind].concat()),
            (true, Some(lack)) if behind.is_empty() => format!("{lack}: {}", some_of(&leaders)),
            (true, Some(lack)) => format!("{lack}: {}; then {}", some_of(&leaders), some_of(&behind)),
            (true, None) if behind.is_empty() => some_of(&leaders),
            (true, None) => format!("best {}; then {}", some_of(&leaders), some_of(&behind)),
        };
        [Some(ranked), self.unranked()].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Why no policy is the best; none where a single one leads.
    pub(super) fn lack_of_best(&self) -> Option<String> {
        self.leaders().nth(1)?;
        let stands = |standing: Standing| self.leaders().any(|rank| rank.standing == standing);
        match (stands(Standing::Disturbed), stands(Standing::Indistinguishable)) {
            (true, _) => Some("no best, too disturbed by others to tell apart".into()),
            (false, true) => Some("no best, indistinguishable".into()),
            (false, false) => {
                Some(format!("no best{}", self.width().map_or(String::new(), |width| format!(", {width}"))))
            }
        }
    }

    /// How near the leaders are to each other: `within 1.1 %`, `the same`; none where one has a value of zero.
    fn width(&self) -> Option<String> {
        let gaps = self.leaders().filter_map(|rank| rank.gap.as_ref());
        let away: Option<Vec<f64>> = gaps.map(|gap| Some((gap.ratio? - 1.0).abs() * 100.0)).collect();
        let values: Vec<Option<f64>> = self.leaders().map(|rank| rank.value).collect();
        let furthest = || away?.into_iter().reduce(f64::max);
        match values.windows(2).all(|pair| pair[0] == pair[1]) {
            true => Some(SAME.into()),
            false => furthest().map(|percent| match percent {
                ..0.05 => "within 0.05 %".into(),
                _ => format!("within {percent:.1} %"),
            }),
        }
    }

    /// The policies without a rank, and why.
    fn unranked(&self) -> Option<String> {
        let of = |standing: Standing, entry: &dyn Fn(&Rank) -> String| -> Vec<String> {
            self.ranks.iter().filter(|rank| rank.standing == standing).map(entry).collect()
        };
        let told = [
            ("not ranked (starves tasks): ", some_of(&of(Standing::Starves, &|rank| self.entry(rank, false)))),
            ("too few requests under ", and(&of(Standing::TooFew, &|rank| rank.policy.clone()))),
            ("no value under ", and(&of(Standing::Unknown, &|rank| rank.policy.clone()))),
        ];
        let told = told.iter().filter(|(_, names)| !names.is_empty()).map(|(why, names)| format!("{why}{names}"));
        Some(told.collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
    }

    /// A candidate with its value and how far that is from the best.
    fn entry(&self, rank: &Rank, with_range: bool) -> String {
        let remark = self.remark(rank, with_range).map_or(String::new(), |remark| format!(" ({remark})"));
        format!("{} {}{remark}", rank.policy, self.value(rank))
    }

    fn remark(&self, rank: &Rank, with_range: bool) -> Option<String> {
        let remark = rank.gap.as_ref()?.remark(with_range && rank.standing != Standing::Alike)?;
        // Those that are the same are under that word already.
        Some(remark).filter(|remark| remark != SAME)
    }

    /// A value with its unit; a dash where it is not known.
    pub(super) fn value(&self, rank: &Rank) -> String {
        rank.value.map_or("-".into(), |value| amount(self.metric(), value))
    }

    /// What is in the columns of a table: the best or why there is none, each place, and how sure the second is.
    pub(super) fn cells(&self) -> (String, Vec<String>, String) {
        let best = match (self.has_best(), self.lack_of_best()) {
            (false, _) => "-".into(),
            (true, Some(lack)) => lack,
            (true, None) => self.leaders().map(|rank| rank.policy.clone()).collect(),
        };
        let second = self.ranks.get(1).and_then(|rank| rank.gap.as_ref()?.remark(true));
        let place = |rank: &Rank| match rank.standing {
            Standing::Starves => format!("{} {}, not ranked: starves tasks", rank.policy, self.value(rank)),
            Standing::TooFew => format!("{} {}, not ranked: too few requests", rank.policy, self.value(rank)),
            Standing::Unknown => format!("{} -", rank.policy),
            _ => self.entry(rank, false),
        };
        (best, self.ranks.iter().map(place).collect(), second.unwrap_or("-".into()))
    }
}

/// Of many entries the first ones and the last.
fn some_of(entries: &[String]) -> String {
    match entries {
        [first @ .., last] if entries.len() > MOST_NAMED + 1 => {
            let shown = first[..MOST_NAMED - 1].join(", ");
            format!("{shown}, {} more, {last}", entries.len() - MOST_NAMED)
        }
        _ => entries.join(", "),
    }
}

/// Names in a sentence: `a, b and c`.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= MOST_NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..MOST_NAMED - 1].join(", "), names.len() - MOST_NAMED + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut_in_the_middle() {
        let names = |many: usize| (1..=many).map(|number| format!("p{number}")).collect::<Vec<_>>();
        assert_eq!([1, 2, 4].map(|many| and(&names(many))), ["p1", "p1 and p2", "p1, p2, p3 and p4"]);
        assert_eq!(and(&names(9)), "p1, p2, p3 and 6 more");
        assert_eq!(some_of(&names(5)), "p1, p2, p3, p4, p5");
        assert_eq!(some_of(&names(9)), "p1, p2, p3, 5 more, p9");
    }
}
