//! Names inside of sentences, as markup: scenarios and recordings give them, so that they may be of any script and length.
//!
//! A number or a sign next to a name that is written from right to left would take its direction: of `عامل −5.1 ms` a
//! browser shows the sign behind the number. So such names are isolated from their surroundings. Words that are very
//! long are cut on a screen, not on paper, and have themselves as titles.

use crate::parts::escaped;

/// What stands before or behind a name and is none of it.
const AROUND: &[char] = &['(', ')', ',', ';', ':', '.', '!', '?', '"', '\''];

/// Longer words than this are cut.
const LONGEST: usize = 60;

/// A text as markup. Words from right to left that stand next to each other are one name, with all that is in one word
/// with them.
pub fn sentence(text: &str) -> String {
    let (mut markup, mut name) = (String::new(), String::new());
    for word in text.split_inclusive(' ') {
        let inner = word.trim_end().trim_matches(AROUND);
        let begins = inner.as_ptr() as usize - word.as_ptr() as usize;
        let (before, behind) = (&word[..begins], &word[begins + inner.len()..]);
        if !inner.contains(is_from_right) {
            markup += &(ended(&mut name) + &escaped(before) + &cut(inner) + &escaped(behind));
            continue;
        }
        if !before.is_empty() {
            markup += &(ended(&mut name) + &escaped(before));
        }
        name += inner;
        match behind {
            " " => name += behind,
            _ => markup += &(ended(&mut name) + &escaped(behind)),
        }
    }
    markup + &ended(&mut name)
}

/// The name so far as markup, and the space behind it outside of it.
fn ended(name: &mut String) -> String {
    let name = std::mem::take(name);
    let inner = name.trim_end();
    if inner.is_empty() { name } else { format!("<bdi>{}</bdi>{}", cut(inner), &name[inner.len()..]) }
}

/// A word or a name, cut by the page where it is long.
fn cut(word: &str) -> String {
    let text = escaped(word);
    match word.chars().count() > LONGEST {
        true => format!("<span class=\"long\" title=\"{text}\">{text}</span>"),
        false => text,
    }
}

/// Whether a letter is of a script that is written from right to left (Unicode Standard Annex 9, classes R and AL).
fn is_from_right(letter: char) -> bool {
    matches!(u32::from(letter),
        0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x1_0800..=0x1_0fff | 0x1_e800..=0x1_efff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_right_to_left_is_isolated_from_what_is_behind_it() {
        let before = "What ran meanwhile: عامل-الخلفية −580.7 ms, web −3 ms.";
        let after = "What ran meanwhile: <bdi>عامل-الخلفية</bdi> −580.7 ms, web −3 ms.";
        assert_eq!(sentence(before), after);
        assert_eq!(sentence("(عامل, task.عامل.count = 1)"), "(<bdi>عامل</bdi>, <bdi>task.عامل.count</bdi> = 1)");
    }

    #[test]
    fn words_of_one_name_stay_together_and_markup_is_text() {
        assert_eq!(sentence("of طويل جدا: 3"), "of <bdi>طويل جدا</bdi>: 3");
        assert_eq!(sentence("ع<b>  x"), "<bdi>ع&#60;b&#62;</bdi>  x");
        assert_eq!([sentence("a<b> c  (d)."), sentence("")], ["a&#60;b&#62; c  (d).", ""]);
    }

    #[test]
    fn long_words_are_cut_and_have_themselves_as_titles() {
        let long = "l".repeat(LONGEST + 1);
        let expected = format!("of <span class=\"long\" title=\"{long}\">{long}</span> (5 ms)");
        assert_eq!(sentence(&format!("of {long} (5 ms)")), expected);
        assert!(!sentence(&long[1..]).contains("span"));
    }
}
