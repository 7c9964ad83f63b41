//! Words of commands that a user may paste into a shell.

/// A word of a command, in quotation marks where a shell needs them.
pub fn quoted(word: &str) -> String {
    if is_plain(word) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether a shell takes a word as it is.
pub fn is_plain(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./,:=@+%".contains(letter);
    !word.is_empty() && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_needs_it() {
        assert_eq!([quoted("rr:quantum=5ms,cfs"), quoted("a b"), quoted("")], ["rr:quantum=5ms,cfs", "'a b'", "''"]);
        assert_eq!(quoted("my 'own' gate.toml"), r"'my '\''own'\'' gate.toml'");
    }
}
