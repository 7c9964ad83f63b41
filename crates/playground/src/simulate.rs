//! One run, from the texts of a page to what it shows.

use crate::choice::{Choice, NoChoice};
use schedlab_boundary::Shown;
use schedlab_model::outcome::Outcome;
use schedlab_model::scenario::{Scenario, ScenarioError};
use schedlab_report::{Style, Table, result};
use schedlab_sim::Control;
use schedlab_simulation::{RunFailure, measure};
use schedlab_views::slices::Slices;
use serde::{Deserialize, Serialize};

/// The most slices and wake-ups that a page shows.
const MOST_SLICES: u32 = 500_000;

/// What a page asks for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Question {
    /// The text of the scenario.
    pub scenario: String,
    /// Its name, for errors.
    pub origin: String,
    /// The policy with its parameters: `rr:quantum=5ms`.
    pub policy: String,
    /// The seed of all random numbers, instead of the scenario's.
    pub seed: Option<u64>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What `schedlab run --json` prints.
    pub result: String,
    /// What `schedlab run` prints.
    pub page: String,
    /// The tables of the roles, as JSON.
    pub tables: String,
    /// The numbers of the machine as a whole, in lines.
    pub whole: String,
    /// What the bytes of the timeline are about, as JSON.
    pub header: String,
    /// The timeline, as [`schedlab_views::slices`] packs it.
    pub timeline: Vec<u8>,
}

/// Why there is no answer. The words are those of the command line.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] NoChoice),
    /// The run failed.
    #[error(transparent)]
    Failed(#[from] RunFailure),
}

/// Makes a run.
///
/// # Errors
///
/// The scenario or the policy cannot be used, or the run fails.
pub fn simulate(question: &Question, control: &mut dyn Control) -> Result<Answer, NoAnswer> {
    let scenario = Scenario::parse(&question.scenario, &question.origin)?;
    let workload = scenario.compile()?;
    let choice = Choice::find(&question.policy)?;
    let (hash, seed) = (scenario.hash(), question.seed.unwrap_or(workload.run.seed));
    let roles = workload.roles.iter().map(|role| role.name.clone());
    let mut slices = Slices::new(roles, workload.machine.cpus()).keeping(MOST_SLICES);
    let subject = choice.subject(&workload, &hash, seed);
    let measured = measure(&subject, Some(&mut slices), |sink| choice.run(&workload, seed, sink, control))?;
    let result = json(&measured.result) + "\n";
    let outcome = Outcome::from(measured.result);
    let packed = slices.into_packed();
    Ok(Answer {
        result: Shown::json(&result).into_string(),
        page: Shown::page(&result::show(&outcome, &choice.label, Style::PLAIN), false).into_string(),
        tables: json(&result::role_tables(&outcome, &choice.label).each_ref().map(TableView::of)),
        whole: result::whole(&outcome),
        header: json(&packed.header),
        timeline: packed.bytes,
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("names and numbers have a form in JSON")
}

/// A table as a page shows it.
#[derive(Debug, Serialize)]
struct TableView {
    columns: Vec<ColumnView>,
}

#[derive(Debug, Serialize)]
struct ColumnView {
    head: String,
    about: Option<String>,
    is_numeric: bool,
    cells: Vec<String>,
}

impl TableView {
    fn of(table: &Table) -> TableView {
        let column = |column: &schedlab_report::Column| ColumnView {
            head: format!("{} {}", column.shared_head(), column.head()).trim().to_string(),
            about: column.definition().map(String::from),
            is_numeric: !column.is_words(),
            cells: column.cells().to_vec(),
        };
        TableView { columns: table.columns().iter().map(column).collect() }
    }
}
