//! What the machine and the kernel take for themselves: one list, from which come the simulator's input, the keys of files
//! and the table of the reference; and what was measured, which becomes the simulator's input.

use crate::scenario::{Picoseconds, Text};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! costs {
    ($($(#[doc = $doc:literal])+ $name:ident)+) => {
        /// What the machine and the kernel take. All zero by default; measured on a real machine or in a kernel, they never
        /// depend on the host that simulates. What a call or a life takes is CPU time of the task; the rest is overhead.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Costs {
            $($(#[doc = $doc])+ pub $name: Time,)+
            /// One instruction of a policy, in *picoseconds*, paid by the CPU on which its callback runs.
            pub policy_instruction_ps: u64,
        }

        /// CPU time of the system and of what tasks do in addition to their steps; 0 when absent.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct CostKeys {
            $($(#[doc = $doc])+ #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<Text<Time>>,)+
            /// One instruction of the policy.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub policy_instruction: Option<Text<Picoseconds>>,
        }

        impl Costs {
            /// The names of all that are times.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            /// The documentation of each of them.
            #[cfg(test)]
            const MEANINGS: &[&str] = &[$(concat!($($doc),+)),+];

            /// Each cost that is a time, with its name.
            pub fn times_mut(&mut self) -> [(&'static str, &mut Time); Costs::NAMES.len()] {
                [$((stringify!($name), &mut self.$name)),+]
            }
        }

        impl From<&CostKeys> for Costs {
            fn from(keys: &CostKeys) -> Costs {
                let time = |key: &Option<Text<Time>>| key.as_ref().map_or(Time::ZERO, |time| time.0);
                Costs {
                    $($name: time(&keys.$name),)+
                    policy_instruction_ps: keys.policy_instruction.as_ref().map_or(0, |ps| ps.0.0),
                }
            }
        }

        impl From<&Costs> for CostKeys {
            fn from(costs: &Costs) -> CostKeys {
                let key = |time: Time| (time > Time::ZERO).then_some(Text(time));
                let policy_instruction = Some(costs.policy_instruction_ps).filter(|ps| *ps > 0);
                CostKeys {
                    $($name: key(costs.$name),)+
                    policy_instruction: policy_instruction.map(|ps| Text(Picoseconds(ps))),
                }
            }
        }
    };
}

costs! {
    /// From one task to another on a CPU, paid by that CPU before the next task runs (`__schedule`).
    switch
    /// The extra cost, beyond `wakeup` and `switch`, when a policy preempts a busy CPU by a kick or by ending its task's slice: the
    /// interrupt, and putting the running task back into a queue. Paid by that CPU (`kick_cpus_irq_workfn`, `put_prev_task_scx`).
    preempt
    /// The extra cost of the first switch after a CPU has been idle for longer than a tick and has stopped its tick. Paid by that
    /// CPU before the task runs (`tick_nohz_idle_exit`).
    idle_exit
    /// Making a task runnable, paid by the CPU that wakes it (`try_to_wake_up`).
    wakeup
    /// The extra cost of `wakeup` when the task goes to another CPU that is idle: the interrupt to that CPU (`ttwu_queue_wakelist`,
    /// `resched_curr`).
    wakeup_remote
    /// The extra cost of `wakeup` for a task that may run on several CPUs: choosing one (`select_task_rq`).
    wakeup_select
    /// The cold cache after a migration, paid by the new CPU before the task runs there.
    migration
    /// One timer tick, paid by its CPU (`tick_sched_handle`).
    tick
    /// The interrupt that ends a sleep or a request to a device, or delivers a message from outside, without the wake-up; paid by
    /// the CPU where the woken task went to sleep (`hrtimer_interrupt`).
    timer
    /// Creating a thread: CPU time of the task that creates it (`kernel_clone`).
    fork
    /// The start of a thread that is spawned or arrives: its CPU time before its first step.
    start
    /// The end of a thread: its CPU time after its last step (`do_exit`).
    exit
    /// Like `fork`, for a process: its parent's page tables are copied (`copy_process`, `dup_mm`).
    process_fork
    /// The extra cost of `process_fork` for each other thread, counting the most that ever lived at once: all threads are one
    /// process, and the kernel copies its memory areas one by one, including each stack (`dup_mmap`).
    process_fork_thread
    /// The rest of the call that creates a process, once that is awake: the task's CPU time until its next step. The kernel
    /// already copies what the task writes to on the way.
    process_return
    /// What a task pays once after the last process that it creates in a step, with its next work or call: the kernel copies the
    /// pages that it writes to, one by one (`do_wp_page`).
    process_copy
    /// Like `start`, for a process: the kernel copies the pages that it writes to, one by one (`do_wp_page`).
    process_start
    /// The extra cost of `process_start` while processes created later in the same step share the memory: only the last one
    /// writes to pages that no other process has any more (`wp_page_reuse`).
    process_start_shared
    /// The extra cost of `process_start` when a process runs before its creator continues; the creator's `process_return` and
    /// `process_copy` together cost less by as much. The first of the two to write to a page gets a copy, the other keeps the page.
    process_start_first
    /// The extra cost of `process_start` for each thread that `process_fork_thread` counts: the new process marks their stacks as
    /// free, and the kernel copies the pages that this writes to (`__reclaim_stacks` of glibc, `do_wp_page`).
    process_start_thread
    /// Like `exit`, for a process, whose memory is freed (`exit_mm`).
    process_exit
    /// The extra cost of `process_exit` for each thread that `process_fork_thread` counts: freeing their memory areas (`exit_mmap`).
    process_exit_thread
    /// Creating a task of a role with `arrivals`, without its wake-up; paid by the CPU on which a system task with the highest
    /// priority does it.
    arrival
    /// Like `arrival`, for a process; each thread of the run adds `process_fork_thread`. 0: as `arrival`.
    process_arrival
    /// Each run of the kernel thread that waits for grace periods: at each tick while tasks end. Paid by its CPU
    /// (`rcu_gp_kthread`).
    grace_period
    /// What other kernel threads use for each task that has ended, after the next grace period (`ksoftirqd`,
    /// `delayed_vfree_work`).
    reclaim
    /// What a kernel thread of each busy CPU uses once a second to update the CPU's statistics. The policy schedules that thread like
    /// any task. Paid by its CPU (`vmstat_update`).
    statistics
    /// Going to sleep until a timer: CPU time of the task within the sleep, which ends no later (`clock_nanosleep`).
    sleep
    /// Returning from a sleep or a wait: CPU time of the task after the switch and before its next step.
    resume
    /// A request to a device: CPU time of the task while the device already serves it.
    io
    /// Waiting for a semaphore, a mutex, a condition variable or a barrier, including the cost of leaving the CPU beyond `switch`: CPU
    /// time of the task before it sleeps (`futex_wait`).
    futex_wait
    /// Waking the waiters there, without the wake-up: CPU time of the waker (`futex_wake`).
    futex_wake
    /// Giving to or taking from a semaphore, without `futex_wait` and `futex_wake`: CPU time of the task.
    semaphore
    /// Recording a task's own request, or one from outside: CPU time of the task, with its next work or call. The load generator
    /// does this in every venue.
    request
    /// Passing a request on, in addition to the call that does so: CPU time of the sender.
    request_send
    /// Taking a request over and recording it, in addition to the call: CPU time of the receiver, with its next work or call.
    request_recv
    /// Putting a message into a pipe, without the wake-up: CPU time of the task (`pipe_write`).
    pipe_send
    /// Taking one out: CPU time of the task (`pipe_read`).
    pipe_recv
    /// The extra cost of `pipe_send` when the pipe has no page left of those that it keeps from earlier messages (`alloc_page` in
    /// `anon_pipe_get_page`); a fresh pipe has none.
    pipe_alloc
    /// The extra cost of `pipe_recv` when the pipe already keeps as many pages as it can (`put_page` in `anon_pipe_put_page`).
    pipe_free
    /// Waiting in a pipe: CPU time of the task before it sleeps.
    pipe_wait
    /// Returning from a wait in a pipe: the cost beyond `resume`, before the task has its message or its room
    /// (`pipe_read`, `pipe_write`).
    pipe_resume
    /// Putting a message into a socket, with its path through the loopback device and the softirq, without the wake-up: CPU
    /// time of the task (`tcp_sendmsg`, `tcp_v4_rcv`).
    socket_send
    /// Taking one out: CPU time of the task (`tcp_recvmsg`).
    socket_recv
    /// Waiting at a socket: CPU time of the task before it sleeps (`sk_wait_data`).
    socket_wait
    /// Returning from a wait at a socket: the cost beyond `resume`, before the task has its message (`release_sock`,
    /// `skb_copy_datagram_iter`, `tcp_cleanup_rbuf`).
    socket_resume
}

impl Costs {
    /// Those of calls that steps make, and what a task still owes for earlier steps.
    pub fn calls(&self) -> impl Iterator<Item = Time> {
        let pages = [self.pipe_alloc, self.pipe_free];
        let pipes = [self.pipe_send, self.pipe_recv, self.pipe_wait, self.pipe_resume];
        let sockets = [self.socket_send, self.socket_recv, self.socket_wait, self.socket_resume];
        let others = [self.sleep, self.io, self.futex_wait, self.futex_wake, self.semaphore, self.process_copy];
        let requests = [self.request, self.request_send, self.request_recv];
        pipes.into_iter().chain(pages).chain(sockets).chain(others).chain(requests)
    }
}

/// What a scheduler costs, measured in addition to the scenario by tasks that do nothing else, as medians. The kernel's
/// paths around it (a system call's entry and exit) are subtracted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerCosts {
    /// Virtual time of an instruction.
    pub ns_per_instruction: f64,
    /// A switch from one thread to another of the same process; absent where a yielding task may continue, as under CFS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_thread_ns: Option<f64>,
    /// A switch from one process to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_process_ns: Option<f64>,
    /// A wake-up and a switch: a thread wakes another on its CPU and goes to sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_over_ns: Option<f64>,
    /// The way from a thread that goes to sleep to another that waits for the CPU: a switch, and the cost of a call that sleeps beyond one that
    /// returns at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_wait_ns: Option<f64>,
    /// How much later a sleep ends if the CPU has stopped its tick meanwhile, compared with a shorter sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit_ns: Option<f64>,
    /// The extra cost of a wake-up and a switch when the woken thread preempts its waker; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_ns: Option<f64>,
    /// Waking a sleeper on the waker's CPU, as paid by its waker; on another one where the waker may not be a real-time task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_ns: Option<f64>,
    /// The extra cost of waking a sleeper on another CPU that is idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeup_remote_ns: Option<f64>,
    /// The extra cost of waking a sleeper that may run on several CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeup_select_ns: Option<f64>,
    /// A timer tick under a task that computes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<f64>,
    /// A migration to another CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_ns: Option<f64>,
    /// Creating a thread: CPU time of the thread that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_ns: Option<f64>,
    /// The start of a thread, up to its first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<f64>,
    /// The end of a thread, after its last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_ns: Option<f64>,
    /// The interrupt of a timer without a waiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_ns: Option<f64>,
    /// Creating a process: CPU time of the task that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_fork_ns: Option<f64>,
    /// The extra cost of creating a process for each other thread of the creator's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_fork_thread_ns: Option<f64>,
    /// Creating a process: CPU time of the task that creates it, from the wake-up of the process to the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_return_ns: Option<f64>,
    /// Creating processes: CPU time of their creator, once after the last one of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_copy_ns: Option<f64>,
    /// The start of a process, up to its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start_ns: Option<f64>,
    /// The extra cost of a process's start while processes created later in the same step share the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start_shared_ns: Option<f64>,
    /// The extra cost of a process's start when it runs before its creator continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start_first_ns: Option<f64>,
    /// The extra cost of a process's start for each other thread of the creator's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start_thread_ns: Option<f64>,
    /// The end of a process, after its last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_exit_ns: Option<f64>,
    /// The extra cost of a process's end for each other thread of the creator's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_exit_thread_ns: Option<f64>,
    /// Creating a task that arrives from outside: CPU time of the task that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_ns: Option<f64>,
    /// Creating a process that arrives from outside: CPU time of the task that creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_arrival_ns: Option<f64>,
    /// Each run of the kernel thread that waits for grace periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_ns: Option<f64>,
    /// What other kernel threads use for each task that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim_ns: Option<f64>,
    /// Each run of a kernel worker that is bound to a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics_ns: Option<f64>,
    /// Sleeping until a timer: CPU time of the task, from the call to its next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_ns: Option<f64>,
    /// Returning from a wait: CPU time of the task, from the switch to its next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_ns: Option<f64>,
    /// A request to a device: CPU time of the task, from the call to its next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_ns: Option<f64>,
    /// A futex call that could wait and does not need to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_wait_ns: Option<f64>,
    /// A futex call that wakes, without a waiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_wake_ns: Option<f64>,
    /// Giving to or taking from a semaphore without a waiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semaphore_ns: Option<f64>,
    /// Recording a request of a task that does nothing else: CPU time of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_ns: Option<f64>,
    /// Passing a request on: the extra cost of posting to a semaphore that carries requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_send_ns: Option<f64>,
    /// Taking a request over: the extra cost of taking from a semaphore that carries requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_recv_ns: Option<f64>,
    /// Putting a message into a pipe without a waiter, in a page that the pipe has kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_send_ns: Option<f64>,
    /// Taking a message out of a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_recv_ns: Option<f64>,
    /// The extra cost of putting a message into a pipe when it needs a new page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_alloc_ns: Option<f64>,
    /// The extra cost of taking a message out of a pipe when the pipe does not keep its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_free_ns: Option<f64>,
    /// Waiting in a pipe, without the cost of a sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_wait_ns: Option<f64>,
    /// The part of a wait in a pipe that comes after the wake-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipe_resume_ns: Option<f64>,
    /// Putting a message into a socket without a waiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_send_ns: Option<f64>,
    /// Taking a message out of a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_recv_ns: Option<f64>,
    /// Waiting at a socket, without the cost of a sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_wait_ns: Option<f64>,
    /// The part of a wait at a socket that comes after the wake-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_resume_ns: Option<f64>,
}

impl SchedulerCosts {
    /// A switch between threads. Where a task that yields may continue, it is one from a task that goes to sleep, or what a
    /// hand-over takes without the wakeup in it.
    pub fn switch_ns(&self) -> Option<f64> {
        self.switch_thread_ns.or(self.switch_wait_ns).or_else(|| Some((self.hand_over_ns? - self.wakeup_ns?).max(0.0)))
    }
}

impl From<&SchedulerCosts> for Costs {
    /// What was measured, as the simulator takes it; what is not known is zero. The kernel counts a switch as CPU time of the
    /// task to which it leads, so what was measured as that has a switch in it wherever the task had slept before or is new.
    /// The measured time of a call includes its way out, which is [`Costs::resume`] where it sleeps. What a policy's
    /// instructions take is part of the rest.
    fn from(told: &SchedulerCosts) -> Costs {
        let time = |ns: Option<f64>| Time(ns.unwrap_or(0.0).round() as u64);
        let switch = time(told.switch_ns());
        let without = |ns: Option<f64>, others: &[Time]| {
            let others_ns = others.iter().map(|other| other.ns()).sum();
            Time(time(ns).ns().saturating_sub(others_ns))
        };
        let part = |ns: Option<f64>, whole: Option<f64>| time(ns).min(time(whole));
        // Going to sleep is more than a switch.
        let departure_ns = told.switch_wait_ns.map_or(0.0, |ns| (ns - switch.ns() as f64).max(0.0));
        let way_in = |ns: Option<f64>| without(ns, &[switch, time(told.resume_ns)]);
        Costs {
            switch,
            idle_exit: time(told.idle_exit_ns),
            preempt: time(told.preempt_ns),
            wakeup: time(told.wakeup_ns),
            wakeup_remote: time(told.wakeup_remote_ns),
            wakeup_select: time(told.wakeup_select_ns),
            migration: time(told.migration_ns),
            tick: time(told.tick_ns),
            timer: time(told.timer_ns),
            fork: time(told.fork_ns),
            start: without(told.start_ns, &[switch]),
            exit: time(told.exit_ns),
            process_fork: time(told.process_fork_ns),
            process_fork_thread: time(told.process_fork_thread_ns),
            process_return: time(told.process_return_ns),
            process_copy: time(told.process_copy_ns),
            process_start: without(told.process_start_ns, &[switch]),
            process_start_shared: time(told.process_start_shared_ns),
            process_start_first: time(told.process_start_first_ns),
            process_start_thread: time(told.process_start_thread_ns),
            process_exit: time(told.process_exit_ns),
            process_exit_thread: time(told.process_exit_thread_ns),
            // What creates a task also wakes it.
            arrival: without(told.arrival_ns, &[switch, time(told.wakeup_ns)]),
            process_arrival: without(told.process_arrival_ns, &[switch, time(told.wakeup_ns)]),
            grace_period: without(told.grace_period_ns, &[switch]),
            reclaim: time(told.reclaim_ns),
            statistics: without(told.statistics_ns, &[switch]),
            sleep: way_in(told.sleep_ns),
            resume: time(told.resume_ns),
            io: way_in(told.io_ns),
            futex_wait: time(told.futex_wait_ns.map(|ns| ns + departure_ns)),
            futex_wake: time(told.futex_wake_ns),
            semaphore: time(told.semaphore_ns),
            request: time(told.request_ns),
            request_send: time(told.request_send_ns),
            request_recv: time(told.request_recv_ns),
            pipe_send: time(told.pipe_send_ns),
            pipe_recv: time(told.pipe_recv_ns),
            pipe_alloc: time(told.pipe_alloc_ns),
            pipe_free: time(told.pipe_free_ns),
            pipe_wait: without(told.pipe_wait_ns, &[time(told.pipe_resume_ns)]),
            pipe_resume: part(told.pipe_resume_ns, told.pipe_wait_ns),
            socket_send: time(told.socket_send_ns),
            socket_recv: time(told.socket_recv_ns),
            socket_wait: without(told.socket_wait_ns, &[time(told.socket_resume_ns)]),
            socket_resume: part(told.socket_resume_ns, told.socket_wait_ns),
            policy_instruction_ps: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All times different, and different from those of their neighbours by more than a rounding.
    fn all_different() -> Costs {
        let mut costs = Costs { policy_instruction_ps: 350, ..Costs::default() };
        costs.times_mut().into_iter().zip(1..).for_each(|((_, time), number)| *time = Time(1000 + 7 * number));
        costs
    }

    #[test]
    fn no_two_costs_have_one_name() {
        let names: BTreeSet<&str> = Costs::NAMES.iter().copied().collect();
        assert_eq!((names.len(), Costs::MEANINGS.len()), (Costs::NAMES.len(), Costs::NAMES.len()));
        assert!(!names.contains("policy_instruction") && !names.contains("retry"), "others have these names");
        let mut costs = Costs::default();
        assert_eq!(costs.times_mut().map(|(name, _)| name), Costs::NAMES);
    }

    #[test]
    fn keys_lead_to_costs_and_back() {
        let costs = all_different();
        assert_eq!(Costs::from(&CostKeys::from(&costs)), costs);
        assert_eq!(CostKeys::from(&Costs::default()), CostKeys::default(), "what costs nothing has no key");
        let keys: CostKeys = toml::from_str(&toml::to_string(&CostKeys::from(&costs)).unwrap()).unwrap();
        assert_eq!(Costs::from(&keys), costs, "as text, too");
        let text = "socket_send = \"3us\"\npolicy_instruction = \"350ps\"\n";
        let read = Costs::from(&toml::from_str::<CostKeys>(text).unwrap());
        assert_eq!(read, Costs { socket_send: Time(3000), policy_instruction_ps: 350, ..Costs::default() });
    }

    #[test]
    fn what_is_measured_goes_to_the_cost_of_its_name() {
        let mut told = serde_json::Map::new();
        for (number, name) in (1..).zip(Costs::NAMES) {
            told.insert(format!("{name}_ns"), (f64::from(1000 + 7 * number) + 0.4).into());
        }
        told.insert("ns_per_instruction".into(), 5.0.into());
        // Costs are measured with switches between threads.
        let switch = told.remove("switch_ns").unwrap();
        told.insert("switch_thread_ns".into(), switch);
        let told: SchedulerCosts = serde_json::from_value(told.into()).unwrap();
        let all = all_different();
        let without = |whole: Time, part: Time| Time(whole.ns().saturating_sub(part.ns()));
        let switched = |whole: Time| without(whole, all.switch);
        let expected = Costs {
            start: switched(all.start),
            process_start: switched(all.process_start),
            arrival: switched(without(all.arrival, all.wakeup)),
            process_arrival: switched(without(all.process_arrival, all.wakeup)),
            grace_period: switched(all.grace_period),
            statistics: switched(all.statistics),
            sleep: switched(without(all.sleep, all.resume)),
            io: switched(without(all.io, all.resume)),
            pipe_wait: without(all.pipe_wait, all.pipe_resume),
            pipe_resume: all.pipe_wait,
            socket_wait: without(all.socket_wait, all.socket_resume),
            socket_resume: all.socket_wait,
            policy_instruction_ps: 0,
            ..all
        };
        assert!(expected.start > Time::ZERO && expected.grace_period > Time::ZERO);
        assert_eq!(Costs::from(&told), expected);
    }

    #[test]
    fn a_way_in_is_the_whole_without_the_way_back_and_an_arrival_has_no_wakeup() {
        let told = SchedulerCosts {
            wakeup_ns: Some(600.0),
            arrival_ns: Some(20_600.0),
            sleep_ns: Some(3000.0),
            resume_ns: Some(900.0),
            io_ns: Some(800.0),
            ..SchedulerCosts::default()
        };
        let costs = Costs::from(&told);
        assert_eq!((costs.arrival, costs.sleep, costs.resume), (Time(20_000), Time(2100), Time(900)));
        let switched = Costs::from(&SchedulerCosts { switch_thread_ns: Some(500.0), ..told.clone() });
        assert_eq!((switched.arrival, switched.sleep, switched.resume), (Time(19_500), Time(1600), Time(900)));
        assert_eq!(costs.io, Time::ZERO, "it takes no less than nothing");
        let unknown = Costs::from(&SchedulerCosts { resume_ns: None, wakeup_ns: None, ..told });
        assert_eq!((unknown.arrival, unknown.sleep), (Time(20_600), Time(3000)));
        assert_eq!(Costs::from(&SchedulerCosts::default()), Costs::default());
    }

    #[test]
    fn a_wait_for_a_message_has_a_part_before_and_a_part_after_the_wakeup() {
        let told = |wait, resume| {
            let told = SchedulerCosts { socket_wait_ns: wait, socket_resume_ns: resume, ..SchedulerCosts::default() };
            let costs = Costs::from(&told);
            (costs.socket_wait, costs.socket_resume)
        };
        assert_eq!(told(Some(9000.0), Some(7000.0)), (Time(2000), Time(7000)));
        assert_eq!(told(Some(9000.0), None), (Time(9000), Time::ZERO));
        // Together they are the whole.
        assert_eq!(told(Some(6000.0), Some(7000.0)), (Time::ZERO, Time(6000)));
        assert_eq!(told(None, Some(7000.0)), (Time::ZERO, Time::ZERO));
    }

    #[test]
    fn a_wait_at_a_futex_takes_what_going_to_sleep_takes_more_than_a_switch() {
        let known =
            SchedulerCosts { futex_wait_ns: Some(400.0), switch_wait_ns: Some(1500.0), ..SchedulerCosts::default() };
        let costs = |switch| Costs::from(&SchedulerCosts { switch_thread_ns: switch, ..known.clone() });
        let both = |costs: Costs| (costs.switch, costs.futex_wait);
        assert_eq!(both(costs(Some(900.0))), (Time(900), Time(1000)));
        assert_eq!(both(costs(Some(1600.0))), (Time(1600), Time(400)));
        // Where no yield makes a switch, the two cannot be told apart.
        assert_eq!(both(costs(None)), (Time(1500), Time(400)));
    }

    #[test]
    fn a_switch_is_known_where_no_yield_makes_one() {
        let known = SchedulerCosts { hand_over_ns: Some(1500.0), wakeup_ns: Some(600.0), ..SchedulerCosts::default() };
        assert_eq!(SchedulerCosts { switch_thread_ns: Some(700.0), ..known.clone() }.switch_ns(), Some(700.0));
        assert_eq!((known.switch_ns(), Costs::from(&known).switch), (Some(900.0), Time(900)));
        assert_eq!(SchedulerCosts { hand_over_ns: None, ..known.clone() }.switch_ns(), None);
        assert_eq!(SchedulerCosts { wakeup_ns: None, ..known }.switch_ns(), None);
    }

    #[test]
    fn the_reference_has_the_table_of_costs() {
        const HEAD: &str = "| cost | what it is, and which task pays |\n|---|---|\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/scenario.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (before, after) = text.split_once(HEAD).expect("a table of costs");
        let rows: String = after.split_inclusive('\n').take_while(|line| line.starts_with('|')).collect();
        let meanings = Costs::NAMES.iter().zip(Costs::MEANINGS);
        let expected: String = meanings.map(|(name, meaning)| format!("| `{name}` | {} |\n", meaning.trim())).collect();
        if std::env::var_os("SCHEDLAB_WRITE_DOCS").is_some() {
            std::fs::write(path, [before, HEAD, &expected, &after[rows.len()..]].concat()).unwrap();
        } else {
            assert_eq!(rows, expected, "SCHEDLAB_WRITE_DOCS=1 cargo test -p schedlab-model writes it into {path}");
        }
    }
}
