//! The black-box load estimator: how many tasks shared the CPU, seen from outside.

/// Loads from here on are counted as this one, so that memory stays bounded.
pub const MAX_ESTIMATED_LOAD: u32 = 1023;

/// The estimated number of tasks on the CPU while a request ran: the integer k ≥ 1 with
/// (k − ½)·demand ≤ response < (k + ½)·demand; none for a request without demand.
///
/// Source: Happe et al., experimental evaluation of general-purpose operating-system schedulers. It holds where slices
/// are short compared with the demand, and it counts *requests*: a CPU with few tasks completes as many as one with many, so a
/// share is neither of time nor of tasks. A boundary belongs to the larger load (the source leaves it open).
pub fn estimated_load(response_ns: u64, demand_ns: u64) -> Option<u32> {
    // Saturation only concerns times of centuries; a division of 64 bits is several times faster than one of 128.
    let load = response_ns.saturating_mul(2).saturating_add(demand_ns).checked_div(demand_ns.saturating_mul(2))?;
    Some(load.clamp(1, u64::from(MAX_ESTIMATED_LOAD)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The study's vectors 11 to 13, in microseconds.
    #[test]
    fn vectors_of_the_study() {
        let cases = [
            (250_000, 1),
            (374_900, 1),
            (375_000, 2),
            (624_900, 2),
            (625_000, 3),
            (1_150_000, 5),
            (1_250_000, 5),
            (650_000, 3),
            (850_000, 3),
            (750_000, 3),
            (1_000_000, 4),
        ];
        for (response, load) in cases {
            assert_eq!(estimated_load(response, 250_000), Some(load), "{response}");
        }
    }

    #[test]
    fn edges() {
        assert_eq!(estimated_load(5, 0), None);
        assert_eq!(estimated_load(0, 10), Some(1));
        assert_eq!(estimated_load(u64::MAX, 1), Some(MAX_ESTIMATED_LOAD));
    }
}
