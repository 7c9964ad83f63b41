//! `schedlab policies`.

mod json;

use super::verify;
use crate::args::{PoliciesArgs, PoliciesCommand};
use crate::failure::Failure;
use crate::output;
use schedlab_policy::{Parameter, PolicySpec, Shipped, catalog, copy_of, new_policy};
use schedlab_report::wrap;
use schedlab_venue::{Discipline, Need, Needs, Policy, Scheduler, VenueError, ideal_name, inspect};
use std::path::Path;

/// The width of the column of names.
const NAMES: usize = 20;

/// Lists, shows one, or writes a new one.
pub fn run(args: PoliciesArgs) -> Result<(), Failure> {
    match (args.command, args.policy) {
        (Some(PoliciesCommand::New { name, from: Some(of) }), _) => copy(&of, &name),
        (Some(PoliciesCommand::New { name, from: None }), _) => new(&name),
        (None, Some(policy)) if args.source => source(&policy),
        (None, Some(policy)) if args.verify => verify::run(&policy, args.kernel.as_deref(), args.engine),
        (None, Some(policy)) => details(&policy, args.json),
        (None, None) if args.json => output::print_json(&json::list()),
        (None, None) => list(),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::from("Shipped, as sched_ext objects:\n");
    for policy in catalog() {
        text += &wrap(&format!("  {:<NAMES$}", policy.name), NAMES + 2, policy.about());
    }
    text += "\nIdeal disciplines, for the simulator alone:\n";
    for discipline in Discipline::ALL {
        text += &wrap(&format!("  {:<NAMES$}", ideal_name(discipline)), NAMES + 2, discipline.about());
    }
    let own = "Your own: FILE.bpf.c or FILE.bpf.o; `schedlab policies new NAME` starts one, and with `--from POLICY` copies \
               one.";
    output::print(&(text + "\n" + &wrap("", 0, own)))
}

fn new(name: &str) -> Result<(), Failure> {
    let paths = new_policy(name, Path::new("."))?;
    let [policy, test, gate] = paths.each_ref().map(|path| path.display());
    output::print(&format!(
        "{policy} is written, {test}, a scenario to test it, and {gate}, a gate for it. Try:\n\n    \
         schedlab run heavy-load --policy {policy}\n    schedlab run {test} --policy {policy} --check\n    \
         schedlab gate {gate} --update\n"
    ))
}

fn copy(of: &str, name: &str) -> Result<(), Failure> {
    if Discipline::ALL.into_iter().any(|discipline| ideal_name(discipline) == of) {
        return Err(Failure::Input(format!(
            "`{of}` is an ideal discipline of the simulator, and has no source to copy"
        )));
    }
    if Path::new(of).exists() {
        return Err(Failure::Input(format!("--from takes the name of a shipped policy; copy {of} itself with `cp`")));
    }
    let paths = copy_of(of, name, Path::new("."))?;
    let [policy, test, gate] = paths.each_ref().map(|path| path.display());
    output::print(&format!(
        "{policy} is written, a copy of {of}, and next to it `include` with its headers, {test}, a scenario to test it, and \
         {gate}, a gate for it. Change them, and try:\n\n    schedlab compare heavy-load --policy {of},{policy}\n    \
         schedlab run {test} --policy {policy} --check\n    schedlab gate {gate} --update\n"
    ))
}

fn source(name: &str) -> Result<(), Failure> {
    match catalog().iter().find(|policy| policy.name == name) {
        Some(policy) => output::print_document(policy.source),
        None => Err(Failure::Input(format!("`{name}` is not shipped as a source; `schedlab policies` lists those"))),
    }
}

fn details(argument: &str, as_json: bool) -> Result<(), Failure> {
    let spec = PolicySpec::parse(argument)?;
    let policy = Policy::find(&spec)?;
    if !policy.warnings.is_empty() {
        output::remark(&policy.warnings);
    }
    let inspected = inspect(&policy);
    if as_json {
        let needs = inspected.transpose().map_err(|error| VenueError::Parameter { policy: argument.into(), error })?;
        return output::print_json(&json::details(&policy.label, needs.as_ref()));
    }
    let needs = match (&policy.scheduler, inspected) {
        (Scheduler::Ideal(discipline), _) => return ideal(*discipline),
        (Scheduler::Program(_), _) => {
            let text = "a program that loads its own object and is in charge for as long as it runs.";
            return output::print(&wrap(&format!("{}: ", policy.label), 0, text));
        }
        (_, Some(needs)) => needs.map_err(|error| VenueError::Parameter { policy: argument.into(), error })?,
        (_, None) => {
            return output::print("kernel. The scheduler inside the kernel, measured in place (--venue host).\n");
        }
    };
    let shipped = catalog().iter().find(|shipped| policy.shipped && shipped.name == policy.info.name);
    output::print(&match shipped {
        Some(shipped) => about_shipped(shipped, &needs),
        None => about_file(argument, &needs),
    })
}

fn ideal(discipline: Discipline) -> Result<(), Failure> {
    let name = ideal_name(discipline);
    let text = format!("{}. An ideal discipline, for the simulator alone; it has no parameters.", discipline.about());
    output::print(&wrap(&format!("{name}: "), 0, &text))
}

/// The title and the first paragraph of the README, and the parameters as the object has them.
fn about_shipped(shipped: &Shipped, needs: &Needs) -> String {
    let mut paragraphs = shipped.readme.split("\n\n");
    let title = paragraphs.next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let about = paragraphs.next().unwrap_or_default();
    let mut text = wrap("", 0, title) + "\n" + &wrap("", 0, about);
    text += &parameters(&needs.parameters);
    let name = shipped.name;
    let more = format!("policies/{name}/README.md says more; `schedlab policies {name} --source` prints the source.");
    text + "\n" + &wrap("", 0, &more)
}

/// Everything about an object without a description.
fn about_file(argument: &str, needs: &Needs) -> String {
    let verdict = match (needs.missing.is_empty(), needs.refused) {
        (true, _) => "can be simulated",
        (false, true) => "cannot be simulated",
        (false, false) => "cannot be simulated yet",
    };
    let mut text = format!("{argument}: {verdict}\n\n");
    let mut line = |name: &str, items: Vec<String>| {
        if !items.is_empty() {
            text += &wrap(&format!("{name:<NAMES$}"), NAMES, &items.join(", "));
        }
    };
    line("not simulated", needs.missing.clone());
    line("licence", vec![needs.license.clone()]);
    line("settings", needs.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect());
    line("operations", needs.operations.clone());
    line("never called", needs.never_called.clone());
    line("other programs", needs.other_programs.clone());
    let maps = needs.maps.iter().map(|map| {
        let entries = if map.max_entries > 0 { format!(", {} entries", map.max_entries) } else { String::new() };
        format!("{} ({}, {} to {} bytes{entries})", map.name, map.kind, map.key_size, map.value_size)
    });
    line("maps", maps.collect());
    line("kernel functions", names(&needs.kernel_functions));
    line("kernel variables", names(&needs.kernel_variables));
    line("helpers", needs.helpers.clone());
    text + &parameters(&needs.parameters)
}

/// The names without the suffix that says several declarations of one function apart, as libbpf has it.
fn names(needs: &[Need]) -> Vec<String> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for need in needs {
        let plain = need.name.split("___").next().unwrap_or_default();
        match names.iter_mut().find(|(name, _)| *name == plain) {
            Some((_, weak)) => *weak &= need.weak,
            None => names.push((plain, need.weak)),
        }
    }
    names.iter().map(|(name, weak)| if *weak { format!("{name} (if there)") } else { name.to_string() }).collect()
}

/// Each parameter with its default, what it may be, and what it means.
fn parameters(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "\nIt has no parameters.\n".into();
    }
    let mut text = String::from("\nParameters and their defaults:\n");
    for parameter in parameters {
        let default = match parameter.machine {
            Some(_) => "the machine's".into(),
            None => parameter.show(parameter.default),
        };
        text += &wrap(&format!("  {} = {default}  ", parameter.name), 6, &format!("({})", parameter.values()));
        if !parameter.about.is_empty() {
            text += &wrap("      ", 6, &parameter.about);
        }
    }
    text
}
