use super::*;
use std::collections::BTreeSet;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=40;

#[test]
fn every_draw_is_a_scenario_that_reads_back() {
    for family in all() {
        for (seed, cpus) in SEEDS.flat_map(|seed| [1, 2, 4, 8].map(|cpus| (seed, cpus))) {
            let text = family.text(seed, cpus);
            let scenario = Scenario::parse(&text, "t").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(scenario, family.scenario(seed, cpus), "{text}");
            let workload = scenario.compile().unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(workload.machine.cpus(), cpus);
            assert!(!scenario.about.is_empty() && scenario.name.starts_with(family.name), "{text}");
        }
    }
}

#[test]
fn seeds_and_families_differ() {
    for family in all() {
        let nameless = |seed| {
            let mut scenario = family.scenario(seed, 2);
            scenario.name = "t".into();
            scenario.hash()
        };
        assert_eq!(SEEDS.map(nameless).collect::<BTreeSet<_>>().len(), SEEDS.count(), "{}", family.name);
    }
    let names: Vec<&str> = all().iter().map(|family| family.name).collect();
    assert!(names.is_sorted() && names.iter().collect::<BTreeSet<_>>().len() == names.len(), "{names:?}");
}

/// A result names its scenario, so that the same name has to mean the same.
#[test]
fn names_tell_seeds_and_cpus_apart() {
    let name = |seed, cpus| find("locks").unwrap().scenario(seed, cpus).name;
    assert_eq!([name(7, 1), name(7, 2)], ["locks-7", "locks-7-2cpus"]);
}

#[test]
fn addresses_are_read() {
    let name = |text: &str| Address::read(text).unwrap().map(|address| address.scenario_name());
    assert_eq!(name("family:fork-storms:7").as_deref(), Some("fork-storms-7"));
    assert_eq!(name("family:locks:0:4").as_deref(), Some("locks-0-4cpus"));
    assert_eq!(name("heavy-load"), None);
    for (text, part) in [
        ("family:lokcs:1", "did you mean `locks`?"),
        ("family:locks", "write family:locks:SEED"),
        ("family:locks:x", "write family:locks:SEED"),
        ("family:locks:1:2:3", "write family:locks:SEED"),
        ("family:locks:1:0", "no scenario for 0 CPUs: write from 1 to 64"),
        ("family:locks:1:65", "no scenario for 65 CPUs: write from 1 to 64"),
    ] {
        let error = Address::read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
