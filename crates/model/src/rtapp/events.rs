//! The events of rt-app and what they become here.

/// What an event becomes here.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Compute,
    Busy,
    Sleep,
    Yield,
    Lock,
    Unlock,
    Wait,
    Post,
    Barrier,
    Spawn,
    Timer,
    CondWait,
    Signal,
    Broadcast,
    /// A signal and a wait.
    Sync,
    Suspend,
    Resume,
    /// Bytes of memory that are written.
    Memory,
    /// Bytes that are written to a device.
    Device,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Events by the prefix of their key, longer ones before those that they begin with.
pub(super) const EVENTS: [(&str, Event); 20] = [
    ("sem_post", Event::Post),
    ("sem_wait", Event::Wait),
    ("runtime", Event::Busy),
    ("memrun", Event::Nothing(CACHES)),
    ("barrier", Event::Barrier),
    ("suspend", Event::Suspend),
    ("unlock", Event::Unlock),
    ("signal", Event::Signal),
    ("resume", Event::Resume),
    ("sleep", Event::Sleep),
    ("timer", Event::Timer),
    ("broad", Event::Broadcast),
    ("iorun", Event::Device),
    ("yield", Event::Yield),
    ("lock", Event::Lock),
    ("wait", Event::CondWait),
    ("sync", Event::Sync),
    ("fork", Event::Spawn),
    ("run", Event::Compute),
    ("mem", Event::Memory),
];

const CACHES: &str = "how long it takes is a matter of caches: write `run` with the work instead";

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
