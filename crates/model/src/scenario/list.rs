//! Lists as files write them, and what they make together.

use schemars::JsonSchema;
use serde::Deserialize;

/// A string or a list of strings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMany::One(word) => std::slice::from_ref(word),
            OneOrMany::Many(words) => words,
        }
    }
}

/// All combinations of a value of each axis, the last axis fastest.
pub fn combinations<T: Clone>(axes: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut points = vec![Vec::new()];
    for values in axes {
        let longer = |point: Vec<T>| values.iter().map(move |value| [&point[..], std::slice::from_ref(value)].concat());
        points = points.into_iter().flat_map(longer).collect();
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_is_the_fastest() {
        assert_eq!(combinations(&[vec![1, 2], vec![3, 4]]), [[1, 3], [1, 4], [2, 3], [2, 4]]);
        assert_eq!(combinations::<u8>(&[]), [[0; 0]]);
        assert!(combinations(&[vec![1], vec![]]).is_empty());
    }
}
