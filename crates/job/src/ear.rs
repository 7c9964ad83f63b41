//! What a page shows of a run in addition to its result.

use schedlab_campaign::{Ear, Hearing, Seen};
use schedlab_html::{Evidence, Story};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::workload::Workload;
use serde_json::{Value, json};

/// What is heard is kept under this name.
const NAME: &str = "page";

/// Hears what a page shows.
pub struct PageEar;

impl Ear for PageEar {
    fn name(&self) -> String {
        NAME.into()
    }

    fn hears_first_only(&self) -> bool {
        true
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        Box::new(PageHearing(Evidence::new(workload)))
    }
}

struct PageHearing(Evidence);

impl Hearing for PageHearing {
    fn end(self: Box<Self>) -> Value {
        json!(self.0.story())
    }
}

impl Sink for PageHearing {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
    fn finish(&mut self, end: Time) {
        self.0.finish(end);
    }
}

/// What was heard of a run, if there was a listener.
pub fn story(seen: &Seen) -> Option<Story> {
    seen.heard.get(NAME).and_then(|heard| serde_json::from_value(heard.clone()).ok())
}
