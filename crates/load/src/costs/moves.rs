//! What moving to another CPU takes.

use super::{Effort, bind, cpu_time};
use crate::algorithm::{Algorithm, Engine};
use schedlab_model::ids::CpuId;
use std::io;

const WORKING_SET_KIB: u32 = 256;

/// Moving to another CPU and back, per move: how much longer it takes than staying.
pub fn warm(first: CpuId, other: CpuId, effort: &Effort) -> io::Result<Vec<f64>> {
    let mut values = Vec::new();
    for _ in 0..effort.rounds {
        bind(first)?;
        let stay = cpu_time(|| _ = bind(first));
        let there_and_back = cpu_time(|| _ = bind(other).and_then(|()| bind(first)));
        values.push((there_and_back - 2.0 * stay) / 2.0);
    }
    values.retain(|&ns| ns > 0.0);
    Ok(values)
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
