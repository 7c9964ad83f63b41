//! `schedlab import`: a recording of another tool.

use super::record;
use crate::args::ImportArgs;
use crate::failure::{self, Failure};
use crate::{files, output};
use schedlab_report::recording;
use schedlab_venue::{PassedOver, Place, RoleBy};
use std::path::{Path, PathBuf};

/// Reads the recording, writes the trace and prints what it says.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    let place = Place::of(&args.recording);
    let trace = args.output.clone().unwrap_or_else(|| trace_of(&place));
    let role_by = if args.by_thread { RoleBy::Thread } else { RoleBy::Program };
    args.output.as_ref().map_or(Ok(()), |output| files::check_traces(&[output]))?;
    let imported = schedlab_venue::import(&place, &trace, role_by)?;
    let passed = args.passed_over.then(|| imported.wholeness.passed.clone());
    let printed = record::print(imported, &trace);
    let told = passed.map_or(Ok(()), |passed| tell(&passed));
    failure::all([printed, told])
}

fn tell(passed: &PassedOver) -> Result<(), Failure> {
    let kinds = passed.kinds().map(|(kind, passing)| (kind, passing.count, passing.first.as_str()));
    output::print(&format!("\n{}", recording::passed_over(kinds, output::style())))
}

/// The recording's name, without what says how it is compressed.
fn trace_of(place: &Place) -> PathBuf {
    let Place::File(file) = place else { return PathBuf::from("stdin.parquet") };
    let is_packed =
        file.extension().is_some_and(|extension| ["gz", "xz", "zst"].iter().any(|packed| extension == *packed));
    let name = if is_packed { file.file_stem().map_or(file.as_path(), Path::new) } else { file.as_path() };
    file.with_file_name(name.file_name().unwrap_or_default()).with_extension("parquet")
}
