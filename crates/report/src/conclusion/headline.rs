//! What a comparison comes to, in a sentence or two.

use super::question::Question;
use super::rank::{MATTERS, Ranking, Standing};
use super::words::and;
use crate::gap::Evidence;

/// The most clauses in a sentence.
const MOST_CLAUSES: usize = 3;

const TRADE_OFF: &str = "no policy is best at everything";

/// Policies without a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent<'a> {
    /// Those that failed.
    pub failed: &'a [String],
    /// Those that can run in none of the venues.
    pub not_run: &'a [String],
}

/// What rankings alone do not say.
pub(crate) struct Facts<'a> {
    /// The candidates.
    pub policies: &'a [String],
    /// How many roles there are.
    pub roles: usize,
    /// Policies, and the roles whose tasks they starve.
    pub starving: Vec<(String, String)>,
    /// Policies that fail under small changes.
    pub fragile: Vec<String>,
    /// The policies that are no candidates.
    pub absent: Absent<'a>,
    /// Whether what is compared was recorded.
    pub is_recorded: bool,
}

/// Which policy is best at everything or at what; which ones starve tasks or failed.
pub(super) fn headline(rankings: &[Ranking], facts: &Facts) -> String {
    let mut decided: Vec<&Ranking> =
        rankings.iter().filter(|ranking| ranking.has_best() && ranking.is_decided()).collect();
    // How soon something comes is said before all else.
    decided.sort_by_key(|ranking| !ranking.question.is_how_soon());
    let champions = champions(&decided, facts);
    let told = told(&decided, &champions);
    let (verdict, named) = match (decided.is_empty(), champions.as_slice()) {
        (true, _) => (nothing(rankings, facts), facts.policies.to_vec()),
        (false, []) => (trade_off(&told, facts), leaders_of(&told)),
        (false, champions) => (of_champions(champions, (&told, rankings), facts), champions.to_vec()),
    };
    let begin = if told.iter().any(|ranking| is_single(ranking)) { one_each(facts.is_recorded) } else { "" };
    let sentences = [
        Some(if begin.is_empty() { capital(&verdict) } else { format!("{begin}{verdict}") }),
        alike_on_average(rankings, facts),
        starvation(facts),
        fragility(&named, facts),
        failures(facts.absent.failed),
        not_run(facts.absent.not_run),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The policies that lead in all that is decided, and starve no task that others serve.
fn champions(decided: &[&Ranking], facts: &Facts) -> Vec<String> {
    let leads = |policy: &&String| decided.iter().all(|ranking| ranking.is_led_by(policy));
    let starves = |policy: &String| facts.unranked().any(|(starving, _)| starving == policy);
    facts.policies.iter().filter(leads).filter(|policy| !starves(policy)).cloned().collect()
}

/// The rankings that the sentence is about: of champions the first, and one that they alone lead; of a trade-off the first, and
/// those that others lead.
fn told<'a>(decided: &[&'a Ranking], champions: &[String]) -> Vec<&'a Ranking> {
    let mut told: Vec<&Ranking> = decided.iter().take(1).copied().collect();
    if champions.is_empty() {
        while let Some(next) = next_of_trade_off(decided, &told) {
            told.push(next);
        }
        return told;
    }
    let is_own = |ranking: &&&Ranking| ranking.leaders().count() == champions.len();
    let own = || decided.iter().skip(1).filter(is_own);
    told.extend(own().find(|ranking| !ranking.question.is_how_soon()).or_else(|| own().next()));
    told
}

/// The weightiest ranking whose leaders lead nothing so far; if all do, one that a leader so far is behind in.
fn next_of_trade_off<'a>(decided: &[&'a Ranking], told: &[&'a Ranking]) -> Option<&'a Ranking> {
    let is_new = |policy: &str| !told.iter().any(|other| other.is_led_by(policy));
    let has_new_leaders = |ranking: &&&Ranking| ranking.leaders().all(|rank| is_new(&rank.policy));
    let turns = |ranking: &&&Ranking| told.iter().any(|own| own.leaders().any(|rank| ranking.lags(&rank.policy)));
    let next = decided.iter().find(has_new_leaders).or_else(|| decided.iter().filter(|_| told.len() == 1).find(turns));
    next.copied().filter(|_| !told.is_empty() && told.len() < MOST_CLAUSES)
}

/// No policy is behind in anything.
fn nothing(rankings: &[Ranking], facts: &Facts) -> String {
    let all = and(facts.policies);
    let percent = (MATTERS - 1.0) * 100.0;
    let is_open = |ranking: &Ranking| {
        ranking.leaders().any(|rank| matches!(rank.standing, Standing::Indistinguishable | Standing::Disturbed))
    };
    match rankings.iter().filter(|ranking| ranking.has_best()).any(is_open) {
        true => format!("These runs cannot tell {all} apart."),
        false => format!("{all} are alike: no question shows a difference of {percent:.0} % or more."),
    }
}

fn of_champions(champions: &[String], (told, rankings): (&[&Ranking], &[Ranking]), facts: &Facts) -> String {
    let names = and(champions);
    let is_sole = |ranking: &Ranking| ranking.leaders().count() == 1;
    let ranked = rankings.iter().filter(|ranking| ranking.has_best());
    let what = match champions {
        [_] if ranked.clone().all(is_sole) => format!("{names} is best in every question"),
        [_] => format!("{names} is best or tied for best in every question"),
        _ => format!("{names} tie for best in every question"),
    };
    let clauses: Vec<String> = told.iter().map(|ranking| praise(ranking, facts)).collect();
    format!("{what}, with {}.", clauses.join(" and "))
}

fn trade_off(told: &[&Ranking], facts: &Facts) -> String {
    let clause = |ranking: &&Ranking| {
        let names: Vec<String> = ranking.leaders().map(|rank| rank.policy.clone()).collect();
        format!("{} {} {}", and(&names), if names.len() == 1 { "has" } else { "have" }, praise(ranking, facts))
    };
    let clauses: Vec<String> = told.iter().map(clause).collect();
    format!("{TRADE_OFF}: {}.", clauses.join("; "))
}

/// With a capital, where it does not begin with a name.
fn capital(verdict: &str) -> String {
    verdict.strip_prefix(TRADE_OFF).map_or(verdict.into(), |rest| format!("No{}{rest}", &TRADE_OFF[2..]))
}

/// What the leaders have, and what the others have instead: `the shortest p99 of response (1050 ms; mlfq 1250 ms)`.
fn praise(ranking: &Ranking, facts: &Facts) -> String {
    let role = if facts.roles > 1 { format!(" of {}", ranking.role) } else { String::new() };
    let first = ranking.leaders().next().map_or(String::new(), |rank| ranking.value(rank));
    let behind: Vec<(String, String)> =
        ranking.behind().map(|rank| (rank.policy.clone(), ranking.value(rank))).collect();
    let others = match behind.as_slice() {
        [] => String::new(),
        [(policy, value)] => format!("; {policy} {value}"),
        [(_, value), .., (_, last)] if value == last => format!("; the others {value}"),
        [(next, value), .., (last, worst)] => format!("; next {next} {value}, last {last} {worst}"),
    };
    format!("{}{role} ({first}{others})", ranking.question.praise(ranking.metric()))
}

/// Where tails differ and means do not, the headline says so: a mean alone would hide it.
fn alike_on_average(rankings: &[Ranking], facts: &Facts) -> Option<String> {
    let tail = rankings.iter().find(|tail| tail.question == Question::TailResponse && tail.is_decided())?;
    let is_mean = |mean: &&Ranking| mean.question == Question::MeanResponse && mean.role == tail.role;
    let mean = rankings.iter().find(is_mean).filter(|mean| !mean.is_decided())?;
    let lack = mean.lack_of_best()?;
    let reason = lack.strip_prefix("no best, ").unwrap_or("alike");
    let names: Vec<String> = mean.leaders().map(|rank| rank.policy.clone()).collect();
    let role = if facts.roles > 1 { format!(" of {}", mean.role) } else { String::new() };
    Some(format!("No best mean response{role}: {} are {reason}.", and(&names)))
}

impl Facts<'_> {
    /// Policies without ranked response times: they starve tasks of a role which others do not starve.
    fn unranked(&self) -> impl Iterator<Item = &(String, String)> {
        let all = self.policies.len();
        self.starving
            .iter()
            .filter(move |(_, role)| self.starving.iter().filter(|(_, other)| other == role).count() < all)
    }
}

fn starvation(facts: &Facts) -> Option<String> {
    let mut policies: Vec<String> = Vec::new();
    let mut roles: Vec<String> = Vec::new();
    for (policy, role) in facts.unranked() {
        policies.extend(Some(policy.clone()).filter(|policy| !policies.contains(policy)));
        roles.extend(Some(role.clone()).filter(|role| !roles.contains(role)));
    }
    let of_all: Vec<&(String, String)> =
        facts.starving.iter().filter(|one| !facts.unranked().any(|other| other == *one)).collect();
    let unranked = (!policies.is_empty()).then(|| {
        let starves = if policies.len() == 1 { "starves" } else { "starve" };
        let its = if policies.len() == 1 { "its" } else { "their" };
        format!("{} {starves} tasks of {}, so {its} response times are not ranked.", and(&policies), and(&roles))
    });
    let everywhere = of_all
        .first()
        .map(|(_, role)| format!("All of them starve tasks of {role}: response times cover only requests that ended."));
    let told: Vec<String> = unranked.into_iter().chain(everywhere).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn fragility(named: &[String], facts: &Facts) -> Option<String> {
    let fragile: Vec<String> = named.iter().filter(|name| facts.fragile.contains(name)).cloned().collect();
    let fail = if fragile.len() == 1 { "fails" } else { "fail" };
    (!fragile.is_empty()).then(|| format!("But {} {fail} under small changes.", and(&fragile)))
}

fn failures(failed: &[String]) -> Option<String> {
    let have = if failed.len() == 1 { "has" } else { "have" };
    (!failed.is_empty()).then(|| format!("{} failed and {have} no rank.", and(failed)))
}

fn not_run(policies: &[String]) -> Option<String> {
    let were = if policies.len() == 1 { "was" } else { "were" };
    (!policies.is_empty()).then(|| format!("{} {were} not run.", and(policies)))
}

fn leaders_of(told: &[&Ranking]) -> Vec<String> {
    told.iter().flat_map(|ranking| ranking.leaders()).map(|rank| rank.policy.clone()).collect()
}

fn is_single(ranking: &Ranking) -> bool {
    ranking.evidence().any(|evidence| evidence == Evidence::Single)
}

fn one_each(is_recorded: bool) -> &'static str {
    if is_recorded { "In one recording each, " } else { "In one run each, " }
}
