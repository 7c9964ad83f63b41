//! What a guest that knows its machine writes into the parameters that describe it, and how large it makes maps.

use schedlab_bpf::{Object, RoomForGroups, Value};
use schedlab_guest::{MachineBlank, Room};
use schedlab_simulation::MachineParameters;

/// The parameters that the user has not set, as places in the object's data.
pub fn blanks(machine: &MachineParameters, object: &Object) -> Vec<MachineBlank> {
    let blank = |(name, fact, form)| {
        let place = object.place_of(name)?;
        Some(MachineBlank { fact, form, section: place.section, offset: place.offset })
    };
    machine.open().filter_map(blank).collect()
}

/// The maps with an entry for each control group on each CPU, as large as the user or the object says.
pub fn rooms(object: &Object, settings: &[(String, Value)]) -> Vec<Room> {
    let room = |wanted: RoomForGroups| {
        let place = object.place_of(&wanted.name)?;
        let set = settings.iter().find_map(|(name, value)| match value {
            Value::Integer(value) if *name == wanted.name => u32::try_from(*value).ok(),
            _ => None,
        });
        let (entries, grows) = (set.unwrap_or(wanted.least), set.is_none());
        Some(Room { map: wanted.map, section: place.section, offset: place.offset, entries, grows })
    };
    object.rooms_for_groups().into_iter().filter_map(room).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Policy, Scheduler};
    use schedlab_bpf::Value;
    use schedlab_guest::PolicyJob;
    use schedlab_model::layout::{FULL_CAPACITY, Layout, Place};
    use schedlab_model::machine::Topology;
    use schedlab_model::result::Parameter as Shown;
    use schedlab_model::scenario::Notation;
    use schedlab_policy::PolicySpec;
    use std::collections::BTreeMap;

    fn layout(text: &str) -> Layout {
        Topology::read(text).unwrap().into()
    }

    /// The policy, its parameters of the machine, and what is said of it on the machine.
    fn on(text: &str, layout: &Layout) -> (Policy, BTreeMap<String, Shown>, Vec<String>) {
        let policy = Policy::find(&PolicySpec::parse(text).unwrap()).unwrap();
        let (info, cautions) = (policy.info_on(layout), policy.cautions_on(layout));
        (policy, info.parameters, cautions)
    }

    #[test]
    fn every_shipped_policy_that_knows_domains_is_told_of_them() {
        let of = |parameters: &BTreeMap<String, Shown>| {
            ["threads_per_core", "cores_per_llc", "llcs_per_node"].map(|name| parameters[name].clone())
        };
        for name in ["cfs", "eevdf", "ule", "alb", "linux-o1"] {
            let (policy, parameters, cautions) = on(name, &layout("2n3l4c2t"));
            assert_eq!(of(&parameters), [2, 4, 3].map(Shown::Unsigned), "{name}");
            assert!(cautions.is_empty(), "{name}: {cautions:?}");
            let told = |value: u32| Value::Bytes(value.to_le_bytes().to_vec());
            let settings: BTreeMap<_, _> = policy.settings(&layout("1n2l2c1t")).into_iter().collect();
            assert_eq!((&settings["cores_per_llc"], &settings["llcs_per_node"]), (&told(2), &told(2)), "{name}");
        }
    }

    #[test]
    fn a_value_that_contradicts_the_machine_is_obeyed_and_said() {
        let (policy, parameters, cautions) = on("cfs:threads_per_core=2", &layout("1n1l4c1t"));
        assert_eq!(parameters["threads_per_core"], Shown::Unsigned(2));
        assert!(policy.settings(&layout("1n1l4c1t")).contains(&("threads_per_core".into(), Value::Integer(2))));
        assert_eq!(cautions, ["threads_per_core is set to 2 and the machine has 1: the policy follows 2"]);
        assert!(on("cfs:threads_per_core=2,cores_per_llc=4", &layout("1n1l4c2t")).2.is_empty());
    }

    #[test]
    fn a_machine_that_is_no_ranges_is_said_where_a_policy_asks_for_them() {
        let place = |core| Some(Place { core, llc: 0, node: 0, capacity: FULL_CAPACITY });
        let apart = Layout::new([0, 1, 0, 1].map(place).to_vec());
        let (_, parameters, cautions) = on("cfs", &apart);
        assert_eq!(parameters["threads_per_core"], Shown::Unsigned(1));
        assert!(cautions[0].starts_with("the cores of this machine are not ranges"), "{cautions:?}");
        assert!(on("rr", &apart).2.is_empty());
    }

    #[test]
    fn maps_for_groups_grow_unless_the_user_sets_their_size() {
        let rooms = |text: &str| {
            let policy = Policy::find(&PolicySpec::parse(text).unwrap()).unwrap();
            let Some(PolicyJob::Object(job)) = policy.job().unwrap() else { panic!("it is an object") };
            let of = |groups, cpus| job.rooms_on(groups, cpus).iter().map(|room| room.entries).collect::<Vec<_>>();
            [of(1, 1), of(100, 64)]
        };
        for policy in ["cfs", "eevdf"] {
            assert_eq!(rooms(policy), [[4096], [(2 * 100 + 64) * 64]], "{policy}");
            assert_eq!(rooms(&format!("{policy}:group_queues=128")), [[128], [128]], "{policy}");
        }
        assert!(rooms("rr").iter().all(Vec::is_empty));
    }

    /// What a kernel's loader writes and what the simulator writes are the same bytes.
    #[test]
    fn a_kernel_is_told_the_same_as_the_simulator() {
        let (policy, ..) = on("cfs:cores_per_llc=2", &layout("1n1l4c1t"));
        let Scheduler::Object { policy: object, .. } = &policy.scheduler else { panic!("cfs is an object") };
        for text in ["1n1l4c1t", "2n2l4c2t", "1n1l1c1t"] {
            let layout = layout(text);
            let Some(PolicyJob::Object(job)) = policy.job().unwrap() else { panic!("cfs is an object") };
            let mut in_kernel = job.settings_on(&layout);
            let mut simulated = object.object.encode_settings(&policy.settings(&layout)).unwrap();
            in_kernel.sort();
            simulated.sort();
            assert_eq!(in_kernel, simulated, "{text}");
        }
    }
}
