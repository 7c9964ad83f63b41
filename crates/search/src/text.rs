//! A scenario as a text that people read at a glance.

use schedlab_model::scenario::Scenario;

/// The widest line into which a program is written.
const WIDTH: usize = 100;

/// The scenario as a file, programs on one line where they fit.
pub fn to_toml(scenario: &Scenario) -> String {
    let mut text = String::new();
    let mut program: Option<Vec<&str>> = None;
    let whole = scenario.to_toml();
    for line in whole.lines() {
        match &mut program {
            None if line == "loop = [" || line == "once = [" => program = Some(vec![line]),
            None => text += &format!("{line}\n"),
            Some(lines) => {
                lines.push(line);
                if line == "]" {
                    text += &joined(lines);
                    program = None;
                }
            }
        }
    }
    text
}

/// A program on one line, or on several where it is too long.
fn joined(lines: &[&str]) -> String {
    let steps: Vec<&str> = lines[1..lines.len() - 1].iter().map(|line| line.trim().trim_end_matches(',')).collect();
    let one = format!("{}{}]\n", lines[0], steps.join(", "));
    if one.chars().count() <= WIDTH { one } else { lines.join("\n") + "\n" }
}

/// How many lines say something.
pub fn lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;

    #[test]
    fn what_is_written_says_the_same() {
        for seed in 0..100 {
            let text = to_toml(&draw(seed));
            assert_eq!(Scenario::parse(&text, "t").unwrap(), draw(seed), "{text}");
        }
        assert_eq!(lines("# a\n\nb = 1\n[c]\n"), 2);
    }
}
