//! Parameters of a policy: `const volatile` globals of its object, described by declaration tags.
//!
//! The tag is written by the macro `PARAMETER` of `policies/include/schedlab/common.bpf.h`, which also says what each
//! key means. A foreign object has no tags; its globals can be set all the same, as plain numbers.

use crate::{known, value};
use schedlab_model::fact::{Fact, Form};
use schedlab_model::result;
use schedlab_model::scenario::nanoseconds;

/// A `const volatile` global as it is in an object.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type as C writes it, such as `u64` or `unsigned int`.
    pub c_type: &'a str,
    /// Its default value, little-endian; its length is the variable's size.
    pub default: &'a [u8],
    /// The texts of its declaration tags.
    pub tags: &'a [String],
}

/// What kind of number a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not negative.
    Unsigned,
    /// Two's complement.
    Signed,
    /// 0 or 1.
    Boolean,
    /// A structure, an array, a pointer: it cannot be set from a text.
    Other,
}

/// What a parameter is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; written with a unit of time.
    Nanoseconds,
    /// A plain number.
    Plain,
}

/// One word that a parameter may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub word: String,
    /// The parameter that an argument in parentheses sets, if the word takes one.
    pub argument: Option<String>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The variable's name.
    pub name: String,
    /// Its type as C writes it.
    pub c_type: String,
    /// What kind of number it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: usize,
    /// What it is measured in.
    pub unit: Unit,
    /// The smallest and the largest value that make sense, both allowed.
    pub range: Option<(i128, i128)>,
    /// The words it may be; its value is a word's place in the list. Empty when it is a number.
    pub choices: Vec<Choice>,
    /// The default value; zero for [`Kind::Other`].
    pub default: i128,
    /// What it is.
    pub about: String,
    /// What it describes of the machine. The venue fills it in unless the user sets it.
    pub machine: Option<Fact>,
}

/// What a text stands for: a value, and with a word that takes an argument the other parameter and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed<'p, 't> {
    pub value: i128,
    pub argument: Option<(&'p str, &'t str)>,
}

/// Something is wrong with a parameter or with what a user wants to set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A tag in an object that does not follow the rules.
    #[error("parameter `{name}`: its declaration tag is wrong: {why}")]
    Tag {
        /// The parameter.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A value that cannot be.
    #[error("parameter `{name}`: {why}")]
    Value {
        /// The parameter.
        name: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// The policy has no such parameter.
    #[error("there is no parameter `{name}`{hint}")]
    Unknown {
        /// What the user wrote.
        name: String,
        /// The likely name, or the list of all.
        hint: String,
    },
}

/// The parameters among an object's globals, in the object's order. What upstream's headers declare for their own
/// loader is left out.
pub fn parameters(declarations: &[Declaration]) -> Result<Vec<Parameter>, ParameterError> {
    let ours = |d: &&Declaration| !d.name.starts_with("__SCX_") && !d.name.starts_with("scx_lib_");
    declarations.iter().filter(ours).map(Parameter::from_declaration).collect()
}

impl Parameter {
    fn from_declaration(declaration: &Declaration) -> Result<Parameter, ParameterError> {
        let (kind, size) = (kind(declaration.c_type, declaration.default.len()), declaration.default.len());
        let mut parameter = Parameter {
            name: declaration.name.into(),
            c_type: declaration.c_type.into(),
            kind,
            size,
            unit: Unit::Plain,
            range: None,
            choices: Vec::new(),
            default: decode(kind, declaration.default),
            about: String::new(),
            machine: None,
        };
        if let Some(text) = declaration.tags.iter().find_map(|tag| tag.strip_prefix("parameter ")) {
            parameter.describe(text).map_err(|why| ParameterError::Tag { name: declaration.name.into(), why })?;
        } else if let Some(fact) = parameter.form().and_then(|form| known::fact(declaration.name, form.elements > 1)) {
            parameter.machine = Some(fact);
            parameter.about = format!("unless it is set: {}", fact.about());
        }
        Ok(parameter)
    }

    /// How it stores what it holds; none for structures and pointers.
    pub fn form(&self) -> Option<Form> {
        let (base, lengths) = self.c_type.split_once('[').unwrap_or((&self.c_type, ""));
        let lengths = lengths.split(['[', ']']).filter(|length| !length.is_empty());
        let lengths: Vec<usize> = lengths.map(str::parse).collect::<Result<_, _>>().ok()?;
        let elements = lengths.iter().try_fold(1_usize, |product, length| product.checked_mul(*length))?;
        let element_bytes = self.size.checked_div(elements).filter(|bytes| bytes * elements == self.size)?;
        let rows = if lengths.len() > 1 { lengths[0] } else { 1 };
        (kind(base.trim(), element_bytes) != Kind::Other).then_some(Form { element_bytes, elements, rows })
    }

    /// Takes over what a tag says.
    fn describe(&mut self, mut text: &str) -> Result<(), String> {
        while !text.trim_start().is_empty() {
            let (key, rest) = text.trim_start().split_once('=').ok_or(format!("`{text}` is not KEY=VALUE"))?;
            if key == "about" {
                self.about = rest.trim().into();
                return Ok(());
            }
            let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            match key {
                "unit" if word == "ns" => self.unit = Unit::Nanoseconds,
                "range" => self.range = Some(self.bounds(word)?),
                "machine" => self.machine = Some(self.fact(word)?),
                "choices" => self.choices = word.split(',').map(choice).collect::<Result<_, _>>()?,
                _ => return Err(format!("`{key}={word}` is not known")),
            }
            text = rest;
        }
        Ok(())
    }

    fn fact(&self, word: &str) -> Result<Fact, String> {
        let fact = Fact::from_name(word).ok_or(format!("`{word}` is not a fact about a machine"))?;
        let fits = self.form().is_some_and(|form| fact.is_list() == (form.elements > 1));
        fits.then_some(fact).ok_or(format!("`{word}` does not fit into a `{}`", self.c_type))
    }

    fn bounds(&self, word: &str) -> Result<(i128, i128), String> {
        let (least, greatest) = word.split_once("..").ok_or(format!("`{word}` is not LEAST..GREATEST"))?;
        let bounds = (self.number(least)?, self.number(greatest)?);
        if bounds.0 > bounds.1 { Err(format!("`{word}` is empty")) } else { Ok(bounds) }
    }

    /// Reads one value, and the value of another parameter when the word takes an argument.
    pub(crate) fn parse<'t>(&self, text: &'t str) -> Result<Parsed<'_, 't>, ParameterError> {
        if !self.choices.is_empty() {
            return self.choose(text);
        }
        let value = self.number(text).map_err(|why| self.wrong(why))?;
        let (least, greatest) = self.range.unwrap_or(self.limits());
        if (least..=greatest).contains(&value) {
            return Ok(Parsed { value, argument: None });
        }
        Err(self.wrong(format!("{text} is outside of {} to {}", self.show(least), self.show(greatest))))
    }

    fn choose<'t>(&self, text: &'t str) -> Result<Parsed<'_, 't>, ParameterError> {
        let (word, argument) = match text.split_once('(') {
            Some((word, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| self.wrong(format!("`{text}` lacks a `)`")))?;
                (word, Some(inner))
            }
            None => (text, None),
        };
        let Some(place) = self.choices.iter().position(|choice| choice.word == word) else {
            let words: Vec<_> = self.choices.iter().map(|choice| choice.word.as_str()).collect();
            return Err(self.wrong(format!("`{word}` is none of {}", words.join(", "))));
        };
        let argument = match (&self.choices[place].argument, argument) {
            (_, None) => None,
            (Some(other), Some(text)) => Some((other.as_str(), text)),
            (None, Some(_)) => return Err(self.wrong(format!("`{word}` takes nothing in parentheses"))),
        };
        Ok(Parsed { value: place as i128, argument })
    }

    fn number(&self, text: &str) -> Result<i128, String> {
        match (self.kind, self.unit) {
            (Kind::Other, _) => Err(format!("it is a `{}`, which cannot be set from a text", self.c_type)),
            (Kind::Boolean, _) => value::boolean(text),
            (_, Unit::Nanoseconds) => nanoseconds(text),
            // A foreign object says no units; many say them in the name.
            _ if self.name.ends_with("_ns") => value::integer(text).or_else(|_| nanoseconds(text)),
            _ => value::integer(text),
        }
    }

    /// What fits into the variable.
    fn limits(&self) -> (i128, i128) {
        let bits = 8 * self.size as u32;
        match self.kind {
            Kind::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Kind::Unsigned => (0, (1 << bits) - 1),
            Kind::Boolean | Kind::Other => (0, 1),
        }
    }

    /// A value as a user would write it.
    pub fn show(&self, value: i128) -> String {
        let word = usize::try_from(value).ok().and_then(|place| self.choices.get(place));
        match (word, self.kind, self.unit) {
            (Some(choice), ..) => choice.word.clone(),
            (None, Kind::Boolean, _) => (value != 0).to_string(),
            (None, Kind::Other, _) => self.c_type.clone(),
            (None, _, Unit::Nanoseconds) => value::show_time(value),
            _ => value.to_string(),
        }
    }

    /// A value in a result, as a user would write it. Without a declaration nothing is known of its unit.
    pub fn shown(declared: Option<&Parameter>, value: &result::Parameter) -> String {
        use result::Parameter::{Flag, Signed, Text, Unsigned};
        match (declared, value) {
            (Some(parameter), Unsigned(number)) => parameter.show((*number).into()),
            (Some(parameter), Signed(number)) => parameter.show((*number).into()),
            (_, Unsigned(number)) => number.to_string(),
            (_, Signed(number)) => number.to_string(),
            (_, Flag(flag)) => flag.to_string(),
            (_, Text(text)) => text.clone(),
        }
    }

    /// What it may be, in words.
    pub fn values(&self) -> String {
        if !self.choices.is_empty() {
            let words = self.choices.iter().map(|choice| match &choice.argument {
                Some(argument) => format!("{}({argument})", choice.word),
                None => choice.word.clone(),
            });
            return words.collect::<Vec<_>>().join(", ");
        }
        match self.range {
            Some((least, greatest)) => format!("{} to {}", self.show(least), self.show(greatest)),
            None => self.c_type.clone(),
        }
    }

    /// The variable's bytes for a value.
    pub fn encode(&self, value: i128) -> Vec<u8> {
        value.to_le_bytes()[..self.size].to_vec()
    }

    fn wrong(&self, why: String) -> ParameterError {
        ParameterError::Value { name: self.name.clone(), why }
    }
}

fn choice(word: &str) -> Result<Choice, String> {
    match word.split_once('(') {
        None => Ok(Choice { word: word.into(), argument: None }),
        Some((word, rest)) => {
            let other = rest.strip_suffix(')').ok_or(format!("`{word}(` lacks a `)`"))?;
            Ok(Choice { word: word.into(), argument: Some(other.into()) })
        }
    }
}

fn kind(c_type: &str, size: usize) -> Kind {
    let name = c_type.trim_start_matches("const ").trim_start_matches("volatile ");
    let whole = !name.contains(['*', '[']) && !name.starts_with("struct ") && !name.starts_with("union ");
    if !whole || !matches!(size, 1 | 2 | 4 | 8) || matches!(name, "float" | "double") {
        return Kind::Other;
    }
    match name {
        "bool" | "_Bool" => Kind::Boolean,
        _ if name.starts_with('u') || name.starts_with("__u") || name == "size_t" => Kind::Unsigned,
        _ => Kind::Signed,
    }
}

fn decode(kind: Kind, bytes: &[u8]) -> i128 {
    let negative = kind == Kind::Signed && bytes.last().is_some_and(|&top| top >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    match kind {
        Kind::Other => 0,
        _ => {
            wide[..bytes.len()].copy_from_slice(bytes);
            i128::from_le_bytes(wide)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, c_type: &str, default: &[u8], tag: &str) -> Result<Parameter, ParameterError> {
        let tags = [tag.to_string()];
        Ok(parameters(&[Declaration { name, c_type, default, tags: &tags }])?.remove(0))
    }

    fn plain(value: i128) -> Result<Parsed<'static, 'static>, ParameterError> {
        Ok(Parsed { value, argument: None })
    }

    #[test]
    fn a_tag_gives_unit_range_and_meaning() {
        let tag = "parameter unit=ns range=1us..10s about=How long, at most = or so.";
        let quantum = one("quantum", "u64", &100_000_000_u64.to_le_bytes(), tag).unwrap();
        assert_eq!((quantum.unit, quantum.range), (Unit::Nanoseconds, Some((1_000, 10_000_000_000))));
        assert_eq!(
            (quantum.show(quantum.default).as_str(), quantum.about.as_str()),
            ("100ms", "How long, at most = or so.")
        );
        assert_eq!(quantum.parse("10ms"), plain(10_000_000));
        // The units are those of options and scenarios.
        assert_eq!(quantum.parse("0.1min"), plain(6_000_000_000));
        assert_eq!(quantum.encode(10_000_000), 10_000_000_u64.to_le_bytes());
    }

    #[test]
    fn facts_about_the_machine_are_known_by_their_names_unless_they_are_described() {
        let fact = |name, c_type, tag| one(name, c_type, &[1, 0, 0, 0], tag).unwrap().machine;
        assert_eq!(fact("nr_cpu_ids", "u32", ""), Some(Fact::Cpus));
        assert_eq!(fact("num_possible_cpus", "s32", ""), Some(Fact::Cpus));
        assert_eq!(fact("nr_llcs", "unsigned int", ""), Some(Fact::Llcs));
        assert_eq!(fact("cpu_llc_id_map", "u8[4]", ""), Some(Fact::LlcOfCpu));
        assert_eq!(fact("all_cpus", "unsigned char[4]", ""), Some(Fact::OnlineCpus));
        assert_eq!(fact("nr_cpus_max", "u32", ""), None);
        assert_eq!((fact("nr_cpus", "u8[4]", ""), fact("cpu_llc_id_map", "u32", "")), (None, None));
        assert_eq!(fact("nr_cpus", "u32", "parameter about=How many CPUs it may use."), None);
    }

    #[test]
    fn a_tag_may_name_a_fact_about_the_machine() {
        let fact = |c_type, bytes: &[u8], text| one("x", c_type, bytes, text).map(|parameter| parameter.machine);
        assert_eq!(fact("u32", &[0; 4], "parameter machine=cores_per_llc about=x"), Ok(Some(Fact::CoresPerLlc)));
        assert_eq!(fact("u32[8]", &[0; 32], "parameter machine=llc_of_cpu about=x"), Ok(Some(Fact::LlcOfCpu)));
        for (c_type, bytes, tag) in [
            ("u32", &[0; 4][..], "parameter machine=llc_of_cpu"),
            ("u32[8]", &[0; 32], "parameter machine=cpus"),
            ("u32", &[0; 4], "parameter machine=engines"),
        ] {
            assert!(matches!(fact(c_type, bytes, tag), Err(ParameterError::Tag { .. })), "{c_type} {tag}");
        }
    }

    #[test]
    fn arrays_are_rows_of_elements() {
        let form = |c_type, size| one("x", c_type, &vec![0; size], "").unwrap().form();
        let of = |element_bytes, elements, rows| Some(Form { element_bytes, elements, rows });
        assert_eq!((form("u64", 8), form("bool", 1)), (of(8, 1, 1), of(1, 1, 1)));
        assert_eq!((form("u32[16]", 64), form("u64[4][2]", 64)), (of(4, 16, 1), of(8, 8, 4)));
        assert_eq!((form("struct x", 8), form("struct x[2]", 8), form("u64[3]", 8)), (None, None, None));
    }

    #[test]
    fn values_out_of_range_or_without_unit_are_refused() {
        let tag = "parameter unit=ns range=1us..10s";
        let quantum = one("quantum", "u64", &[0; 8], tag).unwrap();
        for (text, part) in [("5", "write \"5ms\""), ("11s", "outside of 1us to 10s"), ("0ms", "outside"), ("ten", "")]
        {
            let error = quantum.parse(text).unwrap_err().to_string();
            assert!(error.starts_with("parameter `quantum`: ") && error.contains(part), "{error}");
        }
        let flag = one("flag", "bool", &[1], "").unwrap();
        assert_eq!((flag.parse("off"), flag.show(1)), (plain(0), "true".into()));
        let small = one("small", "s8", &[0xff], "").unwrap();
        assert_eq!((small.default, small.parse("-128")), (-1, plain(-128)));
        assert!(small.parse("128").is_err());
    }

    #[test]
    fn a_word_may_set_another_parameter() {
        let starve = one("starve", "u32", &[0; 4], "parameter choices=none,ts1s,age(age_after) about=x").unwrap();
        assert_eq!(starve.parse("ts1s"), plain(1));
        assert_eq!(starve.parse("age(50ms)"), Ok(Parsed { value: 2, argument: Some(("age_after", "50ms")) }));
        assert_eq!(starve.show(2), "age");
        for (text, part) in
            [("sometimes", "none of none, ts1s, age"), ("ts1s(3)", "nothing in paren"), ("age(3", "lacks")]
        {
            let error = starve.parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn foreign_globals_are_plain_numbers_and_upstreams_own_stay_out() {
        let slice = one("slice_ns", "unsigned long long", &[0; 8], "arg:other").unwrap();
        assert_eq!((slice.parse("5000"), slice.parse("5us")), (plain(5000), plain(5000)));
        let table = one("table", "u32[4]", &[0; 16], "").unwrap();
        assert!(table.parse("1").unwrap_err().to_string().contains("cannot be set"));
        let hidden = Declaration { name: "__SCX_DSQ_LOCAL", c_type: "u64", default: &[0; 8], tags: &[] };
        assert_eq!(parameters(&[hidden]), Ok(vec![]));
    }

    #[test]
    fn a_wrong_tag_is_named() {
        for tag in [
            "parameter unit=h",
            "parameter range=5",
            "parameter range=9..1",
            "parameter words",
            "parameter choices=a(b",
        ] {
            assert!(matches!(one("x", "u64", &[0; 8], tag), Err(ParameterError::Tag { .. })), "{tag}");
        }
    }

    /// The tags are in the objects as plain text.
    #[test]
    fn the_tags_of_shipped_policies_are_right() {
        let mut count = 0;
        for policy in crate::catalog() {
            let texts = policy.object.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
            for tag in texts.filter(|text| text.starts_with("parameter ")) {
                let parameter = one("x", "u64", &[0; 8], tag).unwrap_or_else(|error| panic!("{tag}: {error}"));
                assert!(parameter.about.ends_with('.'), "{tag}");
                count += 1;
            }
        }
        assert!(count >= 16, "{count}");
    }
}
