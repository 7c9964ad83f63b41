//! The flags of `agreement`.

use super::{paths, read_export};
use schedlab_agreement::{Pair, PairError, Target};
use schedlab_report::export::Form;
use schedlab_venue::{EngineSpec, VenueName};
use std::path::PathBuf;
use std::sync::Arc;

/// What `agreement` takes.
#[derive(Debug, clap::Args)]
pub struct AgreementArgs {
    /// Scenario files, or the names of shipped ones
    #[arg(required_unless_present = "family")]
    pub scenario: Vec<String>,
    /// Scenarios drawn by these families, one of each for each seed and number of CPUs: a list as in locks,pipes, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub family: Vec<String>,
    /// The seeds from which families draw, each a scenario of its family: a list as in 1,2,3
    #[arg(long, value_name = "LIST", default_value = "1", value_delimiter = ',', requires = "family")]
    pub family_seed: Vec<u64>,
    /// The policies: a list as in rr,cfs@debian:12. Alone, a policy is compared with itself in a kernel; with @KERNEL,
    /// with that kernel's own scheduler, whose release it follows; with @kernel, with the scheduler of the kernel of all
    /// others
    #[arg(long, value_name = "POLICIES", required = true, value_parser = parse_list)]
    pub policy: Vec<PairList>,
    /// Where the real runs happen: vm or host
    #[arg(long, value_parser = super::venue_names(), default_value = "vm", value_name = "VENUE")]
    pub venue: VenueName,
    /// The kernel of virtual machines where a policy names none; by default debian:13-backports
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// The emulator; by default as fast as a real machine: qemu:shift=0 for one CPU, bochs:ips=200000000 for several
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineSpec>,
    /// This machine's costs, from a file that `calibrate --machine` wrote; measured if absent
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Numbers of CPUs instead of the scenarios' own: a list as in 1,2,4
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// How many seeds, each with a real run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// Give undecided cells further seeds, up to N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_seeds: Option<u32>,
    /// Run each scenario N times as long, not counting its warm-up: less noise in the same number of runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub length: u32,
    /// Run undecided cells once more, up to N times as long
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_length: Option<u32>,
    /// How many copies of the simulation to run for each seed, with small changes of tick offset, costs and times
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub copies: u32,
    /// Mechanisms and costs to remove from the simulated machine, to see their effect: a list as in retry,socket_send
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<String>,
    /// How many runs happen in parallel; all cores by default; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Repeat all runs, and ignore the cache
    #[arg(long)]
    pub fresh: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the tables into a page, between its marks for the section NAME
    #[arg(long, value_name = "FILE#NAME", value_parser = str::parse::<Target>)]
    pub markdown: Option<Target>,
    /// Also write a page with charts of the cells
    #[arg(long, value_name = "FILE.html", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Also keep the traces of both runs under the first seed in this folder
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// No progress bar, no remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

/// One `--policy` of `agreement`.
pub type PairList = Arc<[Pair]>;

fn parse_list(text: &str) -> Result<PairList, PairError> {
    Pair::parse_list(text).map(PairList::from)
}
