//! The flags of `schema`.

use clap::ValueEnum;

/// What `schema` takes.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// What to describe
    pub of: SchemaName,
}

/// Things with a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaName {
    /// A scenario file, read as JSON
    Scenario,
    /// A study file, read as JSON
    Study,
    /// A sweep file, read as JSON
    Sweep,
    /// What `run --json` prints
    Result,
    /// What `run --json --runs N` prints
    Runs,
    /// What `compare --json` prints
    Comparison,
    /// What `quota --json` prints
    Quota,
    /// What `agreement --json` prints
    Agreement,
    /// What `sweep --json` prints
    SweepResult,
    /// What `gate --json` prints
    Gate,
    /// What `bisect --json` prints
    Bisect,
    /// What `score --json` prints
    Score,
    /// What `tune --json` prints
    Tune,
    /// What `search --json` prints
    Search,
    /// What `check --json` prints
    Check,
    /// What `venues --json` prints
    Venues,
    /// What `policies --json` prints
    Policies,
    /// What `policies NAME --json` prints
    Policy,
    /// What `model --json` prints
    Model,
    /// What `predict --json` prints
    Predict,
    /// What `trace FILE --json` prints, and each of its views
    Trace,
    /// What `study --json` and `overhead --json` print
    #[value(alias = "overhead")]
    StudyResult,
    /// What `calibrate --json` prints
    Calibrate,
    /// What `load --json` prints
    Load,
    /// What `scenarios --json` prints
    Scenarios,
    /// What `study list --json` prints
    Studies,
    /// What `study NAME --questions --json` prints
    Questions,
    /// What `vm kernels --json` prints
    Kernels,
    /// Not a schema: the list of all metrics with path, unit, meaning and source
    Metrics,
}
