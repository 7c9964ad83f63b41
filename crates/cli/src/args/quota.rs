//! The flags of `quota`.

use super::{SharedArgs, SpecList, parse_list, read, read_export};
use clap::ValueEnum;
use schedlab_job::quota::{Target, Wanted};
use schedlab_model::time::Time;
use schedlab_report::export::Form;
use schedlab_report::quota::Knob;
use std::path::PathBuf;

/// What `quota` takes.
#[derive(Debug, clap::Args)]
pub struct QuotaArgs {
    /// The target of response times, as in p99=20ms: mean, p50, p90, p99, p999 or max
    #[arg(long, value_name = "STATISTIC=TIME", value_parser = str::parse::<Target>)]
    pub target: Target,
    /// What to search for: the smallest limit, weight or burst that keeps the target
    #[arg(long, value_enum, default_value_t = Search::Limit)]
    pub search: Search,
    /// The control group to change; by default the scenario's only one
    #[arg(long, value_name = "PATH")]
    pub control_group: Option<String>,
    /// The role whose responses count; by default the only `[[task]]` in the control group
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The period of the limits that are tried; by default 100ms
    #[arg(long, value_name = "TIME", value_parser = read::<Time>)]
    pub period: Option<Time>,
    /// Their burst, as a part of the quota from 0 to 1; by default 0
    #[arg(long, value_name = "PART")]
    pub burst: Option<f64>,
    /// The limit under which --search weight or burst looks, as in 150ms/100ms; by default the scenario's
    #[arg(long, value_name = "QUOTA/PERIOD")]
    pub limit: Option<String>,
    /// The schedulers, which must support limits or weights; a list, may be repeated
    #[arg(long, value_name = "POLICIES", default_value = "eevdf:version=7.3", value_parser = parse_list)]
    pub policy: Vec<SpecList>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Flags of all runs.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// What is searched for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Search {
    /// The quota of cpu.max
    Limit,
    /// cpu.weight
    Weight,
    /// cpu.max.burst, of the limit that the scenario has
    Burst,
}

impl QuotaArgs {
    /// What is wanted.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            search: match self.search {
                Search::Limit => Knob::Limit,
                Search::Weight => Knob::Weight,
                Search::Burst => Knob::Burst,
            },
            target: self.target.clone(),
            control_group: self.control_group.clone(),
            role: self.role.clone(),
            period: self.period,
            burst: self.burst,
            limit: self.limit.clone(),
        }
    }
}
