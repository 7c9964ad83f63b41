//! Labels of schedulers that stand side by side: short, and no two alike.

use schedlab_model::outcome::Outcome;
use schedlab_model::result::Parameter as Value;
use schedlab_policy::{Parameter, PolicySpec};
use schedlab_venue::{Policy, inspect};

/// A policy and the settings that might be said of it.
type Named = (String, Vec<(String, String)>);

/// Labels of policies as users wrote them. A policy that is there once is called what was written; of one that stands
/// there under several settings only those are said that differ.
pub fn of_written(written: &[String]) -> Vec<String> {
    let named = |text: &String| match PolicySpec::parse(text) {
        Ok(spec) => (PolicySpec { settings: Vec::new(), ..spec.clone() }.to_string(), spec.settings),
        Err(_) => (text.clone(), Vec::new()),
    };
    let policies: Vec<Named> = written.iter().map(named).collect();
    let label = |(index, (name, settings)): (usize, Named)| match count(&policies, &policies[index].0) {
        1 => written[index].clone(),
        _ => join(&name, &settings),
    };
    numbered(differing(&policies).into_iter().enumerate().map(label).collect())
}

/// A result that gets a label.
pub struct Unnamed<'a> {
    /// The label that it has already.
    pub known: Option<&'a str>,
    /// The name of its file.
    pub file: &'a str,
    /// The result.
    pub result: &'a Outcome,
}

/// Labels of results: a policy's name, with what distinguishes it from the others of that name (parameters, kernel), and
/// with the venue where there are several. Where all that is the same, as in two recordings, the names of the files are
/// said.
pub fn of_results(results: &[Unnamed]) -> Vec<String> {
    let named = |unnamed: &Unnamed| match unnamed.known {
        Some(label) => (label.to_string(), Vec::new()),
        None => (unnamed.result.policy().name.clone(), said(unnamed.result)),
    };
    let policies: Vec<Named> = results.iter().map(named).collect();
    let several = results.iter().any(|one| one.result.venue() != results[0].result.venue());
    let label = |((name, settings), one): (Named, &Unnamed)| {
        let venue = if several && !name.contains('@') { format!("@{}", one.result.venue()) } else { String::new() };
        join(&name, &settings) + &venue
    };
    let labels: Vec<String> = differing(&policies).into_iter().zip(results).map(label).collect();
    let with_file = |(label, one): (&String, &Unnamed)| match labels.iter().filter(|other| *other == label).count() {
        1 => label.clone(),
        _ => format!("{label} ({})", one.file),
    };
    numbered(labels.iter().zip(results).map(with_file).collect())
}

/// What a result says about its policy: its parameters as users write them, and its kernel where that is not simulated.
fn said(result: &Outcome) -> Vec<(String, String)> {
    let kernel = result.provenance().kernel.clone().filter(|_| result.venue() != "sim");
    parameters(result).into_iter().chain(kernel.map(|kernel| ("kernel".to_string(), kernel))).collect()
}

/// The parameters of a result's policy as users write them, with their units.
pub fn parameters(result: &Outcome) -> Vec<(String, String)> {
    let known = declared(&result.policy().name);
    let text = |(name, value): (&String, &Value)| {
        let declared = known.iter().find(|parameter| parameter.name == *name);
        (name.clone(), Parameter::shown(declared, value))
    };
    result.policy().parameters.iter().map(text).collect()
}

/// The parameters of a policy that this program knows.
fn declared(name: &str) -> Vec<Parameter> {
    let found = PolicySpec::parse(name).ok().and_then(|spec| Policy::find(&spec).ok());
    let needs = found.as_ref().and_then(inspect).and_then(Result::ok);
    needs.map_or(Vec::new(), |needs| needs.parameters)
}

fn count(policies: &[Named], name: &str) -> usize {
    policies.iter().filter(|(other, _)| other == name).count()
}

/// The policies with those of their settings that another one of the same name has not.
fn differing(policies: &[Named]) -> Vec<Named> {
    let of = |(name, settings): &Named| {
        let others = || policies.iter().filter(|(other, _)| other == name);
        let is_own = |setting: &&(String, String)| others().any(|(_, theirs)| !theirs.contains(setting));
        (name.clone(), settings.iter().filter(is_own).cloned().collect())
    };
    policies.iter().map(of).collect()
}

fn join(name: &str, settings: &[(String, String)]) -> String {
    let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if settings.is_empty() { name.into() } else { format!("{name}:{}", settings.join(",")) }
}

/// The labels, those that are there already with a number.
fn numbered(labels: Vec<String>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for plain in labels {
        let mut label = plain.clone();
        let mut number = 1;
        while known.contains(&label) {
            number += 1;
            label = format!("{plain} ({number})");
        }
        known.push(label);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::result::{PolicyInfo, RunResult};

    fn written(list: &[&str]) -> Vec<String> {
        of_written(&list.iter().map(|text| text.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn settings_of_one_policy_say_what_differs() {
        assert_eq!(
            written(&["rr:quantum=5ms", "cfs:version=4.9,slice=1ms"]),
            ["rr:quantum=5ms", "cfs:version=4.9,slice=1ms"]
        );
        assert_eq!(written(&["rr", "rr:quantum=5ms"]), ["rr", "rr:quantum=5ms"]);
        assert_eq!(
            written(&[
                "cfs:version=4.9,cores_per_llc=8,llcs_per_node=1",
                "cfs:version=4.9,cores_per_llc=4,llcs_per_node=1"
            ]),
            ["cfs:cores_per_llc=8", "cfs:cores_per_llc=4"]
        );
        assert_eq!(
            written(&["rr", "rr", "./a/x.bpf.c", "./b/x.bpf.c"]),
            ["rr", "rr (2)", "./a/x.bpf.c", "./b/x.bpf.c"]
        );
    }

    #[test]
    fn results_say_what_differs_in_the_units_of_the_policy() {
        let result = |quantum: u64, venue: &str| -> Outcome {
            let parameters = [("quantum".to_string(), Value::Unsigned(quantum))].into();
            let policy = PolicyInfo { name: "rr".into(), parameters };
            RunResult { policy, venue: venue.into(), ..RunResult::default() }.into()
        };
        let (five, ten, host) = (result(5_000_000, "sim"), result(10_000_000, "sim"), result(5_000_000, "host"));
        let labels = |results: &[&Outcome]| {
            let files = ["a", "b"].iter().zip(results);
            of_results(&files.map(|(file, result)| Unnamed { known: None, file, result }).collect::<Vec<_>>())
        };
        assert_eq!(labels(&[&five, &ten]), ["rr:quantum=5ms", "rr:quantum=10ms"]);
        assert_eq!(labels(&[&five]), ["rr"]);
        assert_eq!(labels(&[&five, &host]), ["rr@sim", "rr@host"]);
        assert_eq!(labels(&[&five, &five]), ["rr (a)", "rr (b)"]);
    }
}
