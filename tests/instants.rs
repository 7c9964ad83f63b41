//! What happens at one instant: all tasks that interrupts wake are there before a CPU chooses.

use crate::lab::lawful;
use schedlab_model::scenario::Scenario;
use schedlab_model::trace::*;
use schedlab_model::workload::Workload;

fn workload(cpus: u32, tables: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = {cpus}\n[run]\nduration = \"105ms\"\n{tables}");
    Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// How many times a task came to a CPU, and how many of those lost it at the same instant.
fn turns(events: &[Event]) -> (usize, usize) {
    let came = events.iter().filter_map(|event| match event.kind {
        EventKind::Switch { next: Some(task), .. } => Some((event.time, task)),
        _ => None,
    });
    let came: Vec<_> = came.collect();
    let in_vain = events.iter().filter(|event| match event.kind {
        EventKind::Switch { previous: Some(task), reason: Reason::Preempted, .. } => came.contains(&(event.time, task)),
        _ => false,
    });
    (came.len(), in_vain.count())
}

/// Tasks of rising rank, in the order in which their timers are set: each would take the CPU from the one before. In
/// the steps, `{n}` is the number of the task.
fn ranked(steps: &str) -> String {
    let role = |(number, rank): (usize, &str)| {
        let steps = steps.replace("{n}", &number.to_string());
        format!("[[task]]\nname = \"t{number}\"\n{rank}\nloop = [{steps}]\n")
    };
    ["nice = 10", "class = \"fifo:10\"", "class = \"fifo:20\""].into_iter().enumerate().map(role).collect()
}

#[test]
fn tasks_whose_timers_expire_at_one_instant_are_all_there_before_a_cpu_chooses() {
    for policy in ["rr", "eevdf", "cfs", "fcfs"] {
        for cpus in [1, 2] {
            let steps = "{ period = \"10ms\" }, { compute = \"1ms\" }";
            assert_eq!(turns(&lawful(&workload(cpus, &ranked(steps)), policy).0), (33, 0), "{policy}, {cpus} CPUs");
        }
    }
}

#[test]
fn so_are_tasks_that_devices_have_served() {
    let request = "{ io = { device = \"disk{n}\", service = \"5ms\" } }";
    let served = ranked(&format!("{request}, {{ compute = \"1ms\" }}, {{ sleep = \"10s\" }}"));
    let disks = "[device.disk0]\n[device.disk1]\n[device.disk2]\n";
    assert_eq!(turns(&lawful(&workload(1, &format!("{disks}{served}")), "rr").0), (6, 0));
}

/// One task has used up what it reserved, and another one sleeps, until the same instant.
#[test]
fn so_are_tasks_whose_reservations_begin_again() {
    let tasks = "[[task]]\nname = \"sleeper\"\nclass = \"deadline:2ms/30ms\"\nonce = [{ sleep = \"20ms\" }, { compute = \"1ms\" }]\n\
                 [[task]]\nname = \"rests\"\nclass = \"deadline:5ms/20ms\"\nonce = [{ compute = \"8ms\" }]\n";
    assert_eq!(turns(&lawful(&workload(1, tasks), "rr").0), (4, 0));
}

/// An instant later is another instant.
#[test]
fn a_task_that_comes_later_takes_the_cpu() {
    let late = "[[task]]\nname = \"a\"\nonce = [{ compute = \"5ms\" }]\n\
                [[task]]\nname = \"b\"\nclass = \"fifo:1\"\nstart = \"1ns\"\nonce = [{ compute = \"1ms\" }]\n";
    assert_eq!(turns(&lawful(&workload(1, late), "rr").0), (3, 0));
}
