//! What a task may be: on which CPUs, with which nice value, at its begin and later.

use super::{Change, Fault, Task, error::Path};
use crate::{cpuset::CpuSet, workload::Class};

/// A sentence about what is wrong.
type Wrong = String;

/// All CPUs are the machine's.
pub(crate) fn cpus(cpus: &CpuSet, machine_cpus: u32) -> Result<(), Wrong> {
    match cpus.iter().find(|cpu| cpu.0 >= machine_cpus) {
        None => Ok(()),
        Some(beyond) => {
            Err(format!("there is no CPU {beyond}: the machine's CPUs are {}", CpuSet::first(machine_cpus)))
        }
    }
}

/// The nice value of a task of this class.
pub(crate) fn nice(nice: Option<i64>, class: Class) -> Result<i8, Wrong> {
    let real_time = matches!(class, Class::Fifo(_) | Class::RoundRobin(_));
    match nice {
        None => Ok(0),
        Some(_) if real_time => Err("a nice value means nothing in the classes fifo and rr: remove it".into()),
        Some(nice @ -20..=19) => Ok(nice as i8),
        Some(nice) => Err(format!("nice {nice} does not exist: write from -20 (most) to 19 (least)")),
    }
}

/// What a task changes about itself must be what it could have been from the begin.
pub(crate) fn change(change: &Change, task: &Task, class: Class, machine_cpus: u32, at: &Path) -> Result<(), Fault> {
    let fault = |message: Wrong| at.fault(message);
    if change.cpus.is_none() && change.nice.is_none() {
        return Err(at.fault("this changes nothing: write { set = { nice = 5 } } or { set = { cpus = \"0-1\" } }"));
    }
    nice(change.nice, class).map_err(fault)?;
    let Some(set) = &change.cpus else { return Ok(()) };
    cpus(&set.0, machine_cpus).map_err(fault)?;
    match task.start_on {
        None => Ok(()),
        Some(cpu) => Err(at.fault(format!(
            "`start_on` frees `{}` at once, and this step chooses its CPUs: write cpus = \"{cpu}\" instead of `start_on`",
            task.name
        ))),
    }
}
