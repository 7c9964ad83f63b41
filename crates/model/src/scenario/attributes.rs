//! What a task may be: on which CPUs, with which nice value, at its start and later.

use super::{Change, Fault, Task, error::Path};
use crate::{cpuset::CpuSet, time::Time, workload::Class};

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
    match nice {
        None => Ok(0),
        Some(_) if class.is_realtime() => {
            Err("a nice value means nothing in the classes fifo, rr and deadline: remove it".into())
        }
        Some(nice @ -20..=19) => Ok(nice as i8),
        Some(nice) => Err(format!("nice {nice} does not exist: write from -20 (most) to 19 (least)")),
    }
}

/// The slice that a task of this class asks for: Linux' bounds, kernel/sched/syscalls.c.
pub(crate) fn slice(slice: Option<Time>, class: Class) -> Result<Option<Time>, Wrong> {
    match slice {
        None => Ok(None),
        Some(_) if !matches!(class, Class::Other | Class::Batch) => {
            Err("a slice can be asked for in the classes other and batch alone: remove it".into())
        }
        Some(slice) if !(Time::from_us(100)..=Time::from_ms(100)).contains(&slice) => {
            Err(format!("a slice of {slice} cannot be: write 100us to 100ms"))
        }
        Some(slice) => Ok(Some(slice)),
    }
}

/// What a task changes about itself must be what it could have been from the start.
pub(crate) fn change(change: &Change, task: &Task, class: Class, machine_cpus: u32, at: &Path) -> Result<(), Fault> {
    let fault = |message: Wrong| at.fault(message);
    if (Change { cpus: None, nice: None, class: None, slice: None }) == *change {
        return Err(at.fault("this changes nothing: write { set = { nice = 5 } } or { set = { cpus = \"0-1\" } }"));
    }
    let class = change.class.as_ref().map_or(class, |class| class.0);
    nice(change.nice, class).map_err(fault)?;
    slice(change.slice.as_ref().map(|slice| slice.0), class).map_err(fault)?;
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
