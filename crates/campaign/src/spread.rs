//! Jobs spread over threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// Does the jobs 0 to `jobs`, on at most `threads` threads, in their order as far as it goes; what came of each, in order.
pub fn spread<T: Send>(threads: usize, jobs: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut made: Vec<Option<T>> = (0..jobs).map(|_| None).collect();
    each(
        threads,
        jobs,
        |index| Some((index, job(index))),
        |done| done.iter().for_each(|(index, value)| made[index] = Some(value)),
    );
    made.into_iter().map(|value| value.expect("a job that panics ends the scope")).collect()
}

/// Like [`spread`], but the calling thread takes results as they come. A thread stops when its job gives nothing, and
/// all do when the receiver is gone.
pub fn each<T: Send, R>(
    threads: usize,
    jobs: usize,
    job: impl Fn(usize) -> Option<T> + Sync,
    take: impl FnOnce(Receiver<T>) -> R,
) -> R {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (done, wait) = channel();
        for _ in 0..threads.clamp(1, jobs.max(1)) {
            let (done, next, job) = (done.clone(), &next, &job);
            scope.spawn(move || {
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < jobs)
                    && let Some(value) = job(index)
                    && done.send(value).is_ok()
                {}
            });
        }
        drop(done);
        take(wait)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_jobs() {
        for threads in [1, 3, 99] {
            assert_eq!(spread(threads, 5, |job| job * job), [0, 1, 4, 9, 16]);
        }
        assert!(spread(4, 0, |job| job).is_empty());
    }

    #[test]
    fn a_thread_without_a_result_begins_nothing_more() {
        let made = each(1, 9, |job| (job < 3).then_some(job), |done| done.iter().collect::<Vec<_>>());
        assert_eq!(made, [0, 1, 2]);
    }
}
