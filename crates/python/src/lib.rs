//! What the Python package needs of schedlab: Python's objects in, JSON and Arrow out.
//!
//! The package in `python/schedlab` gives these functions their public form; nothing here is meant to be called by users.

mod background;
mod convert;
mod error;
mod frame;
mod gate;
mod job;
mod kernel;
mod native;
mod notebook;
mod quota;
mod raised;
mod read;
mod recording;
mod rows;
mod scenario;
mod score;
mod search;
mod study;
mod sweep;
mod tables;
mod words;

use pyo3::prelude::*;

/// The module.
#[pymodule]
mod _schedlab {
    use super::*;

    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::gate::{Gated, gate};
    #[pymodule_export]
    use crate::job::{Done, run};
    #[pymodule_export]
    use crate::kernel::{Kernel, Task};
    #[pymodule_export]
    use crate::quota::{Limits, quota};
    #[pymodule_export]
    use crate::read::{policies, read_trace, scenarios, schema, studies};
    #[pymodule_export]
    use crate::recording::{Modelled, Predicted, Recorded, import_recording, model, predict, record};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::score::{Scored, score};
    #[pymodule_export]
    use crate::search::Hunt;
    #[pymodule_export]
    use crate::study::{StudyPage, study};
    #[pymodule_export]
    use crate::sweep::{Plan, Table};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
