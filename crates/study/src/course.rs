//! How a run went over time.

use schedlab_campaign::{Ear, Hearing};
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::workload::Workload;
use schedlab_views::course::Course;
use serde_json::{Value, json};

/// What is heard of it is kept under this name.
pub const NAME: &str = "course";

/// The most pieces of a course.
const PIECES: u32 = 160;

/// Hears how a run goes over time.
pub struct CourseEar;

impl Ear for CourseEar {
    fn name(&self) -> String {
        NAME.into()
    }

    fn listen<'a>(&self, workload: &'a Workload) -> Box<dyn Hearing + 'a> {
        let roles = workload.roles.iter().map(|role| role.name.clone());
        Box::new(Hearer(Course::new(roles, workload.machine.cpus(), workload.run.duration, PIECES)))
    }
}

struct Hearer(Course);

impl Hearing for Hearer {
    fn end(self: Box<Self>) -> Value {
        json!(self.0)
    }
}

impl Sink for Hearer {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn finish(&mut self, end: Time) {
        self.0.finish(end);
    }
}
