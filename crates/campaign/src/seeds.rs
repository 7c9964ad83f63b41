//! The seeds of several runs.

use schedlab_model::rng::Rng;

/// The seeds of `count` runs: the base itself, then numbers split off from it by name. They fit into 53 bits, so that
/// every reader of JSON sees them exactly.
pub fn seeds(base: u64, count: u32) -> Vec<u64> {
    let derived = |run| Rng::split(base, &format!("run/{run}")).next_u64() >> 11;
    (0..count).map(|run| if run == 0 { base } else { derived(run) }).collect()
}

/// First seeds of further runs of the same, split off by name from those of [`seeds`] and apart from them.
pub fn further_seeds(base: u64, count: u32) -> Vec<u64> {
    (1..=count).map(|number| Rng::split(base, &format!("further/{number}")).next_u64() >> 11).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_begin_with_the_base_and_are_readable_by_all() {
        let many = seeds(u64::MAX, 5);
        assert_eq!((many[0], seeds(u64::MAX, 2)[1]), (u64::MAX, many[1]));
        assert!(many[1..].iter().all(|&seed| seed < 1 << 53));
        let all = [many, further_seeds(u64::MAX, 4)].concat();
        assert!((1..9).all(|run| !all[..run].contains(&all[run])), "{all:?}");
    }
}
