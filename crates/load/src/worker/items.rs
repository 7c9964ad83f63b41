//! Recorded steps: which item a task takes next.

use super::Worker;
use schedlab_model::workload::ItemOrder;
use std::sync::atomic::Ordering::Relaxed;

impl Worker<'_> {
    /// Goes to its next recorded item.
    pub(super) fn next_item(&mut self) {
        let Some(items) = &self.role.program.items else { return };
        let number = self.number;
        let shared = &self.site.shared;
        let role = shared.task(number).role.load(Relaxed);
        let before = || (0..number).filter(|&other| shared.task(other).role.load(Relaxed) == role).count() as u32;
        let (member, taken) = match items.order {
            ItemOrder::Own => (*self.member.get_or_insert_with(before), self.items_taken),
            ItemOrder::Taken => (0, u64::from(shared.object(self.site.items(role))[0].fetch_add(1, Relaxed))),
        };
        self.items_taken += 1;
        self.step = items.begin(member, taken) as usize;
    }
}
