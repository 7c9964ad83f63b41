//! What an object is made of, what it needs, and what of that the simulator does not have.

use crate::{Policy, Scheduler};
use schedlab_boundary::Shown;
use schedlab_bpf::{ExternInfo, GuestMemory, LoadError, LoadOptions, MapInfo, Member, Object};
use schedlab_policy::{Parameter, ParameterError};
use schedlab_sim::scx::{self, ops};
use schedlab_simulation::parameters_of;

/// Something that an object needs from its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its name.
    pub name: String,
    /// Whether the object can do without it.
    pub weak: bool,
}

/// What an object is made of and what it needs.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The licence that it declares.
    pub license: String,
    /// The operations that it implements and the simulator calls.
    pub operations: Vec<String>,
    /// Operations that nothing in a simulated machine asks for.
    pub never_called: Vec<String>,
    /// Members of the table of operations that are texts or numbers other than zero, shown.
    pub settings: Vec<(String, String)>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Maps.
    pub maps: Vec<MapInfo>,
    /// Programs in addition to the operations, by section; the simulator runs none of them.
    pub other_programs: Vec<String>,
    /// Kernel functions.
    pub kernel_functions: Vec<Need>,
    /// Kernel variables and configuration.
    pub kernel_variables: Vec<Need>,
    /// Helpers by name.
    pub helpers: Vec<String>,
    /// Why the object cannot be simulated, one reason each; empty when it can.
    pub missing: Vec<String>,
    /// Whether a kernel refuses it, too, so that it will never be simulated as it is.
    pub refused: bool,
}

/// Looks into a policy; none for a discipline, which has no object.
pub fn inspect(policy: &Policy) -> Option<Result<Needs, ParameterError>> {
    match &policy.scheduler {
        Scheduler::Object { policy, .. } => Some(needs(&policy.object)),
        Scheduler::Ideal(_) | Scheduler::Kernel | Scheduler::Native(_) | Scheduler::Program(_) => None,
    }
}

fn needs(object: &Object) -> Result<Needs, ParameterError> {
    let members = object.ops().map_or(&[][..], |table| &table.members);
    let (mut operations, mut never_called, mut settings) = (Vec::new(), Vec::new(), Vec::new());
    for (name, member) in members {
        match member {
            Member::Program(_) if ops::NEVER_CALLED.contains(&name.as_str()) => never_called.push(name.clone()),
            Member::Program(_) => operations.push(name.clone()),
            Member::Integer(0) => {}
            Member::Integer(value) => settings.push((name.clone(), number(name, *value))),
            Member::Text(text) => settings.push((name.clone(), Shown::name(text).into_string())),
        }
    }
    let variables = object.kernel_variables().into_iter().chain(object.kconfigs());
    let programs = object.programs().into_iter().filter(|program| !program.section.starts_with("struct_ops"));
    let visible = |text: &str| Shown::name(text).into_string();
    Ok(Needs {
        license: visible(object.license()),
        operations,
        never_called,
        settings,
        parameters: parameters_of(object)?,
        maps: object.maps(),
        other_programs: programs.map(|program| visible(&program.section)).collect(),
        kernel_functions: object.kernel_functions().into_iter().map(need).collect(),
        kernel_variables: variables.map(need).collect(),
        helpers: object.helpers().into_iter().map(|(_, name)| name).collect(),
        missing: missing(object),
        refused: object.check_licence().is_err() || object.ops().ok().and_then(ops::refused).is_some(),
    })
}

fn need(info: ExternInfo) -> Need {
    Need { name: Shown::name(&info.name).into_string(), weak: info.weak }
}

/// Flags are bits, the rest are quantities.
fn number(name: &str, value: u64) -> String {
    if name == "flags" { format!("{value:#x}") } else { value.to_string() }
}

/// What its table of operations has that is not simulated, or what a load of the object says.
fn missing(object: &Object) -> Vec<String> {
    let not_simulated = object.ops().map(ops::not_simulated).unwrap_or_default();
    if !not_simulated.is_empty() {
        return not_simulated;
    }
    if let Err(refused) = object.check_licence() {
        return vec![Shown::line(&refused.to_string()).into_string()];
    }
    if let Some(why) = object.ops().ok().and_then(ops::refused) {
        return vec![Shown::line(&LoadError::Refused(why).to_string()).into_string()];
    }
    let loaded = GuestMemory::new()
        .map_err(LoadError::from)
        .and_then(|memory| object.load(&scx::kernel(), &[], &LoadOptions::default(), memory));
    match loaded {
        Ok(_) => Vec::new(),
        Err(LoadError::Missing(names) | LoadError::Unlinked(names)) => names,
        Err(error) => vec![Shown::line(&error.to_string()).into_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policy::PolicySpec;

    #[test]
    fn a_shipped_policy_needs_nothing_that_is_not_there() {
        let policy = Policy::find(&PolicySpec::parse("rr").unwrap()).unwrap();
        let needs = inspect(&policy).unwrap().unwrap();
        assert_eq!(needs.missing, Vec::<String>::new());
        assert!(needs.operations.iter().any(|name| name == "enqueue"), "{:?}", needs.operations);
        assert!(needs.kernel_functions.iter().any(|f| f.name.starts_with("scx_bpf_dsq_insert")));
        assert_eq!(needs.parameters[0].name, "quantum");
        assert!(needs.license.contains("GPL"));
    }
}
