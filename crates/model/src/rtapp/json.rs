//! JSON as rt-app files have it: comments, commas before a closing bracket, and keys that occur more than once, whose
//! order matters. Every value knows the byte at which it begins.

use crate::scenario::ScenarioError;

/// A value and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The byte in the text.
    pub byte: usize,
    /// The value.
    pub value: Value,
}

/// A value. Objects keep all their members in the order of the file.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The byte of the key.
    pub byte: usize,
    /// The key.
    pub key: String,
    /// The value.
    pub node: Node,
}

impl Value {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// The deepest nesting that is read; rt-app files have five levels.
const MAX_DEPTH: usize = 64;

/// Reads one value that is the whole text.
pub(super) fn read(text: &str, origin: &str) -> Result<Node, ScenarioError> {
    let mut reader = Reader { text, origin, byte: 0, depth: 0 };
    let node = reader.node()?;
    reader.space()?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.wrong("something follows the last brace: remove it")),
    }
}

struct Reader<'t> {
    text: &'t str,
    origin: &'t str,
    byte: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, message: &str) -> ScenarioError {
        ScenarioError::at_byte(self.origin, self.text, self.byte, message)
    }

    fn rest(&self) -> &str {
        &self.text[self.byte..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let eaten = self.peek() == Some(c);
        if eaten {
            self.byte += c.len_utf8();
        }
        eaten
    }

    /// Skips white space and both kinds of comments.
    fn space(&mut self) -> Result<(), ScenarioError> {
        loop {
            let rest = self.rest();
            if rest.starts_with(char::is_whitespace) {
                self.byte += rest.len() - rest.trim_start().len();
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.byte += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.byte += rest.find("*/").ok_or_else(|| self.wrong("this comment does not end: write */"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn node(&mut self) -> Result<Node, ScenarioError> {
        self.space()?;
        let byte = self.byte;
        let value = match self.peek() {
            Some('{') => self.nested(Reader::object)?,
            Some('[') => self.nested(Reader::list)?,
            Some('"') => Value::Text(self.text()?),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            Some('_' | '$' | '@' | '<') => {
                return Err(self.wrong("this is a template: put values in the place of its placeholders first"));
            }
            Some(c) => return Err(self.wrong(&format!("`{c}` begins no value: check quotes and commas before it"))),
            None => return Err(self.wrong("the text ends too early: a value is missing")),
        };
        Ok(Node { byte, value })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, ScenarioError>) -> Result<Value, ScenarioError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong("the brackets are nested too deep for an rt-app file"));
        }
        self.depth += 1;
        self.byte += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, ScenarioError> {
        let mut members = Vec::new();
        while !self.closed('}', !members.is_empty())? {
            let byte = self.byte;
            if self.peek() != Some('"') {
                return Err(self.wrong("a key in quotes is missing here"));
            }
            let key = self.text()?;
            self.space()?;
            // As old files have it, and workgen fills in.
            if key.starts_with("suspend") && self.peek().is_some_and(|next| ",}".contains(next)) {
                let node = Node { byte: self.byte, value: Value::Null };
                members.push(Member { byte, key, node });
                continue;
            }
            if !self.eat(':') {
                return Err(self.wrong(&format!("a colon is missing after the key \"{key}\"")));
            }
            members.push(Member { byte, key, node: self.node()? });
        }
        Ok(Value::Object(members))
    }

    fn list(&mut self) -> Result<Value, ScenarioError> {
        let mut values = Vec::new();
        while !self.closed(']', !values.is_empty())? {
            values.push(self.node()?);
        }
        Ok(Value::List(values))
    }

    /// Whether the bracket closes here. After a value there has to be a comma or the bracket, or both.
    fn closed(&mut self, bracket: char, after_value: bool) -> Result<bool, ScenarioError> {
        self.space()?;
        let comma = after_value && self.eat(',');
        self.space()?;
        if self.eat(bracket) {
            return Ok(true);
        }
        match self.peek() {
            None => Err(self.wrong(&format!("the text ends too early: `{bracket}` is missing"))),
            Some(_) if after_value && !comma => {
                Err(self.wrong(&format!("a comma or `{bracket}` is missing before this")))
            }
            Some(_) => Ok(false),
        }
    }

    /// A string in quotes.
    fn text(&mut self) -> Result<String, ScenarioError> {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find(|&(_, c)| match c {
            '"' if !escaped => true,
            _ => {
                escaped = c == '\\' && !escaped;
                false
            }
        });
        let (end, _) = end.ok_or_else(|| self.wrong("this string does not end: write the closing quote"))?;
        let quoted = &self.rest()[..=end];
        let text: String =
            serde_json::from_str(quoted).map_err(|_| self.wrong("this string is not right: check its escapes"))?;
        if let Some(why) = crate::scenario::unfit_text(&text) {
            return Err(self.wrong(&why));
        }
        self.byte += end + 1;
        Ok(text)
    }

    fn number(&mut self) -> Result<Value, ScenarioError> {
        let part_of_number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let length = self.rest().find(|c| !part_of_number(c)).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        // Every number of an rt-app file is a whole one below 2^53.
        let number = word.parse().map_err(|_| self.wrong(&format!("`{word}` is not a number")))?;
        self.byte += length;
        Ok(Value::Number(number))
    }

    fn word(&mut self) -> Result<Value, ScenarioError> {
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let value = match word.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.wrong(&format!("`{word}` is not a value: put text into quotes"))),
        };
        self.byte += length;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stray_commas_and_repeated_keys_are_read() {
        let text = "/* a */ { // b\n \"run\" : 1, \"run\" : -2.5, \"x\" : [ true, NULL, ], \"y\" : \"a\\\"b\", } # c";
        let Value::Object(members) = read(text, "f").unwrap().value else { panic!() };
        let keys: Vec<&str> = members.iter().map(|m| m.key.as_str()).collect();
        assert_eq!(keys, ["run", "run", "x", "y"]);
        assert!(matches!(members[1].node.value, Value::Number(n) if n == -2.5));
        assert!(matches!(&members[2].node.value, Value::List(l) if l.len() == 2));
        assert!(matches!(&members[3].node.value, Value::Text(t) if t == "a\"b"));
    }

    #[test]
    fn wrong_texts_say_where() {
        for (text, message) in [
            ("", "f:1:1: the text ends"),
            ("{", "f:1:2: the text ends"),
            ("{\"a\" 1}", "f:1:6: a colon"),
            ("{\"a\":1\n\"b\":2}", "f:2:1: a comma"),
            ("{a:1}", "f:1:2: a key in quotes"),
            ("{,}", "f:1:2: a key in quotes"),
            ("[1 2]", "f:1:4: a comma"),
            ("[1x]", "f:1:2: `1x` is not a number"),
            ("[yes]", "f:1:2: `yes` is not a value"),
            ("[\"a]", "f:1:2: this string does not end"),
            ("[\"\\q\"]", "f:1:2: this string is not right"),
            ("/* a", "f:1:1: this comment"),
            ("{} {}", "f:1:4: something follows"),
            ("{\"a\" : __A__}", "f:1:8: this is a template"),
            ("{\"sleep\", \"run\" : 1}", "f:1:9: a colon is missing"),
        ] {
            let error = read(text, "f").unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        assert!(read(&"[".repeat(100_000), "f").unwrap_err().to_string().contains("too deep"));
    }
}
