//! What a comparison comes to.
//!
//! A few [questions](Question) are asked of each role: mean and tail of its responses, throughput, how evenly its tasks
//! share, whether one starves; of recordings, how long tasks wait. For each of them all candidates are ranked, and the best is
//! compared with every other with the evidence there is. A candidate is the best only if the difference is more than chance and
//! large enough to [matter](MATTERS). The headline sums up all rankings.

mod headline;
mod question;
mod rank;
#[cfg(test)]
mod tests;
mod words;

pub use headline::Absent;
pub(crate) use headline::Facts;
pub(crate) use question::has_requests;
pub use question::{Question, furthest_tail};
pub use rank::{MATTERS, Rank, Ranking, Standing};

use crate::comparison::{Candidate, Difference};
use crate::gap::Evidence;
use crate::{Column, Style, Table, wrap};
use schedlab_model::outcome::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many differences a terminal shows.
const MOST_SHOWN: usize = 6;

/// How many questions without a best a terminal names.
const MOST_ALIKE: usize = 4;

/// What a comparison comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// Which policy is best at everything, or which at what.
    pub headline: String,
    /// For each question and role how well each policy does: what is decided first, the largest difference first.
    pub rankings: Vec<Ranking>,
}

impl Conclusion {
    /// Ranks the candidates; without words. None of a single one.
    pub(crate) fn of(candidates: &[Candidate], random: bool) -> Option<Conclusion> {
        let rankings = rank::all(candidates, random);
        (!rankings.is_empty()).then(|| Conclusion { headline: String::new(), rankings })
    }

    /// Takes over gaps that are known better from another comparison: those of a single run may rest on its batches, which
    /// no result holds.
    pub(crate) fn take_over(&mut self, known: Option<&Conclusion>, differences: &[Difference]) {
        let ranked = |own: &Ranking, first: &str, policy: &str| {
            let same = |other: &&Ranking| other.role == own.role && other.metric == own.metric;
            let other = known?.rankings.iter().find(same).filter(|other| other.ranks[0].policy == first)?;
            other.ranks.iter().find(|rank| rank.policy == policy)?.gap.clone()
        };
        let different = |own: &Ranking, first: &str, policy: &str| {
            let key = |one: &&Difference| {
                (&*one.role, &*one.metric, &*one.baseline, &*one.policy) == (&own.role, &own.metric, first, policy)
            };
            Some(differences.iter().find(key)?.gap.clone())
        };
        for ranking in &mut self.rankings {
            ranking
                .take_over(|own, first, policy| ranked(own, first, policy).or_else(|| different(own, first, policy)));
        }
    }

    /// Takes back what others may have made of the machine, and gives the reasons why the means cannot be built upon: those
    /// of responses, and of waits where nothing is a request.
    pub(crate) fn doubt<'a>(&mut self, result: impl Fn(&str) -> Option<&'a Outcome>) -> Vec<String> {
        let mut reasons = Vec::new();
        for ranking in &mut self.rankings {
            let taken_back = ranking.doubt(&result);
            if matches!(ranking.question, Question::MeanResponse | Question::MeanWait) {
                reasons.extend(taken_back);
            }
        }
        reasons
    }

    /// Puts the rankings into their order and all into words.
    pub(crate) fn settle(&mut self, facts: &Facts) {
        let place = |ranking: &Ranking| match (ranking.is_decided(), ranking.has_best()) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        self.rankings.sort_by(|a, b| place(a).cmp(&place(b)).then(b.weight.total_cmp(&a.weight)));
        for ranking in &mut self.rankings {
            ranking.words = ranking.line();
        }
        self.headline = headline::headline(&self.rankings, facts);
    }

    /// Whether every run gives all of these numbers.
    pub(crate) fn is_exact(&self) -> bool {
        self.evidence_of(|_| true) == [Evidence::Exact]
    }

    /// What the rankings rest on, each once: where something differs that, and not what shows no difference.
    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        let differing = self.evidence_of(|rank| rank.standing != Standing::Alike);
        if differing.is_empty() { self.evidence_of(|_| true) } else { differing }
    }

    fn evidence_of(&self, is_asked: impl Fn(&Rank) -> bool) -> Vec<Evidence> {
        let ranks = self.rankings.iter().flat_map(|ranking| &ranking.ranks).filter(|rank| is_asked(rank));
        let mut all: Vec<Evidence> = ranks.filter_map(|rank| Some(rank.gap.as_ref()?.evidence)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The headline, and the largest differences, for a terminal.
    pub(crate) fn show(&self, style: Style) -> String {
        let mut page = style.bold(&wrap("", 0, &self.headline));
        let decided: Vec<&Ranking> = self.rankings.iter().filter(|ranking| ranking.is_decided()).collect();
        if !decided.is_empty() {
            page += "\nLargest differences first, each relative to the best:\n";
        }
        page += &decided.iter().take(MOST_SHOWN).map(|ranking| wrap("- ", 2, &ranking.words)).collect::<String>();
        if let Some(more) = decided.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
            page += &format!("… and {more} smaller differences\n");
        }
        page + &self.alike().map_or(String::new(), |alike| wrap("", 0, &alike))
    }

    /// All differences that are decided, the largest first, and what has no best.
    pub(crate) fn points(&self) -> Vec<String> {
        let decided = self.rankings.iter().filter(|ranking| ranking.is_decided());
        decided.map(|ranking| ranking.words.clone()).chain(self.alike()).collect()
    }

    /// The questions that have no best, each with the reason.
    fn alike(&self) -> Option<String> {
        let reason = |ranking: &Ranking| {
            let lack = ranking.lack_of_best()?;
            Some(format!("{} ({})", ranking.subject(), lack.strip_prefix("no best, ").unwrap_or("alike")))
        };
        let is_open = |ranking: &&Ranking| ranking.has_best() && !ranking.is_decided();
        let alike: Vec<String> = self.rankings.iter().filter(is_open).filter_map(reason).collect();
        let more = alike.len().checked_sub(MOST_ALIKE).filter(|more| *more > 0);
        let more = more.map_or(String::new(), |more| format!("; and {more} more"));
        let named = &alike[..alike.len().min(MOST_ALIKE)];
        (!alike.is_empty()).then(|| format!("No clear best: {}{more}.", named.join("; ")))
    }

    /// Questions and ranks as a table of at most `rows` rows, with the best and with what the second lacks.
    pub fn table(&self, rows: usize) -> Table {
        let rankings = self.first(rows);
        let cells: Vec<(String, Vec<String>, String)> = rankings.iter().map(Ranking::cells).collect();
        let best = Column::words("best", cells.iter().map(|(best, ..)| best.clone()));
        let second =
            Column::words("the second compared with the first", cells.iter().map(|(.., second)| second.clone()));
        let places = places(&cells);
        Table::new(asked(rankings).into_iter().chain([best]).chain(places).chain([second]))
    }

    /// The same in short: questions and ranks alone.
    pub fn ranks(&self, rows: usize) -> Table {
        let rankings = self.first(rows);
        let cells: Vec<(String, Vec<String>, String)> = rankings.iter().map(Ranking::cells).collect();
        Table::new(asked(rankings).into_iter().chain(places(&cells)))
    }

    fn first(&self, rows: usize) -> &[Ranking] {
        &self.rankings[..self.rankings.len().min(rows)]
    }
}

/// The roles that are asked about, and the questions.
fn asked(rankings: &[Ranking]) -> [Column; 2] {
    let own = |head: &str, of: &dyn Fn(&Ranking) -> String| Column::words(head, rankings.iter().map(of));
    [own("role", &|ranking| ranking.role.clone()), own("question", &|ranking| ranking.metric().name.to_string())]
}

/// A column for each rank.
fn places(cells: &[(String, Vec<String>, String)]) -> Vec<Column> {
    let most = cells.iter().map(|(_, ranks, _)| ranks.len()).max().unwrap_or(0);
    let place = |place: usize| {
        let head = match place {
            0 => "first".into(),
            1 => "second".into(),
            2 => "third".into(),
            _ => format!("{}th", place + 1),
        };
        let ranks = cells.iter().map(move |(_, ranks, _)| ranks.get(place).cloned().unwrap_or("-".into()));
        Column::words(&head, ranks)
    };
    (0..most).map(place).collect()
}

impl Conclusion {
    /// Why the two policies of a difference are not to be compared by its metric, if they are not.
    pub(crate) fn caution(&self, of: &Difference) -> Option<String> {
        let is_asked = |ranking: &&Ranking| ranking.role == of.role && ranking.metric == of.metric;
        let ranks = self.rankings.iter().filter(is_asked).flat_map(|ranking| &ranking.ranks);
        let of_both = ranks.filter(|rank| [&of.baseline, &of.policy].contains(&&rank.policy));
        let cautions: Vec<String> = of_both.filter_map(Rank::caution).collect();
        (!cautions.is_empty()).then(|| cautions.join("; "))
    }
}

impl Rank {
    /// Why its value is not to be compared with others, if it is not.
    fn caution(&self) -> Option<String> {
        let policy = &self.policy;
        match self.standing {
            Standing::Starves => Some(format!("{policy} starves tasks")),
            Standing::TooFew => Some(format!("too few requests end under {policy}")),
            Standing::Disturbed => Some("it may be what other programs took of the machine".into()),
            Standing::First | Standing::Alike | Standing::Indistinguishable | Standing::Behind | Standing::Unknown => {
                None
            }
        }
    }
}

impl Difference {
    /// Takes over what is known better.
    pub(crate) fn take_over(&mut self, known: &[Difference]) {
        let key = |one: &Difference| [&one.role, &one.metric, &one.baseline, &one.policy].map(String::clone);
        if let Some(better) = known.iter().find(|other| key(other) == key(self))
            && self.gap.evidence == Evidence::Single
        {
            self.clone_from(better);
        }
    }
}
