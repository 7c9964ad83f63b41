//! Distributions drawn small, a line each.

use crate::{Column, Table, Times, columns_of};
use schedlab_metrics::curve::Curve;

/// Letters that fill more and more of their place.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Times that reach over more than this factor have a logarithmic scale.
const WIDE: f64 = 50.0;

/// A sketch of fewer letters shows nothing; more are not needed in a column next to others.
const LEAST_LETTERS: usize = 12;
const MOST_LETTERS: usize = 30;

/// The most columns of a table of sketches; its sketches get at least [`MOST_LETTERS`] of them, and long names give way.
const LETTERS_OF_TABLE: usize = 60;

/// The scale that all lines of a table share.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// Over all values of all curves; none where there are no two different ones.
    fn of(curves: &[&Curve]) -> Option<Scale> {
        let ends = |curve: &&Curve| Some((curve.points().first()?.0, curve.points().last()?.0));
        let ends: Vec<(u64, u64)> = curves.iter().filter_map(ends).collect();
        let low = ends.iter().map(|(low, _)| *low).min()? as f64;
        let high = ends.iter().map(|(_, high)| *high).max()? as f64;
        (low < high).then_some(Scale { low, high, is_logarithmic: low > 0.0 && high / low > WIDE })
    }

    /// The value at a part of the way from the low to the high end.
    fn at(&self, part: f64) -> f64 {
        match self.is_logarithmic {
            true => self.low * (self.high / self.low).powf(part),
            false => self.low + (self.high - self.low) * part,
        }
    }

    /// A curve as `letters` letters: how many of its values lie in each part of the scale, the fullest part as the whole.
    fn sketch(&self, curve: &Curve, letters: usize) -> String {
        let edge = |index: usize| self.at(index as f64 / letters as f64) as u64;
        let part = |index: usize| match index {
            0 => curve.at(edge(1)),
            _ if index + 1 == letters => 1.0 - curve.at(edge(index)),
            _ => curve.at(edge(index + 1)) - curve.at(edge(index)),
        };
        let parts: Vec<f64> = (0..letters).map(part).collect();
        let most = parts.iter().copied().fold(0.0, f64::max);
        let letter = |part: &f64| match (part / most * BARS.len() as f64).ceil() as usize {
            0 => ' ',
            height => BARS[height.min(BARS.len()) - 1],
        };
        parts.iter().map(letter).collect()
    }

    /// All curves, a line each; a dash for one without values.
    fn column(&self, head: &str, curves: &[&Curve], letters: usize) -> Column {
        let sketch = |curve: &&Curve| if curve.points().is_empty() { "-".into() } else { self.sketch(curve, letters) };
        Column::drawings(head, curves.iter().map(sketch))
    }

    /// A head for a narrow column.
    fn short_head(&self) -> String {
        let [low, high, unit] = self.ends();
        let kind = if self.is_logarithmic { ", log" } else { "" };
        format!("{low} to {high} {unit}{kind}")
    }

    /// The low and the high end in words, and their unit.
    fn ends(&self) -> [String; 3] {
        let times = Times::of(&[Some(self.low), Some(self.high)]);
        [times.show(Some(self.low)), times.show(Some(self.high)), times.unit.to_string()]
    }
}

/// The distributions of the response times of policies and roles, in the order of the rows; none where there is nothing
/// to see. `width` is what names may leave.
pub fn table(names: Vec<Column>, curves: &[&Curve], width: usize) -> Option<Table> {
    let scale = Scale::of(curves)?;
    let [low, high, unit] = scale.ends();
    let kind = if scale.is_logarithmic { ", logarithmic" } else { "" };
    let head = format!("responses from {low} {unit} to {high} {unit}{kind}");
    let letters = width.clamp(MOST_LETTERS, LETTERS_OF_TABLE);
    let column = match columns_of(&head) <= letters {
        true => scale.column(&head, curves, letters),
        false => scale.column(&scale.short_head(), curves, letters).under("responses"),
    };
    Some(Table::new(names.into_iter().chain([column])))
}

/// The same as a column of a table that leaves that much room; none where that is too little, or there is nothing to see.
pub fn column(curves: &[&Curve], room: usize) -> Option<Column> {
    let scale = Scale::of(curves)?;
    let head = scale.short_head();
    let letters = room.min(MOST_LETTERS);
    let least = LEAST_LETTERS.max(columns_of(&head));
    (letters >= least).then(|| scale.column(&head, curves, letters).under("responses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[u64]) -> Curve {
        Curve::of(&values.iter().copied().collect())
    }

    #[test]
    fn the_fullest_part_is_a_whole_letter_and_empty_ones_are_blank() {
        let (one, other) = (curve(&[10, 10, 10, 10, 50]), curve(&[100]));
        let scale = Scale::of(&[&one, &other]).unwrap();
        assert_eq!(scale.sketch(&one, 10), "█   ▂     ");
        assert_eq!(scale.sketch(&other, 10), "         █");
        assert!(!scale.is_logarithmic && Scale::of(&[&curve(&[1]), &other]).unwrap().is_logarithmic);
        assert!(Scale::of(&[&other, &Curve::default()]).is_none());
    }

    #[test]
    fn a_row_without_values_has_a_dash() {
        let names = vec![Column::words("policy", ["a".to_string(), "b".into()])];
        let table = table(names, &[&curve(&[1_000_000, 2_000_000]), &Curve::default()], 40).unwrap();
        let text = table.show(crate::Style::PLAIN);
        assert!(text.contains("responses from 1 ms to 2 ms") && text.lines().nth(2).unwrap().ends_with('-'), "{text}");
    }

    #[test]
    fn long_names_do_not_take_the_right_end() {
        let long = |name: &str| format!("{name}-{}", "n".repeat(60));
        let names = || {
            vec![
                Column::words("policy", [long("a"), long("b")]),
                Column::words("role", ["g".repeat(30), "g".repeat(30)]),
            ]
        };
        let curves = [&curve(&[1_000_000]), &curve(&[2_000_000])];
        let text = table(names(), &curves, 0).unwrap().show(crate::Style::PLAIN);
        assert!(text.lines().all(|line| columns_of(line) <= crate::WIDTH), "{text}");
        let line = |index: usize| text.lines().nth(index).unwrap();
        assert!(line(2).ends_with('█') && columns_of(line(2)) > columns_of(line(1)), "{text}");
        assert!(line(0).contains("1 to 2 ms") || text.contains("1 ms to 2 ms"), "{text}");
    }
}
