//! The views of a trace as pages of text.

pub mod contrast;
pub mod contrast_answer;
pub mod latency;
pub mod queue;
pub mod status;
pub mod summary;
pub mod timeline;

use crate::{Style, wrap};
use schedlab_model::{
    names::{Label, Names},
    trace::WakeSource,
};
use schedlab_views::Wait;

/// The first lines of a page: what the trace is of, and what is shown of it.
fn heading(trace: &str, shown: &str, style: Style) -> String {
    wrap(&format!("{trace}: "), 4, shown).replacen(trace, &style.bold(trace), 1)
}

/// The waker of the task, or the source of its wake-up.
fn waker(wait: &Wait, names: &Names) -> String {
    wait.waker.map_or_else(|| source(wait.source).into(), |waker| names.show(waker))
}

fn source(source: WakeSource) -> &'static str {
    match source {
        WakeSource::Fork => "its birth",
        WakeSource::Timer => "a timer",
        WakeSource::Semaphore => "a semaphore",
        WakeSource::Pipe => "a pipe",
        WakeSource::Network => "the network",
        WakeSource::Disk => "a disk",
        WakeSource::Unknown | WakeSource::Untold => "-",
    }
}

/// A role's name, or a placeholder for tasks without a role.
fn role_of(label: Label, names: &Names) -> String {
    label.place.map_or("(unknown)".into(), |(role, _)| names.role(role))
}

#[cfg(test)]
mod test_helpers;
