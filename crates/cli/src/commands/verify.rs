//! `schedlab policies POLICY --verify`: whether a kernel takes a policy.

use crate::failure::Failure;
use crate::{interrupt, output};
use schedlab_campaign::Place;
use schedlab_model::scenario::Scenario;
use schedlab_policy::PolicySpec;
use schedlab_venue::{EngineSpec, Monitor, Policy, Request, VenueName, Watch};
use std::sync::Arc;

/// What is run once the kernel has taken the policy, so that it has called each of the usual operations.
const TRIAL: &str = r#"
name = "trial"
about = "Two tasks take turns for a moment."

[machine]
cpus = 1

[[task]]
name = "worker"
count = 2
loop = [{ compute = "1ms" }, { sleep = "1ms" }]

[run]
duration = "50ms"
"#;

/// Asks a kernel of the venue `vm`: its verifier looks at the policy, and then the policy schedules a little.
pub fn run(policy: &str, kernel: Option<&str>, engine: Option<EngineSpec>) -> Result<(), Failure> {
    let policy = Policy::find(&PolicySpec::parse(policy)?)?;
    if !policy.warnings.is_empty() {
        output::remark(&policy.warnings);
    }
    let venue = Place::new(VenueName::Vm, kernel, engine).for_policies([&policy]).venue(1);
    venue.accepts(&policy)?;
    let monitor = Arc::new(Monitor::default());
    interrupt::watch(&monitor)?;
    let scenario = Scenario::parse(TRIAL, "trial")?;
    let workload = scenario.compile()?;
    let request = Request {
        workload: &workload,
        scenario_hash: &scenario.hash(),
        policy: &policy,
        seed: 1,
        executor: None,
        check: true,
        costs: false,
    };
    let run = venue.run(&request, None, &mut Watch::new(&monitor, &|| true));
    if monitor.is_stopped() {
        return Err(Failure::Interrupted);
    }
    let run = run?;
    let kernel = run.result.provenance.kernel.unwrap_or_else(|| "a kernel".into());
    output::print(&format!("{}: {kernel} takes it, and it schedules\n", policy.label))
}
