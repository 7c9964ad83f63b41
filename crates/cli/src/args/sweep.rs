//! The flags of `sweep`.

use std::path::PathBuf;

/// What `sweep` takes.
#[derive(Debug, clap::Args)]
pub struct SweepArgs {
    /// The sweep's file
    pub file: PathBuf,
    /// The folder of the table: Parquet files, one row for each run and role; what is there already is not run again
    #[arg(short, long, value_name = "DIR", required_unless_present = "plan")]
    pub output: Option<PathBuf>,
    /// Only say how many runs there are
    #[arg(long)]
    pub plan: bool,
    /// How many runs in simulated time may happen at once; one for each CPU by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// No progress bar, no remarks
    #[arg(short, long)]
    pub quiet: bool,
}
