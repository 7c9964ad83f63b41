//! Generated programs in both executors.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::generator::{functions, pieces};
use super::{World, run, run_in};
use crate::options::Executor;

/// The same programs in every run, unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` ask for others.
fn config() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { 128 };
    let rng_seed = if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { asked.rng_seed };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..asked }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn both_executors_do_the_same(programs in prop::collection::vec(pieces(), 1..4), limit in 1u32..20) {
        // Every other limit is short enough to end some programs.
        let limit = if limit % 2 == 0 { i64::from(limit) * 40 } else { 1 << 40 };
        let machine = run(Executor::Machine, limit, &|world| functions(world, &programs));
        let interpreter = run(Executor::Interpreter, limit, &|world| functions(world, &programs));
        machine.assert_same(&interpreter);
    }

    #[test]
    fn machine_code_that_counts_only_loops_does_the_same(programs in prop::collection::vec(pieces(), 1..4)) {
        let run = |executor| run_in(World::new(false), executor, 1 << 40, &|world| functions(world, &programs));
        let (machine, interpreter) = (run(Executor::Machine), run(Executor::Interpreter));
        prop_assert_eq!(machine.result, interpreter.result);
        prop_assert!(machine.memory == interpreter.memory, "memory differs");
    }
}
