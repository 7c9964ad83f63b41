//! The flags of `gate` and `bisect`.

use super::{paths, read_export};
use schedlab_report::export::Form;
use std::path::PathBuf;

/// How runs are made.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Runs {
    /// How many runs may happen at once; all cores by default; no influence on results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Run everything again, also what is known from before
    #[arg(long)]
    pub fresh: bool,
}

/// What `gate` takes.
#[derive(Debug, clap::Args)]
pub struct GateArgs {
    /// The gate's file: scenarios, policies, venues, metrics and bounds
    #[arg(value_name = "FILE", value_parser = paths::with_neighbours())]
    pub file: PathBuf,
    /// Write what is measured as the new baseline, and say what changed
    #[arg(long)]
    pub update: bool,
    /// Also show what did not change
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Also write JUnit's XML, for systems that show tests
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write Markdown, for the summary of a job
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also write a page with the changes as a chart, and all checks
    #[arg(long, value_name = "FILE.html", conflicts_with = "update", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Also add what is measured to the history in this folder, instead of the gate's own
    #[arg(long, value_name = "DIR")]
    pub history: Option<PathBuf>,
    /// The name of what is measured in the history, instead of the commit's hash
    #[arg(long, value_name = "NAME", value_parser = revision_name)]
    pub revision: Option<String>,
    /// Run this command first, in the top of the repository: it makes the policies that the gate names
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// How many runs, and which again
    #[command(flatten)]
    pub runs: Runs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar, no remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

fn revision_name(text: &str) -> Result<String, String> {
    schedlab_model::scenario::unfit_name(text).map_or_else(|| Ok(text.into()), Err)
}

/// What `bisect` takes.
#[derive(Debug, clap::Args)]
pub struct BisectArgs {
    /// A revision at which the gate passes
    #[arg(value_name = "GOOD")]
    pub good: String,
    /// A revision at which it fails
    #[arg(value_name = "BAD")]
    pub bad: String,
    /// The gate's file; its scenarios and bounds stay what they are now, its policies are those of each commit
    #[arg(value_name = "GATE", value_parser = paths::with_neighbours())]
    pub gate: PathBuf,
    /// Run this command at each commit, in the top of the repository: it makes the policies that the gate names
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Also write a page of the first bad commit and its parent
    #[arg(long, value_name = "FILE.html", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// How many runs, and which again
    #[command(flatten)]
    pub runs: Runs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}
