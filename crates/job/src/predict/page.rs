//! A prediction as one self-contained page.

use super::{Cell, Figure, Predicted, Prediction, Shape, percent, show};
use schedlab_boundary::shell::quoted;
use schedlab_charts::{Arrow, Chart, Kind, Node, ring, row};
use schedlab_html::{Document, Heard, Provenance, Section, TableView, distribution};
use schedlab_infer::{Report, Weight};
use schedlab_model::count::counted;
use schedlab_model::time::Time;
use schedlab_report::with_minus;
use serde_json::json;

/// Which figures the chart at the top may show: the first that the recording has.
const LEADING: [Figure; 3] = [Figure::MeanResponse, Figure::Throughput, Figure::CpuShare];
/// The others that have a chart.
const OTHERS: [Figure; 4] = [Figure::P99Response, Figure::Throughput, Figure::WakeupLatency, Figure::CpuShare];

impl Prediction {
    /// The page. `recording` is how the command named the recording.
    pub fn page(&self, recording: &str, provenance: Provenance) -> Document {
        let Report { name, length_ns, cpus, policy, .. } = &self.report;
        let lead = LEADING.into_iter().find(|figure| self.roles_with(*figure).next().is_some());
        let chart = lead.and_then(|figure| self.bars(("prediction", "What to expect"), &[figure]));
        Document {
            title: name.clone(),
            subtitle: format!(
                "Recorded for {} on {cpus} CPUs under {policy}, modelled, and simulated under other schedulers.",
                Time(*length_ns)
            ),
            answer: self.answer(lead),
            confidence: self.confidence(),
            cautions: self.cautions(),
            next: next(recording),
            lead: chart,
            sections: vec![self.expected(lead), self.check_section(), self.wakes()],
            provenance,
            ..Document::default()
        }
    }

    /// What lessens the trust, and what failed.
    fn cautions(&self) -> Vec<String> {
        let doubts = self.report.doubts.iter().map(|doubt| format!("{}: {}.", doubt.code, doubt.what));
        doubts.chain(self.cells.iter().filter_map(|cell| Some(format!("{}.", cell.failure.as_ref()?)))).collect()
    }

    /// What a manager wants to know: the best policy for each role with requests, and how much it changes.
    fn answer(&self, lead: Option<Figure>) -> String {
        if let Some(doubt) = self.report.doubts.iter().find(|doubt| doubt.weight == Weight::Refusal) {
            return format!("Nothing is predicted. {}: {}.", doubt.code, doubt.what);
        }
        let sentences = lead.into_iter().flat_map(|figure| {
            self.roles_with(figure).filter_map(move |(role, recorded)| self.sentence(figure, role, recorded))
        });
        let answer: Vec<String> = sentences.collect();
        if answer.is_empty() { "The recording has no figure that can be predicted.".into() } else { answer.join(" ") }
    }

    fn sentence(&self, figure: Figure, role: &str, recorded: f64) -> Option<String> {
        let all = || self.cells.iter().filter_map(|cell| Some((cell, found(cell, role, figure)?.estimate)));
        let better = |value: f64| if figure == Figure::Throughput { -value } else { value };
        let (cell, best) = all().min_by(|a, b| better(a.1.value).total_cmp(&better(b.1.value)))?;
        let as_good = all().filter(|(other, _)| !std::ptr::eq(*other, cell));
        let as_good = as_good.filter(|(_, other)| (best.low..=best.high).contains(&other.value));
        let as_good: Vec<String> = as_good.map(|(other, _)| label(other)).collect();
        let also =
            if as_good.is_empty() { String::new() } else { format!(" As good within that: {}.", as_good.join(", ")) };
        let [value, low, high, was] =
            [best.value, best.low, best.high, recorded].map(|value| show::number(figure, value));
        let change = match best.low <= recorded && recorded <= best.high {
            true => format!("the {was} of the recording are within that, so no change is certain"),
            false => format!("{} from the {was} of the recording", with_minus(&percent(best.value / recorded - 1.0))),
        };
        let words = figure.words();
        Some(format!(
            "{role}: the best {words} is that under {}, {value} ({low} to {high}); {change}.{also}",
            label(cell)
        ))
    }

    fn confidence(&self) -> String {
        let worst = self.checked.iter().filter(|checked| LEADING.contains(&checked.figure));
        let worst = worst.max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
        let check = worst.map(|checked| {
            format!(
                " Under {}, the scheduler of the recording, the model is off by {} at most ({} of {}).",
                self.baseline,
                with_minus(&percent(checked.error())),
                checked.figure.words(),
                checked.role
            )
        });
        format!(
            "How sure: each figure has a 90 % interval, made of resampled items and of the error of the model.{}",
            check.unwrap_or_default()
        )
    }

    /// The roles that have a figure, with what the recording says.
    fn roles_with(&self, figure: Figure) -> impl Iterator<Item = (&str, f64)> {
        let of_figure = self.checked.iter().filter(move |checked| checked.figure == figure);
        of_figure.map(|checked| (checked.role.as_str(), checked.recorded))
    }

    /// A bar for the recording and one for each policy, a panel for each role and figure.
    fn bars(&self, (id, title): (&str, &str), figures: &[Figure]) -> Option<Chart> {
        let mut rows = Vec::new();
        for &figure in figures {
            for (role, recorded) in self.roles_with(figure) {
                let predicted = self.cells.iter().filter_map(|cell| Some((cell, found(cell, role, figure)?)));
                let predicted: Vec<(&Cell, &Predicted)> = predicted.collect();
                let (scale, unit) = scale(figure);
                let panel = format!("{} of {role} ({unit})", figure.words());
                let bar = |label: &str, venue: &str, value: f64| json!({ "scheduler": label, "venue": venue, "panel": panel, "value": rounded(value * scale) });
                if !predicted.is_empty() {
                    rows.push(row(bar(&format!("recorded: {}", self.report.policy), "import", recorded)));
                }
                for (cell, Predicted { estimate, .. }) in predicted {
                    let mut fields = bar(&label(cell), "sim", estimate.value);
                    (fields["low"], fields["high"]) =
                        (json!(rounded(estimate.low * scale)), json!(rounded(estimate.high * scale)));
                    rows.push(row(fields));
                }
            }
        }
        let about = "The recording, and what each scheduler would do, with the interval of 90 %.";
        (!rows.is_empty()).then(|| Chart::new((id, title, about), Kind::Bars, rows))
    }

    fn expected(&self, lead: Option<Figure>) -> Section {
        let figures: Vec<Figure> = OTHERS.into_iter().filter(|figure| Some(*figure) != lead).collect();
        let shapes: Vec<(String, &str, &Shape)> = std::iter::once((self.recorded_label(), "import", &self.shapes[0]))
            .chain(self.cells.iter().map(|cell| (label(cell), "sim", &cell.shape)))
            .collect();
        let about = "The recording, and the model under each scheduler as it was simulated: without the correction that the \
                     table's numbers have.";
        let charts = [
            self.bars(("prediction-others", "Other figures"), &figures),
            self.distributions(("prediction-responses", "Response times", about), &shapes),
        ];
        Section {
            id: "expected".into(),
            heading: "What to expect".into(),
            charts: charts.into_iter().flatten().filter(|_| !self.cells.is_empty()).collect(),
            tables: [TableView::of("Prediction", &show::predicted(&self.cells))]
                .into_iter()
                .filter(|_| !self.cells.is_empty())
                .collect(),
            ..Section::default()
        }
    }

    fn check_section(&self) -> Section {
        let [recorded, modelled] = &self.shapes;
        let shapes =
            [(self.recorded_label(), "import", recorded), (format!("model: {}", self.baseline), "sim", modelled)];
        let about = "Where the two curves lie on each other, the model does what the program did.";
        Section {
            id: "self-check".into(),
            heading: "The model compared with the recording".into(),
            charts: self
                .distributions(("check-responses", "Response times of both", about), &shapes)
                .into_iter()
                .collect(),
            tables: vec![TableView::of("Self-check", &show::checked(&self.checked))],
            ..Section::default()
        }
    }

    fn recorded_label(&self) -> String {
        format!("recorded: {}", self.report.policy)
    }

    fn distributions(&self, heads: (&str, &str, &str), shapes: &[(String, &str, &Shape)]) -> Option<Chart> {
        let roles: Vec<String> = self.roles_with(Figure::MeanResponse).map(|(role, _)| role.to_string()).collect();
        let heard = |(label, venue, shape): &(String, &str, &Shape)| Heard {
            label: label.clone(),
            venue: (*venue).into(),
            curves: shape.curves(&roles),
            course: None,
            timeline: None,
            usage: None,
        };
        let heard: Vec<Heard> = shapes.iter().map(heard).collect();
        distribution(heads, &heard, &roles, |curves| &curves.response)
    }

    /// Who wakes whom.
    fn wakes(&self) -> Section {
        let report = &self.report;
        let nodes: Vec<Node> = report
            .roles
            .iter()
            .map(|role| {
                let tasks = counted(role.tasks, "task");
                Node { role: role.name.clone(), about: format!("{tasks}, {:.1} % of the work", 100.0 * role.share) }
            })
            .collect();
        let at = |name: &str| report.roles.iter().position(|role| role.name == name);
        let arrows = report
            .edges
            .iter()
            .filter_map(|edge| Some(Arrow { from: at(&edge.from)?, to: at(&edge.to)?, times: edge.wakes }));
        let arrows: Vec<Arrow> = arrows.collect();
        let about = "An arrow for each role that wakes another one, the thicker the more often. Wake-ups by timers and devices have none.";
        let chart = (!arrows.is_empty())
            .then(|| Chart::new(("wakes", "Who wakes whom", about), Kind::Graph, ring(&nodes, &arrows)));
        Section {
            id: "wakes".into(),
            heading: "The model".into(),
            paragraphs: vec![format!("What ended the time that tasks slept: {}.", report.slept())],
            charts: chart.into_iter().collect(),
            tables: vec![TableView::of("Roles", &report.table())],
            ..Section::default()
        }
    }
}

/// What a reader may do next.
fn next(recording: &str) -> Vec<String> {
    let recording = quoted(recording);
    vec![
        format!("Change the model: `schedlab model {recording} -o model.toml` writes it as a scenario."),
        "Try a change of the machine or of a policy on it: `schedlab compare model.toml --policy eevdf,ule --report page.html`.".into(),
        "Run the program under the scheduler that looks best, record it again, and compare.".into(),
    ]
}

/// A cell's name.
fn label(cell: &Cell) -> String {
    format!("{} on {}", cell.policy, counted(u64::from(cell.cpus), "CPU"))
}

fn found<'a>(cell: &'a Cell, role: &str, figure: Figure) -> Option<&'a Predicted> {
    cell.figures.iter().find(|predicted| predicted.role == role && predicted.figure == figure)
}

/// What a figure is multiplied with for a chart, and the unit there.
fn scale(figure: Figure) -> (f64, &'static str) {
    match figure {
        Figure::CpuShare => (100.0, "%"),
        Figure::Throughput => (1.0, "per s"),
        Figure::Switches => (1.0, "number"),
        Figure::MeanResponse | Figure::P99Response | Figure::WakeupLatency => (1e-6, "ms"),
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

#[cfg(test)]
mod tests {
    use super::super::{Checked, Estimate};
    use super::*;
    use schedlab_infer::{Doubt, Edge, Level, RoleReport};

    fn role(name: &str) -> RoleReport {
        RoleReport {
            name: name.into(),
            recorded: name.into(),
            tasks: 3,
            items: 900,
            idle: 0,
            level: Level::Items,
            constant: false,
            work_ns: Some([1_000_000, 4_000_000]),
            share: 0.5,
            waits_for: Vec::new(),
        }
    }

    fn prediction(low: f64, doubts: Vec<Doubt>) -> Prediction {
        let checked = |figure, recorded, modelled| Checked { role: "server".into(), figure, recorded, modelled };
        let cell = |policy: &str, value: f64| {
            let estimate = Estimate { value, low: value * low, high: value * 1.1, bias: Some(0.02) };
            let figures = vec![Predicted { role: "server".into(), figure: Figure::MeanResponse, estimate }];
            Cell { policy: policy.into(), cpus: 2, figures, shape: Shape::default(), failure: None }
        };
        let edge = Edge { from: "client".into(), to: "server".into(), wakes: 900 };
        Prediction {
            report: Report {
                name: "<app>".into(),
                length_ns: 9_000_000_000,
                cpus: 2,
                policy: "eevdf".into(),
                roles: vec![role("client"), role("server")],
                edges: vec![edge],
                doubts,
                ..Report::default()
            },
            baseline: "eevdf:version=7.3".into(),
            checked: vec![checked(Figure::MeanResponse, 4e6, 4.1e6), checked(Figure::CpuShare, 0.5, 0.51)],
            shapes: [Shape::default(), Shape::default()],
            cells: vec![cell("rr", 6e6), cell("ule", 3e6)],
        }
    }

    #[test]
    fn the_page_answers_with_the_best_policy_and_its_interval() {
        let page = prediction(0.9, Vec::new()).page("my app.parquet", Provenance::default());
        let expected = "server: the best mean response is that under ule on 2 CPUs, 3 ms (2.700 ms to 3.300 ms); −25.0 % from the \
                        4 ms of the recording.";
        assert_eq!(page.answer, expected);
        assert!(page.confidence.contains("off by +2.5 % at most (mean response of server)"), "{}", page.confidence);
        let lead = page.lead.as_ref().unwrap();
        assert_eq!((lead.kind, lead.rows.len()), (Kind::Bars, 3));
        assert_eq!((&lead.rows[0]["value"], &lead.rows[2]["low"]), (&json!(4.0), &json!(2.7)));
        let graph = page.charts().find(|chart| chart.kind == Kind::Graph).unwrap();
        assert_eq!(graph.rows.len(), 3);
        assert!(page.next[0].contains("schedlab model 'my app.parquet'"), "{}", page.next[0]);
        let html = page.html();
        assert!(html.contains("&#60;app&#62;") && !html.contains("<app>"), "names are text");
    }

    #[test]
    fn what_is_within_the_interval_is_no_certain_change() {
        let page = prediction(0.9, Vec::new());
        let answer =
            Prediction { cells: vec![page.cells[0].clone()], ..page.clone() }.page("a", Provenance::default()).answer;
        assert!(answer.contains("+50.0 % from the 4 ms"), "{answer}");
        let wide = prediction(0.5, Vec::new());
        let answer = Prediction { cells: vec![wide.cells[0].clone()], ..wide }.page("a", Provenance::default()).answer;
        assert!(answer.ends_with("so no change is certain."), "{answer}");
    }

    #[test]
    fn policies_within_the_interval_of_the_best_are_as_good() {
        let page = prediction(0.9, Vec::new());
        let mut cells = page.cells.clone();
        cells[0].figures[0].estimate.value = 3.2e6;
        let answer = Prediction { cells, ..page }.page("a", Provenance::default()).answer;
        assert!(
            answer.contains("under ule on 2 CPUs") && answer.ends_with(" As good within that: rr on 2 CPUs."),
            "{answer}"
        );
    }

    #[test]
    fn a_refusal_is_the_answer() {
        let doubt = Doubt { code: "LOST", weight: Weight::Refusal, what: "5 % of the events are missing".into() };
        let refused = Prediction { cells: Vec::new(), ..prediction(0.9, vec![doubt]) };
        let page = refused.page("a.parquet", Provenance::default());
        assert_eq!(page.answer, "Nothing is predicted. LOST: 5 % of the events are missing.");
        assert!(page.lead.is_none());
    }
}
