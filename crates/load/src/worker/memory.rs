//! What a new process has to get from the kernel before its steps take what they say.

use super::Worker;
use crate::channel::Ends;
use crate::clock::{now_ns, sleep_until, thread_cpu_ns, wait_for_device};
use crate::futex;
use crate::site::Site;
use schedlab_model::distribution::Distribution;
use schedlab_model::time::Time;
use schedlab_model::workload::Step;
use std::hint::black_box;

impl Worker<'_> {
    /// Uses the memory that its steps use, before the first of them. A new process gets each page of shared memory and of code
    /// when it first uses it, and a copy of its own of each other page when it first writes to it. That is part of its start,
    /// like what the kernel does for a new thread, and no step takes longer because it is the first of its kind.
    pub fn touch_memory(&mut self) {
        use_code();
        black_box([now_ns(), thread_cpu_ns()]);
        self.act(&Step::Compute(Distribution::Constant(Time::ZERO)));
        self.engine.burn(1);
        self.draw_one_of_each();
        self.site.shared.map_pages();
        futex::wake(&self.site.shared.task(self.number).waits, 1);
    }

    /// Draws a length from each kind of distribution, with random numbers that its steps do not use.
    fn draw_one_of_each(&self) {
        let (mut rng, short, long) = (self.rng.clone(), Time(1), Time(2));
        for length in [
            Distribution::Uniform(short, long),
            Distribution::Exponential(short),
            Distribution::Lognormal(short, 1.0),
            Distribution::Choice(vec![(short, 0.5), (long, 0.5)]),
        ] {
            black_box(length.sample(&mut rng));
        }
    }
}

/// Reads from the code of each step.
fn use_code() {
    let code = [
        Worker::next as *const (),
        Worker::act as *const (),
        Worker::begin_request as *const (),
        Worker::end_request as *const (),
        Worker::use_device as *const (),
        Site::take_lock as *const (),
        Site::release_lock as *const (),
        Ends::send as *const (),
        Ends::receive as *const (),
        futex::semaphore_wait as *const (),
        futex::semaphore_post as *const (),
        sleep_until as *const (),
        wait_for_device as *const (),
        libc::read as *const (),
        libc::write as *const (),
        libc::clock_nanosleep as *const (),
        libc::sched_yield as *const (),
        libc::syscall as *const (),
    ];
    // SAFETY: a function has a first byte, which can be read.
    code.into_iter().for_each(|at| _ = black_box(unsafe { at.cast::<u8>().read_volatile() }));
}

#[cfg(test)]
mod tests {
    use crate::algorithm::{Algorithm, Engine};
    use crate::calibration::Calibration;
    use crate::control_groups::ControlGroups;
    use crate::master::Nobody;
    use crate::process::bury;
    use crate::site::Site;
    use crate::worker::Worker;
    use schedlab_model::scenario::Scenario;
    use std::io::{Read, Write};

    /// How often this process has got a page that it did not have.
    fn faults() -> i64 {
        // SAFETY: the kernel fills the structure.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage.ru_minflt
        }
    }

    /// How many pages a new process gets in each step of a program.
    fn faults_of(steps: &str) -> Vec<u8> {
        let text = format!(
            "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n[channel.p]\n[channel.s]\nkind = \"socket\"\n\
             [[task]]\nname = \"t\"\nkind = \"process\"\nonce = [{steps}]\n"
        );
        let workload = Scenario::parse(&text, "t").unwrap().compile().unwrap();
        let calibration = Calibration::unknown(Algorithm::Spin);
        let site = Site::open(&workload, &calibration, Algorithm::Spin, 1, ControlGroups::none()).unwrap();
        let number = site.shared.add_task(0, None, 0).unwrap();
        let mut worker = Worker::new(&site, &Nobody, number, Engine::new(Algorithm::Spin));
        let (mut told, mut tell) = std::io::pipe().unwrap();
        // SAFETY: the child does the task's steps and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let (mut got, mut count) = ([u8::MAX; 64], 0);
            worker.touch_memory();
            faults();
            let mut before = faults();
            while worker.next_step().is_some() && count < got.len() {
                worker.step();
                let now = faults();
                got[count] = (now - before) as u8;
                (before, count) = (now, count + 1);
            }
            tell.write_all(&got[..count]).unwrap();
            // SAFETY: nothing of the parent is to be run.
            unsafe { libc::_exit(0) };
        }
        drop(tell);
        let mut got = Vec::new();
        told.read_to_end(&mut got).unwrap();
        bury(child);
        got
    }

    #[test]
    fn no_step_of_a_new_process_takes_longer_because_it_is_the_first() {
        for length in ["1us", "exp(1us)", "uniform(1us, 2us)", "lognormal(1us, 0.5)"] {
            let steps = format!(
                "{{ compute = \"{length}\" }}, {{ sleep = \"{length}\" }}, {{ lock = \"m\" }}, {{ unlock = \"m\" }}, {{ post = \"s\" }}, \
                 {{ wait = \"s\" }}, {{ yield = true }}, \
                 {{ send = \"p\" }}, {{ recv = \"p\" }}, {{ send = \"s\" }}, {{ recv = \"s\" }}, {{ compute = \"{length}\" }}"
            );
            let got = faults_of(&steps);
            let all: u32 = got.iter().copied().map(u32::from).sum();
            // Which code is in which page is up to the linker.
            assert!(all <= 3, "{length}: {got:?}");
        }
    }
}
