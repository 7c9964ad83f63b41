//! The flags.

mod agreement;
mod gate;
mod help;
mod model;
mod overhead;
pub mod paths;
mod quota;
mod report;
mod schema;
mod score;
mod search;
mod shell;
mod study;
mod sweep;
mod trace;

pub use agreement::AgreementArgs;
pub use gate::{BisectArgs, GateArgs};
pub use help::command;
pub use model::{ModelArgs, PredictArgs};
pub use overhead::{OverheadArgs, TaskKind};
pub use quota::QuotaArgs;
pub use report::{PageFormat, ReportArgs};
pub use schema::{SchemaArgs, SchemaName};
pub use score::{ScoreArgs, TuneArgs};
pub use search::SearchArgs;
pub use shell::{CompletionsArgs, ManArgs, Shell};
pub use study::{StudyArgs, StudyCommand};
pub use sweep::SweepArgs;
pub use trace::{LatencyArgs, QueueArgs, StatusArgs, TimelineArgs, TraceArgs, View, WhichArgs};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{FromArgMatches, Parser, Subcommand, ValueEnum};
use schedlab_campaign::Axis;
use schedlab_job::MOST_RUNS;
use schedlab_model::machine::Topology;
use schedlab_model::scenario::Notation;
use schedlab_model::time::Time;
use schedlab_policy::PolicySpec;
use schedlab_report::export::Form;
use schedlab_venue::{Algorithm, EngineSpec, Place, Ring, VenueName};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A laboratory for CPU schedulers: one scenario, one policy, several venues
#[derive(Debug, Parser)]
#[command(name = "schedlab", version, max_term_width = 80)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line of this process.
///
/// # Errors
///
/// It is wrong, or asks for help.
pub fn parse() -> Result<Args, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario under one policy
    Run(RunArgs),
    /// Run a scenario under several policies and compare them
    Compare(CompareArgs),
    /// List the policies, look into one, or start a new one
    Policies(PoliciesArgs),
    /// List the scenarios, print or draw one, convert from and to rt-app
    Scenarios(ScenariosArgs),
    /// Run a study: compare published values with measured ones
    Study(StudyArgs),
    /// Estimate what multitasking costs, as any user, under any scheduler
    Overhead(OverheadArgs),
    /// Find the smallest limit, weight or burst that meets a target
    Quota(QuotaArgs),
    /// Run a scenario over many values, policies and seeds into one table
    Sweep(SweepArgs),
    /// Check policies against bounds, a baseline or a revision
    Gate(GateArgs),
    /// Find the commit that made a gate fail
    Bisect(BisectArgs),
    /// Give a policy one number for a set of scenarios
    Score(ScoreArgs),
    /// Find parameters of a policy that score higher
    Tune(TuneArgs),
    /// Search for the smallest scenario that shows a fault of a policy
    Search(SearchArgs),
    /// Judge how close the simulator is to a kernel
    Agreement(AgreementArgs),
    /// Turn results and traces into one page to share
    Report(ReportArgs),
    /// Print a JSON schema
    Schema(SchemaArgs),
    /// Measure this machine: what work and switches cost
    Calibrate(CalibrateArgs),
    /// Look into a trace: latencies, queues, status, which task ran where
    Trace(TraceArgs),
    /// Check that a trace satisfies the invariants of every correct trace
    Check(CheckArgs),
    /// Record what this kernel's scheduler does, for a command or all
    Record(RecordArgs),
    /// Turn a perf, ftrace, trace-cmd or Perfetto recording into a trace
    Import(ImportArgs),
    /// Make a scenario of a recording
    Model(ModelArgs),
    /// Predict what other schedulers would do to what was recorded
    Predict(PredictArgs),
    /// Put a policy in charge of this machine, and watch it
    Load(LoadArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
    /// Show which venues work on this machine, and their limits
    Venues(VenuesArgs),
    /// List kernels for virtual machines, or fetch one
    Vm {
        /// What to do.
        #[command(subcommand)]
        command: VmCommand,
    },
}

impl Command {
    /// What to do about a policy that cannot run where the command runs it; none where `--venue` chooses another place.
    pub fn instead_of_venues(&self) -> Option<&'static str> {
        match self {
            Command::Load(_) | Command::Policies(_) => {
                Some("name a policy that a kernel can load; `schedlab venues` shows whether this one loads any")
            }
            Command::Predict(_) | Command::Score(_) | Command::Tune(_) | Command::Search(_) => {
                Some("this command simulates every policy: name another one, as eevdf")
            }
            Command::Agreement(_) => Some(
                "`agreement` runs a policy in the simulator and in a kernel: name another one, or compare one with a \
                 kernel's own scheduler, as eevdf@kernel",
            ),
            _ => None,
        }
    }
}

/// Commands of `vm`.
#[derive(Debug, Subcommand)]
pub enum VmCommand {
    /// List the kernels that have a name, and those in the cache
    Kernels {
        /// Fetch this one into the cache and print its path
        #[arg(long, value_name = "KERNEL")]
        fetch: Option<String>,
        /// Print JSON
        #[arg(long, conflicts_with = "fetch")]
        json: bool,
    },
}

/// What `run` takes.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The policy: NAME, FILE.bpf.c or FILE.bpf.o, with settings as in rr:quantum=5ms; or a whole scheduler, as in "exec:./scx_lavd --performance"
    #[arg(long, value_name = "POLICY", value_parser = read_one_policy)]
    pub policy: PolicySpec,
    /// Also write the events of the (first) run: .parquet, .pftrace or .perfetto-trace (Perfetto), or .txt; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,
    /// Also record what tasks do with shared objects, so that `model` can make a scenario of it (in sim)
    #[arg(long, requires = "trace")]
    pub for_model: bool,
    /// Also print a row for each task
    #[arg(long, conflicts_with = "json")]
    pub tasks: bool,
    /// Flags of all runs.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// What `compare` takes.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The policies: a list as in fcfs,rr:quantum=5ms,./mine.bpf.c; may be repeated; the first is the baseline
    #[arg(long, value_name = "POLICIES", required = true, value_parser = parse_list)]
    pub policy: Vec<SpecList>,
    /// Compare variants too: a path into the scenario, or policy.PARAMETER, with its values, as in
    /// task.batch.nice=0,5,19; when repeated, every combination; the first is the baseline
    #[arg(long, value_name = "PATH=VALUES", value_parser = str::parse::<Axis>)]
    pub vary: Vec<Axis>,
    /// Where nothing is random, also run N copies with small changes of tick offset, work and sleep; 0 for none
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub perturb: u32,
    /// Repeat all runs, and ignore the cache
    #[arg(long)]
    pub fresh: bool,
    /// Also write the answer, all tables and all cautions into a file: .md (Markdown) or .csv; may be repeated
    #[arg(long, value_name = "FILE", value_parser = read_export)]
    pub export: Vec<(Form, PathBuf)>,
    /// Flags of all runs.
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// A file for tables, whose extension says in which form.
pub fn read_export(text: &str) -> Result<(Form, PathBuf), String> {
    let file = PathBuf::from(text);
    let form = Form::of(&file).ok_or("name a file that ends in .md or .csv")?;
    Ok((form, file))
}

/// One `--policy` of `compare`.
pub type SpecList = std::sync::Arc<[PolicySpec]>;

fn parse_list(text: &str) -> Result<SpecList, schedlab_policy::SpecError> {
    PolicySpec::parse_list(text).map(SpecList::from)
}

/// The flags of all runs.
#[derive(Clone, Debug, clap::Args)]
pub struct SharedArgs {
    /// A scenario file, the name of a shipped one, one of a family as in family:locks:7, or - for standard input
    pub scenario: String,
    /// Where it runs; `compare` takes a list, as in sim,host
    #[arg(long, value_parser = venue_names(), default_value = "sim", value_delimiter = ',', value_name = "VENUE")]
    pub venue: Vec<VenueName>,
    /// What tasks compute on a real machine: fibonacci, fft, pi, spin, memory or memory:SIZE (as in memory:8MiB); by
    /// default spin
    #[arg(long, value_name = "LOAD")]
    pub load: Option<Algorithm>,
    /// The kernel of a virtual machine: debian:11, 12, 13, 13-backports or testing, host, or a path; by default
    /// 13-backports, which runs policies, and 12 for the kernel's own scheduler alone
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// The emulator of a virtual machine: qemu, bochs or kvm, with settings as in bochs:ips=100000000,quantum=8; by
    /// default qemu for one CPU and bochs for several
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineSpec>,
    /// Do not let a virtual machine measure what its scheduler takes, which takes longer than a short run
    #[arg(long)]
    pub no_costs: bool,
    /// The seed of all random numbers, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Repeat with derived seeds, for confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RUNS)))]
    pub runs: u32,
    /// The length of a run, instead of the scenario's, as in 60s
    #[arg(long, value_name = "TIME", value_parser = read_length)]
    pub duration: Option<Time>,
    /// The number of CPUs, instead of the scenario's machine
    #[arg(long, value_name = "N", conflicts_with = "topology", value_parser = clap::value_parser!(u32).range(1..=MAX_CPUS))]
    pub cpus: Option<u32>,
    /// Nodes, caches per node, cores per cache and threads per core, as in 1n2l4c2t
    #[arg(long, value_name = "TOPOLOGY", value_parser = read::<Topology>)]
    pub topology: Option<Topology>,
    /// The period of the timer tick, as in 4ms; 0ns for none
    #[arg(long, value_name = "TIME", value_parser = read::<Time>)]
    pub tick: Option<Time>,
    /// Simulate with the costs of a machine, from a file that `calibrate --machine` wrote
    #[arg(long, value_name = "FILE", value_parser = paths::to_read())]
    pub machine: Option<PathBuf>,
    /// How policies are executed; by default shipped ones as machine code and files by the checked interpreter
    #[arg(long, value_enum)]
    pub executor: Option<ExecutorName>,
    /// Execute policy files as machine code too: fast, but their memory accesses are not checked
    #[arg(long, conflicts_with = "executor")]
    pub unchecked: bool,
    /// Check the events of every run against what holds in every correct trace
    #[arg(long)]
    pub check: bool,
    /// How many runs happen in parallel; all cores by default; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Also write a self-contained page with charts, timelines and tables
    #[arg(long, value_name = "FILE.html", value_parser = paths::page())]
    pub report: Option<PathBuf>,
    /// Print JSON, the same bytes everywhere
    #[arg(long)]
    pub json: bool,
    /// No progress bar, no remarks on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

fn read<T: Notation>(text: &str) -> Result<T, String> {
    T::read(text)
}

/// A time above zero that a run can last.
fn read_length(text: &str) -> Result<Time, String> {
    match Time::read(text)? {
        Time::ZERO => Err("write a time above zero, such as 500ms or 5s".into()),
        length if length > Time::LATEST => Err("no run is this long: the longest is 146 years".into()),
        length => Ok(length),
    }
}

/// The most CPUs of a machine.
const MAX_CPUS: i64 = schedlab_model::machine::MAX_CPUS as i64;

/// A time above zero: with its unit, or in seconds.
fn read_seconds(text: &str) -> Result<Duration, String> {
    let length = match text.parse::<u32>() {
        Ok(seconds) => Duration::from_secs(seconds.into()),
        Err(_) => Duration::from_nanos(read::<Time>(text)?.ns()),
    };
    if length.is_zero() { Err("write a time above zero, such as 500ms or 5s".into()) } else { Ok(length) }
}

/// The policy of a single run.
fn read_one_policy(text: &str) -> Result<PolicySpec, String> {
    PolicySpec::parse(text).map_err(|error| match PolicySpec::parse_list(text) {
        Ok(several) if several.len() > 1 => "`run` takes one policy; `compare` takes several".into(),
        _ => error.to_string(),
    })
}

/// The names of venues.
fn venue_names() -> impl TypedValueParser<Value = VenueName> {
    let possible = |venue: VenueName| PossibleValue::new(venue.name()).help(venue.about());
    let named = |name: String| VenueName::ALL.into_iter().find(|venue| venue.name() == name);
    PossibleValuesParser::new(VenueName::ALL.map(possible)).map(move |name| named(name).expect("it was parsed"))
}

/// How policies are executed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExecutorName {
    /// Every memory access is checked
    Interpreter,
    /// Fast; the only check is that each call ends
    Machine,
}

/// What `policies` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PoliciesArgs {
    /// A policy's name, or a file: FILE.bpf.c or FILE.bpf.o
    pub policy: Option<PolicyArgument>,
    /// Print the C source of a shipped policy
    #[arg(long, requires = "policy")]
    pub source: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["source", "verify"])]
    pub json: bool,
    /// Ask a kernel in a virtual machine whether it accepts the policy; on refusal, show the lines of the source
    #[arg(long, requires = "policy", conflicts_with = "source")]
    pub verify: bool,
    /// The kernel to ask, as for `run`
    #[arg(long, value_name = "KERNEL", requires = "verify")]
    pub kernel: Option<String>,
    /// The emulator, as for `run`
    #[arg(long, value_name = "ENGINE", requires = "verify")]
    pub engine: Option<EngineSpec>,
    /// More commands.
    #[command(subcommand)]
    pub command: Option<PoliciesCommand>,
}

/// A policy as text; settings have no effect here.
pub type PolicyArgument = String;

/// Commands of `policies`.
#[derive(Debug, Subcommand)]
pub enum PoliciesCommand {
    /// Write NAME.bpf.c, a minimal commented policy that runs, NAME.toml, a scenario to test it, and NAME.gate.toml, a
    /// gate
    New {
        /// Lower-case letters, digits and _
        name: String,
        /// Copy this shipped policy into the folder NAME instead, with its headers, a scenario and a gate
        #[arg(long, value_name = "POLICY")]
        from: Option<String>,
    },
}

/// What `scenarios` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ScenariosArgs {
    /// The name of a shipped scenario, or one of a family as in family:locks:7
    pub name: Option<String>,
    /// Draw a scenario of this family, or with `all` one of each, for --seed and --cpus
    #[arg(long, value_name = "FAMILY", conflicts_with = "name")]
    pub family: Option<String>,
    /// The seed to draw from, or several as in 1..3
    #[arg(long, value_name = "N", default_value = "1", value_parser = read_seeds)]
    #[arg(requires = "family", conflicts_with = "name")]
    pub seed: RangeInclusive<u64>,
    /// The number of CPUs
    #[arg(long, value_name = "N", default_value_t = 1, requires = "family", conflicts_with = "name")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(schedlab_catalogue::families::MAX_CPUS)))]
    pub cpus: u32,
    /// Write the drawn scenarios into this folder, one file each
    #[arg(long, value_name = "FOLDER", requires = "family", conflicts_with = "name")]
    pub write: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long, conflicts_with_all = ["name", "family"])]
    pub json: bool,
    /// More commands.
    #[command(subcommand)]
    pub command: Option<ScenariosCommand>,
}

/// The maximum number of scenarios of a family in one command.
const MAX_SEEDS: u64 = 100_000;

/// A seed, or the first and the last of several.
fn read_seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last && last - first < MAX_SEEDS => Ok(first..=last),
        _ => Err(format!("write a number, or the first and the last of at most {MAX_SEEDS} as in 1..3")),
    }
}

/// Commands of `scenarios`.
#[derive(Debug, Subcommand)]
pub enum ScenariosCommand {
    /// Print the scenario that an rt-app JSON file describes
    Import {
        /// The rt-app file, or - for standard input
        #[arg(value_parser = paths::to_read())]
        file: PathBuf,
    },
    /// Print a scenario as an rt-app JSON file
    Export {
        /// A scenario file, or the name of a shipped one
        scenario: String,
    },
}

/// What `calibrate` takes.
#[derive(Debug, clap::Args)]
pub struct CalibrateArgs {
    /// Only this load: fibonacci, fft, pi, spin, memory or memory:SIZE; may be repeated; by default one of each
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<Algorithm>,
    /// Also ask for 1, 10 and 250 ms of each and show the error of the CPU time
    #[arg(long)]
    pub verify: bool,
    /// Also write the system's costs into this file, for `run --machine FILE`
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `check` takes.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The trace file: .parquet, .pftrace or .perfetto-trace; - reads standard input
    #[arg(value_parser = paths::to_read())]
    pub trace: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `venues` takes.
#[derive(Debug, clap::Args)]
pub struct VenuesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `record` takes.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The trace file: .parquet, .pftrace or .perfetto-trace (Perfetto), or .txt; replaces an older one
    #[arg(long, short, value_name = "FILE", default_value = "schedlab.parquet")]
    pub output: PathBuf,
    /// Stop after this time, as in 500ms; a plain number is in seconds. A command that still runs is killed
    #[arg(long, value_name = "TIME", required_unless_present = "command", value_parser = read_seconds)]
    pub seconds: Option<Duration>,
    /// Memory between the kernel and schedlab, as in 64MiB; use more if events were lost
    #[arg(long, value_name = "SIZE", default_value = Ring::DEFAULT, value_parser = Ring::from_str)]
    pub ring: Ring,
    /// Print JSON, as `run --json` does
    #[arg(long)]
    pub json: bool,
    /// The command to record, with all its descendants; without one, record the whole machine
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// What `import` takes.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// A recording: perf.data, trace.dat, Perfetto, or the text of `perf script`, ftrace's file `trace` or `trace-cmd report`;
    /// compressed or not; - reads standard input
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// The trace file: .parquet, .pftrace or .perfetto-trace (Perfetto), or .txt; by default the recording's name with
    /// .parquet
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// One role for each thread name of a program, as in firefox:Compositor, instead of one per program
    #[arg(long)]
    pub by_thread: bool,
    /// Also print the events that were skipped because they do not concern scheduling
    #[arg(long)]
    pub passed_over: bool,
    /// Print JSON, as `run --json` does
    #[arg(long, conflicts_with = "passed_over")]
    pub json: bool,
}

impl ImportArgs {
    /// The trace: by default it has the recording's name, without what says how that is compressed.
    pub fn trace(&self) -> PathBuf {
        if let Some(output) = &self.output {
            return output.clone();
        }
        let Place::File(file) = Place::of(&self.recording) else { return PathBuf::from("stdin.parquet") };
        let extension = file.extension().and_then(|extension| extension.to_str());
        let is_packed = matches!(extension, Some("gz" | "xz" | "zst"));
        let name = if is_packed { file.file_stem() } else { file.file_name() };
        file.with_file_name(name.unwrap_or_default()).with_extension("parquet")
    }
}

/// What `load` takes.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// The policy: NAME, FILE.bpf.c or FILE.bpf.o, with settings as in rr:quantum=5ms; or a whole scheduler, as in "exec:./scx_lavd --performance"
    #[arg(value_name = "POLICY", value_parser = PolicySpec::parse)]
    pub policy: PolicySpec,
    /// Stop after this time, as in 500ms, and not only with Ctrl-C or SIGTERM; a plain number is in seconds
    #[arg(long, value_name = "TIME", value_parser = read_seconds)]
    pub seconds: Option<Duration>,
    /// Print JSON at the end, instead of a line each second
    #[arg(long)]
    pub json: bool,
}
