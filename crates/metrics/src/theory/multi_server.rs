//! Several servers behind one queue.

use super::stable;

/// Erlang C: the probability that an arrival waits, with c servers and offered load a = λs < c (Harchol-Balter ch. 14):
/// C = [a^c/c! · c/(c − a)] / [Σ_{k<c} a^k/k! + a^c/c! · c/(c − a)], by way of the Erlang B recursion
/// B_k = aB_{k−1} / (k + aB_{k−1}), which does not overflow.
pub fn erlang_c(servers: u32, offered: f64) -> Option<f64> {
    let blocking = (1..=servers).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let load = offered / f64::from(servers);
    stable(load, blocking / (1.0 - load * (1.0 - blocking)))
}

/// M/M/c, any discipline that is blind to sizes and idles no server despite waiting work:
/// E[T] = s + C(c, a) / (c/s − λ).
pub fn mmc(arrival_rate: f64, mean_size: f64, servers: u32) -> Option<f64> {
    let waits = erlang_c(servers, arrival_rate * mean_size)?;
    Some(mean_size + waits / (f64::from(servers) / mean_size - arrival_rate))
}

/// M/G/c first come first served, approximately (Lee and Longton 1959): E[W] ≈ (1 + C²)/2 · E[W](M/M/c), where C² is
/// the squared coefficient of variation of S. Within about 3 % for deterministic service.
pub fn lee_longton(arrival_rate: f64, mean_size: f64, squared_cv: f64, servers: u32) -> Option<f64> {
    let waiting = mmc(arrival_rate, mean_size, servers)? - mean_size;
    Some(mean_size + (1.0 + squared_cv) / 2.0 * waiting)
}

#[cfg(test)]
mod tests {
    use super::super::test_helpers::{HAPPE, assert_close};
    use super::*;

    #[test]
    fn vectors_22_to_24_mmc() {
        let expected = [
            (2, [26.6667, 55.5556, 205.128, 215.122]),
            (4, [21.7391, 34.9108, 109.142, 114.130]),
            (8, [20.2952, 25.7206, 62.2084, 64.6929]),
        ];
        for (servers, means) in expected {
            for (rho, mean) in [0.5, 0.8, 0.95, HAPPE].into_iter().zip(means) {
                assert_close(mmc(rho * f64::from(servers) / 20.0, 20.0, servers), mean);
            }
        }
    }

    #[test]
    fn vector_25_erlang_c() {
        let expected = [
            (2, [0.333333, 0.711111, 0.925641]),
            (4, [0.173913, 0.596432, 0.891419]),
            (8, [0.059044, 0.457645, 0.844169]),
        ];
        for (servers, probabilities) in expected {
            for (rho, probability) in [0.5, 0.8, 0.95].into_iter().zip(probabilities) {
                let got = erlang_c(servers, rho * f64::from(servers)).unwrap();
                assert!((got - probability).abs() <= 5.1e-7, "{got} for {probability}");
            }
        }
    }

    #[test]
    fn vector_26_lee_longton() {
        for (servers, rho, mean) in
            [(2, 0.5, 23.3333), (2, 0.8, 37.7778), (2, 0.95, 112.564), (4, 0.8, 27.4554), (4, 0.95, 64.5711)]
        {
            assert_close(lee_longton(rho * f64::from(servers) / 20.0, 20.0, 0.0, servers), mean);
        }
    }

    #[test]
    fn many_servers_do_not_overflow_and_full_ones_have_no_mean() {
        assert!(erlang_c(4096, 4000.0).unwrap() < 0.1);
        assert_eq!(mmc(0.1, 20.0, 2), None);
    }
}
