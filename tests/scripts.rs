//! Generated scripts of kernel functions, helpers, iterators, timers and callbacks: the executors agree, and whatever a
//! script does is an error of the policy, not a defect of schedlab.
//!
//! `SCHEDLAB_SCRIPTS=100000 cargo test --test all scripts` runs more of them, with other seeds.

use crate::lab;
use schedlab_model::rng::Rng;
use schedlab_sim::testing::{SCRIPT_BYTES, Went, side_by_side};

/// Scripts of a usual run.
const SCRIPTS: u64 = 300;

/// The bytes of a script. Most of its steps are of the kinds that use what they make as it is meant; `wild` of 8 have
/// any arguments.
fn script(seed: u64, wild: u64) -> Vec<u8> {
    let mut rng = Rng::split(seed, "script");
    let mut bytes: Vec<u8> = (0..SCRIPT_BYTES).map(|_| rng.next_u64() as u8).collect();
    for step in bytes.chunks_exact_mut(8) {
        if rng.next_u64() % 8 >= wild {
            step[0] %= 13;
        }
    }
    bytes
}

#[test]
fn both_executors_do_what_scripts_say() {
    let count = std::env::var("SCHEDLAB_SCRIPTS").ok().and_then(|count| count.parse().ok()).unwrap_or(SCRIPTS);
    let object = lab::object("script");
    let mut went = [0u64; 3];
    for seed in 0..count {
        let bytes = script(seed, seed % 4);
        match side_by_side(&object, &bytes) {
            Ok(how) => went[how as usize] += 1,
            Err(text) => panic!("script {seed}: {text}\n{bytes:?}"),
        }
    }
    let [same, same_error, refused] = went;
    assert!(same >= count / 8 && same_error >= count / 8 && refused > 0, "{went:?}");
    assert_eq!(same + same_error + refused, count);
    assert_eq!([Went::Same as usize, Went::SameError as usize, Went::Refused as usize], [0, 1, 2]);
}
