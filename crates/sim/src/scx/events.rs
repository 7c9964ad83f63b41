//! What a kernel counts of a policy (`struct scx_event_stats`).

use super::layout::GuestEvents;
use std::mem::offset_of;

const COUNTERS: usize = size_of::<GuestEvents>() / size_of::<i64>();

/// The counters, by their places. Of those that are not counted here, what they count does not happen.
#[derive(Default)]
pub struct Events([i64; COUNTERS]);

/// Counts one event.
macro_rules! count {
    ($events:ident, $name:ident) => {
        $events.0[const { offset_of!(GuestEvents, $name) / size_of::<i64>() }] += 1
    };
}

impl Events {
    /// A task got the default slice.
    #[inline]
    pub fn refill_slice_dfl(&mut self) {
        count!(self, SCX_EV_REFILL_SLICE_DFL);
    }

    /// A task that ends was not given to the policy.
    #[inline]
    pub fn enq_skip_exiting(&mut self) {
        count!(self, SCX_EV_ENQ_SKIP_EXITING);
    }

    /// A task went on because there was no other.
    #[inline]
    pub fn dispatch_keep_last(&mut self) {
        count!(self, SCX_EV_DISPATCH_KEEP_LAST);
    }

    /// A task may not run on the CPU that the policy chose.
    #[cold]
    pub fn select_cpu_fallback(&mut self) {
        count!(self, SCX_EV_SELECT_CPU_FALLBACK);
    }

    /// A task was to go to a CPU that is not there.
    #[cold]
    pub fn dispatch_local_dsq_offline(&mut self) {
        count!(self, SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE);
    }

    /// A task that was to run at once went back to the policy.
    #[cold]
    pub fn reenq_immed(&mut self) {
        count!(self, SCX_EV_REENQ_IMMED);
    }

    /// All of them as a policy sees them.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|count| count.to_le_bytes()).collect()
    }
}
