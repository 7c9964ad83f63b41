//! What a user writes to name a policy: `mlfq`, `rr:quantum=5ms`, `./mine.bpf.c:depth=3`, `exec:./scx_lavd --performance`.

use schedlab_boundary::Shown;
use std::fmt;
use std::path::{Path, PathBuf};

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
    /// A whole scheduler: a program that loads its own object, and its arguments. There is at least one word.
    Program(Vec<String>),
    /// The same as it is when it has loaded its object and is in charge: what it would do later is left out.
    ProgramOnce(Vec<String>),
}

/// Stands before the words of a program.
const PROGRAM: &str = "exec:";
/// Stands before those of a program that does nothing after it has loaded its object.
const PROGRAM_ONCE: &str = "exec-once:";

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is nothing before the colon.
    #[error("policy `{0}`: the name is missing; write NAME, FILE.bpf.c, FILE.bpf.o or \"exec:PROGRAM ARGUMENTS\"")]
    Empty(String),
    /// Words that a shell would not take.
    #[error("policy `{0}`: a quotation mark is not closed")]
    Quotes(String),
    /// A file of a kind that is no policy.
    #[error("policy `{0}`: a policy file ends in .bpf.c (source) or .bpf.o (object)")]
    Extension(String),
    /// A character that no name has.
    #[error("policy `{0}`: a name has letters, digits, `-` and `_`; a file ends in .bpf.c (source) or .bpf.o (object)")]
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
        if let Some(words) = text.strip_prefix(PROGRAM) {
            return Ok(PolicySpec { reference: Reference::Program(program(words, text)?), settings: Vec::new() });
        }
        if let Some(words) = text.strip_prefix(PROGRAM_ONCE) {
            return Ok(PolicySpec { reference: Reference::ProgramOnce(program(words, text)?), settings: Vec::new() });
        }
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
    /// policy before it. A comma between quotation marks ends nothing.
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

    /// The parts of a list: what stands between commas that are outside of parentheses and quotation marks.
    pub fn parts(text: &str) -> Vec<&str> {
        split(text)
    }

    /// Whether a part of a list is by its form a setting, and so belongs to the policy before it.
    pub fn is_setting(part: &str) -> bool {
        let head = part.split(['(', '/', ' ']).next().unwrap_or_default();
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

    /// The file that it names; none where it names a policy that ships.
    pub fn file(&self) -> Option<&Path> {
        match &self.reference {
            Reference::Source(path) | Reference::Object(path) => Some(path),
            Reference::Program(words) | Reference::ProgramOnce(words) => words.first().map(Path::new),
            Reference::Name(_) => None,
        }
    }

    /// The same with paths counted from a folder.
    pub fn beside(&self, folder: &Path) -> PolicySpec {
        let mut spec = self.clone();
        match &mut spec.reference {
            Reference::Source(path) | Reference::Object(path) => *path = folder.join(&*path),
            Reference::Program(words) | Reference::ProgramOnce(words) if words[0].contains('/') => {
                words[0] = folder.join(&words[0]).display().to_string();
            }
            _ => {}
        }
        spec
    }

    /// The policy without its settings: its name, or its file's name without `.bpf.c` or `.bpf.o`.
    pub fn name(&self) -> String {
        match &self.reference {
            Reference::Name(name) => name.clone(),
            Reference::Program(words) | Reference::ProgramOnce(words) => {
                let file = Path::new(&words[0]).file_name().unwrap_or_default().to_string_lossy();
                Shown::name(&file).into_string()
            }
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
            Reference::Program(words) => write!(f, "{PROGRAM}{}", joined(words).ok_or(fmt::Error)?)?,
            Reference::ProgramOnce(words) => write!(f, "{PROGRAM_ONCE}{}", joined(words).ok_or(fmt::Error)?)?,
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

/// Words as a shell would take them, quoted where there is a need; none where that cannot be, for a zero byte.
pub fn joined(words: &[String]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => Some(word.clone()),
        false => Some(shlex::try_quote(word).ok()?.into_owned()),
    };
    Some(words.iter().map(quoted).collect::<Option<Vec<_>>>()?.join(" "))
}

/// The words of a program, split as a shell splits them; nothing is expanded.
fn program(words: &str, text: &str) -> Result<Vec<String>, SpecError> {
    let words = shlex::split(words).ok_or_else(|| SpecError::Quotes(text.into()))?;
    let is_named = words.first().is_some_and(|program| Path::new(program).file_name().is_some());
    // A shell's quotation can hold any character but this one.
    if !is_named || words.iter().any(|word| word.contains('\0')) {
        return Err(SpecError::Empty(text.into()));
    }
    Ok(words)
}

/// Splits at commas that are outside of parentheses and quotation marks.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut quoted) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match c {
            _ if quoted == Some(c) => quoted = None,
            _ if quoted.is_some() => {}
            '\'' | '"' => quoted = Some(c),
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
    fn a_program_has_the_words_that_a_shell_would_give_it() {
        let words = |text| match PolicySpec::parse(text).unwrap().reference {
            Reference::Program(words) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words("exec:scx_lavd"), ["scx_lavd"]);
        let once = PolicySpec::parse("exec-once:./scx_lavd -v").unwrap();
        assert_eq!(once.reference, Reference::ProgramOnce(vec!["./scx_lavd".into(), "-v".into()]));
        assert_eq!((once.name().as_str(), once.to_string().as_str()), ("scx_lavd", "exec-once:./scx_lavd -v"));
        assert_eq!(words("exec: ./a:b/scx_lavd  --slice-max=5 'a b'"), ["./a:b/scx_lavd", "--slice-max=5", "a b"]);
        let text = "rr:quantum=5ms,exec:./scx_layered 'f:a,b=c.json' --x=1,exec:scx_rusty --slice=3,eevdf";
        let list = PolicySpec::parse_list(text).unwrap();
        let names: Vec<String> = list.iter().map(PolicySpec::name).collect();
        assert_eq!(names, ["rr", "scx_layered", "scx_rusty", "eevdf"]);
        let again: Vec<PolicySpec> = list.iter().map(|spec| PolicySpec::parse(&spec.to_string()).unwrap()).collect();
        assert_eq!(again, list);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "the name is missing"),
            (":a=1", "the name is missing"),
            ("./x.txt", "ends in .bpf.c"),
            ("exec:", "the name is missing"),
            ("exec:/ --x", "the name is missing"),
            ("exec:./scx 'a", "is not closed"),
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
