//! The flags of `study`.

use super::{paths, read_export};
use clap::Subcommand;
use schedlab_report::export::Form;
use std::path::PathBuf;

/// What `study` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct StudyArgs {
    /// A shipped study, a file, or - for standard input; with `:QUESTION` after it, this question alone
    pub study: Option<String>,
    /// List its questions and how many of their runs are in the cache, without running any
    #[arg(long, requires = "study", conflicts_with_all = ["output", "report", "export", "fresh"])]
    pub questions: bool,
    /// A smaller version: shorter runs, fewer values, simulated time only where the study says so
    #[arg(long)]
    pub quick: bool,
    /// The first seed of every case, instead of that of its scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Simulate under N seeds, including its own, or with N - 1 small changes where nothing is random
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Also write the page (Markdown), the values and all results (JSON) into this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also write a self-contained page with charts and tables
    #[arg(long, value_name = "FILE.html", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON: the values, or the list of studies or questions
    #[arg(long)]
    pub json: bool,
    /// Repeat all runs, and ignore the cache
    #[arg(long)]
    pub fresh: bool,
    /// How many simulated runs happen in parallel; one for each CPU by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
    /// More commands.
    #[command(subcommand)]
    pub command: Option<StudyCommand>,
}

/// Commands of `study`.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// List the shipped studies
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the file of a shipped study, to copy and change
    Show {
        /// Its name
        name: String,
    },
}
