//! The flags of `overhead`.

use super::{SpecList, parse_list, read_export, read_length, venue_names};
use clap::ValueEnum;
use schedlab_model::time::Time;
use schedlab_report::export::Form;
use schedlab_venue::VenueName;
use std::path::PathBuf;

/// What `overhead` takes.
#[derive(Debug, clap::Args)]
pub struct OverheadArgs {
    /// The schedulers: `kernel` is that of the kernel; a list as in kernel,rr; may be repeated
    #[arg(long, value_name = "POLICIES", default_value = "kernel", value_parser = parse_list)]
    pub policy: Vec<SpecList>,
    /// Where: on this machine as any user, in a virtual machine, or simulated
    #[arg(long, value_parser = venue_names(), default_value = "host", value_name = "VENUE")]
    pub venue: VenueName,
    /// The kernel of a virtual machine, as for `run`
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// How many tasks run together; one alone is always measured too
    #[arg(long, value_name = "NUMBERS", default_value = "4,16", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub tasks: Vec<u32>,
    /// What the tasks are
    #[arg(long, value_enum, value_name = "KINDS", default_value = "thread,process", value_delimiter = ',')]
    pub kind: Vec<TaskKind>,
    /// The measured length of a run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = read_length)]
    pub duration: Time,
    /// How many blocks to run; a block has one run with each number of tasks
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub blocks: u32,
    /// Add blocks, up to N, while an estimate does not differ from zero or a variance is unknown
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub most_blocks: u32,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Print the values as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TaskKind {
    /// A thread of one process
    Thread,
    /// A separate process
    Process,
}

impl TaskKind {
    /// As scenarios write it.
    pub fn word(self) -> &'static str {
        match self {
            TaskKind::Thread => "thread",
            TaskKind::Process => "process",
        }
    }

    /// Several of them.
    pub fn plural(self) -> &'static str {
        match self {
            TaskKind::Thread => "threads",
            TaskKind::Process => "processes",
        }
    }
}
