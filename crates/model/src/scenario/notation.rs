//! Values that a scenario writes as a string in a notation of their own: `"250ms"`, `"exp(21ms)"`, `"fifo:50"`, `"0-3,8"`.

use crate::{
    cpuset::CpuSet,
    ids::CpuId,
    machine::{MAX_CPUS, Topology},
    reservation::Reservation,
    time::Time,
    workload::Class,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref};

/// How a value is read from a string and written to one. What is written reads back as the same value.
pub trait Notation: Sized {
    /// The name of the type in the schema.
    const NAME: &'static str;
    /// What stands here and how it is written, for people.
    const ABOUT: &'static str;
    /// A regular expression that every right string matches, for editors; reading checks more.
    const PATTERN: &'static str;

    /// Reads the value; the error says what is wrong and what to write instead.
    fn read(text: &str) -> Result<Self, String>;

    /// Writes the value in its shortest form.
    fn write(&self) -> String;

    /// What to say about a bare number.
    fn number(number: &dyn fmt::Display) -> String {
        format!("{number} is a number, but this is {}", Self::ABOUT)
    }

    /// Reads the value from a list of numbers, where the notation has one.
    fn read_list(_: Vec<i64>) -> Result<Self, String> {
        Err(format!("this is not a list but {}", Self::ABOUT))
    }

    /// The schema.
    fn schema() -> Schema {
        json_schema!({ "type": "string", "description": Self::ABOUT, "pattern": Self::PATTERN })
    }
}

/// A value that is a string in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Text<T>(pub T);

impl<T> Deref for Text<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Notation> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.write())
    }
}

impl<'de, T: Notation> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<T>, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData)).map(Text)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<'de, T: Notation> de::Visitor<'de> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::ABOUT)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(T::number(&number)))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Err(E::custom(T::number(&number)))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(T::number(&number)))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        let mut numbers = Vec::new();
        while let Some(number) = list.next_element()? {
            numbers.push(number);
        }
        T::read_list(numbers).map_err(de::Error::custom)
    }
}

impl<T: Notation> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl Notation for Class {
    const NAME: &'static str = "Class";
    const ABOUT: &'static str = "a scheduling class: other, batch, idle, fifo and rr with a priority from 1 to 99 as in \"fifo:50\", or deadline \
         with what it reserves as in \"deadline:6ms/20ms\" (runtime, period) and \"deadline:6ms/15ms/20ms\" (runtime, \
         deadline, period)";
    const PATTERN: &'static str = "^(other|batch|idle|(fifo|rr):[1-9][0-9]?|deadline:[^/]+(/[^/]+){1,2})$";

    fn read(text: &str) -> Result<Class, String> {
        let wrong = || {
            format!(
                "`{text}` is not a scheduling class: write other, batch, idle, \"fifo:50\", \"rr:10\" or \"deadline:6ms/20ms\""
            )
        };
        match text {
            "other" => return Ok(Class::Other),
            "batch" => return Ok(Class::Batch),
            "idle" => return Ok(Class::Idle),
            "fifo" | "rr" => return Err(format!("`{text}` needs a priority from 1 to 99: write \"{text}:10\"")),
            "deadline" => return Err(RESERVES.into()),
            _ => {}
        }
        if let Some(reservation) = text.strip_prefix("deadline:") {
            return reserved(reservation).map(Class::Deadline);
        }
        let (name, priority) = text.split_once(':').ok_or_else(wrong)?;
        let class = match name {
            "fifo" => Class::Fifo,
            "rr" => Class::RoundRobin,
            _ => return Err(wrong()),
        };
        match priority.parse() {
            Ok(priority @ 1..=99) => Ok(class(priority)),
            _ => Err(format!("`{priority}` is not a real-time priority: write one from 1 (low) to 99 (high)")),
        }
    }

    fn write(&self) -> String {
        match self {
            Class::Other => "other".into(),
            Class::Batch => "batch".into(),
            Class::Idle => "idle".into(),
            Class::Fifo(priority) => format!("fifo:{priority}"),
            Class::RoundRobin(priority) => format!("rr:{priority}"),
            Class::Deadline(reservation) => {
                let (runtime, deadline, period) = (reservation.runtime(), reservation.deadline(), reservation.period());
                let deadline = if deadline == period { String::new() } else { format!("/{deadline}") };
                format!("deadline:{runtime}{deadline}/{period}")
            }
        }
    }
}

/// How the class deadline is written.
const RESERVES: &str = "`deadline` needs what it reserves: write \"deadline:6ms/20ms\" for 6 ms of each 20 ms, or \
                        \"deadline:6ms/15ms/20ms\" where they have to be had within 15 ms";

/// What a task of the class deadline reserves: runtime and period, or runtime, deadline and period.
fn reserved(text: &str) -> Result<Reservation, String> {
    let times = text.split('/').map(Time::read).collect::<Result<Vec<_>, _>>()?;
    match times[..] {
        [runtime, period] => Reservation::new(runtime, period, period),
        [runtime, deadline, period] => Reservation::new(runtime, deadline, period),
        _ => Err(RESERVES.into()),
    }
}

impl Notation for CpuSet {
    const NAME: &'static str = "CpuSet";
    const ABOUT: &'static str = "a set of CPUs, as \"0-3,8\" or [0, 1, 2, 3, 8]";
    const PATTERN: &'static str = r"^\s*[0-9]+(-[0-9]+)?(\s*,\s*[0-9]+(-[0-9]+)?)*\s*$";

    fn read(text: &str) -> Result<CpuSet, String> {
        if text.trim().is_empty() {
            return Err(EMPTY_SET.into());
        }
        let cpu = |word: &str| {
            let word = word.trim();
            word.parse::<u32>()
                .ok()
                .filter(|_| word.bytes().all(|b| b.is_ascii_digit()))
                .ok_or_else(|| format!("`{word}` in `{text}` is no CPU number: write ranges as in \"0-3,8\""))
        };
        let mut set = CpuSet::default();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (cpu(first)?, cpu(last)?);
            if first > last {
                return Err(format!("`{range}` is an empty range: write the lower CPU first"));
            }
            known_cpu(last.into())?;
            (first..=last).for_each(|cpu| set.insert(CpuId(cpu)));
        }
        Ok(set)
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn number(number: &dyn fmt::Display) -> String {
        format!("a set of CPUs is a string or a list: write \"{number}\" or [{number}]")
    }

    fn read_list(numbers: Vec<i64>) -> Result<CpuSet, String> {
        if numbers.is_empty() {
            return Err(EMPTY_SET.into());
        }
        numbers.into_iter().map(known_cpu).collect()
    }

    fn schema() -> Schema {
        json_schema!({
            "description": Self::ABOUT,
            "anyOf": [
                { "type": "string", "pattern": Self::PATTERN },
                { "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 0, "maximum": MAX_CPUS - 1 } },
            ],
        })
    }
}

const EMPTY_SET: &str = "the set of CPUs is empty: name at least one, or leave the key out for all";

/// A CPU number that some machine can have.
fn known_cpu(number: i64) -> Result<CpuId, String> {
    match u32::try_from(number) {
        Ok(cpu) if cpu < MAX_CPUS => Ok(CpuId(cpu)),
        _ => Err(format!("there is no CPU {number}: CPUs are numbered from 0 to at most {}", MAX_CPUS - 1)),
    }
}

impl Notation for Topology {
    const NAME: &'static str = "Topology";
    const ABOUT: &'static str = "nodes, last-level caches of each, cores of each, threads of each, as in \"1n2l4c2t\"";
    const PATTERN: &'static str = "^[0-9]+n[0-9]+l[0-9]+c[0-9]+t$";

    fn read(text: &str) -> Result<Topology, String> {
        let wrong = || format!("`{text}` is not a topology: write {}", Self::ABOUT);
        let mut rest = text;
        let mut part = |letter: char| {
            let (number, after) = rest.split_once(letter).ok_or_else(wrong)?;
            rest = after;
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            number.parse::<u32>().ok().filter(|_| digits).ok_or_else(wrong)
        };
        let topology = Topology {
            nodes: part('n')?,
            llcs_per_node: part('l')?,
            cores_per_llc: part('c')?,
            threads_per_core: part('t')?,
        };
        if !rest.is_empty() {
            return Err(wrong());
        }
        let parts = [topology.nodes, topology.llcs_per_node, topology.cores_per_llc, topology.threads_per_core];
        let cpus = parts.iter().try_fold(1u32, |product, &part| product.checked_mul(part));
        match cpus {
            Some(1..=MAX_CPUS) => Ok(topology),
            Some(0) => Err(format!("`{text}` has no CPU: every part is at least 1")),
            _ => Err(format!("`{text}` has too many CPUs: a machine has from 1 to {MAX_CPUS}")),
        }
    }

    fn write(&self) -> String {
        format!("{}n{}l{}c{}t", self.nodes, self.llcs_per_node, self.cores_per_llc, self.threads_per_core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_read_back_as_they_were_written() {
        for class in [Class::Other, Class::Batch, Class::Idle, Class::Fifo(99), Class::RoundRobin(1)] {
            assert_eq!(Class::read(&class.write()), Ok(class));
        }
        for text in ["deadline:6ms/20ms", "deadline:6ms/15ms/20ms"] {
            assert_eq!(Class::read(text).map(|class| class.write()).as_deref(), Ok(text));
        }
        for text in ["deadline", "deadline:6ms", "deadline:", "deadline:6ms/5ms", "deadline:1ms/2ms/3ms/4ms"] {
            assert!(Class::read(text).is_err(), "{text}");
        }
        for (text, part) in
            [("fifo", "priority"), ("rr:0", "from 1"), ("fifo:100", "to 99"), ("cfs", "not a scheduling")]
        {
            assert!(Class::read(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn cpu_sets_come_as_ranges_and_lists() {
        assert_eq!(CpuSet::read("0-3, 8").unwrap().write(), "0-3,8");
        assert_eq!(CpuSet::read_list(vec![8, 0, 1]).unwrap().write(), "0-1,8");
        for text in ["", "a", "3-1", "-1", "1-", "4096", "0-99999999", "+1", "1,,2"] {
            assert!(CpuSet::read(text).is_err(), "{text}");
        }
        assert!(CpuSet::read_list(vec![-1]).is_err());
        assert!(CpuSet::read_list(vec![]).is_err());
    }

    #[test]
    fn topologies_have_from_1_to_4096_cpus() {
        let t = Topology::read("2n2l4c2t").unwrap();
        assert_eq!((t.cpus(), t.write().as_str()), (32, "2n2l4c2t"));
        for text in ["2n2l4c", "2n2l4c2t1", "0n1l1c1t", "64n64l2c1t", "99999n99999l9c9t", "+1n1l1c1t", "n1l1c1t"] {
            assert!(Topology::read(text).is_err(), "{text}");
        }
    }
}
