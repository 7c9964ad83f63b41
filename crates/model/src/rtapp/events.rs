//! The events of rt-app and what they become here.

/// What an event becomes here.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Compute,
    Sleep,
    Yield,
    Lock,
    Unlock,
    Wait,
    Post,
    Barrier,
    Spawn,
    Timer,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Events by the prefix of their key, longer ones before those that they begin with.
pub(super) const EVENTS: [(&str, Event); 20] = [
    ("sem_post", Event::Post),
    ("sem_wait", Event::Wait),
    ("runtime", Event::Nothing("it burns wall time and does no fixed work: write `run` with the work instead")),
    ("memrun", Event::Nothing(BYTES)),
    ("barrier", Event::Barrier),
    ("suspend", Event::Nothing(SIGNALS)),
    ("unlock", Event::Unlock),
    ("signal", Event::Nothing(SIGNALS)),
    ("resume", Event::Nothing(SIGNALS)),
    ("sleep", Event::Sleep),
    ("timer", Event::Timer),
    ("broad", Event::Nothing(SIGNALS)),
    ("iorun", Event::Nothing(BYTES)),
    ("yield", Event::Yield),
    ("lock", Event::Lock),
    ("wait", Event::Nothing(SIGNALS)),
    ("sync", Event::Nothing(SIGNALS)),
    ("fork", Event::Spawn),
    ("run", Event::Compute),
    ("mem", Event::Nothing(BYTES)),
];

const SIGNALS: &str = "a signal is lost when nobody waits yet: write `sem_wait` and `sem_post`, which remember";
const BYTES: &str = "how long so many bytes take is not said: write `run` with the work instead";

/// The event that a key names by its prefix: `run`, `run0` and `run_a` are all `run`.
pub(super) fn event(key: &str) -> Option<Event> {
    EVENTS.into_iter().find(|(name, _)| key.starts_with(name)).map(|(_, event)| event)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read.
    #[test]
    fn every_step_that_is_an_event_comes_back() {
        for name in crate::scenario::STEPS.iter().filter_map(|kind| kind.rt_app) {
            assert!(event(name).is_some_and(|event| !matches!(event, Event::Nothing(_))), "{name}");
        }
    }

    #[test]
    fn no_event_hides_behind_a_shorter_one() {
        for (name, _) in EVENTS {
            for key in [name.to_string(), format!("{name}7"), format!("{name}_a")] {
                let found = EVENTS.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(prefix, _)| *prefix);
                assert_eq!(found, Some(name));
            }
        }
        assert!(event("priority").is_none() && event("loop").is_none());
    }
}
