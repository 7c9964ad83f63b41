//! Pictures as the source has them: what is drawn of which cases, and the numbers of it.

use crate::case::{Case, Experiment};
use crate::language::{ChartKind, ChartSpec, Column};
use crate::measure::{in_unit, look_up};
use crate::page::{number, with_unit};
use crate::runner::{CaseOutcome, Observed};
use crate::statuses::Statuses;
use crate::verdict::plain;
use schedlab_model::scenario::Notation;
use schedlab_model::selector::Selector;
use schedlab_model::time::Time;
use schedlab_venue::VenueName;
use schedlab_views::course::Course;
use serde::Serialize;
use toml::Value;

/// A picture, ready to be drawn.
#[derive(Clone, Debug, Serialize)]
pub struct ChartPage {
    /// What it shows.
    pub title: String,
    /// Which figure of the source it stands for.
    pub place: String,
    /// What is drawn.
    pub kind: ChartKind,
    /// How wide a bar of a histogram is, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// What goes across, with its unit.
    pub x: String,
    /// What goes up, with its unit.
    pub y: String,
    /// What is drawn in it.
    pub series: Vec<Series>,
}

/// What belongs together in a picture.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Its owner: a policy, a role, a task, a CPU.
    pub label: String,
    /// In which part of the picture; empty where there is only one.
    pub panel: String,
    /// Where it was run.
    pub venue: VenueName,
    /// The points, in order.
    pub points: Vec<Point>,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where across: a number.
    pub x: f64,
    /// The same in words, where it is the value of something that is varied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How high.
    pub y: f64,
    /// The smallest and the largest, over seeds or runs, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl Point {
    fn at(x: f64, y: f64) -> Point {
        Point { x, name: None, y, range: None }
    }
}

/// A case that ran, with the name that distinguishes it from the others of its picture.
struct Shown<'a> {
    label: String,
    case: &'a Case,
    observed: &'a Observed,
}

impl ChartPage {
    /// What a study asks for, after its cases were run; without what was not run.
    pub fn new(spec: &ChartSpec, experiment: &Experiment, outcomes: &[CaseOutcome]) -> ChartPage {
        let shown = shown(spec, experiment, outcomes);
        let (x, y) = axes(spec);
        let series = match spec.kind {
            ChartKind::Histogram => shown.iter().map(|case| of_responses(spec, case, histogram)).collect(),
            ChartKind::Distribution => shown.iter().map(|case| of_responses(spec, case, distribution)).collect(),
            ChartKind::Loads => shown.iter().map(|case| of_responses(spec, case, loads)).collect(),
            ChartKind::Bars | ChartKind::Lines => over_axis(spec, &shown),
            ChartKind::Tasks | ChartKind::RunTime | ChartKind::Status => {
                shown.iter().flat_map(|case| over_time(spec, case)).collect()
            }
        };
        let series: Vec<Series> = series.into_iter().filter(|series: &Series| !series.points.is_empty()).collect();
        let step = (spec.kind == ChartKind::Histogram).then(|| ms(spec.bin_ns()));
        ChartPage { step, title: spec.title.clone(), place: spec.place.clone(), kind: spec.kind, x, y, series }
    }
}

/// What is drawn: of a run's policies and places those that the picture wants.
fn shown<'a>(spec: &ChartSpec, experiment: &'a Experiment, outcomes: &'a [CaseOutcome]) -> Vec<Shown<'a>> {
    let is_wanted = |case: &Case| {
        let is_policy = spec.policy.as_ref().is_none_or(|wanted| wanted.all().contains(&case.policy_name));
        is_policy && case.is(&case.run, None, &spec.at)
    };
    let runs = spec.run.all();
    let cases = experiment.cases.iter().zip(outcomes).filter(|(case, _)| runs.contains(&case.run) && is_wanted(case));
    let cases: Vec<_> = cases.collect();
    let has_policy = cases.iter().any(|(case, _)| case.policy_name != cases[0].0.policy_name);
    // Statuses of different policies are in different parts of a picture.
    let has_policy = has_policy && spec.kind != ChartKind::Status;
    let shown = cases.into_iter().filter_map(|(case, outcome)| match outcome {
        CaseOutcome::Ran(observed) => Some(Shown { label: label(spec, case, has_policy), case, observed }),
        CaseOutcome::NotRun(_) => None,
    });
    shown.collect()
}

/// What distinguishes a case from the others: its run where there are several, its policy where that differs, and where it is on
/// what is varied.
fn label(spec: &ChartSpec, case: &Case, has_policy: bool) -> String {
    let run = (spec.run.all().len() > 1).then(|| case.run.clone());
    let is_axis = matches!(spec.kind, ChartKind::Bars | ChartKind::Lines);
    let varied: Vec<&(String, Value)> = case.at.iter().filter(|(path, _)| !spec.at.contains_key(path)).collect();
    let kept = varied.len().saturating_sub(usize::from(is_axis));
    let named =
        |(path, value): &&(String, Value)| format!("{} {}", path.rsplit('.').next().unwrap_or(path), plain(value));
    let rest = run.into_iter().chain(varied[..kept].iter().map(named));
    let policy = has_policy.then(|| case.policy_name.clone());
    let parts: Vec<String> = policy.into_iter().chain(rest).collect();
    if parts.is_empty() { case.policy_name.clone() } else { parts.join(", ") }
}

/// The titles of what goes across and of what goes up.
fn axes(spec: &ChartSpec) -> (String, String) {
    let (x, y) = match spec.kind {
        ChartKind::Histogram => ("response time (ms)", "responses (%)"),
        ChartKind::Distribution => ("response time (ms)", "responses that are not longer (%)"),
        ChartKind::Loads => ("tasks that a request seems to have met (number)", "requests (%)"),
        ChartKind::Bars | ChartKind::Lines => ("", ""),
        ChartKind::Tasks => ("time (s)", "CPU"),
        ChartKind::RunTime => ("time (s)", "CPU time so far (s)"),
        ChartKind::Status => ("time (s)", ""),
    };
    let y = if spec.kind == ChartKind::Bars { title_of_bars(&spec.columns) } else { y.into() };
    (spec.x.clone().unwrap_or_else(|| x.into()), spec.y.clone().unwrap_or(y))
}

/// What bars are about: their only column with its unit, or the unit that all of several have.
fn title_of_bars(columns: &[Column]) -> String {
    match columns {
        [only] if only.unit.is_empty() => only.head.clone(),
        [only] => format!("{} ({})", only.head, only.unit),
        [first, others @ ..] if others.iter().all(|other| other.unit == first.unit) => first.unit.clone(),
        _ => String::new(),
    }
}

/// How often response times are of each length, in nanoseconds; of several runs all together.
type Counts = std::collections::BTreeMap<u64, u64>;

fn of_responses(spec: &ChartSpec, shown: &Shown, points: fn(&ChartSpec, &Counts) -> Vec<Point>) -> Series {
    let mut all = Counts::new();
    for run in &shown.observed.responses {
        for (length, count) in run.counts(&spec.role, spec.from_first_run) {
            *all.entry(*length).or_default() += count;
        }
    }
    let (label, venue) = (shown.label.clone(), shown.case.runs.place.name);
    let panel = match beyond(spec, &all) {
        _ if spec.kind != ChartKind::Histogram => String::new(),
        0.0 => label.clone(),
        percent => format!("{label} ({} % are longer)", number(percent)),
    };
    Series { label, panel, venue, points: points(spec, &all) }
}

/// How many responses a histogram does not show, in percent.
fn beyond(spec: &ChartSpec, counts: &Counts) -> f64 {
    let (to, all) = (spec.to_ns(), counts.values().sum::<u64>());
    let longer: u64 = counts.range(to..).map(|(_, count)| count).sum();
    if longer == 0 { 0.0 } else { 100.0 * longer as f64 / all as f64 }
}

/// Counts by a number that each length belongs to, as parts of all in percent.
fn by(counts: &Counts, number: impl Fn(u64) -> u64) -> Vec<(u64, f64)> {
    let all: u64 = counts.values().sum();
    let mut parts = Counts::new();
    counts.iter().for_each(|(length, count)| *parts.entry(number(*length)).or_default() += count);
    parts.into_iter().map(|(number, count)| (number, 100.0 * count as f64 / all as f64)).collect()
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// A bar is drawn at the lower end of the range that it counts.
fn histogram(spec: &ChartSpec, counts: &Counts) -> Vec<Point> {
    let bin = spec.bin_ns();
    let bars = by(counts, |length| length / bin).into_iter().map(|(number, part)| (number * bin, part));
    bars.filter(|(from, _)| *from < spec.to_ns()).map(|(from, part)| Point::at(ms(from), part)).collect()
}

fn distribution(_: &ChartSpec, counts: &Counts) -> Vec<Point> {
    let mut sum = 0.0;
    let step = |(length, part): (u64, f64)| {
        sum += part;
        Point::at(ms(length), sum)
    };
    let steps: Vec<Point> = by(counts, |length| length).into_iter().map(step).collect();
    let first = steps.first().map(|first| Point::at(first.x, 0.0));
    first.into_iter().chain(thinned(steps)).collect()
}

/// No step of a distribution that is left out is higher than this, in percent: more than a picture shows.
const LEAST_STEP: f64 = 0.4;

/// The points at which a distribution has grown by more than [`LEAST_STEP`], and the last.
fn thinned(steps: Vec<Point>) -> Vec<Point> {
    let last = steps.len().saturating_sub(1);
    let mut kept: Vec<Point> = Vec::new();
    for (index, point) in steps.into_iter().enumerate() {
        if index == last || kept.last().is_none_or(|known| point.y - known.y > LEAST_STEP) {
            kept.push(point);
        }
    }
    kept
}

/// Higher loads stand together.
const MOST_LOAD: u64 = 8;

/// A request of k demands seems to have met k tasks: from half a demand below to half a demand above.
fn loads(spec: &ChartSpec, counts: &Counts) -> Vec<Point> {
    let demand = spec.demand_ns();
    let load = |length: u64| ((length + demand / 2) / demand).max(1);
    let parts = by(counts, |length| load(length).min(MOST_LOAD + 1));
    let part_of = |load: u64| parts.iter().find(|(own, _)| *own == load).map_or(0.0, |(_, part)| *part);
    let most = parts.last().map_or(0, |(load, _)| *load);
    let point = |load: u64| {
        let name = (load > MOST_LOAD).then(|| format!("more than {MOST_LOAD}"));
        Point { name, ..Point::at(load as f64, part_of(load)) }
    };
    (1..=most).map(point).collect()
}

/// Columns over what is varied last: as lines a panel for each column, as bars a panel for each policy.
fn over_axis(spec: &ChartSpec, shown: &[Shown]) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (index, case) in shown.iter().enumerate() {
        let varied = case.case.at.iter().rfind(|(path, _)| !spec.at.contains_key(path));
        let name = varied.map_or(String::new(), |(_, value)| plain(value));
        // Where nothing is varied the cases themselves stand side by side.
        let shown_name = if name.is_empty() { case.label.clone() } else { name.clone() };
        for column in &spec.columns {
            let Some(point) = point(column, case.observed, (place(&name).unwrap_or(index as f64), &shown_name)) else {
                continue;
            };
            let head = with_unit(&column.head, &column.unit);
            let (label, panel) = match spec.kind {
                ChartKind::Bars if name.is_empty() => (head, String::new()),
                ChartKind::Bars => (head, case.label.clone()),
                _ => (case.label.clone(), head),
            };
            match series.iter_mut().find(|series| series.label == label && series.panel == panel) {
                Some(series) => series.points.push(point),
                None => series.push(Series { label, panel, venue: case.case.runs.place.name, points: vec![point] }),
            }
        }
    }
    series
}

/// A number as it is, a time in milliseconds.
fn place(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| Time::read(text).ok().map(|time| time.ns() as f64 / 1e6))
}

/// A cell with its interval over the runs, or else its range over seeds.
fn point(column: &Column, observed: &Observed, (x, name): (f64, &str)) -> Option<Point> {
    let metric = column.asks()?;
    let y = look_up(observed, metric, &column.unit).ok()?;
    let interval =
        column.metric.as_deref().and_then(|path| Selector::parse(path).ok()?.of(&observed.result).ok()?.interval);
    let interval = interval.map(|ends| [ends.low, ends.high].map(|end| in_unit(end, &column.unit)));
    let under = |further| look_up(observed.under(further)?, metric, &column.unit).ok();
    let seeds: Vec<f64> = (0..).map_while(under).collect();
    let range = (seeds.len() > 1).then(|| seeds.iter().fold([y, y], |[low, high], &y| [low.min(y), high.max(y)]));
    Some(Point { x, name: Some(name.into()), y, range: interval.or(range) })
}

/// How the first run of a case went.
fn over_time(spec: &ChartSpec, shown: &Shown) -> Vec<Series> {
    let venue = shown.case.runs.place.name;
    let is_wanted = |role: &str| spec.role.is_empty() || role == spec.role;
    let series = |label: &str, panel: &str, points: Vec<Point>| Series {
        label: label.into(),
        panel: panel.into(),
        venue,
        points,
    };
    if spec.kind == ChartKind::Status {
        let end = shown.case.runs.workload.run.end();
        let words = shown.observed.statuses.first().into_iter().flat_map(Statuses::words);
        let of = |(role, said): (&str, &[(Time, u64)])| {
            let own = if shown.label == shown.case.policy_name { String::new() } else { shown.label.clone() };
            let label: Vec<&str> = [role, &own].into_iter().filter(|part| !part.is_empty()).collect();
            series(&label.join(", "), &shown.case.policy_name, stairs(spec, said, end))
        };
        return words.filter(|(role, _)| is_wanted(role)).map(of).collect();
    }
    let Some(course) = shown.observed.courses.first() else { return Vec::new() };
    if spec.kind == ChartKind::Tasks {
        let cpus = course.runnable().into_iter().enumerate();
        return cpus.map(|(cpu, means)| series(&cpu.to_string(), &shown.label, pieces(course, &means))).collect();
    }
    let roles = shown.case.runs.workload.roles.iter().map(|role| role.name.as_str()).zip(course.shares());
    let wanted = roles.filter(|(role, _)| is_wanted(role));
    wanted.map(|(role, shares)| series(role, &shown.label, summed(course, &shares))).collect()
}

/// The means of pieces, each at its start, in seconds.
fn pieces(course: &Course, means: &[f64]) -> Vec<Point> {
    let step = course.step().as_s();
    means.iter().enumerate().map(|(piece, mean)| Point::at(piece as f64 * step, *mean)).collect()
}

/// From how many CPUs something had in each piece, how much it has had up to the end of each; the last piece may be shorter.
fn summed(course: &Course, shares: &[f64]) -> Vec<Point> {
    let (step, end) = (course.step().as_s(), course.end().as_s());
    let mut sum = 0.0;
    let up_to = |piece: &Point| {
        let until = (piece.x + step).min(end);
        sum += (until - piece.x) * piece.y;
        Point::at(until, sum)
    };
    std::iter::once(Point::at(0.0, 0.0)).chain(pieces(course, shares).iter().map(up_to)).collect()
}

/// What a status word says, as stairs: a word holds until the next. Times count from where the picture begins, at which stands what
/// held before; the last one holds to where it ends, or the run.
fn stairs(spec: &ChartSpec, said: &[(Time, u64)], end: Option<Time>) -> Vec<Point> {
    let [lowest, bits] = spec.bits;
    let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |above| above - 1);
    let height = |word: u64| (word.checked_shr(lowest).unwrap_or(0) & mask) as f64 + spec.plus;
    let (from, to) = spec.section();
    let end = [to, end].into_iter().flatten().min();
    let since = |time: Time| time.ns().saturating_sub(from.ns()) as f64 / 1e9;
    let begin = said.partition_point(|(time, _)| *time <= from).saturating_sub(1);
    let mut points: Vec<Point> = Vec::new();
    for (time, word) in said[begin..].iter().take_while(|(time, _)| end.is_none_or(|end| *time <= end)) {
        let (x, y) = (since(*time), height(*word));
        match points.last().map(|last| last.y) {
            Some(before) if before == y => {}
            Some(before) => points.extend([Point::at(x, before), Point::at(x, y)]),
            None => points.push(Point::at(x, y)),
        }
    }
    let held = end.zip(points.last()).map(|(end, last)| Point::at(since(end), last.y));
    points.extend(held);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_statuses_begins_with_what_held_before() {
        let spec = "title = 't'\nkind = 'status'\nrun = 'r'\nfrom = '4s'\nto = '9s'";
        let spec: ChartSpec = toml::from_str(spec).expect("a picture");
        let said = [(0, 7), (3, 1), (5, 2), (6, 2), (8, 4), (10, 5)]
            .map(|(second, word)| (Time(second * 1_000_000_000), word));
        let points: Vec<(f64, f64)> =
            stairs(&spec, &said, Some(Time(11_000_000_000))).iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (4.0, 2.0), (4.0, 4.0), (5.0, 4.0)]);
        let whole = ChartSpec { from: None, to: None, ..spec };
        let last = |end| stairs(&whole, &said, end).last().map(|point| (point.x, point.y));
        assert_eq!(last(Some(Time(11_000_000_000))), Some((11.0, 5.0)));
        assert_eq!(last(None), Some((10.0, 5.0)));
    }

    #[test]
    fn a_distribution_has_as_many_points_as_a_picture_shows() {
        let steps: Vec<Point> = (1..=10_000).map(|n| Point::at(f64::from(n), f64::from(n) / 100.0)).collect();
        let kept = thinned(steps);
        assert!((200..260).contains(&kept.len()), "{}", kept.len());
        assert_eq!((kept[0].x, kept.last().unwrap().y), (1.0, 100.0));
        assert!(kept.windows(2).all(|pair| pair[1].y - pair[0].y < 0.5));
    }
}
