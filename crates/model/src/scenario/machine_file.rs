//! Costs that were measured on a machine, in a file of their own, so that any scenario can be simulated with them.
//!
//! ```toml
//! about = "Intel(R) Xeon(R) Processor, 2 CPUs"
//!
//! [costs]
//! switch = "870ns"
//! wakeup = "1.2us"
//! ```

use super::{Costs, ScenarioError, read_text, read_toml};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    /// Which machine, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What it takes for itself.
    pub costs: Costs,
}

impl MachineFile {
    /// Reads a file.
    pub fn from_file(path: &Path) -> Result<MachineFile, ScenarioError> {
        let origin = path.display().to_string();
        MachineFile::parse(&read_text(path, &origin)?, &origin)
    }

    /// Reads a text; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<MachineFile, ScenarioError> {
        read_toml(text, origin)
    }

    /// As a text, which reads back as the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every value has a form in TOML")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Text;
    use crate::time::Time;

    #[test]
    fn it_comes_back_and_errors_name_the_place() {
        let costs = Costs { switch: Some(Text(Time(870))), tick: Some(Text(Time(1_500))), ..Costs::default() };
        let file = MachineFile { about: "a machine".into(), costs };
        assert_eq!(MachineFile::parse(&file.to_toml(), "m.toml").unwrap(), file);
        let error = MachineFile::parse("[costs]\nswitch = 5\n", "m.toml").unwrap_err().to_string();
        assert!(error.starts_with("m.toml:2:10: "), "{error}");
    }
}
