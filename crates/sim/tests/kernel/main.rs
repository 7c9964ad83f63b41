//! What a policy sees of the core is what it sees of a kernel's: small policies whose outcome was looked at in Linux 7.3.

mod choosing;
mod classes;
mod custody;
mod ending;
mod immediate;
mod nodes;
mod references;
mod refused;
mod waking;

use schedlab_bpf::{Executor, Object};
use schedlab_model::{scenario::Scenario, trace::Event, trace::EventKind};
use schedlab_sim::{Options, scx};

/// Two tasks that only compute, on one CPU.
pub const TWO: &str = "[machine]\ncpus = 1\n[[task]]\nname = \"a\"\ncount = 2\nloop = [{ compute = \"10ms\" }]\n[run]\nduration = \"400ms\"\n";

/// One of them.
pub const ONE: &str =
    "[machine]\ncpus = 1\n[[task]]\nname = \"a\"\nloop = [{ compute = \"10ms\" }]\n[run]\nduration = \"200ms\"\n";

/// How a run went.
#[derive(Debug, PartialEq)]
pub struct Went {
    /// What the policy printed.
    pub printed: Vec<String>,
    /// The events.
    pub events: Vec<Event>,
}

impl Went {
    /// How often a task got a CPU, by its number.
    pub fn turns(&self, task: u32) -> usize {
        let is_turn =
            |event: &&Event| matches!(event.kind, EventKind::Switch { next: Some(next), .. } if next.0 == task);
        self.events.iter().filter(is_turn).count()
    }
}

/// Runs a policy in both executors, which must agree: how it went, or why it failed.
///
/// `operations` is the rest of the table of operations; the name is there.
pub fn run(code: &str, operations: &str, scenario: &str) -> Result<Went, String> {
    run_table(code, &format!("{operations}, .name = \"test\""), scenario)
}

/// The same with the whole table of operations.
pub fn run_table(code: &str, table: &str, scenario: &str) -> Result<Went, String> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("test.bpf.c");
    let text = format!(
        "#include <schedlab/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n{code}\nSCX_OPS_DEFINE(test_ops, {table});\n"
    );
    std::fs::write(&source, text).unwrap();
    let compiled = schedlab_policy::compile(&source).unwrap_or_else(|error| panic!("{error}"));
    let object = Object::parse(&compiled.object).unwrap();
    let workload = Scenario::parse(&format!("name = \"test\"\n{scenario}"), "test").unwrap().compile().unwrap();
    let [interpreted, compiled] = [Executor::Interpreter, Executor::Machine].map(|executor| {
        let options = Options { executor, settings: Vec::new(), seed: 1 };
        let mut events = Vec::new();
        let outcome =
            scx::run(&workload, &object, &options, &mut events, &mut ()).map_err(|error| error.to_string())?;
        Ok(Went { printed: outcome.printed.into_iter().map(|(_, line)| line).collect(), events })
    });
    assert_eq!(interpreted, compiled, "the executors differ");
    interpreted
}

/// The last line that a policy prints, which is to do so in `ops.exit`.
pub fn says(code: &str, operations: &str, scenario: &str) -> String {
    let went = run(code, operations, scenario).unwrap_or_else(|error| panic!("{error}"));
    went.printed.last().expect("it prints a line").clone()
}
