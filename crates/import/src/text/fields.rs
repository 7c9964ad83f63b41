//! `name=value` behind an event's name, in any order, with whatever a vendor put between and behind.

use super::line::number;

/// The fields of an event, of which some names are known.
pub struct Fields<'a> {
    text: &'a str,
    names: &'static [&'static str],
}

impl<'a> Fields<'a> {
    /// `names`: those that the kernel gives to this event.
    pub fn new(text: &'a str, names: &'static [&'static str]) -> Fields<'a> {
        Fields { text, names }
    }

    /// Where the value of a field begins. The last one counts: a task's name in front of it may look like it.
    fn begin(&self, name: &str) -> Option<usize> {
        let mut end = self.text.len();
        while let Some(at) = self.text[..end].rfind(name) {
            let is_whole = at == 0 || self.text.as_bytes()[at - 1] == b' ';
            let behind = at + name.len();
            if is_whole && self.text.as_bytes().get(behind) == Some(&b'=') {
                return Some(behind + 1);
            }
            end = at;
        }
        None
    }

    /// A value without blanks.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        let word = self.text[self.begin(name)?..].split(' ').next()?;
        (!word.is_empty()).then_some(word)
    }

    /// A whole number, as in `12` or, from ftrace's option `fields`, `0xc (12)`.
    pub fn number<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        N::try_from(whole(self.word(name)?)?).ok()
    }

    /// A name of a task or a file, which may hold anything: it ends where the next known field begins.
    pub fn name(&self, name: &str) -> Option<&'a str> {
        let begin = first(self.text, name)?;
        let next = self.names.iter().filter(|other| **other != name);
        let next = next.filter_map(|other| self.begin(other)?.checked_sub(other.len() + 2));
        let end = next.filter(|&end| end >= begin).min().unwrap_or(self.text.len());
        Some(&self.text[begin..end])
    }
}

/// Where the value of a name begins, which is at the front or behind a blank.
fn first(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).find_map(|(at, _)| {
        let is_whole = at == 0 || text.as_bytes()[at - 1] == b' ';
        let value = at + name.len() + 1;
        (is_whole && text.as_bytes().get(value - 1) == Some(&b'=')).then_some(value)
    })
}

/// A whole number, with its sign, in ten digits or sixteen.
pub fn whole(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        // Of 32 bits where the kernel says no more: -1 is 0xffffffff.
        let is_short = digits.len() <= 8;
        return Some(if is_short { i64::from(bits as u32 as i32) } else { bits as i64 });
    }
    match text.strip_prefix('-') {
        Some(digits) => number::<i64>(digits).map(|number| -number),
        None => number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["comm", "pid", "prio", "target_cpu"];

    #[test]
    fn values_are_found_in_any_order_and_amid_others() {
        for text in [
            "comm=a b pid=12 prio=-1 target_cpu=003",
            "comm=a b pid=12 prio=-1 success=1 target_cpu=003 vendor=9",
            "target_cpu=0x3 (3) prio=0xffffffff (-1) pid=0xc (12) comm=a b",
        ] {
            let fields = Fields::new(text, NAMES);
            assert_eq!((fields.name("comm"), fields.number::<i32>("pid")), (Some("a b"), Some(12)), "{text}");
            assert_eq!(
                (fields.number::<i16>("prio"), fields.number::<u32>("target_cpu")),
                (Some(-1), Some(3)),
                "{text}"
            );
            assert_eq!(fields.number::<u32>("prio"), None);
            assert_eq!(fields.word("none"), None);
        }
    }

    #[test]
    fn a_name_may_look_like_a_field() {
        let fields = Fields::new("comm=a pid=2 x pid=12 prio=120", NAMES);
        assert_eq!((fields.name("comm"), fields.number::<i32>("pid")), (Some("a pid=2 x"), Some(12)));
        assert_eq!(Fields::new("", NAMES).name("comm"), None);
        assert_eq!(Fields::new("comm=", NAMES).name("comm"), Some(""));
        assert_eq!(Fields::new("prio=1comm=2", NAMES).name("comm"), None);
    }
}
