//! Records a command, or the whole machine for a second, and says what was seen.
use schedlab_kernel::{Filter, Recorder};
use std::time::Duration;
fn main() {
    let mut r = Recorder::start(&Filter { everything: true, softirq: true, tick: true, ..Filter::default() }, 1 << 22).unwrap();
    r.measure_costs().unwrap();
    let mut n = 0;
    let mut p = |x| { n += 1; if n < 500 { println!("{x:?}") } };
    r.poll(Duration::from_secs(1), &mut p);
    for c in r.costs() { if c.runs>0 { eprintln!("{c:?} {}", c.time_ns / c.runs.max(1)) } }
    println!("{:?}", r.stop(&mut p));
}
