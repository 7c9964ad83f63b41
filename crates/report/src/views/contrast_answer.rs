//! Two traces next to each other, as JSON.

use super::contrast::{Pair, by_program};
use schedlab_model::ids::CpuId;
use schedlab_model::names::Names;
use schedlab_model::time::Time;
use schedlab_views::contrast::{Case, Contrast};
use serde::Serialize;

/// What changed from one trace to the other. Of each pair of values the first is of the trace before.
#[derive(Serialize)]
pub struct Answer<'a> {
    schema: &'static str,
    /// What the traces are called.
    titles: [&'a str; 2],
    #[serde(flatten)]
    contrast: &'a Contrast,
    longest_waits: [Vec<Wait>; 2],
    /// What makes numbers doubtful: events that a trace has lost, and runs that are not alike.
    cautions: &'a [String],
}

/// One of the longest waits.
#[derive(Serialize)]
struct Wait {
    task: String,
    from_ns: Time,
    length_ns: Time,
    /// Where it began.
    cpu: CpuId,
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_last_on: Option<CpuId>,
    was_preempted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    woken_by: Option<String>,
    /// The CPUs on whose run queues it was.
    cpus: Vec<CpuId>,
    had_the_cpu: Vec<Part<String>>,
    idle_meanwhile: Vec<Part<CpuId>>,
}

/// A task or a CPU, and for how long.
#[derive(Serialize)]
struct Part<T> {
    what: T,
    ns: u64,
}

impl<'a> Answer<'a> {
    /// Of a pair.
    pub fn of(pair: &Pair<'a>, cautions: &'a [String]) -> Answer<'a> {
        let waits = pair.worst.map(|(cases, names)| cases.iter().map(|case| Wait::of(case, names)).collect());
        let (titles, contrast) = (pair.titles, pair.contrast);
        Answer { schema: "schedlab.contrast/1", titles, contrast, longest_waits: waits, cautions }
    }
}

impl Wait {
    fn of(case: &Case, names: &Names) -> Wait {
        let wait = &case.wait;
        Wait {
            task: names.show(wait.task),
            from_ns: wait.from,
            length_ns: wait.length(),
            cpu: wait.cpu,
            ran_last_on: case.ran_last,
            was_preempted: wait.was_preempted,
            woken_by: wait.waker.map(|waker| names.show(waker)),
            cpus: case.places.clone(),
            had_the_cpu: by_program(case, names).into_iter().map(|(what, ns)| Part { what, ns }).collect(),
            idle_meanwhile: case.idled.iter().map(|(&what, time)| Part { what, ns: time.ns() }).collect(),
        }
    }
}
