//! Sleeps that end at an instant: that of a release, or of the run.

use super::{Next, Worker};
use crate::clock::now_ns;
use crate::shared::fate;
use schedlab_model::time::Time;
use schedlab_model::workload::{Pace, Release};
use std::sync::atomic::Ordering::{self, Relaxed};

impl Worker<'_> {
    /// Done with its job, it waits for its next release, unless that is over. `fresh`: it has done nothing since its start.
    pub(super) fn pace(&mut self, pace: &Pace, fresh: bool) -> Next {
        let now = now_ns();
        let born = self.site.shared.task(self.number).intended_ns.load(Relaxed);
        let timer = pace.timer as usize;
        self.releases.resize(self.releases.len().max(timer + 1), None);
        let last = self.releases[timer];
        let begun = self.site.shared.control().start_ns.load(Relaxed);
        let release = pace.next(last, pace.origin(born, begun), now);
        self.releases[timer] = Some(release.at_ns);
        if last.is_none() && !fresh {
            self.note_release(pace.first_job(born), now);
        }
        self.note_release(release, now);
        if release.at_ns > now {
            return self.sleep(release.at_ns);
        }
        (self.ready_ns, self.fresh) = (release.at_ns, true);
        Next::Step
    }

    /// Sleeps until an instant of the run, unless that is over.
    pub(super) fn until(&mut self, at: Time) -> Next {
        let until = self.site.shared.control().start_ns.load(Relaxed) + at.ns();
        if until > now_ns() {
            return self.sleep(until);
        }
        (self.ready_ns, self.fresh) = (until, true);
        Next::Step
    }

    fn note_release(&mut self, release: Release, now: u64) {
        let Some(place) = self.place() else { return };
        let record = self.site.shared.request(place);
        record.request.store(release.skipped, Relaxed);
        record.intended_ns.store(release.at_ns, Relaxed);
        record.begin_ns.store(now, Relaxed);
        record.end_ns.store(release.deadline_ns, Relaxed);
        record.fate.store(fate::RELEASE, Relaxed);
        record.task.store(self.number + 1, Ordering::Release);
    }
}
