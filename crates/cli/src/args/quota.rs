//! The flags of `quota`.

use super::{SharedArgs, SpecList, parse_list, read};
use schedlab_model::time::Time;
use std::str::FromStr;

/// What `quota` takes.
#[derive(Debug, clap::Args)]
pub struct QuotaArgs {
    /// The target of response times, as in p99=20ms: mean, p50, p90, p99, p999 or max
    #[arg(long, value_name = "STATISTIC=TIME", value_parser = str::parse::<Target>)]
    pub target: Target,
    /// The control group to limit; by default the scenario's only one
    #[arg(long, value_name = "PATH")]
    pub control_group: Option<String>,
    /// The role whose responses count; by default the only `[[task]]` in the control group
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The period of the limit
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = read::<Time>)]
    pub period: Time,
    /// The burst, as a part of the quota from 0 to 1
    #[arg(long, value_name = "PART", default_value_t = 0.0)]
    pub burst: f64,
    /// The schedulers, which must support limits; a list, may be repeated
    #[arg(long, value_name = "POLICIES", default_value = "eevdf:version=7.3", value_parser = parse_list)]
    pub policy: Vec<SpecList>,
    /// Flags of all runs.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// A bound of a statistic of response times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The statistic.
    pub statistic: String,
    /// Its maximum.
    pub bound: Time,
}

/// The statistics that can be bounded.
const STATISTICS: [&str; 6] = ["mean", "p50", "p90", "p99", "p999", "max"];

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let (statistic, bound) = text.split_once('=').ok_or("write a statistic and a time, as in p99=20ms")?;
        if !STATISTICS.contains(&statistic) {
            return Err(format!("`{statistic}` is none of {}", STATISTICS.join(", ")));
        }
        Ok(Target { statistic: statistic.into(), bound: read::<Time>(bound)? })
    }
}
