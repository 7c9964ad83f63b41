//! The flags of `study`.

use clap::Subcommand;
use std::path::PathBuf;

/// What `study` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct StudyArgs {
    /// The name of a shipped study, or a file; with `:QUESTION` behind it this question alone
    pub study: Option<String>,
    /// List its questions with what is known of each from kept runs; nothing is run
    #[arg(long, requires = "study", conflicts_with_all = ["output", "report", "json", "fresh"])]
    pub questions: bool,
    /// A smaller version: shorter runs, fewer values, simulated time only where the study says so
    #[arg(long)]
    pub quick: bool,
    /// The first seed of every case, instead of that of its scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Look at what is simulated under N seeds, its own among them, or with N - 1 small changes where nothing is random
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Also write the page (Markdown), the values and all results (JSON) into this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also write a page with charts and tables that opens everywhere
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Print the values as JSON
    #[arg(long)]
    pub json: bool,
    /// Run everything again, also what is known from before
    #[arg(long)]
    pub fresh: bool,
    /// How many runs in simulated time may happen at once; one for each CPU by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
    /// More verbs.
    #[command(subcommand)]
    pub command: Option<StudyCommand>,
}

/// Verbs of `study`.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// List the shipped studies
    List,
    /// Print the file of a shipped study, to be copied and changed
    Show {
        /// Its name
        name: String,
    },
}
