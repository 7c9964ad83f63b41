//! Numbers with their nouns, as sentences have them.

use std::fmt::Display;

/// `1 run`, `2 runs`: a number of things whose noun has a regular plural.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if noun.ends_with('s') { "es" } else { "s" };
    numbered(count, noun, &format!("{noun}{ending}"))
}

/// The same where more than the noun differs: `1 run was`, `2 runs were`.
pub fn numbered<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let words = if count == N::from(1) { one } else { many };
    format!("{count} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0_u32, 1, 2].map(|count| counted(count, "CPU")), ["0 CPUs", "1 CPU", "2 CPUs"]);
        assert_eq!([counted(1_u64, "process"), counted(3_u64, "process")], ["1 process", "3 processes"]);
        assert_eq!([1.0, 1.5].map(|count| numbered(count, "run was", "runs were")), ["1 run was", "1.5 runs were"]);
    }
}
