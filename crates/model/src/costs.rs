//! What the machine and the kernel take for themselves: one list, from which come the simulator's input, the keys of files,
//! and what is told of a run in a kernel.

use crate::result::SchedulerCosts;
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

        /// CPU time of the system and of what tasks do beside their steps; 0 when absent.
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
    /// Making a task runnable, paid by the CPU that wakes it (`try_to_wake_up`).
    wakeup
    /// The cold cache after a migration, paid by the new CPU before the task runs there.
    migration
    /// One timer tick, paid by its CPU (`tick_sched_handle`).
    tick
    /// The interrupt that ends a sleep, beside the wakeup, on the CPU where the sleeper went to sleep (`hrtimer_interrupt`).
    timer
    /// Creating a thread: CPU time of the task that creates it (`kernel_clone`).
    fork
    /// The begin of a thread that comes to be while the run goes on: its CPU time before its first step.
    start
    /// The end of a thread: its CPU time after its last step (`do_exit`).
    exit
    /// As `fork`, of a process: its parent's tables of pages are copied (`copy_process`, `dup_mm`).
    process_fork
    /// As `start`, of a process: what it writes to is copied page by page (`do_wp_page`).
    process_start
    /// As `exit`, of a process, whose memory goes with it (`exit_mm`).
    process_exit
    /// Creating a task that arrives from outside: CPU time of what creates it, above all tasks.
    arrival
    /// Going to sleep until a timer: CPU time of the task before it sleeps (`clock_nanosleep`).
    sleep
    /// Coming back from a sleep or a wait: CPU time of the task after the switch and before its next step.
    resume
    /// A request to a device: CPU time of the task before it waits.
    io
    /// Waiting for a semaphore, a mutex or a barrier: CPU time of the task before it sleeps (`futex_wait`).
    futex_wait
    /// Waking those who wait there, beside the wakeup: CPU time of the task that wakes (`futex_wake`).
    futex_wake
    /// Giving to or taking from a semaphore at which nobody waits: CPU time of the task.
    semaphore
    /// Putting a message into a pipe, beside the wakeup: CPU time of the task (`pipe_write`).
    pipe_send
    /// Taking one out: CPU time of the task (`pipe_read`).
    pipe_recv
    /// Putting a message into a socket, with its way through the loopback device and the softirq, beside the wakeup: CPU time
    /// of the task (`tcp_sendmsg`, `tcp_v4_rcv`).
    socket_send
    /// Taking one out: CPU time of the task (`tcp_recvmsg`).
    socket_recv
}

impl Costs {
    /// Those of calls that steps are.
    pub fn calls(&self) -> impl Iterator<Item = Time> {
        let messages = [self.pipe_send, self.pipe_recv, self.socket_send, self.socket_recv];
        let others = [self.sleep, self.futex_wait, self.futex_wake, self.semaphore];
        messages.into_iter().chain(others)
    }
}

impl From<&SchedulerCosts> for Costs {
    /// What was measured, as the simulator takes it; what is not known is zero. A call is told with its way out, which is
    /// [`Costs::resume`] where it sleeps. What a policy's instructions take is part of the rest.
    fn from(told: &SchedulerCosts) -> Costs {
        let time = |ns: Option<f64>| Time(ns.unwrap_or(0.0).round() as u64);
        // What creates a task also wakes it.
        let arrival_ns = time(told.arrival_ns).ns().saturating_sub(time(told.wakeup_ns).ns());
        let way_in = |ns: Option<f64>| Time(time(ns).ns().saturating_sub(time(told.resume_ns).ns()));
        Costs {
            switch: time(told.switch_ns()),
            wakeup: time(told.wakeup_ns),
            migration: time(told.migration_ns),
            tick: time(told.tick_ns),
            timer: time(told.timer_ns),
            fork: time(told.fork_ns),
            start: time(told.start_ns),
            exit: time(told.exit_ns),
            process_fork: time(told.process_fork_ns),
            process_start: time(told.process_start_ns),
            process_exit: time(told.process_exit_ns),
            arrival: Time(arrival_ns),
            sleep: way_in(told.sleep_ns),
            resume: time(told.resume_ns),
            io: way_in(told.io_ns),
            futex_wait: time(told.futex_wait_ns),
            futex_wake: time(told.futex_wake_ns),
            semaphore: time(told.semaphore_ns),
            pipe_send: time(told.pipe_send_ns),
            pipe_recv: time(told.pipe_recv_ns),
            socket_send: time(told.socket_send_ns),
            socket_recv: time(told.socket_recv_ns),
            policy_instruction_ps: 0,
        }
    }
}
