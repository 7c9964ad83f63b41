//! The words in which the schemas of printed objects are written that no type describes.

use serde_json::{Map, Value, json};

/// A key of an object, and what is there.
pub struct Key {
    name: &'static str,
    about: &'static str,
    is_optional: bool,
    content: Value,
}

/// A key that is always there.
pub fn key(name: &'static str, about: &'static str, content: Value) -> Key {
    Key { name, about, is_optional: false, content }
}

/// A key that may be absent.
pub fn maybe(name: &'static str, about: &'static str, content: Value) -> Key {
    Key { is_optional: true, ..key(name, about, content) }
}

/// A text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// A whole number that is not below zero.
pub fn whole() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// A number.
pub fn number() -> Value {
    json!({ "type": "number" })
}

/// Yes or no.
pub fn truth() -> Value {
    json!({ "type": "boolean" })
}

/// One of these words.
pub fn one_of(words: &[&str]) -> Value {
    json!({ "enum": words })
}

/// A list of these.
pub fn list(content: Value) -> Value {
    json!({ "type": "array", "items": content })
}

/// Two of these.
pub fn pair(content: Value) -> Value {
    json!({ "type": "array", "items": content, "minItems": 2, "maxItems": 2 })
}

/// This, or null where it is not known.
pub fn or_null(content: Value) -> Value {
    json!({ "anyOf": [content, { "type": "null" }] })
}

/// An object whose keys are names.
pub fn map(content: Value) -> Value {
    json!({ "type": "object", "additionalProperties": content })
}

/// An object with these keys and no others.
pub fn object(keys: impl IntoIterator<Item = Key>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for Key { name, about, is_optional, mut content } in keys {
        if let (false, Value::Object(content)) = (about.is_empty(), &mut content) {
            content.insert("description".into(), about.into());
        }
        if !is_optional {
            required.push(name);
        }
        properties.insert(name.into(), content);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A whole document of a form.
pub fn document(form: &str, title: &str, keys: impl IntoIterator<Item = Key>) -> Value {
    let form = key("schema", "The name and version of this form.", json!({ "const": form }));
    titled(object([form].into_iter().chain(keys)), title)
}

/// A document of one of several forms.
pub fn any(title: &str, forms: impl IntoIterator<Item = Value>) -> Value {
    let forms: Vec<Value> = forms.into_iter().collect();
    titled(json!({ "oneOf": forms }), title)
}

fn titled(mut schema: Value, title: &str) -> Value {
    schema["title"] = title.into();
    schema
}
