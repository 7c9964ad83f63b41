//! The fields of an event as annotations of a packet, and the strings that are interned for it.
//!
//! The numbers of interned strings are fixed, as part of the trace's schema.

use super::messages::{DebugAnnotation, InternedData, InternedName};
use crate::{
    fields::{Field, Form, Row, each_field},
    words::{Kind, Words, words},
};
use schedlab_model::{
    ids::CpuId,
    time::Time,
    trace::{Event, Overhead},
};

/// The annotation with the kind of the event. A packet that has it carries a whole event.
const EVENT_IID: u64 = 1;
/// The annotation with the CPU of the event.
const CPU_IID: u64 = 2;
/// The first of the fields.
const FIELD_IID: u64 = 3;
/// Numbers kept for the words of each field.
const WORDS_PER_FIELD: u64 = 16;
/// The first of the slices that are named after what the overhead was for.
const OVERHEAD_IID: u64 = 32;

/// What slices and instants are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Running,
    Runnable,
    Blocked,
    Request,
    Fork,
    Exit,
    Wakes,
    Migrate,
    Tick,
    Idle,
    Share,
    Waits,
    Untraced,
    Join,
    Throttle,
    Release,
    Call,
}

words! { Label:
    Running "running"  Runnable "runnable"  Blocked "blocked"  Request "request"  Fork "fork"  Exit "exit"
    Wakes "wakes"  Migrate "migrate"  Tick "tick"  Idle "idle"  Share "share"
    Waits "request waits"  Untraced "no recorded task"  Join "joins a control group"  Throttle "throttled"
    Release "next release"  Call "call"
}

impl Label {
    /// The number of the interned name.
    pub(crate) fn iid(self) -> u64 {
        self.code() + 1
    }
}

/// The number of the interned name for a slice of overhead.
pub(crate) fn overhead_iid(what: Overhead) -> u64 {
    OVERHEAD_IID + what.code()
}

/// The number of the first word of a field; `None` is the kind of the event.
fn first_word_iid(field: Option<Field>) -> u64 {
    field.map_or(0, |field| field as u64 + 1) * WORDS_PER_FIELD + 1
}

/// All strings that are interned.
pub(crate) fn interned_data() -> InternedData {
    let name = |iid: u64, name: &str| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
    let list = |first: u64, words: &[&str]| -> Vec<InternedName> {
        (first..).zip(words).map(|(iid, word)| name(iid, word)).collect()
    };
    let mut event_names = list(Label::Running.iid(), Label::WORDS);
    event_names.extend((OVERHEAD_IID..).zip(Overhead::WORDS).map(|(iid, w)| name(iid, &format!("overhead: {w}"))));
    let mut debug_annotation_names = vec![name(EVENT_IID, "event"), name(CPU_IID, "cpu")];
    debug_annotation_names.extend((FIELD_IID..).zip(Field::ALL).map(|(iid, field)| name(iid, field.name())));
    let mut debug_annotation_string_values = list(first_word_iid(None), Kind::WORDS);
    for &field in Field::ALL {
        if let Form::Word(words) = field.form() {
            debug_annotation_string_values.extend(list(first_word_iid(Some(field)), words));
        }
    }
    InternedData { event_names, debug_annotation_names, debug_annotation_string_values }
}

fn number(name_iid: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: Some(name_iid), uint_value: Some(value), string_value_iid: None }
}

fn word(name_iid: u64, field: Option<Field>, code: u64) -> DebugAnnotation {
    let string_value_iid = Some(first_word_iid(field) + code);
    DebugAnnotation { name_iid: Some(name_iid), uint_value: None, string_value_iid }
}

/// One field.
pub(crate) fn annotation(field: Field, value: u64) -> DebugAnnotation {
    let iid = FIELD_IID + field as u64;
    match field.form() {
        Form::Word(_) => word(iid, Some(field), value),
        Form::Id | Form::Wide => number(iid, value),
    }
}

/// The whole event.
pub(crate) fn record(event: &Event) -> Vec<DebugAnnotation> {
    let mut annotations = Vec::with_capacity(6);
    annotations.push(word(EVENT_IID, None, Kind::of(&event.kind).code()));
    annotations.push(number(CPU_IID, event.cpu.0.into()));
    each_field(&event.kind, |field, value| annotations.push(annotation(field, value)));
    annotations
}

/// The event that [`record`] wrote; none when the packet only draws.
pub(crate) fn event(time: Time, annotations: &[DebugAnnotation]) -> Result<Option<Event>, String> {
    let code = |annotation: &DebugAnnotation, field| {
        let iid = annotation.string_value_iid.unwrap_or(0);
        iid.checked_sub(first_word_iid(field)).ok_or_else(|| format!("unknown word {iid}"))
    };
    let (mut kind, mut cpu, mut row) = (None, None, Row::default());
    for annotation in annotations {
        match annotation.name_iid.unwrap_or(0) {
            EVENT_IID => kind = Some(Kind::from_code(code(annotation, None)?).ok_or("unknown kind of event")?),
            CPU_IID => cpu = annotation.uint_value.and_then(|cpu| u32::try_from(cpu).ok()),
            iid => {
                let place = iid.checked_sub(FIELD_IID).and_then(|place| usize::try_from(place).ok());
                let field = place.and_then(|place| Field::ALL.get(place)).ok_or("unknown field of an event")?;
                let value = match field.form() {
                    Form::Word(_) => code(annotation, Some(*field))?,
                    Form::Id | Form::Wide => annotation.uint_value.ok_or("a field of an event without a value")?,
                };
                row.set(*field, value)?;
            }
        }
    }
    let Some(kind) = kind else { return Ok(None) };
    let cpu = cpu.ok_or_else(|| format!("an event `{}` at {time} has no cpu", kind.word()))?;
    row.event(time, CpuId(cpu), kind).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::any_event;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_event_survives_as_annotations(of in any_event()) {
            prop_assert_eq!(event(of.time, &record(&of)), Ok(Some(of)));
        }

        #[test]
        fn any_annotations_give_an_event_or_an_error(
            parts in proptest::collection::vec((0..30u64, proptest::option::of(any::<u64>()), 0..300u64), 0..6)
        ) {
            let annotations: Vec<_> = parts.into_iter().map(|(name, uint_value, word)| DebugAnnotation {
                name_iid: Some(name), uint_value, string_value_iid: Some(word),
            }).collect();
            let _ = event(Time::ZERO, &annotations);
        }
    }

    #[test]
    fn each_interned_string_has_a_number_of_its_own() {
        let data = interned_data();
        for names in [&data.event_names, &data.debug_annotation_names, &data.debug_annotation_string_values] {
            let iids: BTreeSet<_> = names.iter().map(|name| name.iid).collect();
            assert_eq!(iids.len(), names.len());
            assert!(!iids.contains(&Some(0)), "0 stands for no string");
        }
    }
}
