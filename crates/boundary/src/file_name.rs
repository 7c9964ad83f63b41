//! Words that become names of files.

use std::fmt;
use std::path::Path;

/// The longest name, in bytes. What is added to it (`.results.json`, the number of a process) fits into 255.
const LONGEST: usize = 100;

/// The name of a file without a folder: letters, digits and some signs, and no dot at its beginning. So it
/// can neither leave the folder it is written to, nor hide, nor be an option of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

/// Why a word is no name of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a file is named after it: write at most {LONGEST} letters, digits, `-`, `_`, `.`, beginning with a letter or digit"
)]
pub struct WrongName;

impl FileName {
    /// The only way to make one.
    ///
    /// # Errors
    ///
    /// The word would be no name.
    pub fn check(word: &str) -> Result<FileName, WrongName> {
        let begins = word.chars().next().is_some_and(char::is_alphanumeric);
        match begins && word.len() <= LONGEST && word.chars().all(is_fit) {
            true => Ok(FileName(word.into())),
            false => Err(WrongName),
        }
    }

    /// A name that says as much of a word as a name can. Of a word that is too long it says which it was, by a number at
    /// its end, so that two such words have two names.
    pub fn made_of(word: &str) -> FileName {
        let fit: String = word.chars().map(|letter| if is_fit(letter) { letter } else { '-' }).collect();
        let fit = fit.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        if fit.len() <= LONGEST {
            return FileName(if fit.is_empty() { "unnamed".into() } else { fit.into() });
        }
        // FNV-1a: the same everywhere.
        let number = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let kept = fit.char_indices().take_while(|(at, letter)| at + letter.len_utf8() <= LONGEST - 17);
        FileName(kept.map(|(_, letter)| letter).collect::<String>() + &format!("-{number:016x}"))
    }

    /// The name with something of ours behind it, as `.json`.
    pub fn with(&self, extension: &str) -> String {
        format!("{}{extension}", self.0)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_fit(letter: char) -> bool {
    letter.is_alphanumeric() || "-_.+@=,:".contains(letter)
}

impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: [&str; 17] = [
        "",
        ".",
        "..",
        "../a",
        "/a",
        "a/b",
        "a/../../b",
        ".hidden",
        "-o",
        "a\0b",
        "a\nb",
        "a b",
        "a\\b",
        "\u{202e}a",
        "~",
        "a\u{1b}",
        "$(x)",
    ];

    #[test]
    fn a_name_stays_in_its_folder() {
        for word in ["happe", "rr-vs-ps", "mixed-8x100", "family_locks.7@2", "größe"] {
            assert_eq!(FileName::check(word).unwrap().with(".md"), format!("{word}.md"));
        }
        for word in WRONG {
            assert_eq!(FileName::check(word), Err(WrongName), "{word:?}");
            let made = FileName::made_of(word);
            assert_eq!(FileName::check(made.as_str()), Ok(made.clone()), "{word:?}");
        }
        assert_eq!(FileName::check(&"n".repeat(101)), Err(WrongName));
        assert_eq!(FileName::made_of("../../etc/passwd").as_str(), "etc-passwd");
        let long = |end: &str| FileName::made_of(&("µ".repeat(200) + end));
        assert!(long("a") != long("b") && FileName::check(long("a").as_str()) == Ok(long("a")));
    }
}
