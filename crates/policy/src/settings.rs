//! From `key=value` to values of parameters.

use crate::did_you_mean;
use crate::parameter::{Parameter, ParameterError};

/// A parameter and the value it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: i128,
    /// Its value as the variable's bytes, little-endian.
    pub bytes: Vec<u8>,
}

/// Looks every setting up, reads it in the parameter's unit and checks its range.
pub fn settle(parameters: &[Parameter], settings: &[(String, String)]) -> Result<Vec<Assignment>, ParameterError> {
    let mut assignments: Vec<Assignment> = Vec::new();
    for (key, text) in settings {
        let parameter = named(parameters, key)?;
        let parsed = parameter.parse(text)?;
        assign(&mut assignments, parameter, parsed.value)?;
        if let Some((other, text)) = parsed.argument {
            let other = named(parameters, other)?;
            assign(&mut assignments, other, other.parse(text)?.value)?;
        }
    }
    Ok(assignments)
}

fn assign(assignments: &mut Vec<Assignment>, parameter: &Parameter, value: i128) -> Result<(), ParameterError> {
    let name = parameter.name.clone();
    if assignments.iter().any(|assignment| assignment.name == name) {
        return Err(ParameterError::Value { name, why: "it is set twice".into() });
    }
    assignments.push(Assignment { name, value, bytes: parameter.encode(value) });
    Ok(())
}

fn named<'p>(parameters: &'p [Parameter], name: &str) -> Result<&'p Parameter, ParameterError> {
    parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
        let names = || parameters.iter().map(|parameter| parameter.name.as_str());
        let hint = match did_you_mean(name, names()) {
            hint if !hint.is_empty() => hint,
            _ if parameters.is_empty() => "; this policy has none".into(),
            _ => format!("; there are: {}", names().collect::<Vec<_>>().join(", ")),
        };
        ParameterError::Unknown { name: name.into(), hint }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{Declaration, parameters};

    fn known() -> Vec<Parameter> {
        let tags = |text: &str| [format!("parameter {text}")];
        let (starve, after, levels) =
            (tags("choices=none,ts1s,age(age_after)"), tags("unit=ns range=1ms..10s"), tags("range=1..64"));
        let u32_of = |name, tags| Declaration { name, c_type: "u32", default: &[0; 4], tags };
        parameters(&[u32_of("starve", &starve), u32_of("age_after", &after), u32_of("levels", &levels)]).unwrap()
    }

    fn settings(text: &str) -> Vec<(String, String)> {
        crate::PolicySpec::parse(&format!("x:{text}")).unwrap().settings
    }

    #[test]
    fn settings_become_bytes() {
        let set = settle(&known(), &settings("levels=8,starve=age(50ms)")).unwrap();
        let shown: Vec<_> = set.iter().map(|a| (a.name.as_str(), a.value, a.bytes.len())).collect();
        assert_eq!(shown, [("levels", 8, 4), ("starve", 2, 4), ("age_after", 50_000_000, 4)]);
        assert_eq!(set[0].bytes, [8, 0, 0, 0]);
    }

    #[test]
    fn an_unknown_name_gets_a_hint() {
        for (text, part) in [
            ("levles=8", "did you mean `levels`?"),
            ("colour=8", "there are: starve, age_after, levels"),
            ("starve=age(5ms),age_after=6ms", "set twice"),
            ("levels=65", "outside of 1 to 64"),
        ] {
            let error = settle(&known(), &settings(text)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = settle(&[], &settings("a=1")).unwrap_err().to_string();
        assert!(error.contains("this policy has none"), "{error}");
    }
}
