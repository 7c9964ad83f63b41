//! Generated scripts of kernel functions, helpers, iterators, timers and callbacks: the executors agree, and whatever a
//! script does is an error of the policy, not a defect of schedlab.
//!
//! `SCHEDLAB_SCRIPTS=100000 cargo test --test all scripts` runs more of them, with other seeds.

use crate::lab;
use schedlab_sim::testing::{Went, script, side_by_side};

/// Scripts of a usual run.
const SCRIPTS: u64 = 300;

#[test]
fn both_executors_do_what_scripts_say() {
    let count = std::env::var("SCHEDLAB_SCRIPTS").ok().and_then(|count| count.parse().ok()).unwrap_or(SCRIPTS);
    let object = lab::object("script");
    let mut went = [0u64; 3];
    for seed in 0..count {
        let bytes = script(seed, seed % 4);
        match side_by_side(&object, &bytes) {
            Ok(Went::Same(_)) => went[0] += 1,
            Ok(Went::SameError(_)) => went[1] += 1,
            Ok(Went::Refused(_)) => went[2] += 1,
            Err(text) => panic!("script {seed}: {text}\n{bytes:?}"),
        }
    }
    let [same, same_error, refused] = went;
    assert!(same >= count / 8 && same_error >= count / 8 && refused > 0, "{went:?}");
    assert_eq!(same + same_error + refused, count);
}
