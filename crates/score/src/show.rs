//! Scores for people.

use crate::score::{Failure, Item, Score, Set};
use crate::tune::{Answer, Tuned, Verdict};
use schedlab_model::count::counted;
use schedlab_model::selector::Selector;
use schedlab_report::export::{Failed, Findings};
use schedlab_report::{Column, Style, Table, amount, wrap};

/// How many places are shown of a set: those where the policy is worst and best.
const SHOWN: usize = 12;

/// How many trials are shown.
const TRIALS: usize = 8;

/// A score or a ratio.
fn times(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

impl Score {
    /// The page.
    pub fn show(&self, style: Style) -> String {
        let mut page = wrap("", 0, &style.bold(&self.headline()));
        page += &self.scored.show(style);
        if let Some(held_out) = &self.held_out {
            page += &format!("\n{}", wrap("", 0, &style.bold(&headline_held_out(held_out))));
            page += &held_out.show(style);
        }
        page
    }

    /// In a sentence, what came of it.
    fn headline(&self) -> String {
        let (policy, reference) = (&self.policy, &self.reference);
        let mut head = format!("{policy} scores {}", times(self.scored.score));
        if let Some([low, high]) = self.scored.interval {
            head += &format!(" ({} to {})", times(low), times(high));
        }
        head + &format!(" in {}, where {reference} scores 1", self.set)
    }

    /// Everything that files have of it.
    pub fn findings(&self) -> Findings {
        let sets = || [&self.scored].into_iter().chain(&self.held_out);
        let failed = |failure: &Failure| {
            let scenario = failure.scenario.clone().map(|name| ("scenario", name));
            let labels = [("policy", self.policy.clone())].into_iter().chain(scenario).collect();
            Failed { labels, why: failure.words() }
        };
        Findings {
            answer: [self.headline()].into_iter().chain(self.held_out.as_ref().map(headline_held_out)).collect(),
            cautions: sets().flat_map(Set::notes).collect(),
            failures: sets().flat_map(|set| &set.failures).map(failed).collect(),
            ..Findings::of(self.tables())
        }
    }

    fn tables(&self) -> Vec<(&'static str, Table)> {
        let mut tables =
            vec![("Score", self.scored.table_of_parts()), ("Values", self.scored.table(&self.scored.items()))];
        if let Some(held_out) = &self.held_out {
            tables.push(("Score in held-out scenarios", held_out.table_of_parts()));
            tables.push(("Values in held-out scenarios", held_out.table(&held_out.items())));
        }
        tables
    }
}

/// The same of the scenarios that only check.
fn headline_held_out(held_out: &Set) -> String {
    format!("In the held-out scenarios it scores {}", times(held_out.score))
}

impl Failure {
    /// Where and why, in a sentence.
    fn words(&self) -> String {
        let place = self.scenario.as_ref().map_or(String::new(), |name| format!("{name}: "));
        format!("{place}{}", self.why)
    }
}

impl Set {
    fn show(&self, style: Style) -> String {
        let mut page = String::new();
        self.failures.iter().for_each(|failure| page += &wrap("", 2, &failure.words()));
        if self.parts.is_empty() {
            return page;
        }
        page += &format!("\n{}", self.table_of_parts().show(style));
        let items = self.items();
        let shown = extremes(&items);
        page += &format!("\n{}", self.table(&shown).show(style));
        if shown.len() < items.len() {
            page += &format!("\n{} more are between these.\n", items.len() - shown.len());
        }
        page + &self.notes().iter().map(|note| format!("\n{}", wrap("", 2, note))).collect::<String>()
    }

    /// What a reader has to know about single places, a sentence each.
    fn notes(&self) -> Vec<String> {
        let note = |item: &Item| Some(format!("{}, {}: {}.", item.scenario, item.path, item.note.as_ref()?));
        self.items().into_iter().filter_map(note).collect()
    }

    fn table_of_parts(&self) -> Table {
        let parts = &self.parts;
        Table::new([
            Column::words("part", parts.iter().map(|part| part.metric.clone())),
            Column::numbers("weight", parts.iter().map(|part| part.weight.to_string())),
            Column::numbers("score", parts.iter().map(|part| part.score.map_or("-".into(), times)))
                .exactly("score", parts.iter().map(|part| part.score)),
        ])
    }

    /// All places, the one where the policy is worst first.
    fn items(&self) -> Vec<&Item> {
        let mut items: Vec<&Item> = self.parts.iter().flat_map(|part| &part.items).collect();
        items.sort_by(|a, b| a.ratio.unwrap_or(1.0).total_cmp(&b.ratio.unwrap_or(1.0)));
        items
    }

    fn table(&self, items: &[&Item]) -> Table {
        let words = |item: &Item, value: Option<f64>| match (value, Selector::parse(&item.path)) {
            (Some(value), Ok(selector)) => amount(selector.metric(), value),
            _ => "-".into(),
        };
        let path = |item: &Item| item.path.strip_prefix("roles.").unwrap_or(&item.path).to_string();
        let paths = Column::words("metric", items.iter().map(|item| item.path.clone()));
        let values = |head: &str, of: &dyn Fn(&Item) -> Option<f64>| {
            Column::numbers(head, items.iter().map(|item| words(item, of(item))))
                .exactly(head, items.iter().map(|item| of(item)))
        };
        Table::new([
            Column::words("scenario", items.iter().map(|item| item.scenario.clone())),
            Column::words("metric", items.iter().map(|item| path(item))).in_parts(vec![paths]),
            values("value", &|item| item.value),
            values("reference", &|item| item.reference),
            Column::numbers("times better", items.iter().map(|item| item.ratio.map_or("-".into(), times)))
                .exactly("times better", items.iter().map(|item| item.ratio)),
        ])
    }
}

/// The first and the last of a list that is too long.
fn extremes<'a>(items: &[&'a Item]) -> Vec<&'a Item> {
    match items.len() {
        0..=SHOWN => items.to_vec(),
        all => items[..SHOWN / 2].iter().chain(&items[all - SHOWN / 2..]).copied().collect(),
    }
}

impl Tuned {
    /// The page.
    pub fn show(&self, style: Style) -> String {
        let Some(answer) = &self.answer else { return wrap("", 0, &self.so_far()) };
        let mut page = wrap("", 0, &style.bold(&self.headline(answer)));
        let mut best: Vec<(usize, &crate::Trial)> = self.trials.iter().enumerate().collect();
        best.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
        best.truncate(TRIALS);
        page += &format!("\n{}", trials(&best).show(style));
        if !answer.back.is_empty() {
            page += "\nWhat each setting contributes: the score with its default instead.\n\n";
            page += &backs(answer).show(style);
        }
        page += &format!("\n{}", wrap("", 0, &checked(answer)));
        if !answer.gains.is_empty() && answer.verdict != Verdict::Unchanged {
            page += &format!("\n{}", gains(answer).show(style));
        }
        page
    }

    /// In a sentence, what came of it.
    fn headline(&self, answer: &Answer) -> String {
        let (count, before) = (self.trials.len(), times(answer.score_before));
        match answer.verdict {
            Verdict::Unchanged => {
                format!("In {count} trials nothing scores higher than {} as it is: {before}", self.policy)
            }
            _ => format!(
                "The best of {count} trials is {}: it scores {}, and {} as it is {before}",
                answer.policy,
                times(answer.score),
                self.policy
            ),
        }
    }

    /// How far it is, where it was stopped.
    fn so_far(&self) -> String {
        format!("{} so far; the same command goes on.", counted(self.trials.len() as u64, "trial"))
    }

    /// Everything that files have of it.
    pub fn findings(&self) -> Findings {
        let failed = |trial: &crate::Trial| {
            let settings = ("settings", joined(&trial.settings));
            let why = trial.failure.as_ref()?;
            Some(Failed { why: format!("{} with {}: {why}", self.policy, settings.1), labels: vec![settings] })
        };
        let answer = match &self.answer {
            Some(answer) => vec![self.headline(answer), checked(answer)],
            None => vec![self.so_far()],
        };
        let failures = self.trials.iter().filter_map(failed).collect();
        Findings { answer, failures, ..Findings::of(self.tables()) }
    }

    fn tables(&self) -> Vec<(&'static str, Table)> {
        let all: Vec<_> = self.trials.iter().enumerate().collect();
        let mut tables = vec![("Trials", trials(&all))];
        if let Some(answer) = &self.answer {
            tables.push(("What each setting contributes", backs(answer)));
            tables.push(("Held-out scenarios", gains(answer)));
        }
        tables
    }
}

fn trials(trials: &[(usize, &crate::Trial)]) -> Table {
    let settings = |trial: &crate::Trial| match (&trial.failure, trial.settings.as_slice()) {
        (Some(why), _) => format!("{} ({why})", joined(&trial.settings)),
        (None, []) => "as it is".into(),
        (None, settings) => joined(settings),
    };
    Table::new([
        Column::numbers("trial", trials.iter().map(|(number, _)| number.to_string())),
        Column::numbers("score", trials.iter().map(|(_, trial)| times(trial.score)))
            .exactly("score", trials.iter().map(|(_, trial)| Some(trial.score))),
        Column::words("settings", trials.iter().map(|(_, trial)| settings(trial))),
    ])
}

fn joined(settings: &[(String, String)]) -> String {
    settings.iter().map(|(key, word)| format!("{key}={word}")).collect::<Vec<_>>().join(",")
}

fn backs(answer: &Answer) -> Table {
    let column = |head: &str, of: fn(&crate::Back) -> &String| {
        Column::words(head, answer.back.iter().map(|back| of(back).clone()))
    };
    Table::new([
        column("parameter", |back| &back.parameter),
        column("best", |back| &back.best),
        column("default", |back| &back.default),
        Column::numbers("score", answer.back.iter().map(|back| times(back.score)))
            .exactly("score", answer.back.iter().map(|back| Some(back.score))),
    ])
}

fn gains(answer: &Answer) -> Table {
    Table::new([
        Column::words("held-out scenario", answer.gains.iter().map(|(name, _)| name.clone())),
        Column::numbers("times better", answer.gains.iter().map(|(_, gain)| times(*gain)))
            .exactly("times better", answer.gains.iter().map(|(_, gain)| Some(*gain))),
    ])
}

/// What the scenarios say that played no part in the search.
fn checked(answer: &Answer) -> String {
    let (now, before) = (times(answer.held_out), times(answer.held_out_before));
    let range = answer.gain.map_or(String::new(), |[low, high]| {
        format!(", {} to {} times as good over scenarios", times(low), times(high))
    });
    let there = format!("In the held-out scenarios it scores {now}, and {before} as it is{range}");
    match answer.verdict {
        Verdict::Unchanged => format!("In the held-out scenarios it scores {before}."),
        Verdict::Better => format!("{there}: it is better there, too."),
        Verdict::Overfit => {
            format!("{there}: it is worse there, so these settings fit the scenarios of the search only.")
        }
        Verdict::Open => {
            format!("{there}: whether it is better there is open. More held-out scenarios would decide it.")
        }
    }
}
