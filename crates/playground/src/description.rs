//! Descriptions of the policies, for the page.

use schedlab_bpf::Object;
use schedlab_policy::{Kind, Parameter, Shipped, catalog};
use schedlab_simulation::{Discipline, ideal_name, parameters_of};
use serde::Serialize;

/// A policy that a reader can choose.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyDescription {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// What can be set, in the object's order; without what the machine decides.
    pub parameters: Vec<ParameterDescription>,
}

/// A parameter of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterDescription {
    /// Its name.
    pub name: String,
    /// The value that it has when the reader sets none.
    pub default: String,
    /// What it may be, in words.
    pub values: String,
    /// The words that it may be; empty where it is a number.
    pub choices: Vec<String>,
    /// What it means.
    pub about: String,
}

/// The shipped policies, then the ideal disciplines.
pub fn policies() -> Vec<PolicyDescription> {
    let ideal = Discipline::ALL.iter().map(|discipline| PolicyDescription {
        name: ideal_name(*discipline),
        about: format!("{}, an ideal discipline", discipline.about()),
        parameters: Vec::new(),
    });
    catalog().iter().map(of_shipped).chain(ideal).collect()
}

fn of_shipped(shipped: &Shipped) -> PolicyDescription {
    let object = Object::parse(shipped.object).expect("shipped objects are whole");
    let parameters = parameters_of(&object).expect("shipped objects describe themselves");
    PolicyDescription {
        name: shipped.name.into(),
        about: shipped.about().into(),
        parameters: parameters.iter().filter(|parameter| parameter.machine.is_none()).map(of_parameter).collect(),
    }
}

fn of_parameter(parameter: &Parameter) -> ParameterDescription {
    let truth = parameter.kind == Kind::Boolean;
    let words = parameter.choices.iter().map(|choice| choice.word.clone());
    ParameterDescription {
        name: parameter.name.clone(),
        default: parameter.show(parameter.default),
        values: parameter.values(),
        choices: if truth { ["false", "true"].map(String::from).into() } else { words.collect() },
        about: parameter.about.clone(),
    }
}
