//! The flags of `search`.

use super::{read, read_length};
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use std::path::PathBuf;

/// What `search` takes.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The policy, as `run` takes it
    #[arg(long, value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub policy: PolicySpec,
    /// The first seed; each seed is a scenario
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The most wall time, as in 10min
    #[arg(long, value_name = "TIME", value_parser = read_length, default_value = "5min")]
    pub budget: Time,
    /// The most scenarios, whatever time they take: the same number finds the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "budget")]
    pub scenarios: Option<u64>,
    /// The folder of what is found, a file each; a search that is there goes on
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also find tasks that wait longer than this for a CPU
    #[arg(long, value_name = "TIME", value_parser = read::<Time>)]
    pub longest_wait: Option<Time>,
    /// Also find CPUs that idle more than this while tasks wait, in percent of their time
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub idle: Option<f64>,
    /// Also find equal tasks that compute and whose Jain index is less than this, as in 0.9
    #[arg(long, value_name = "JAIN", value_parser = part)]
    pub jain: Option<f64>,
    /// Do not look for these, by their names: a list as in stall,long-wait
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// A reference policy: ignore faults that it shows at least half as strongly
    #[arg(long, value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub against: Option<PolicySpec>,
    /// Also run what is found in this kernel in a virtual machine, and say whether it shows the same
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// Also print which source lines of the policy the search did not reach
    #[arg(long)]
    pub coverage: bool,
    /// How many runs may happen at once; all cores by default; no influence on what a seed finds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

fn part(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
    number.ok_or_else(|| format!("{text} is not a number from 0 to 1"))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    let number = number.filter(|percent| (0.0..=100.0).contains(percent));
    number.map(|percent| percent / 100.0).ok_or_else(|| format!("{text} is not a percentage from 0 to 100"))
}
