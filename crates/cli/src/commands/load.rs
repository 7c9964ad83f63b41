//! `schedlab load`: a policy in charge of this machine.

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::{interrupt, output};
use schedlab_venue::{Charge, Counters, Monitor, Policy, Rates};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks whether the policy is still in charge.
const CHECK: Duration = Duration::from_millis(100);
/// Between two lines.
const LINE: Duration = Duration::from_secs(1);

/// Puts it in charge, prints a line each second, and gives the machine back.
pub fn run(args: &LoadArgs) -> Result<(), Failure> {
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let policy = Policy::find(&args.policy)?;
    if !policy.warnings.is_empty() {
        output::remark(&policy.warnings);
    }
    let charge = Charge::take(&policy)?;
    charge.cautions(&policy).iter().for_each(|caution| output::remark(&format!("{}: {caution}", policy.label)));
    let begun = Instant::now();
    let begin = format!("{} is in charge of this machine; Ctrl-C gives it back\n", policy.label);
    let mut told = Vec::new();
    let mut tell = |second, rates: &Rates| match args.json {
        true => {
            told.push(object(second, rates));
            Ok(())
        }
        false => output::print(&line(second, rates)),
    };
    if args.json {
        output::remark(&begin)
    } else {
        output::print(&begin)?
    }
    watch(&charge, args.seconds, &monitor, &mut tell)?;
    charge.end()?;
    let seconds = begun.elapsed().as_secs_f64();
    match args.json {
        true => output::print_json(&json!({
            "schema": "schedlab.load/1", "policy": policy.label, "seconds": seconds, "rates": told,
        }))?,
        false => output::print(&format!(
            "{} was in charge for {seconds:.1} s; the kernel's own scheduler is again\n",
            policy.label
        ))?,
    }
    if monitor.is_stopped() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Shows counters until the time is over, the user stops it, or the kernel ejects the policy.
fn watch(
    charge: &Charge,
    length: Option<Duration>,
    monitor: &Monitor,
    tell: &mut dyn FnMut(u32, &Rates) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let (mut lines, mut before) = (0, Counters::read());
    // The line at its end is printed, too.
    let goes_on = |lines: u32| length.is_none_or(|length| begun.elapsed() < length || LINE * (lines + 1) <= length);
    while !monitor.is_stopped() && goes_on(lines) {
        std::thread::sleep(CHECK);
        charge.check()?;
        if begun.elapsed() >= LINE * (lines + 1) {
            let now = Counters::read();
            tell(lines + 1, &now.since(&before))?;
            (lines, before) = (lines + 1, now);
        }
    }
    Ok(())
}

/// What happened in a second, for programs.
fn object(second: u32, rates: &Rates) -> Value {
    let Rates { switches_per_s, busy, runnable, mean_wait, events } = rates;
    let events: serde_json::Map<String, Value> =
        events.iter().map(|(name, count)| (name.clone(), (*count).into())).collect();
    let mut object = json!({
        "second": second, "switches_per_s": switches_per_s, "busy_frac": busy, "runnable": runnable, "events": events,
    });
    if let Some(wait) = mean_wait {
        object["mean_wait_ns"] = (wait.as_nanos() as u64).into();
    }
    object
}

/// What happened in a second.
fn line(second: u32, rates: &Rates) -> String {
    let Rates { switches_per_s, busy, runnable, mean_wait, events } = rates;
    let wait = mean_wait.map_or(String::new(), |wait| format!("  mean wait {:.3} ms", wait.as_secs_f64() * 1e3));
    let events: String = events.iter().map(|(name, count)| format!("  {name} {count}")).collect();
    format!(
        "{second:>4} s  {switches_per_s:>7.0} switches/s  busy {:>5.1} %  runnable {runnable}{wait}{events}\n",
        busy * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_known() {
        let mut rates = Rates {
            switches_per_s: 1234.5,
            busy: 0.5,
            runnable: 3,
            mean_wait: Some(Duration::from_micros(1500)),
            events: vec![("dispatch_keep_last".into(), 7)],
        };
        let whole = "   2 s     1234 switches/s  busy  50.0 %  runnable 3  mean wait 1.500 ms  dispatch_keep_last 7\n";
        assert_eq!(line(2, &rates), whole);
        assert_eq!(
            object(2, &rates),
            json!({
                "second": 2, "switches_per_s": 1234.5, "busy_frac": 0.5, "runnable": 3, "mean_wait_ns": 1_500_000,
                "events": { "dispatch_keep_last": 7 },
            })
        );
        (rates.mean_wait, rates.events) = (None, Vec::new());
        assert_eq!(line(2, &rates), "   2 s     1234 switches/s  busy  50.0 %  runnable 3\n");
    }
}
