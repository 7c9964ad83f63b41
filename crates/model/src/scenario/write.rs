//! A scenario as a TOML text in the shape in which people write it: a step on each line.

use super::{Scenario, Step, Task};
use serde::Serialize;

/// Writes a scenario.
pub(crate) fn toml(scenario: &Scenario) -> String {
    let mut text = table(&Scenario { tasks: Vec::new(), ..scenario.clone() });
    for task in &scenario.tasks {
        text += "\n[[task]]\n";
        text += &table(&Task { repeated: None, once: None, recorded: None, ..task.clone() });
        if let Some(recorded) = &task.recorded {
            let value = toml::Value::try_from(recorded).expect("it has a form in TOML");
            text += &format!("recorded = {value}\n");
        }
        for (key, steps) in [("loop", &task.repeated), ("once", &task.once)] {
            if let Some(steps) = steps {
                text += &program(key, steps);
            }
        }
    }
    text
}

fn table<T: Serialize>(value: &T) -> String {
    toml::to_string(value).expect("every value of the language has a form in TOML")
}

fn program(key: &str, steps: &[Step]) -> String {
    let line = |step: &Step| {
        let value = toml::Value::try_from(step).expect("every step has a form in TOML");
        format!("    {value},\n")
    };
    format!("{key} = [\n{}]\n", steps.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_on_lines_of_their_own() {
        let text = "name = \"t\"\n\n[machine]\ncpus = 1\n\n[run]\nduration = \"1s\"\n\n[[task]]\nname = \"a\"\n\
                    loop = [\n    { compute = \"5ms\" },\n    { repeat = 2, steps = [{ yield = true }] },\n]\n\n\
                    [[task]]\nname = \"b\"\nrecorded = { file = \"b.steps.parquet\", items = \"items-0\", order = \"taken\" }\n";
        assert_eq!(toml(&Scenario::parse(text, "t").unwrap()), text);
    }
}
