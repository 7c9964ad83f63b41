//! Real-time priorities: the supervisor of a run is above every task of it, so that a run ends when it should, whatever
//! its tasks do with their CPUs.
//!
//! A workload without real-time tasks needs the lowest real-time priority for that. With real-time tasks it is the
//! highest, and tasks that ask for it go one priority lower; the order among the tasks stays. A kernel up to 6.11 may
//! still make everything of a real-time class wait for 50 ms of a second, what looks after the run included.

use schedlab_model::workload::{Class, Role, Workload};

/// The kernel's highest real-time priority.
const HIGHEST: u8 = 99;
/// The lowest.
const LOWEST: u8 = 1;

/// The real-time priorities of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The priority of what looks after the run.
    control: u8,
    /// Tasks that ask for this priority or a higher one get one less.
    lowered_from: u8,
}

impl Ranks {
    /// Those of a workload; none when it asks for all priorities that there are.
    pub fn of(workload: &Workload) -> Option<Ranks> {
        let asked = |priority| workload.roles.iter().flat_map(Role::classes).any(|class| class.priority() == priority);
        let free = (LOWEST..=HIGHEST).rev().find(|&priority| !asked(priority))?;
        let control = if workload.has_realtime() { HIGHEST } else { LOWEST };
        Some(Ranks { control, lowered_from: free + 1 })
    }

    /// The class that a task gets which asks for this one.
    pub fn class(self, asked: Class) -> Class {
        let lowered = |priority: u8| priority - u8::from(priority >= self.lowered_from);
        match asked {
            Class::Fifo(priority) => Class::Fifo(lowered(priority)),
            Class::RoundRobin(priority) => Class::RoundRobin(lowered(priority)),
            other => other,
        }
    }

    /// Gives the calling thread the first word where it may have it: for one that sleeps nearly always, must not come
    /// late, and is none of the tasks that the scheduler has to share the machine among. Threads that it creates are as
    /// others.
    pub fn hurry(self) {
        set_class(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, self.control.into());
    }

    /// As [`Ranks::hurry`], but threads that it creates have the first word, too, until they choose a class of their own.
    pub fn hurry_with_children(self) {
        set_class(libc::SCHED_FIFO, self.control.into());
    }
}

/// The calling thread is as others again.
pub fn calm() {
    set_class(libc::SCHED_OTHER, 0);
}

fn set_class(class: libc::c_int, sched_priority: libc::c_int) {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the kernel only reads the structure. Without the right for it, things stay as they are.
    unsafe { libc::sched_setscheduler(0, class, &parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;

    fn workload(classes: &[String]) -> Workload {
        let task = |(number, class): (usize, &String)| {
            format!("[[task]]\nname = \"t{number}\"\nclass = \"{class}\"\nonce = [{{ compute = \"1ms\" }}]\n")
        };
        let tasks: String = classes.iter().enumerate().map(task).collect();
        let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tasks}[run]\nduration = \"1s\"\n");
        Scenario::parse(&text, "test").unwrap().compile().unwrap()
    }

    fn given(classes: &[&str]) -> (u8, Vec<Class>) {
        let workload = workload(&classes.iter().map(|class| class.to_string()).collect::<Vec<_>>());
        let ranks = Ranks::of(&workload).unwrap();
        (ranks.control, workload.roles.iter().map(|role| ranks.class(role.class)).collect())
    }

    #[test]
    fn control_stands_above_tasks_whose_order_stays() {
        use Class::*;
        assert_eq!(given(&["other", "idle"]), (1, vec![Other, Idle]));
        assert_eq!(given(&["fifo:98", "rr:1", "batch"]), (99, vec![Fifo(98), RoundRobin(1), Batch]));
        assert_eq!(given(&["fifo:99", "rr:98", "rr:99", "fifo:96"]), {
            (99, vec![Fifo(98), RoundRobin(97), RoundRobin(98), Fifo(96)])
        });
    }

    #[test]
    fn tasks_that_leave_no_priority_are_refused() {
        let classes = |lowest: u8| (lowest..=99).map(|priority| format!("fifo:{priority}")).collect::<Vec<_>>();
        assert_eq!(Ranks::of(&workload(&classes(1))), None);
        assert_eq!(Ranks::of(&workload(&classes(2))), Some(Ranks { control: 99, lowered_from: 2 }));
    }
}
