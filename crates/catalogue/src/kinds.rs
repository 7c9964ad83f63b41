//! Which kind of file a text is: people pass a gate where a scenario is wanted.

/// A kind of file: what it is called, the table that only it has, and the command that takes it.
struct Kind {
    name: &'static str,
    table: &'static str,
    command: &'static str,
}

const KINDS: [Kind; 5] = [
    Kind { name: "a scenario", table: "[[task]]", command: "run" },
    Kind { name: "a gate", table: "[[check]]", command: "gate" },
    Kind { name: "a score's file", table: "[[part]]", command: "score" },
    Kind { name: "a sweep", table: "[axis]", command: "sweep" },
    Kind { name: "a study", table: "[[question]]", command: "study" },
];

/// Files of other kinds, by their extension, and what to do with them.
const OTHERS: [(&str, &str); 8] = [
    (".parquet", "this is a trace: `schedlab trace FILE` shows it, `schedlab report FILE` makes a page of it"),
    (".pftrace", "this is a trace: `schedlab trace FILE` shows it, `schedlab report FILE` makes a page of it"),
    (".txt", "this is a text: `schedlab import FILE` reads what other tools record as text"),
    (".data", "this is a recording: `schedlab import FILE` makes a trace of it"),
    (".dat", "this is a recording: `schedlab import FILE` makes a trace of it"),
    (".bpf.c", "this is a policy: name a scenario, and pass this as `--policy FILE`"),
    (".bpf.o", "this is a policy: name a scenario, and pass this as `--policy FILE`"),
    (".html", "this is a page: open it in a browser"),
];

/// What to do with a file of which the name says that it is none of ours in TOML.
pub fn by_extension(file: &str) -> Option<String> {
    let (_, what) = OTHERS.iter().find(|(extension, _)| file.ends_with(extension))?;
    Some(format!("{file}: {}", what.replace("FILE", file)))
}

/// What to do with JSON where a file of ours in TOML is wanted.
pub fn of_json(text: &str, file: &str) -> Option<String> {
    let of_rt_app = || format!("{file}: this is JSON, as of rt-app: `schedlab run {file}` takes that");
    for_another_reader(text, file).or_else(|| text.trim_start().starts_with('{').then(of_rt_app))
}

/// What to do with a text that `command` cannot use, if another command takes it: `this is a gate: `schedlab gate FILE` takes it`.
pub fn for_another_command(text: &str, file: &str, command: &str) -> Option<String> {
    let has = |kind: &&Kind| text.lines().any(|line| line.trim() == kind.table);
    let kind = KINDS.iter().find(has)?;
    let remedy = || format!("{file}: this is {}: `schedlab {} {file}` takes it", kind.name, kind.command);
    (kind.command != command).then(remedy)
}

/// The same for JSON, where a scenario of rt-app is wanted.
pub fn for_another_reader(text: &str, file: &str) -> Option<String> {
    let is_ours = text.trim_start().starts_with('{') && text.contains("\"schema\": \"schedlab.");
    is_ours.then(|| format!("{file}: this is a result: `schedlab report {file}` makes a page of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_no_scenario() {
        let gate = "about = \"x\"\n[[check]]\nmetric = \"y\"\n";
        let told = for_another_command(gate, "x.toml", "run");
        assert_eq!(told.as_deref(), Some("x.toml: this is a gate: `schedlab gate x.toml` takes it"));
        assert_eq!(for_another_command(gate, "x.toml", "gate"), None);
        assert_eq!(for_another_command("name = \"x\"\n", "x.toml", "run"), None);
    }

    #[test]
    fn names_and_braces_say_what_a_file_is() {
        assert!(by_extension("a/b.bpf.c").is_some_and(|told| told.starts_with("a/b.bpf.c: this is a policy: ")));
        assert_eq!(by_extension("a.toml"), None);
        assert_eq!(
            of_json("{ \"tasks\": {} }", "r").as_deref(),
            Some("r: this is JSON, as of rt-app: `schedlab run r` takes that")
        );
        assert_eq!(of_json("name = \"x\"", "r"), None);
    }

    #[test]
    fn a_result_is_no_scenario() {
        let told = for_another_reader("{\n  \"schema\": \"schedlab.result/2\"}", "r.json");
        assert_eq!(told.as_deref(), Some("r.json: this is a result: `schedlab report r.json` makes a page of it"));
        assert_eq!(for_another_reader("{\"tasks\": {}}", "r.json"), None);
    }
}
