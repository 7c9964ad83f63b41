//! A chart: a kind, its rows, and what turns them into a whole specification.

use crate::theme;
use crate::verdict::Mark;
use crate::{Kind, colours};
use serde_json::{Map, Value, json};

/// One row of a chart, by the names of its fields.
pub type Row = Map<String, Value>;

/// An object as a row.
pub fn row(object: Value) -> Row {
    match object {
        Value::Object(row) => row,
        other => unreachable!("a row is an object: {other}"),
    }
}

/// With more cells than this in a panel, a map shows colours only.
const CELLS_WITH_TEXT: usize = 150;

/// With more words than this a chart of words has no row for each of them.
const ROWS_OF_WORDS: usize = 12;

/// The width of a chart that has one panel only, in pixels.
const WIDE: u64 = 600;

/// The width of an average letter of a label, in pixels.
const LETTER: f64 = 6.2;

/// The width of a wide letter of a label, in pixels.
const WIDE_LETTER: f64 = 8.0;

/// What a chart looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// For a page with a light background.
    Light,
    /// For a page with a dark background.
    Dark,
    /// For print: as on a light page, on white.
    Paper,
}

impl Look {
    /// All of them.
    pub const ALL: [Look; 3] = [Look::Light, Look::Dark, Look::Paper];

    /// The `config` of a specification, as JSON. A page changes its theme by putting another in its place.
    pub const fn config(self) -> &'static str {
        match self {
            Look::Light | Look::Paper => include_str!("../specs/light.json"),
            Look::Dark => include_str!("../specs/dark.json"),
        }
    }

    fn value(self) -> Value {
        let mut config = parsed(self.config());
        if self == Look::Paper {
            config["background"] = "#ffffff".into();
        }
        config
    }
}

/// What is particular about the axes of a chart. `Default` leaves them as the kind has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// The title of what goes across, with its unit.
    pub x: Option<String>,
    /// The title of what goes up, with its unit.
    pub y: Option<String>,
    /// The title of what a colour stands for, of a map and of lines that are not those of schedulers.
    pub value: Option<String>,
    /// Whether what goes across has a logarithmic scale. Rows without a positive value are then left out.
    pub log_x: bool,
    /// The same for what goes up.
    pub log_y: bool,
    /// Whether what goes up begins at zero, where the kind does not say so.
    pub zero_y: bool,
    /// The value of a map that is neither high nor low: its colours then go two ways.
    pub middle: Option<f64>,
}

/// A chart, ready to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// A name by which a page refers to it.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What is to be seen, in a sentence or two. It is not in the picture, but in its description.
    pub caption: String,
    /// What kind it is.
    pub kind: Kind,
    /// What it is drawn from.
    pub rows: Vec<Row>,
    /// What is particular about its axes.
    pub axes: Axes,
}

/// Whether numbers from `low` to `high` want a logarithmic axis: those at its low end would be one spot on a linear one.
pub fn is_wide(low: f64, high: f64) -> bool {
    const WIDE: f64 = 50.0;
    low > 0.0 && high / low > WIDE
}

impl Chart {
    /// A chart without axes of its own.
    pub fn new((id, title, caption): (&str, &str, &str), kind: Kind, rows: Vec<Row>) -> Chart {
        Chart { id: id.into(), title: title.into(), caption: caption.into(), kind, rows, axes: Axes::default() }
    }

    /// The whole specification: the file of the kind with the rows, titles, colours of the schedulers, and look.
    pub fn specification(&self, look: Look) -> Value {
        let mut whole = parsed(self.kind.specification());
        let known: Vec<&Row> = self.rows.iter().filter(|row| self.drawable(row)).collect();
        whole["data"] = json!({"name": "rows", "values": known});
        if !self.title.is_empty() {
            whole["title"] = json!({"text": self.title});
        }
        if !self.caption.is_empty() {
            whole["description"] = self.caption.as_str().into();
        }
        whole["config"] = look.value();
        if self.kind == Kind::Boundary && self.most_cells() > CELLS_WITH_TEXT {
            without_text(&mut whole);
        }
        if self.kind == Kind::Status && self.distinct("word").len() > ROWS_OF_WORDS {
            on_numeric_axis(&mut whole);
        }
        each_encoding(&mut whole, &mut |encoding| self.complete(encoding));
        theme::apply(&mut whole, look);
        self.arrange_panels(&mut whole);
        whole
    }

    /// A logarithmic axis has no place for zero.
    fn drawable(&self, row: &Row) -> bool {
        let positive = |field: &str| row.get(field).and_then(Value::as_f64).is_none_or(|value| value > 0.0);
        let (x, y) = self.scaled();
        (!self.axes.log_x || x.iter().all(|field| positive(field)))
            && (!self.axes.log_y || y.iter().all(|field| positive(field)))
    }

    /// The fields that are on the axis across and on the one that goes up, where these are numbers.
    fn scaled(&self) -> (&'static [&'static str], &'static [&'static str]) {
        match self.kind {
            Kind::Distribution => (&["time_ms"], &[]),
            Kind::Percentiles => (&[], &["time_ms", "low_ms", "high_ms"]),
            Kind::Throughput => (&[], &["per_s", "low", "high"]),
            Kind::Overhead => (&["tasks"], &["percent", "low", "high"]),
            Kind::Lines => (&["x"], &["value", "low", "high", "target"]),
            Kind::Published => (&["ratio", "low_ratio", "high_ratio"], &[]),
            _ => (&[], &[]),
        }
    }

    fn complete(&self, encoding: &mut Map<String, Value>) {
        let (x, y) = self.scaled();
        self.complete_axis(encoding, "x", &self.axes.x, self.axes.log_x.then_some(x));
        self.complete_axis(encoding, "y", &self.axes.y, self.axes.log_y.then_some(y));
        if let Some(definition) = encoding.get_mut("y").filter(|_| self.axes.zero_y) {
            definition["scale"]["zero"] = true.into();
        }
        if let Some(definition) = encoding.get_mut("x").filter(|_| self.has_whole_x()) {
            // There is nothing between two whole numbers.
            definition["axis"]["tickMinStep"] = 1.into();
            definition["scale"]["zero"] = false.into();
        }
        if let (Some(definition), Some(ends)) = (encoding.get_mut("x"), self.edges()) {
            definition["scale"] = json!({"domain": ends, "nice": false, "zero": false});
        }
        for (channel, definition) in encoding.iter_mut() {
            match (channel.as_str(), definition["field"].as_str()) {
                ("color", Some("scheduler")) => {
                    let labels = self.distinct("scheduler");
                    let labels: Vec<&str> = labels.iter().filter_map(|label| label.as_str()).collect();
                    definition["scale"] = json!({"domain": labels, "range": colours(&labels)});
                    if let Some(title) = self.axes.value.as_ref().filter(|_| self.kind == Kind::Lines) {
                        definition["title"] = title.as_str().into();
                    }
                }
                ("color", Some("series")) => {
                    let labels = self.distinct("series");
                    let labels: Vec<&str> = labels.iter().filter_map(|label| label.as_str()).collect();
                    definition["scale"] = json!({"domain": labels, "range": colours(&labels)});
                }
                ("color" | "shape", Some("verdict")) if self.kind == Kind::Deviation => {
                    self.complete_verdict(channel, definition);
                }
                ("xOffset", Some("series")) => definition["scale"] = json!({"domain": self.distinct("series")}),
                ("color", Some("value")) => self.complete_colour_of_values(definition),
                ("strokeDash" | "shape" | "opacity", Some("venue")) => self.complete_venue(channel, definition),
                ("xOffset", Some("scheduler")) => definition["scale"] = json!({"domain": self.distinct("scheduler")}),
                ("x", Some("x")) if self.kind == Kind::Grouped && !self.names_fit() => {
                    definition["axis"] = json!({"labelAngle": -35, "labelLimit": 260});
                }
                ("y", Some("what")) => {
                    let limit = definition["axis"]["labelLimit"].as_f64().unwrap_or(f64::INFINITY);
                    definition["axis"]["labelExpr"] = cut_within((limit / WIDE_LETTER) as usize).into();
                }
                ("y", Some("word")) => definition["sort"] = json!(self.numbers_down("word")),
                ("x", Some("percentile")) => definition["sort"] = json!(self.distinct("percentile")),
                _ => {}
            }
        }
    }

    fn complete_axis(
        &self,
        encoding: &mut Map<String, Value>,
        channel: &str,
        title: &Option<String>,
        log: Option<&[&str]>,
    ) {
        let Some(definition) = encoding.get_mut(channel) else { return };
        if let Some(title) = title {
            definition["title"] = if channel == "x" { self.in_lines(title) } else { title.as_str().into() };
        }
        let Some(fields) = log.filter(|fields| !fields.is_empty() && definition["type"] == "quantitative") else {
            return;
        };
        definition["scale"]["type"] = "log".into();
        let decades = self.decades(fields);
        if decades >= 2.0 {
            // As many ticks as powers of ten, since more would be those between them, too.
            definition["axis"]["tickCount"] = json!(decades.ceil());
        }
    }

    /// Whether what goes across are whole numbers on an axis of numbers.
    fn has_whole_x(&self) -> bool {
        let field = match self.kind {
            Kind::Lines => "x",
            Kind::Overhead => "tasks",
            _ => return false,
        };
        let mut numbers = self.rows.iter().filter_map(|row| row.get(field)?.as_f64()).peekable();
        !self.axes.log_x && numbers.peek().is_some() && numbers.all(|number| number.fract() == 0.0)
    }

    /// The ends of an axis of deviations: what is allowed without a bound reaches up to them.
    fn edges(&self) -> Option<[f64; 2]> {
        let end = |field: &'static str| self.rows.iter().filter_map(move |row| row.get(field)?.as_f64());
        let ends = (end("first").reduce(f64::min), end("last").reduce(f64::max));
        ends.0.zip(ends.1).filter(|_| self.kind == Kind::Deviation).map(|(first, last)| [first, last])
    }

    /// Whether the names below groups of bars stand side by side without touching.
    fn names_fit(&self) -> bool {
        let names = self.distinct("x");
        let width = self.panel_width();
        let longest = names.iter().filter_map(|name| name.as_str()).map(|name| name.chars().count()).max();
        longest.unwrap_or(0) as f64 * LETTER * names.len() as f64 <= width
    }

    /// How wide a panel is, in pixels, where there may be several in a row.
    fn panel_width(&self) -> f64 {
        const PANEL: f64 = 300.0;
        if self.distinct("panel").len() < 2 { WIDE as f64 } else { PANEL }
    }

    /// A title of an axis across, in as many lines as a panel needs: longer ones would reach into the next panel.
    fn in_lines(&self, title: &str) -> Value {
        let most = (self.panel_width() / LETTER) as usize;
        let mut lines: Vec<String> = Vec::new();
        for word in title.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.into()),
            }
        }
        if lines.len() > 1 { json!(lines) } else { title.into() }
    }

    /// Over how many powers of ten the values go.
    fn decades(&self, fields: &[&str]) -> f64 {
        let rows = self.rows.iter().filter(|row| self.drawable(row));
        let values = rows.flat_map(|row| fields.iter().filter_map(|field| row.get(*field)?.as_f64()));
        let (least, greatest) = values
            .fold((f64::INFINITY, 0.0), |(least, greatest): (f64, f64), value| (least.min(value), greatest.max(value)));
        (greatest / least).log10()
    }

    fn complete_colour_of_values(&self, definition: &mut Value) {
        if let Some(title) = &self.axes.value {
            definition["title"] = title.as_str().into();
        }
        if let Some(middle) = self.axes.middle {
            definition["scale"] = json!({"domainMid": middle, "scheme": "blueorange"});
        }
    }

    /// Only the verdicts that are there, each with its mark.
    fn complete_verdict(&self, channel: &str, definition: &mut Value) {
        let words = self.distinct("verdict");
        let marks = words.iter().map(|word| Mark::of(word.as_str().unwrap_or_default()));
        let range: Vec<&str> = marks.map(|mark| if channel == "color" { mark.colour } else { mark.shape }).collect();
        definition["scale"] = json!({"domain": words, "range": range});
    }

    /// A venue looks the same in every chart, and has no legend where all is from the same.
    fn complete_venue(&self, channel: &str, definition: &mut Value) {
        const VENUES: [(&str, [u8; 2], &str, f64); 4] = [
            ("sim", [1, 0], "circle", 1.0),
            ("vm", [7, 3], "triangle-up", 0.7),
            ("host", [2, 2], "square", 0.45),
            ("import", [8, 6], "diamond", 0.3),
        ];
        let present = self.distinct("venue");
        let venues = || VENUES.iter().filter(|(name, ..)| present.iter().any(|venue| venue == name));
        let range: Vec<Value> = match channel {
            "strokeDash" => venues().map(|venue| json!(venue.1)).collect(),
            "shape" => venues().map(|venue| json!(venue.2)).collect(),
            _ => venues().map(|venue| json!(venue.3)).collect(),
        };
        if present.len() == range.len() {
            definition["scale"] = json!({"domain": venues().map(|venue| venue.0).collect::<Vec<_>>(), "range": range});
        }
        if present.len() < 2 {
            definition["legend"] = Value::Null;
        }
    }

    /// Panels keep the order of the rows; a single one takes the whole width, and without anything to tell panels apart
    /// there are none.
    fn arrange_panels(&self, whole: &mut Value) {
        let Some(field) = whole["facet"]["field"].as_str().map(str::to_string) else { return };
        let panels = self.distinct(&field);
        whole["facet"]["sort"] = json!(panels);
        let columns = whole["columns"].as_u64().unwrap_or(1) as usize;
        if panels.len() < 2 && columns > 1 {
            whole["columns"] = 1.into();
            whole["spec"]["width"] = WIDE.into();
        } else if !panels.len().is_multiple_of(columns) {
            // Shared axes would also be below the place that is left empty.
            whole["resolve"]["axis"]["x"] = "independent".into();
        }
        if panels.is_empty() {
            without_panels(whole);
        }
    }

    /// The values of a field, in the order of the rows.
    fn distinct(&self, field: &str) -> Vec<&Value> {
        let mut values: Vec<&Value> = Vec::new();
        for value in self.rows.iter().filter_map(|row| row.get(field)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The numbers of a field, the greatest first.
    fn numbers_down(&self, field: &str) -> Vec<&Value> {
        let mut values = self.distinct(field);
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NEG_INFINITY);
        values.sort_by(|a, b| number(b).total_cmp(&number(a)));
        values
    }

    fn most_cells(&self) -> usize {
        let panels = self.distinct("panel");
        let of = |panel: &&Value| self.rows.iter().filter(|row| row.get("panel") == Some(*panel)).count();
        panels.iter().map(of).max().unwrap_or(self.rows.len())
    }
}

/// A file of this crate. Tests see to it that all of them are JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the files of this crate are JSON")
}

pub(crate) fn each_encoding(value: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(encoding)) = map.get_mut("encoding") {
                change(encoding);
            }
            for (_, inner) in map.iter_mut().filter(|(key, _)| ["layer", "spec"].contains(&key.as_str())) {
                each_encoding(inner, change);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| each_encoding(inner, change)),
        _ => {}
    }
}

/// An expression that cuts a label to a number of letters: names differ at their ends, so what is too much is left out of
/// the middle.
fn cut_within(letters: usize) -> String {
    let half = letters.saturating_sub(1) / 2;
    format!(
        "length(datum.label) > {letters} ? slice(datum.label, 0, {half}) + '…' + slice(datum.label, -{half}) : datum.label"
    )
}

fn without_panels(whole: &mut Value) {
    let Value::Object(map) = whole else { return };
    for key in ["facet", "columns", "resolve"] {
        map.remove(key);
    }
    if let Some(Value::Object(inner)) = map.remove("spec") {
        map.extend(inner);
    }
}

fn without_text(whole: &mut Value) {
    if let Some(layers) = whole["spec"]["layer"].as_array_mut() {
        layers.retain(|layer| layer["mark"]["type"] != "text");
    }
}

/// Words are numbers: of any range they fit on an axis of numbers, where each panel has its own.
fn on_numeric_axis(whole: &mut Value) {
    let spec = &mut whole["spec"];
    spec["height"] = json!(220);
    let Value::Object(encoding) = &mut spec["encoding"] else { return };
    encoding.remove("yOffset");
    encoding["y"] = json!({
        "field": "word", "type": "quantitative", "title": "status", "scale": {"zero": false, "nice": true},
    });
    whole["resolve"] = json!({"scale": {"y": "independent"}});
}
