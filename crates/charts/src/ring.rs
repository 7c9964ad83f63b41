//! Rows of a graph whose nodes stand in a ring.

use crate::{Row, row};
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Who does something, or to whom it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub role: String,
    /// A few words below it.
    pub about: String,
}

/// What is done, by the places of its ends in the list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Who does it.
    pub from: usize,
    /// To whom.
    pub to: usize,
    /// How often.
    pub times: u64,
}

/// How far an arrow stays to the right of the line between its nodes, so that the one back does not lie on it.
const ASIDE: f64 = 0.06;
/// How far its number does.
const NUMBER_ASIDE: f64 = 0.22;
/// How far its ends stay away from the nodes.
const GAP: f64 = 0.16;
/// How far from a node its words are: the nearer line and the other one. They are above nodes of the upper half and below others.
const WORDS: [f64; 2] = [0.2, 0.36];

/// The rows of a [`crate::Kind::Graph`]: nodes in their order on a circle with the radius 1, clockwise from the top, and arrows
/// between them. An arrow from a node to itself, or to a node that is not there, is left out.
pub fn ring(nodes: &[Node], arrows: &[Arrow]) -> Vec<Row> {
    let place = |at: usize| {
        let angle = TAU * at as f64 / nodes.len() as f64;
        [angle.sin(), angle.cos()]
    };
    let most = arrows.iter().map(|arrow| arrow.times).max().unwrap_or(1).max(1) as f64;
    let drawn = |arrow: &&Arrow| arrow.from != arrow.to && arrow.from.max(arrow.to) < nodes.len();
    let lines = arrows.iter().filter(drawn).map(|arrow| {
        let mut drawn = line(place(arrow.from), place(arrow.to));
        let (from, to) = (&nodes[arrow.from].role, &nodes[arrow.to].role);
        drawn.extend(row(json!({
            "from": from, "to": to, "times": arrow.times, "weight": rounded(arrow.times as f64 / most),
        })));
        drawn
    });
    let points = nodes.iter().enumerate().map(|(at, node)| {
        let [x, y] = place(at).map(rounded);
        let [near, far] = WORDS;
        let (role_y, about_y) = if y >= 0.0 { (y + far, y + near) } else { (y - near, y - far) };
        row(json!({
            "role": node.role, "about": node.about, "x": x, "y": y, "role_y": rounded(role_y), "about_y": rounded(about_y),
        }))
    });
    lines.chain(points).collect()
}

/// The places of an arrow.
fn line([x, y]: [f64; 2], [x2, y2]: [f64; 2]) -> Row {
    let (dx, dy) = (x2 - x, y2 - y);
    let length = dx.hypot(dy);
    let (along_x, along_y) = (dx / length, dy / length);
    let at = |from_start: f64, aside: f64| {
        [x + along_x * from_start + along_y * aside, y + along_y * from_start - along_x * aside]
    };
    let ([x, y], [x2, y2]) = (at(GAP, ASIDE), at(length - GAP, ASIDE));
    let ([head_x, head_y], [label_x, label_y]) = ([x2, y2], at(0.5 * length, NUMBER_ASIDE));
    // Degrees from the top, clockwise, as the grammar turns a mark.
    let angle = dx.atan2(dy).to_degrees();
    let places = [x, y, x2, y2, head_x, head_y, label_x, label_y, angle].map(rounded);
    let names = ["x", "y", "x2", "y2", "head_x", "head_y", "label_x", "label_y", "angle"];
    names.map(String::from).into_iter().zip(places.map(Value::from)).collect()
}

/// To four places, as far as anybody sees; without a sign before zero.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(role: &str) -> Node {
        Node { role: role.into(), about: "1 task".into() }
    }

    #[test]
    fn arrows_go_between_their_nodes_and_not_on_each_other() {
        let nodes = ["a", "b", "c", "d"].map(node);
        let arrow = |from, to, times| Arrow { from, to, times };
        let rows = ring(&nodes, &[arrow(0, 2, 50), arrow(2, 0, 25), arrow(1, 1, 9), arrow(0, 7, 9)]);
        assert_eq!(rows.len(), 6, "two arrows and four nodes: {rows:?}");
        let number = |row: usize, field: &str| rows[row][field].as_f64().unwrap();
        // From the top down, on the left of the middle as one looks at it, and back on the right.
        assert_eq!([number(0, "x"), number(0, "y"), number(0, "y2"), number(0, "angle")], [-0.06, 0.84, -0.84, 180.0]);
        assert_eq!([number(1, "x"), number(1, "y"), number(1, "angle")], [0.06, -0.84, 0.0]);
        assert_eq!([number(0, "weight"), number(1, "weight")], [1.0, 0.5]);
        assert_eq!([number(3, "x"), number(3, "y")], [1.0, 0.0]);
        assert_eq!(rows[2]["role"], "a");
    }

    #[test]
    fn a_single_node_stands_at_the_top() {
        let rows = ring(&[node("a")], &[]);
        assert_eq!((rows.len(), &rows[0]["x"], &rows[0]["y"]), (1, &json!(0.0), &json!(1.0)));
        assert!(ring(&[], &[]).is_empty());
    }
}
