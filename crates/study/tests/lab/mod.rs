//! Studies in texts, without scenarios of others.

use schedlab_campaign::{Cache, Runner};
use schedlab_model::scenario::Scenario;
use schedlab_study::{self as study, CaseOutcome, Experiment, Study, Variant};
use schedlab_venue::Monitor;
use std::path::Path;

pub fn plan(text: &str, variant: Variant) -> Result<(Study, Experiment), String> {
    let study = Study::parse(text, "s.toml").map_err(|error| error.to_string())?;
    let none = |name: &str| -> Result<Scenario, String> { Err(format!("there is no scenario `{name}`")) };
    let experiment =
        Experiment::plan(&study, (text, "s.toml"), variant, Path::new(""), &none).map_err(|error| error.to_string())?;
    Ok((study, experiment))
}

pub fn carry_out(experiment: &Experiment, cache: Option<&Cache>) -> Vec<CaseOutcome> {
    study::carry_out(experiment, &Runner::new(cache, 2, &Monitor::default()))
}
