//! Whether a kernel ran the policy of which the result speaks.

use crate::{Policy, Scheduler, VenueError};
use schedlab_bpf::Object;
use schedlab_guest::{Loaded, LoadedWhat};

/// Refuses what was loaded when it is not the policy: its object has another hash than results give, or a program is not
/// the object's, or is missing.
pub fn check(policy: &Policy, loaded: Option<&Loaded>) -> Result<(), VenueError> {
    let differs = |what: String| VenueError::OtherPolicy { policy: policy.label.clone(), what };
    match (&policy.scheduler, loaded) {
        (Scheduler::Object { policy: own, .. }, Some(loaded)) if policy.hash.as_ref() == Some(&loaded.hash) => {
            programs(&own.object, loaded).map_err(differs)
        }
        (Scheduler::Object { .. }, Some(loaded)) => Err(differs(format!("its object has the SHA-256 {}", loaded.hash))),
        (Scheduler::Object { .. }, None) => Err(differs("nothing was loaded".into())),
        (Scheduler::Program(program), Some(loaded)) if program.is(&loaded.hash) => Ok(()),
        (Scheduler::Program(_), Some(loaded)) => Err(differs(format!("the program has the SHA-256 {}", loaded.hash))),
        (Scheduler::Program(_), None) => Err(differs("no program was started".into())),
        (_, None) => Ok(()),
        (_, Some(_)) => Err(differs("an object was loaded".into())),
    }
}

/// Every program that was loaded is the object's, and every operation was loaded.
fn programs(object: &Object, loaded: &Loaded) -> Result<(), String> {
    let LoadedWhat::Object(loaded) = &loaded.what else { return Err("it was a program".into()) };
    for program in loaded {
        object.compare(&program.name, &program.instructions).map_err(|difference| difference.to_string())?;
    }
    let operations = object.ops().map_err(|error| error.to_string())?.programs();
    let missing = operations.into_iter().find(|name| loaded.iter().all(|program| program.name != **name));
    missing.map_or(Ok(()), |name| Err(format!("program {name} was not loaded")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::machine::Topology;
    use schedlab_policy::PolicySpec;

    fn loaded(hash: &str) -> Loaded {
        Loaded { hash: hash.into(), layout: Topology::flat(1).into(), what: LoadedWhat::Object(Vec::new()) }
    }

    #[test]
    fn another_object_is_refused() {
        let find = |text| Policy::find(&PolicySpec::parse(text).unwrap()).unwrap();
        let (rr, kernel) = (find("rr"), find("kernel"));
        let refused = |policy, loaded: Option<&Loaded>| check(policy, loaded).unwrap_err().to_string();
        let own = loaded(rr.hash.as_ref().unwrap());
        assert!(refused(&rr, Some(&own)).contains("was not loaded"));
        assert!(refused(&rr, Some(&loaded("00"))).contains("its object has the SHA-256 00"));
        assert!(refused(&rr, None).contains("nothing was loaded"));
        assert!(refused(&kernel, Some(&own)).contains("an object was loaded"));
        assert!(check(&kernel, None).is_ok());
    }
}
