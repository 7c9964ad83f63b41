//! Strings from outside in Markdown.

use crate::Shown;

/// Text that is nothing but text: neither markup, nor HTML, nor the end of a cell.
pub fn text(text: &str) -> String {
    let mut shown = String::new();
    for letter in Shown::document(text).into_string().chars() {
        match letter {
            '\n' => shown.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => shown.extend(['\\', letter]),
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            '@' => shown.push_str("&#64;"),
            _ => shown.push(letter),
        }
    }
    shown
}

/// A line whose author may write Markdown: it is no HTML, and does not end the cell or the line in which it stands.
pub fn line(text: &str) -> String {
    let mut shown = String::new();
    let (mut in_code, mut is_escaped) = (false, false);
    for letter in Shown::document(text).into_string().chars() {
        match letter {
            '\n' => shown.push(' '),
            // In a table a bar ends a cell wherever it stands, and a backslash before it is not one of the text.
            '|' if is_escaped => shown.push_str("\\\\|"),
            '|' => shown.push_str("\\|"),
            '<' if !in_code => shown.push_str("&lt;"),
            _ => shown.push(letter),
        }
        in_code ^= letter == '`' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
    }
    shown
}

/// Paragraphs whose author may write Markdown, but no HTML.
pub fn block(text: &str) -> String {
    let mut shown = String::new();
    let mut in_code = false;
    for letter in Shown::document(text).into_string().chars() {
        match letter {
            '<' if !in_code => shown.push_str("&lt;"),
            _ => shown.push(letter),
        }
        in_code ^= letter == '`';
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        assert_eq!(text("a|b\n@all <b>"), "a\\|b &#64;all &lt;b>");
        assert_eq!(text("\u{202e}[x](y) \\|"), "\\\\u{202e}\\[x\\](y) \\\\\\|");
    }

    #[test]
    fn a_block_keeps_its_lines() {
        assert_eq!(block("a | `<b>`\n\n<script>"), "a | `<b>`\n\n&lt;script>");
    }

    #[test]
    fn a_line_keeps_its_markup_and_nothing_else() {
        assert_eq!(line("P(X > 1 | busy)"), "P(X > 1 \\| busy)");
        assert_eq!(line("`a < b` <img onerror>\nnext"), "`a < b` &lt;img onerror> next");
        assert_eq!(line("a \\| b"), "a \\\\\\| b");
    }
}
