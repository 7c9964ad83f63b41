//! Listeners: what is heard of a run beyond its result, in a form that can be kept.

use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::workload::Workload;
use serde_json::Value;
use std::collections::BTreeMap;

/// Listens to runs.
pub trait Ear: Send + Sync {
    /// What is listened to, with all that decides what is heard. It distinguishes the ear from others in what is kept.
    fn name(&self) -> String;

    /// Whether only the first run of a case is heard.
    fn hears_first_only(&self) -> bool {
        false
    }

    /// Listens to a run that is about to begin.
    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a>;
}

/// Listens to one run.
pub trait Hearing: Sink + Send {
    /// What was heard.
    fn end(self: Box<Self>) -> Value;
}

/// What was heard of a run, by the names of the ears.
pub type Heard = BTreeMap<String, Value>;

/// All listeners to a run.
pub(crate) struct Hearers<'a>(pub Vec<(String, Box<dyn Hearing + 'a>)>);

impl Hearers<'_> {
    /// What each of them heard.
    pub fn end(self) -> Heard {
        self.0.into_iter().map(|(name, hearing)| (name, hearing.end())).collect()
    }
}

impl Sink for Hearers<'_> {
    fn event(&mut self, event: &Event) {
        self.0.iter_mut().for_each(|(_, hearing)| hearing.event(event));
    }
    fn events(&mut self, events: &[Event]) {
        self.0.iter_mut().for_each(|(_, hearing)| hearing.events(events));
    }
    fn finish(&mut self, end: Time) {
        self.0.iter_mut().for_each(|(_, hearing)| hearing.finish(end));
    }
}
