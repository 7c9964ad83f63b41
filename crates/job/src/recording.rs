//! What a recording says, as people read it.

use schedlab_report::Style;
use schedlab_report::recording::{Wholeness, show};
use schedlab_venue::Recording;

/// The page of a recording: what it measured, and how much of what happened it knows.
pub fn page(recording: &Recording, style: Style) -> String {
    let of = &recording.wholeness;
    let wholeness = Wholeness {
        records: of.records,
        lost: &of.lost,
        repaired: of.repaired,
        adopted: of.adopted,
        mended_ns: of.mended_ns,
        passed_over: of.passed.total(),
    };
    show(&recording.result, &wholeness, style)
}
