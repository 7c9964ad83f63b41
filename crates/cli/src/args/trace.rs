//! The flags of `trace`.

use super::read;
use clap::Subcommand;
use schedlab_model::time::Time;
use schedlab_views::TaskChoice;
use std::path::PathBuf;

/// What `trace` takes.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// The trace file: .parquet or .pftrace
    #[arg(value_name = "FILE")]
    pub trace: PathBuf,
    /// Compare with this trace, as what was before: whose waits changed, where and why
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Also write the comparison as a page
    #[arg(long, value_name = "PAGE", requires = "against")]
    pub report: Option<PathBuf>,
    /// What to show; by default what is in the file.
    #[command(subcommand)]
    pub view: Option<View>,
}

/// The views.
#[derive(Debug, Subcommand)]
pub enum View {
    /// How long after its wake-up did each task run?
    Latency(LatencyArgs),
    /// Why did one of them wait: who was there, and who ran before?
    Queue(QueueArgs),
    /// What did the policy say about each task: its queue, priority or label?
    Status(StatusArgs),
    /// Who ran where? Also to Perfetto
    Timeline(TimelineArgs),
}

/// Whom and what time a view is about.
#[derive(Debug, clap::Args)]
pub struct WhichArgs {
    /// From this time of the run on, as in 5ms
    #[arg(long, value_name = "TIME", value_parser = read::<Time>)]
    pub from: Option<Time>,
    /// Up to this time of the run
    #[arg(long, value_name = "TIME", value_parser = read::<Time>)]
    pub to: Option<Time>,
    /// Only this task: its number, or its name as in worker/0
    #[arg(long, value_name = "TASK", conflicts_with = "role")]
    pub task: Option<TaskChoice>,
    /// Only the tasks of this role
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
}

/// What `trace FILE latency` takes.
#[derive(Debug, clap::Args)]
pub struct LatencyArgs {
    /// A row for each task
    #[arg(long, conflicts_with = "list")]
    pub tasks: bool,
    /// Print each wake-up, in the order in which the tasks ran
    #[arg(long)]
    pub list: bool,
    /// The selection.
    #[command(flatten)]
    pub which: WhichArgs,
}

/// What `trace FILE queue` takes.
#[derive(Debug, clap::Args)]
pub struct QueueArgs {
    /// The first wake-up from this time of the run on; by default the one with the longest wait
    #[arg(long, value_name = "TIME", value_parser = read::<Time>, conflicts_with_all = ["from", "to"])]
    pub at: Option<Time>,
    /// The most other tasks, and steps, that are shown
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub limit: u16,
    /// The selection.
    #[command(flatten)]
    pub which: WhichArgs,
}

/// What `trace FILE status` takes.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// A row for each task, and how its status changed
    #[arg(long, conflicts_with = "list")]
    pub tasks: bool,
    /// Print each change, in order
    #[arg(long)]
    pub list: bool,
    /// The selection.
    #[command(flatten)]
    pub which: WhichArgs,
}

/// What `trace FILE timeline` takes.
#[derive(Debug, clap::Args)]
pub struct TimelineArgs {
    /// The columns of the picture
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u16).range(20..=10_000))]
    pub width: u16,
    /// Instead of a picture, write the whole trace in another form: .pftrace (Perfetto), .parquet or .txt
    #[arg(long, value_name = "FILE", conflicts_with_all = ["width", "from", "to", "task", "role"])]
    pub output: Option<PathBuf>,
    /// The selection.
    #[command(flatten)]
    pub which: WhichArgs,
}
