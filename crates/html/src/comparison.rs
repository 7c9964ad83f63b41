//! A comparison of schedulers as a page.

use crate::answer::{answer, by_role, confidence, next};
use crate::document::{ColumnView, Document, Provenance, Section, TableView};
use crate::evidence::Heard;
use crate::pieces;
use schedlab_charts::{Chart, of_results};
use schedlab_model::count::counted;
use schedlab_model::outcome::Outcome;
use schedlab_model::result::Interval;
use schedlab_report::comparison::{Comparison, Difference};
use schedlab_report::result::{each, ran, venues};
use schedlab_report::{Evidence, Quantity, others};

/// The most rankings that a page shows.
const MOST_RANKINGS: usize = 40;

/// How many of them are in the first screen.
const FIRST_RANKINGS: usize = 3;

/// The page of a comparison, or of a single scheduler. `heard` holds what was gathered of each of its policies.
pub fn of_comparison(comparison: &Comparison, heard: &[Heard], provenance: Provenance) -> Document {
    let Some(first) = comparison.results.first() else { return Document::default() };
    let roles: Vec<String> = first.roles().iter().map(|role| role.name.to_string()).collect();
    let candidates: Vec<(String, &Outcome)> = comparison.policies.iter().cloned().zip(&comparison.results).collect();
    let mut charts = of_results(&candidates, &provenance.nice);
    let about = over_runs("How many requests were answered within which time", first);
    let heads = ("response-distribution", "Response times", about.as_str());
    let response = pieces::distribution(heads, heard, &roles, |curves| &curves.response);
    let lead = response.or_else(|| take(&mut charts, "response")).or_else(|| take(&mut charts, "run-delay"));
    Document {
        title: first.scenario().name.clone(),
        subtitle: subtitle(comparison),
        answer: answer(comparison),
        confidence: confidence(comparison),
        cautions: comparison.cautions().into_iter().chain(comparison.failures.iter().cloned()).collect(),
        ranking: ranking(comparison),
        next: next(comparison, &provenance),
        lead,
        sections: sections(comparison, heard, &roles, charts),
        provenance: Provenance {
            facts: [facts(comparison, &provenance.parameters), provenance.facts].concat(),
            ..provenance
        },
    }
}

/// What the first screen has as a table: the first rankings, or the roles of a single scheduler.
fn ranking(comparison: &Comparison) -> Option<TableView> {
    let ranks = comparison.conclusion.as_ref().map(|conclusion| TableView::of("", &conclusion.ranks(FIRST_RANKINGS)));
    ranks.or_else(|| Some(TableView::of("", &by_role(comparison)?)))
}

/// What a distribution shows; of several runs it is their mean.
fn over_runs(what: &str, result: &Outcome) -> String {
    let means = if result.runs() > 1 { "; means over the runs" } else { "" };
    format!("{what}{means}.")
}

fn take(charts: &mut Vec<Chart>, id: &str) -> Option<Chart> {
    let index = charts.iter().position(|chart| chart.id.starts_with(id))?;
    Some(charts.remove(index))
}

fn subtitle(comparison: &Comparison) -> String {
    let told = told(comparison);
    let scenario = told[0].scenario();
    let about = if scenario.about.is_empty() { "" } else { " " };
    format!("{}{about}{}.", scenario.about, ran(told, &venues(&comparison.results)))
}

/// Results of which what is said about the scenario is said: of the first, or of all where it is varied.
fn told(comparison: &Comparison) -> &[Outcome] {
    if comparison.variants.is_empty() { &comparison.results[..1] } else { &comparison.results }
}

fn sections(comparison: &Comparison, heard: &[Heard], roles: &[String], charts: Vec<Chart>) -> Vec<Section> {
    let mut tables = comparison.tables().into_iter().map(|(title, table)| TableView::of(title, &table));
    let part = |id: &str, heading: &str| Section { id: id.into(), heading: heading.into(), ..Section::default() };
    let about = over_runs("From runnable to running, for each wake-up", &comparison.results[0]);
    let heads = ("wakeup-distribution", "Wake-up latency", about.as_str());
    let latency = pieces::distribution(heads, heard, roles, |curves| &curves.wakeup_latency);
    let differences = differences(comparison);
    let speed = Section {
        tables: tables.next().into_iter().chain(differences).collect(),
        charts: latency.into_iter().collect(),
        ..part("speed", if comparison.has_requests() { "How fast" } else { "How long tasks wait" })
    };
    let over_time = [pieces::cpu_load(heard), pieces::role_share(heard, roles), pieces::usage(heard)];
    let how = Section {
        charts: charts.into_iter().chain(over_time.into_iter().flatten()).collect(),
        tables: tables.collect(),
        ..part("why", "Why")
    };
    let says =
        Section { charts: pieces::status(heard).into_iter().collect(), ..part("status", "What the policy publishes") };
    let timelines = Section {
        paragraphs: (comparison.results[0].runs() > 1).then(|| "The first run of each.".into()).into_iter().collect(),
        timelines: heard.iter().filter_map(|one| one.timeline.clone()).collect(),
        ..part("timeline", "Which task ran where")
    };
    let all = [speed, how, says, timelines];
    conclusion(comparison)
        .into_iter()
        .chain(all)
        .filter(|part| !(part.charts.is_empty() && part.tables.is_empty() && part.timelines.is_empty()))
        .collect()
}

/// The best scheduler for each question; none where there is one scheduler only.
fn conclusion(comparison: &Comparison) -> Option<Section> {
    let conclusion = comparison.conclusion.as_ref()?;
    let more = conclusion.rankings.len().checked_sub(MOST_RANKINGS).filter(|more| *more > 0);
    let about = "Each row is a question about a role; the largest difference comes first. A scheduler is best only if it \
                 beats the second by at least 2 % and by more than chance. Brackets show the distance from the first.";
    let more = more.map(|more| format!("{more} smaller differences are left out; --json has all."));
    Some(Section {
        id: "conclusion".into(),
        heading: "Which scheduler is best at what".into(),
        paragraphs: std::iter::once(about.into()).chain(more).collect(),
        tables: vec![TableView::of("", &conclusion.table(MOST_RANKINGS))],
        ..Section::default()
    })
}

/// All differences with their evidence; none where there is one scheduler only.
fn differences(comparison: &Comparison) -> Option<TableView> {
    let all = &comparison.differences;
    let words = |head: &str, of: &dyn Fn(&Difference) -> String| ColumnView {
        head: head.into(),
        cells: all.iter().map(of).collect(),
        ..ColumnView::default()
    };
    let numbers = |head: &str, about: &str, of: &dyn Fn(&Difference) -> Option<f64>, of_interval: bool| {
        let values: Vec<Option<f64>> = all.iter().map(of).collect();
        let quantity = Quantity::of(&values);
        let cells = values.into_iter().map(|value| quantity.show(value)).collect();
        let notes = all.iter().map(|difference| comparison.note(difference, of_interval)).collect();
        ColumnView { head: head.into(), about: Some(about.into()), is_numeric: true, cells, notes }
    };
    let end = |of: fn(&Interval) -> f64| move |difference: &Difference| difference.gap.ratio_interval.as_ref().map(of);
    let ratio = "The scheduler's value over the baseline's.";
    let interval = "The interval that holds the true ratio with a probability of 95 %.";
    let delta =
        "How well the two separate: 1 when each value of one is above each of the other, 0 when they are alike.";
    let basis = |difference: &Difference| {
        match difference.gap.evidence {
            Evidence::Runs => "runs, in pairs",
            Evidence::Batches => "batches of one run",
            Evidence::Exact => "exact",
            Evidence::Single => "one run",
        }
        .to_string()
    };
    let caution = all.iter().any(|difference| difference.caution.is_some());
    let caution = caution.then(|| words("caution", &|difference| difference.caution.clone().unwrap_or_default()));
    (!all.is_empty()).then(|| TableView {
        title: format!("Differences from {}", all[0].baseline),
        columns: [
            words("scheduler", &|difference| difference.policy.clone()),
            words("role", &|difference| difference.role.clone()),
            words("metric", &|difference| difference.metric.clone()),
            numbers("ratio", ratio, &|difference| difference.gap.ratio, false),
            numbers("from", interval, &end(|interval| interval.low), true),
            numbers("to", interval, &end(|interval| interval.high), true),
            numbers("Cliff's delta", delta, &|difference| Some(difference.cliffs_delta), false),
            words("evidence", &basis),
        ]
        .into_iter()
        .chain(caution)
        .collect(),
        ..TableView::default()
    })
}

/// A scenario by its name and hash. A recording has none.
fn scenario(result: &Outcome) -> String {
    match short(&result.provenance().scenario_hash) {
        "" => result.scenario().name.clone(),
        hash => format!("{} ({hash})", result.scenario().name),
    }
}

/// What every result says about itself.
fn facts(comparison: &Comparison, written: &[Vec<(String, String)>]) -> Vec<(String, String)> {
    let first = &comparison.results[0];
    let told = told(comparison);
    let machines =
        each(told, |result| format!("{}, {}", counted(result.scenario().cpus, "CPU"), result.scenario().topology));
    let mut facts = vec![("scenario".to_string(), each(told, scenario)), ("machine".into(), machines)];
    for (index, (policy, result)) in comparison.policies.iter().zip(&comparison.results).enumerate() {
        let parameters: Vec<String> = match written.get(index) {
            Some(written) => written.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
            None => {
                let plain = |(name, value)| format!("{name} = {}", serde_json::json!(value));
                result.policy().parameters.iter().map(plain).collect()
            }
        };
        let provenance = result.provenance();
        let object = provenance.policy_hash.as_deref().map(|hash| format!("object {}", short(hash)));
        let kernel = provenance.kernel.as_ref().map(|kernel| format!("kernel {kernel}"));
        let engine = provenance.engine.as_ref().map(|engine| {
            let repeats = if engine.repeats { "" } else { ", not repeatable" };
            format!("{}, {}{repeats}", engine.version, engine.clock)
        });
        let spread = result.whole().get("calibration.spread_frac");
        let load = result
            .algorithm()
            .zip(spread)
            .map(|(load, spread)| format!("work measured by {load} within {:.1} %", 100.0 * spread));
        let seed = match result.seeds() {
            [seed] => format!("seed {seed}"),
            seeds => format!("{} runs from seed {}", seeds.len(), seeds[0]),
        };
        let others = others::figure(result).map(|figure| format!("others took {figure}"));
        // Variants of a scenario are scenarios of their own.
        let own = (scenario(result) != scenario(first)).then(|| format!("scenario {}", scenario(result)));
        let all = [Some(format!("in {}", result.venue())), own, kernel, engine, object, Some(seed), load, others]
            .into_iter()
            .flatten();
        facts.push((policy.clone(), all.chain(parameters).collect::<Vec<_>>().join("; ")));
    }
    facts.push(("schedlab".into(), first.provenance().version.clone()));
    facts
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
