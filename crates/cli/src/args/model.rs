//! What `model` and `predict` take.

use super::{SpecList, parse_list, paths, read_export};
use schedlab_policy::PolicySpec;
use schedlab_report::export::Form;
use std::path::PathBuf;

/// What `model` takes.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// A trace, or what another tool recorded, as `import` reads it
    #[arg(value_name = "RECORDING", value_parser = paths::to_read())]
    pub recording: PathBuf,
    /// The scenario; recorded steps go into a file next to it that ends in .steps.parquet
    #[arg(long, short, value_name = "FILE.toml", default_value = "model.toml", value_parser = paths::scenario())]
    pub output: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `predict` takes.
#[derive(Debug, clap::Args)]
pub struct PredictArgs {
    /// A trace, or what another tool recorded, as `import` reads it
    #[arg(value_name = "RECORDING", value_parser = paths::to_read())]
    pub recording: PathBuf,
    /// The policies: a list as in eevdf,ule,./mine.bpf.c; may be repeated
    #[arg(long, value_name = "POLICIES", required = true, value_parser = parse_list)]
    pub policy: Vec<SpecList>,
    /// The numbers of CPUs, by default that of the recording
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// The policy to use for the scheduler of the recording; by default the recording's own
    #[arg(long, value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub recorded: Option<PolicySpec>,
    /// Number of block-bootstrap resamples for intervals; 0 for none
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub resamples: u32,
    /// How many runs may happen at once; all cores by default; no influence on results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Also write the prediction as a page: an answer, charts with intervals, who wakes whom
    #[arg(long, value_name = "FILE.html", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON, the same bytes everywhere
    #[arg(long)]
    pub json: bool,
    /// No progress bar, no remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}
