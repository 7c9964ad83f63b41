//! The flags of `score` and `tune`.

use super::{paths, read, read_export};
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_report::export::Form;
use std::path::PathBuf;

/// What `score` takes.
#[derive(Debug, clap::Args)]
pub struct ScoreArgs {
    /// The score's file: scenarios, a reference, metrics and weights
    #[arg(value_name = "FILE", value_parser = paths::with_neighbours())]
    pub file: PathBuf,
    /// The policy, as `run` takes it
    #[arg(long, value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub policy: PolicySpec,
    /// Also score the held-out scenarios
    #[arg(long)]
    pub held_out: bool,
    /// The most CPU time that it may take, in whole seconds, from 1s on
    #[arg(long, value_name = "TIME", value_parser = read_time_limit, default_value = "10min")]
    pub time_limit: Time,
    /// The most memory that it may use, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    pub memory_limit: u64,
    /// This process is the confined one
    #[arg(long, hide = true)]
    pub confined: bool,
    /// How many runs may happen at once; all cores by default; no influence on results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// What `tune` takes.
#[derive(Debug, clap::Args)]
pub struct TuneArgs {
    /// The score's file, with held-out scenarios (`held_out`)
    #[arg(value_name = "FILE", value_parser = paths::with_neighbours())]
    pub file: PathBuf,
    /// The policy; the settings that it has stay
    #[arg(long, value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub policy: PolicySpec,
    /// How many settings to try
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub trials: u32,
    /// The seed of the trials
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Keep all trials in this file; the same command goes on from there
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many runs may happen at once; all cores by default; no influence on results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar, no remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// A limit of CPU time. A kernel counts it in seconds.
fn read_time_limit(text: &str) -> Result<Time, String> {
    let limit = read::<Time>(text)?;
    match limit.ns().is_multiple_of(Time::from_s(1).ns()) && limit > Time::ZERO {
        true => Ok(limit),
        false => Err("a kernel limits CPU time in whole seconds: write 1s or more, as in 90s".into()),
    }
}
