//! The policies that come with the program.

use crate::did_you_mean;

/// A policy of the folder `policies/`, compiled when the program was built.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// The BPF object.
    pub object: &'static [u8],
    /// The C source.
    pub source: &'static str,
    /// The text of its `README.md`.
    pub readme: &'static str,
}

/// All shipped policies in order of name.
pub fn catalog() -> &'static [Shipped] {
    include!(concat!(env!("OUT_DIR"), "/catalog.rs"))
}

/// No policy has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no policy `{name}`{hint}")]
pub struct UnknownPolicy {
    /// What the user wrote.
    pub name: String,
    /// The likely name, or the list of all.
    pub hint: String,
}

/// The shipped policy of a name. `others` are names that are not in the catalogue and that the caller knows, for the hint
/// only.
pub fn shipped(name: &str, others: &[&str]) -> Result<&'static Shipped, UnknownPolicy> {
    if let Some(shipped) = catalog().iter().find(|policy| policy.name == name) {
        return Ok(shipped);
    }
    let names = || catalog().iter().map(|policy| policy.name).chain(others.iter().copied());
    let hint = match did_you_mean(name, names()) {
        hint if hint.is_empty() => format!(
            "; there are: {}; a file needs its ending, as in {name}.bpf.c",
            names().collect::<Vec<_>>().join(", ")
        ),
        hint => hint,
    };
    Err(UnknownPolicy { name: name.into(), hint })
}

impl Shipped {
    /// What it is, in one line: the title of its README after the name.
    pub fn about(&self) -> &'static str {
        let title = self.readme.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        title.split_once(": ").map_or(title, |(_, about)| about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_an_object_a_source_and_a_line() {
        let names: Vec<_> = catalog().iter().map(|policy| policy.name).collect();
        for name in ["alb", "cfs", "eevdf", "fcfs", "linux-o1", "mlfq", "rr", "ule", "windows"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(names.is_sorted());
        for policy in catalog() {
            assert!(policy.object.starts_with(b"\x7fELF"), "{}", policy.name);
            assert!(policy.source.contains("SCX_OPS_DEFINE"), "{}", policy.name);
            assert!(policy.readme.starts_with(&format!("# {}: ", policy.name)), "{}", policy.name);
            assert!((10..=100).contains(&policy.about().len()), "{}", policy.about());
        }
    }

    /// Upstream's enumerators as variables are 0 unless upstream's own loader fills them. One of the kernel's own has such
    /// a name, too.
    #[test]
    fn objects_load_with_any_loader_and_tell_no_path() {
        for policy in catalog() {
            let text = String::from_utf8_lossy(policy.object).replace("__SCX_ENQ_INTERNAL_MASK", "");
            for unwanted in ["__SCX_DSQ", "__SCX_SLICE", "__SCX_ENQ", "/home/", "/root/", "/tmp/", env!("OUT_DIR")] {
                assert!(!text.contains(unwanted), "{} contains {unwanted}", policy.name);
            }
        }
    }
}
