use super::*;

fn read(text: &str) -> Result<Step, String> {
    #[derive(Deserialize)]
    struct One {
        step: Step,
    }
    toml::from_str::<One>(&format!("step = {text}")).map(|one| one.step).map_err(|e| e.message().to_string())
}

#[test]
fn every_step_reads_back_as_it_was_written() {
    for kind in STEPS {
        let step = read(kind.example).unwrap_or_else(|e| panic!("{}: {e}", kind.example));
        assert_eq!(step.name(), kind.name);
        let json = serde_json::to_value(&step).unwrap();
        assert!(json.get(step.name()).is_some(), "{json}");
        assert_eq!(serde_json::from_value::<Step>(json).unwrap(), step);
        // The canonical form is what is in the table.
        assert_eq!(toml::Value::try_from(&step).unwrap().to_string(), kind.example);
    }
    let once = read(r#"{ post = "s" }"#).unwrap();
    assert_eq!(toml::Value::try_from(&once).unwrap().to_string(), r#"{ post = "s" }"#);
}

#[test]
fn the_reference_has_the_table_of_steps() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/scenario.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.split("## Steps\n\n| step | meaning |\n|---|---|\n").nth(1).expect("a table under `## Steps`");
    let rows: String = rows.lines().take_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    let expected: String = STEPS.iter().map(|kind| format!("| `{}` | {} |\n", kind.example, kind.meaning)).collect();
    assert_eq!(rows, expected, "write the rows of `steps!` into {path}");
}

#[test]
fn wrong_steps_are_told_apart() {
    for (text, part) in [
        (r#"{ compute = 5 }"#, "no unit"),
        (r#"{ compute = "5ms", sleep = "5ms" }"#, "two steps in one table, `compute` and `sleep`"),
        (r#"{ wait = "s", times = 2 }"#, "`times` belongs to post"),
        (r#"{ post = "s", messages = 2 }"#, "`messages` belongs to send and recv, not to `post`"),
        (r#"{ repeat = 2 }"#, "needs its steps"),
        (r#"{ cond_wait = "c" }"#, "needs the mutex"),
        (r#"{ lock = "m", mutex = "m" }"#, "`mutex` belongs to cond_wait, not to `lock`"),
        (r#"{ sleep = "5ms", overrun = "skip" }"#, "`overrun` belongs to period, not to `sleep`"),
        (r#"{ period = "5ms", overrun = "wait" }"#, "unknown variant `wait`"),
        (r#"{ yield = false }"#, "`true`"),
        (r#"{}"#, "does nothing"),
        (r#"{ times = 2 }"#, "does nothing"),
        (r#"{ set = { niceness = 2 } }"#, "unknown field `niceness`"),
        (r#"{ compte = "5ms" }"#, "unknown field `compte`"),
        (r#"{ post = "s", times = -1 }"#, "-1"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}
