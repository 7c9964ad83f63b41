//! A thread's attributes in the kernel: class, nice value, CPUs, name.

use schedlab_model::cpuset::CpuSet;
use schedlab_model::ids::CpuId;
use schedlab_model::reservation::Reservation;
use schedlab_model::time::Time;
use schedlab_model::workload::Class;
use std::io;

/// Sets class, nice value and the wished slice of the calling thread. One that has them is left alone: since 6.12 the kernel
/// takes a task out of its queue and puts it back even for the class that it has, of which a policy hears.
pub fn set_class(class: Class, nice: i8, slice: Option<Time>) -> io::Result<()> {
    let (policy, priority) = match class {
        Class::Other => (libc::SCHED_OTHER, 0),
        Class::Batch => (libc::SCHED_BATCH, 0),
        Class::Idle => (libc::SCHED_IDLE, 0),
        Class::Fifo(priority) => (libc::SCHED_FIFO, priority),
        Class::RoundRobin(priority) => (libc::SCHED_RR, priority),
        Class::Deadline(reservation) => return reserve(reservation),
    };
    if slice.is_none() && priority == 0 && is(policy, nice) {
        return Ok(());
    }
    let parameters = libc::sched_param { sched_priority: libc::c_int::from(priority) };
    // SAFETY: the kernel only reads the structure; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &parameters) })?;
    if matches!(class, Class::Other | Class::Batch) {
        set_nice(nice)?;
    }
    slice.map_or(Ok(()), |slice| ask_for_slice(policy, nice, slice))
}

/// Whether the calling thread has that class without priorities, and that nice value.
fn is(policy: libc::c_int, nice: i8) -> bool {
    // SAFETY: plain numbers; 0 is the calling thread, for which neither call fails.
    unsafe {
        libc::sched_getscheduler(0) == policy && libc::getpriority(libc::PRIO_PROCESS, 0) == libc::c_int::from(nice)
    }
}

/// Sets the nice value of the calling thread.
pub fn set_nice(nice: i8) -> io::Result<()> {
    // SAFETY: plain numbers; on Linux 0 means the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, libc::c_int::from(nice)) })
}

/// Asks for slices of this length, which kernels before 6.12 take no notice of.
fn ask_for_slice(policy: libc::c_int, nice: i8, slice: Time) -> io::Result<()> {
    set_attributes(policy, |attributes| {
        (attributes.sched_nice, attributes.sched_runtime) = (i32::from(nice), slice.ns());
    })
}

/// Puts the calling thread into the class deadline. The kernel refuses a reservation for which there is no room (EBUSY), and one
/// of a thread that may not run on all CPUs (EPERM). Threads that it creates are in the class other, as the class creates none.
fn reserve(reservation: Reservation) -> io::Result<()> {
    set_attributes(libc::SCHED_DEADLINE, |attributes| {
        attributes.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        attributes.sched_runtime = reservation.runtime().ns();
        attributes.sched_deadline = reservation.deadline().ns();
        attributes.sched_period = reservation.period().ns();
    })
}

fn set_attributes(policy: libc::c_int, fill: impl FnOnce(&mut libc::sched_attr)) -> io::Result<()> {
    // SAFETY: plain numbers, of which zero says nothing.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    (attributes.size, attributes.sched_policy) = (size_of::<libc::sched_attr>() as u32, policy as u32);
    fill(&mut attributes);
    // SAFETY: the kernel only reads the structure; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) } as libc::c_int)
}

/// Asks for sleeps that end when they should, and not up to 50 µs later.
pub fn set_punctual() {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Binds a thread to CPUs; 0 is the calling one.
pub fn set_cpus(tid: i32, cpus: &CpuSet) -> io::Result<()> {
    // SAFETY: a zeroed set is an empty one, and the macro checks its bounds.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().filter(|cpu| cpu.0 < libc::CPU_SETSIZE as u32).for_each(|cpu| libc::CPU_SET(cpu.index(), &mut set));
        check(libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &set))
    }
}

/// The CPUs on which the calling thread may run.
pub fn cpus() -> io::Result<CpuSet> {
    // SAFETY: the kernel fills the set that it is given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set))?;
        Ok((0..libc::CPU_SETSIZE as u32).filter(|&cpu| libc::CPU_ISSET(cpu as usize, &set)).map(CpuId).collect())
    }
}

/// Names the calling thread, as `top` and traces show it; the kernel keeps 15 bytes.
pub fn set_name(name: &str) {
    let mut bytes = [0u8; 16];
    let end = name.floor_char_boundary(name.len().min(15));
    bytes[..end].copy_from_slice(&name.as_bytes()[..end]);
    // SAFETY: 16 bytes that end in a zero.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// The calling thread's number.
pub fn tid() -> i32 {
    // SAFETY: it takes nothing.
    unsafe { libc::gettid() }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_and_freed() {
        std::thread::spawn(|| {
            let before = cpus().unwrap();
            let one: CpuSet = before.iter().take(1).collect();
            set_cpus(0, &one).unwrap();
            assert_eq!(cpus().unwrap(), one);
            set_cpus(0, &before).unwrap();
            assert_eq!(cpus().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_slice_is_heard_by_kernels_that_know_slices() {
        std::thread::spawn(|| {
            ask_for_slice(libc::SCHED_OTHER, 3, Time::from_us(700)).unwrap();
            // SAFETY: the kernel fills the structure, whose size the call gives.
            let attributes = unsafe {
                let mut attributes: libc::sched_attr = std::mem::zeroed();
                let size = size_of::<libc::sched_attr>();
                check(libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) as libc::c_int).unwrap();
                attributes
            };
            assert_eq!(attributes.sched_nice, 3);
            // Zero from those that do not.
            assert!([0, 700_000].contains(&attributes.sched_runtime), "{}", attributes.sched_runtime);
        })
        .join()
        .unwrap();
    }
}
