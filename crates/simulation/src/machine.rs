//! The parameters of a policy that describe the machine: filled from the one on which it runs, in every venue.

use crate::object::{parameters_of, shown};
use schedlab_bpf::{Object, Value};
use schedlab_model::fact::{Fact, Form, SetByHand};
use schedlab_model::layout::Layout;
use schedlab_model::result::Parameter as Shown;
use schedlab_policy::{Parameter, ParameterError};

/// Those of one policy.
#[derive(Clone, Debug, Default)]
pub struct MachineParameters {
    /// Those that the user has not set.
    open: Vec<(Parameter, Fact, Form)>,
    /// Those that the user has set, each with the value.
    set: Vec<(Parameter, Fact, i128)>,
}

impl MachineParameters {
    /// Those of an object, of which some are set by name.
    ///
    /// # Errors
    ///
    /// A declaration tag that says nothing sensible.
    pub fn of(object: &Object, set: &[(&str, i128)]) -> Result<MachineParameters, ParameterError> {
        Ok(MachineParameters::among(&parameters_of(object)?, set))
    }

    pub(crate) fn among(known: &[Parameter], set: &[(&str, i128)]) -> MachineParameters {
        let mut found = MachineParameters::default();
        for parameter in known {
            let (Some(fact), Some(form)) = (parameter.machine, parameter.form()) else { continue };
            match set.iter().find(|(name, _)| *name == parameter.name) {
                Some((_, value)) => found.set.push((parameter.clone(), fact, *value)),
                None => found.open.push((parameter.clone(), fact, form)),
            }
        }
        found
    }

    /// What the user has set, by fact.
    pub fn set_by_hand(&self) -> SetByHand {
        self.set.iter().map(|(_, fact, value)| (*fact, *value)).collect()
    }

    /// Values for those that the user has not set.
    pub fn settings(&self, layout: &Layout) -> Vec<(String, Value)> {
        let set = self.set_by_hand();
        let setting = |(parameter, fact, form): &(Parameter, Fact, Form)| {
            (parameter.name.clone(), Value::Bytes(fact.bytes(*form, layout, &set)))
        };
        self.open.iter().map(setting).collect()
    }

    /// Those that the user has not set: each with what fills it, and how.
    pub fn open(&self) -> impl Iterator<Item = (&str, Fact, Form)> {
        self.open.iter().map(|(parameter, fact, form)| (parameter.name.as_str(), *fact, *form))
    }

    /// What results say about those that are numbers and that the user has not set.
    pub fn shown(&self, layout: &Layout) -> Vec<(String, Shown)> {
        let set = self.set_by_hand();
        let show = |(parameter, fact, _): &(Parameter, Fact, Form)| {
            Some((parameter.name.clone(), shown(parameter, fact.number(layout, &set)?)))
        };
        self.open.iter().filter_map(show).collect()
    }

    /// Where a user's value is not the machine's, and where the machine is not what the policy can be told, in a sentence
    /// each.
    pub fn cautions(&self, layout: &Layout) -> Vec<String> {
        let contradiction = |(parameter, fact, value): &(Parameter, Fact, i128)| {
            let own = fact.contradicted_by(*value, layout)?;
            let (name, value, own) = (&parameter.name, parameter.show(*value), parameter.show(own));
            Some(format!("{name} is set to {value} and the machine has {own}: the policy follows {value}"))
        };
        let mut cautions: Vec<String> = self.set.iter().filter_map(contradiction).collect();
        let left_out = layout.left_out();
        if self.open.iter().any(|(_, fact, _)| fact.needs_ranges()) && !left_out.is_empty() {
            cautions.push(format!(
                "the {} of this machine are not ranges of CPUs of one length: the policy sees a machine without them",
                left_out.join(" and ")
            ));
        }
        cautions
    }
}
