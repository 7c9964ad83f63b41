//! A device: it serves one request after the other, while its users have a CPU or wait for one.

use crate::clock::now_ns;
use crate::shared::Shared;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Books the next time of a device, and says when it is over.
pub fn book(shared: &Shared, device: u32, service_ns: u64) -> u64 {
    let busy_until = busy_until(shared, device);
    let now = now_ns();
    let end = |busy: u64| busy.max(now).saturating_add(service_ns);
    let before = busy_until.fetch_update(AcqRel, Acquire, |busy| Some(end(busy)));
    end(before.expect("it always books"))
}

/// Two words of an object as one.
fn busy_until(shared: &Shared, device: u32) -> &AtomicU64 {
    let words = shared.object(device).as_ptr();
    // SAFETY: an object has four words on a cache line of its own, so the first two are aligned, and only used as one.
    unsafe { &*words.cast::<AtomicU64>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_served_after_the_other() {
        let shared = Shared::new(2, 0).unwrap();
        let first = book(&shared, 1, 5_000_000_000);
        assert!(first >= now_ns());
        assert_eq!(book(&shared, 1, 7), first + 7);
        assert!(book(&shared, 0, 7) < first, "another device is free");
    }
}
