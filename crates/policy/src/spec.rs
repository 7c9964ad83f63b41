//! What a user writes to name a policy: `mlfq`, `rr:quantum=5ms`, `./mine.bpf.c:depth=3`.

use schedlab_gate::Shown;
use std::fmt;
use std::path::PathBuf;

/// A policy and its settings, as written and not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// Which policy.
    pub reference: Reference,
    /// `key=value` pairs in the order given; no key is there twice.
    pub settings: Vec<(String, String)>,
}

/// Where a policy is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// By name: a shipped policy, or what a venue knows by that name.
    Name(String),
    /// A source file in C.
    Source(PathBuf),
    /// A BPF object.
    Object(PathBuf),
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is nothing before the colon.
    #[error("policy `{0}`: the name is missing; write NAME, FILE.bpf.c or FILE.bpf.o")]
    Empty(String),
    /// A file of a kind that is no policy.
    #[error("policy `{0}`: a policy file ends in .bpf.c (source) or .bpf.o (object)")]
    Extension(String),
    /// A character that no name has.
    #[error("policy `{0}`: a name has letters, digits, `-` and `_`; a file needs its folder, as in ./{0}")]
    Name(String),
    /// A setting without a value.
    #[error("policy `{policy}`: setting `{setting}` is not of the form KEY=VALUE")]
    Setting {
        /// The whole text.
        policy: String,
        /// The part that is wrong.
        setting: String,
    },
    /// A key that is set twice.
    #[error("policy `{policy}`: `{key}` is set twice")]
    Twice {
        /// The whole text.
        policy: String,
        /// The key.
        key: String,
    },
}

impl PolicySpec {
    /// Reads one policy with its settings.
    pub fn parse(text: &str) -> Result<PolicySpec, SpecError> {
        // A colon in a folder's name is no separator.
        let file = text.split(['=', ',']).next().unwrap_or_default().rfind('/').map_or(0, |slash| slash + 1);
        let colon = text[file..].find(':').map(|at| file + at);
        let (name, settings) = colon.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let mut spec = PolicySpec { reference: reference(name, text)?, settings: Vec::new() };
        for setting in split(settings).into_iter().filter(|setting| !setting.is_empty()) {
            spec.set(setting, text)?;
        }
        Ok(spec)
    }

    /// Reads a list: `fcfs,rr:quantum=5ms,mlfq:levels=20,step=10ms`. A part that is a setting by its form belongs to the
    /// policy before it.
    pub fn parse_list(text: &str) -> Result<Vec<PolicySpec>, SpecError> {
        let mut specs: Vec<PolicySpec> = Vec::new();
        for part in PolicySpec::parts(text) {
            match specs.last_mut() {
                Some(spec) if PolicySpec::is_setting(part) && !spec.settings.is_empty() => spec.set(part, text)?,
                _ => specs.push(PolicySpec::parse(part)?),
            }
        }
        Ok(specs)
    }

    /// The parts of a list: what stands between commas that are not inside of parentheses.
    pub fn parts(text: &str) -> Vec<&str> {
        split(text)
    }

    /// Whether a part of a list is by its form a setting, and so belongs to the policy before it.
    pub fn is_setting(part: &str) -> bool {
        let head = part.split(['(', '/']).next().unwrap_or_default();
        head.find('=').is_some_and(|equals| head.find(':').is_none_or(|colon| equals < colon))
    }

    fn set(&mut self, setting: &str, text: &str) -> Result<(), SpecError> {
        let policy = text.to_string();
        let pair = setting.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let Some((key, value)) = pair else { return Err(SpecError::Setting { policy, setting: setting.into() }) };
        if self.settings.iter().any(|(other, _)| other == key) {
            return Err(SpecError::Twice { policy, key: key.into() });
        }
        self.settings.push((key.into(), value.into()));
        Ok(())
    }

    /// The policy without its settings: its name, or its file's name without `.bpf.c` or `.bpf.o`.
    pub fn name(&self) -> String {
        match &self.reference {
            Reference::Name(name) => name.clone(),
            Reference::Source(path) | Reference::Object(path) => {
                let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                let stem = file.trim_end_matches(".c").trim_end_matches(".o").trim_end_matches(".bpf");
                Shown::name(stem).into_string()
            }
        }
    }
}

/// As the user would write it.
impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reference {
            Reference::Name(name) => f.write_str(name)?,
            Reference::Source(path) | Reference::Object(path) => write!(f, "{}", path.display())?,
        }
        for (index, (key, value)) in self.settings.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

fn reference(name: &str, text: &str) -> Result<Reference, SpecError> {
    if name.is_empty() {
        return Err(SpecError::Empty(text.into()));
    }
    if name.ends_with(".c") {
        return Ok(Reference::Source(name.into()));
    }
    if name.ends_with(".o") {
        return Ok(Reference::Object(name.into()));
    }
    if name.contains('/') {
        return Err(SpecError::Extension(name.into()));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Err(SpecError::Name(name.into()));
    }
    Ok(Reference::Name(name.into()))
}

/// Splits at commas that are not inside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(spec: &PolicySpec) -> Vec<String> {
        spec.settings.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[test]
    fn reads_names_files_and_settings() {
        let spec = PolicySpec::parse("mlfq:levels=20,step=10ms").unwrap();
        assert_eq!(spec.reference, Reference::Name("mlfq".into()));
        assert_eq!(pairs(&spec), ["levels=20", "step=10ms"]);

        let spec = PolicySpec::parse("mlfq:starve=age(a,b),nice=range").unwrap();
        assert_eq!(pairs(&spec), ["starve=age(a,b)", "nice=range"]);

        let spec = PolicySpec::parse("./odd:dir/mine.bpf.c:depth=3").unwrap();
        assert_eq!(spec.reference, Reference::Source("./odd:dir/mine.bpf.c".into()));
        assert_eq!((spec.name().as_str(), pairs(&spec)), ("mine", vec!["depth=3".to_string()]));

        let spec = PolicySpec::parse("their.bpf.o").unwrap();
        assert_eq!((spec.reference.clone(), spec.name()), (Reference::Object("their.bpf.o".into()), "their".into()));
    }

    #[test]
    fn a_list_gives_settings_to_the_policy_before_them() {
        let list = PolicySpec::parse_list("fcfs,rr:quantum=5ms,mlfq:levels=20,step=10ms,./x.bpf.c").unwrap();
        let shown: Vec<_> = list.iter().map(PolicySpec::to_string).collect();
        assert_eq!(shown, ["fcfs", "rr:quantum=5ms", "mlfq:levels=20,step=10ms", "./x.bpf.c"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "the name is missing"),
            (":a=1", "the name is missing"),
            ("./x.txt", "ends in .bpf.c"),
            ("a b", "letters, digits"),
            ("rr:quantum", "`quantum` is not of the form"),
            ("rr:=5", "`=5` is not of the form"),
            ("rr:a=1,a=2", "`a` is set twice"),
            ("rr,quantum=5ms", "letters, digits"),
        ] {
            let error = PolicySpec::parse_list(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_reads_back(name in "[a-z][a-z0-9_-]{0,8}", settings in proptest::collection::btree_map("[a-z_]{1,6}", "[a-z0-9.()]{1,6}", 0..4)) {
            let spec = PolicySpec { reference: Reference::Name(name), settings: settings.into_iter().collect() };
            let balanced = |v: &str| v.matches('(').count() == v.matches(')').count() && !v.starts_with(')');
            proptest::prop_assume!(spec.settings.iter().all(|(_, v)| balanced(v)));
            proptest::prop_assert_eq!(PolicySpec::parse(&spec.to_string()).unwrap(), spec);
        }
    }
}
