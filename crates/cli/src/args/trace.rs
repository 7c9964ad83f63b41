//! The flags of `trace`.

use super::{paths, read, read_export};
use clap::Subcommand;
use schedlab_model::time::Time;
use schedlab_report::export::Form;
use schedlab_views::TaskChoice;
use std::path::PathBuf;

/// What `trace` takes.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// The trace file: .parquet, .pftrace or .perfetto-trace; - reads standard input
    #[arg(value_name = "FILE", value_parser = paths::to_read())]
    pub trace: PathBuf,
    /// Compare with this earlier trace: which waits changed, where and why
    #[arg(long, value_name = "FILE", value_parser = paths::to_read())]
    pub against: Option<PathBuf>,
    /// Also write the comparison as a page
    #[arg(long, value_name = "FILE.html", requires = "against", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", requires = "against", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// What to show; by default a summary.
    #[command(subcommand)]
    pub view: Option<View>,
}

/// The views.
#[derive(Debug, Subcommand)]
pub enum View {
    /// How long after its wake-up did each task run?
    Latency(LatencyArgs),
    /// Why did a task wait: which tasks were there, and which ran first?
    Queue(QueueArgs),
    /// What did the policy publish about each task: its queue, priority or label?
    Status(StatusArgs),
    /// Which task ran where? Also converts to Perfetto
    Timeline(TimelineArgs),
}

/// The tasks and the time that a view covers.
#[derive(Debug, clap::Args)]
pub struct WhichArgs {
    /// From this time of the run, as in 5ms
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
    /// The first wake-up after this time of the run; by default the one with the longest wait
    #[arg(long, value_name = "TIME", value_parser = read::<Time>, conflicts_with_all = ["from", "to"])]
    pub at: Option<Time>,
    /// The maximum number of other tasks, and of steps
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
    /// Instead of a picture, convert the whole trace: .pftrace or .perfetto-trace (Perfetto), .parquet or .txt
    #[arg(long, value_name = "FILE", conflicts_with_all = ["width", "from", "to", "task", "role"])]
    pub output: Option<PathBuf>,
    /// The selection.
    #[command(flatten)]
    pub which: WhichArgs,
}
