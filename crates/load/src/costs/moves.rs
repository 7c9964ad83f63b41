//! What moving to another CPU takes.

use super::{Effort, bind, cpu_time};
use crate::algorithm::{Algorithm, Engine};
use crate::attributes::{set_cpus, tid};
use schedlab_model::ids::CpuId;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;

const WORKING_SET_KIB: u32 = 256;

/// CPU time of moving a task that waits for its CPU to another one (`move_queued_task`), less that of a call that only allows it both.
pub fn warm(first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let ended = AtomicBool::new(false);
    bind(first)?;
    let (tell, told) = channel();
    let moved = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = tell.send(bind(first).map(|()| tid()));
            while !ended.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let moved = told.recv().expect("it tells that first").and_then(|tid| moves(tid, first, other, effort));
        ended.store(true, Relaxed);
        moved
    });
    moved.map(|values| values.into_iter().filter(|&ns| ns > 0.0).collect())
}

/// Moves a task that always computes from this CPU to the other one, again and again.
fn moves(tid: i32, first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let [here, there, both] = [&[first][..], &[other], &[first, other]].map(|set| set.iter().copied().collect());
    let call = |set| {
        let mut result = Ok(());
        let ns = cpu_time(|| result = set_cpus(tid, set));
        result.map(|()| ns)
    };
    (0..effort.rounds)
        .map(|_| {
            call(&here)?;
            let stay_ns = call(&both)?;
            Ok(call(&there)? - stay_ns)
        })
        .collect()
}

/// How much longer the first walk through a working set takes on a CPU on which the task has not been, while another task
/// used that CPU's caches.
pub fn cold(first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let mut values = Vec::new();
    let mut engine = Engine::new(Algorithm::Memory(WORKING_SET_KIB));
    let mut others = Engine::new(Algorithm::Memory(8 * WORKING_SET_KIB));
    let whole = |engine: &mut Engine, kib: u32| engine.burn(u64::from(kib));
    for _ in 0..effort.rounds {
        bind(other)?;
        whole(&mut others, 8 * WORKING_SET_KIB);
        bind(first)?;
        whole(&mut engine, WORKING_SET_KIB);
        let usual = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        bind(other)?;
        let after_move = cpu_time(|| whole(&mut engine, WORKING_SET_KIB));
        values.push(after_move - usual);
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
}
