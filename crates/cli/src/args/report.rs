//! The flags of `report`.

use super::paths;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// What `report` takes.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Traces (.parquet, .pftrace, .perfetto-trace) and results (output of `run --json` or `compare --json`) of one
    /// scenario; or the folder of a history that `gate` keeps
    #[arg(required = true, value_name = "RUN", value_parser = paths::to_read())]
    pub runs: Vec<PathBuf>,
    /// The page, report.html by default; for single charts their folder, charts by default
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// One page for a browser, or single charts
    #[arg(long, value_name = "FORMAT", default_value = "html")]
    pub format: PageFormat,
    /// Only this chart, by the name of its file; may be repeated
    #[arg(long, value_name = "NAME", requires = "format")]
    pub chart: Vec<String>,
}

impl ReportArgs {
    /// The page, or the folder of charts.
    pub fn target(&self) -> &Path {
        let usual = if self.format == PageFormat::Html { "report.html" } else { "charts" };
        self.output.as_deref().unwrap_or(Path::new(usual))
    }
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// One page with everything
    Html,
    /// Drawings
    Svg,
    /// Pictures
    Png,
}
