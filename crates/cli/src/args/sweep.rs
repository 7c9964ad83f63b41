//! The flags of `sweep`.

use super::paths;
use super::read_export;
use schedlab_report::export::Form;
use std::path::PathBuf;

/// What `sweep` takes.
#[derive(Debug, clap::Args)]
pub struct SweepArgs {
    /// The sweep's file, or - for standard input
    pub file: PathBuf,
    /// The folder of the table: Parquet files, one row for each run and role; existing rows are not repeated
    #[arg(short, long, value_name = "DIR", required_unless_present = "plan")]
    pub output: Option<PathBuf>,
    /// Only show the number of runs
    #[arg(long)]
    pub plan: bool,
    /// Also write a page with charts of every measure along every axis
    #[arg(long, value_name = "FILE.html", conflicts_with = "plan", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the runs, the means and the failures into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "plan", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON: how many runs of each policy there are, and why some failed
    #[arg(long)]
    pub json: bool,
    /// How many simulated runs happen in parallel; one for each CPU by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// No progress bar, no remarks
    #[arg(short, long)]
    pub quiet: bool,
}
