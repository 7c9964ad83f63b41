//! What was gathered about a scheduler's run in addition to its result.

use crate::document::TimelineView;
use schedlab_metrics::curve::RoleCurves;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::{time::Time, workload::Workload};
use schedlab_views::course::Course;
use schedlab_views::slices::Slices;
use schedlab_views::usage::Usage;
use serde::{Deserialize, Serialize};

/// The most pieces in which a run is shown over time.
const PIECES: u32 = 160;

/// Listens to a run for what a page shows of it.
pub struct Evidence {
    course: Course,
    slices: Slices,
    usage: Option<Usage>,
}

/// What was heard of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Story {
    /// How the run went; absent where its events are not known.
    pub course: Option<Course>,
    /// Which task ran where.
    pub timeline: Option<TimelineView>,
    /// What control groups used; absent where there are none.
    pub usage: Option<Usage>,
}

/// What was heard, with what else is known of the scheduler.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The scheduler, as the user wrote it.
    pub label: String,
    /// Where it ran.
    pub venue: String,
    /// For each role of the result how its times are distributed; may be empty.
    pub curves: Vec<RoleCurves>,
    /// How the run went; absent where its events are not known.
    pub course: Option<Course>,
    /// Which task ran where.
    pub timeline: Option<TimelineView>,
    /// What control groups used; absent where there are none.
    pub usage: Option<Usage>,
}

impl Evidence {
    /// For runs of a workload.
    pub fn new(workload: &Workload) -> Evidence {
        let roles = || workload.roles.iter().map(|role| role.name.clone());
        let (cpus, end) = (workload.machine.cpus(), workload.run.duration);
        Evidence {
            course: Course::new(roles(), cpus, end, PIECES),
            slices: Slices::new(roles(), cpus),
            usage: Usage::new(workload, PIECES),
        }
    }

    /// What was heard of this scheduler.
    pub fn end(self, label: &str, venue: &str, curves: Vec<RoleCurves>) -> Heard {
        self.story().of(label, venue, curves)
    }

    /// What was heard.
    pub fn story(self) -> Story {
        let packed = self.slices.into_packed();
        let header = &packed.header;
        let is_empty = header.slices_per_cpu.iter().all(|count| *count == 0);
        let remark = header.kept_until_ns.map(|ns| format!("Too much happened to show all of it: up to {}.", Time(ns)));
        let head = serde_json::to_string(header).expect("names and numbers have a form in JSON");
        let view = TimelineView { label: String::new(), header: head, bytes: packed.bytes, remark };
        Story {
            // Without slices there is no course either.
            course: (!is_empty).then_some(self.course),
            timeline: (!is_empty).then_some(view),
            usage: self.usage.filter(|_| !is_empty),
        }
    }
}

impl Story {
    /// With what else is known of the scheduler.
    pub fn of(self, label: &str, venue: &str, curves: Vec<RoleCurves>) -> Heard {
        let Story { course, timeline, usage } = self;
        let mut heard = Heard { label: String::new(), venue: venue.into(), curves, course, timeline, usage };
        heard.name(label);
        heard
    }
}

impl Heard {
    /// Gives it another name.
    pub fn name(&mut self, label: &str) {
        self.label = label.into();
        if let Some(view) = &mut self.timeline {
            view.label = label.into();
        }
    }
}

impl Sink for Evidence {
    fn event(&mut self, event: &Event) {
        self.course.event(event);
        self.slices.event(event);
        self.usage.iter_mut().for_each(|usage| usage.event(event));
    }

    fn finish(&mut self, end: Time) {
        self.course.finish(end);
        self.slices.finish(end);
        self.usage.iter_mut().for_each(|usage| usage.finish(end));
    }
}
