//! `schedlab import`: a recording of another tool.

use super::record;
use crate::args::ImportArgs;
use crate::failure::{self, Failure};
use crate::output::Channel;
use crate::{files, output};
use schedlab_report::recording;
use schedlab_venue::{PassedOver, Place, RoleBy};

/// Reads the recording, writes the trace and prints what it says.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    let (place, trace) = (Place::of(&args.recording), args.trace());
    let role_by = if args.by_thread { RoleBy::Thread } else { RoleBy::Program };
    args.output.as_ref().map_or(Ok(()), |output| files::check_traces(&[output]))?;
    let imported = schedlab_venue::import(&place, &trace, role_by)?;
    let passed = args.passed_over.then(|| imported.wholeness.passed.clone());
    let printed = record::print(imported, &trace, args.json, Channel::Output);
    let told = passed.map_or(Ok(()), |passed| tell(&passed));
    failure::all([printed, told])
}

fn tell(passed: &PassedOver) -> Result<(), Failure> {
    let kinds = passed.kinds().map(|(kind, passing)| (kind, passing.count, passing.first.as_str()));
    output::print(&format!("\n{}", recording::passed_over(kinds, output::style())))
}
