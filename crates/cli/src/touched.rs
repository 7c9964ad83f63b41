//! Which files a command line names to be read, and which to be written: no command replaces what it reads.

use crate::args::paths::argument;
use crate::args::{
    AgreementArgs, Command, GateArgs, PageFormat, ReportArgs, SharedArgs, SpecList, StudyArgs, TraceArgs, View,
};
use crate::commands::gate::beside;
use crate::failure::Failure;
use schedlab_boundary::touched::Touched;
use schedlab_catalogue::of_question;
use schedlab_infer::steps_file;
use schedlab_policy::PolicySpec;
use schedlab_regression::Gate;
use std::path::{Path, PathBuf};

/// Whether each file that a command is to write is another one than those that it reads, and than the others that it writes.
pub fn check(command: &Command) -> Result<(), Failure> {
    of(command).check().map_err(Failure::Input)
}

/// The same for the files that a gate names, once it is read.
pub fn check_gate(args: &GateArgs, gate: &Gate) -> Result<(), Failure> {
    let folder = beside(&args.file);
    let policies = gate.named().filter_map(|name| PolicySpec::parse(name).ok());
    let policies: Vec<PolicySpec> = policies.map(|spec| spec.beside(folder)).collect();
    let named = gate.named().map(|name| folder.join(name));
    of_gate(args).reads("a file of the gate", named).policies(&policies).check().map_err(Failure::Input)
}

/// The files of a command line. Those that a file names are not among them.
fn of(command: &Command) -> Touched {
    let none = Touched::default();
    match command {
        Command::Run(args) => none.shared(&args.shared).policies([&args.policy]).writes(&args.trace),
        Command::Compare(args) => none.shared(&args.shared).policies(all(&args.policy)).exports(&args.export),
        Command::Quota(args) => none.shared(&args.shared).policies(all(&args.policy)).exports(&args.export),
        Command::Overhead(args) => none.policies(all(&args.policy)).exports(&args.export),
        Command::Study(args) => of_study(args),
        Command::Sweep(args) => none.reads_opened("the sweep", [&args.file]).writes(&args.report).exports(&args.export),
        Command::Gate(args) => of_gate(args),
        Command::Bisect(args) => none.reads_opened("the gate", [&args.gate]).writes(&args.report).exports(&args.export),
        Command::Score(args) => none.reads_opened(SCORE, [&args.file]).policies([&args.policy]).exports(&args.export),
        Command::Tune(args) => {
            none.reads_opened(SCORE, [&args.file]).policies([&args.policy]).writes(&args.output).exports(&args.export)
        }
        Command::Agreement(args) => of_agreement(args),
        Command::Report(args) => none.reads_opened("a run", &args.runs).writes(page_of(args)),
        Command::Calibrate(args) => none.writes(&args.machine),
        Command::Trace(args) => of_trace(args),
        Command::Record(args) => none.writes([&args.output]),
        Command::Import(args) => none.reads_opened(RECORDING, [&args.recording]).writes([args.trace()]),
        Command::Model(args) => {
            none.reads_opened(RECORDING, [&args.recording]).writes([args.output.clone(), steps_file(&args.output)])
        }
        Command::Predict(args) => {
            let policies = all(&args.policy).chain(&args.recorded);
            none.reads_opened(RECORDING, [&args.recording])
                .policies(policies)
                .writes(&args.report)
                .exports(&args.export)
        }
        // They write nothing, or into a folder, or print what they make.
        Command::Policies(_)
        | Command::Scenarios(_)
        | Command::Search(_)
        | Command::Schema(_)
        | Command::Check(_)
        | Command::Load(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Venues(_)
        | Command::Vm { .. } => none,
    }
}

const SCORE: &str = "the score's file";
const RECORDING: &str = "the recording";

fn of_study(args: &StudyArgs) -> Touched {
    let study = args.study.as_deref().map(|study| of_question(study).0);
    Touched::default().reads_opened("the study", study).writes(&args.report).exports(&args.export)
}

fn of_gate(args: &GateArgs) -> Touched {
    let pages = [&args.junit, &args.markdown, &args.report].into_iter().flatten();
    Touched::default().reads_opened("the gate", [&args.file]).writes(pages).exports(&args.export)
}

fn of_agreement(args: &AgreementArgs) -> Touched {
    let named = args.scenario.iter().fold(Touched::default(), |touched, name| touched.scenario(name));
    let policies = args.policy.iter().flat_map(|list| list.iter().map(|pair| &pair.policy));
    let page = args.markdown.as_ref().map(|target| target.path());
    let read = named.policies(policies).reads_opened("the machine's file", &args.machine);
    read.writes(page).writes(&args.report).exports(&args.export)
}

fn of_trace(args: &TraceArgs) -> Touched {
    let converted = match &args.view {
        Some(View::Timeline(view)) => view.output.as_ref(),
        _ => None,
    };
    let read = Touched::default().reads_opened("the trace", std::iter::once(&args.trace).chain(&args.against));
    read.writes(converted).writes(&args.report).exports(&args.export)
}

fn all(lists: &[SpecList]) -> impl Iterator<Item = &PolicySpec> {
    lists.iter().flat_map(|list| list.iter())
}

/// The page of a report; charts go into a folder.
fn page_of(args: &ReportArgs) -> Option<&Path> {
    (args.format == PageFormat::Html).then(|| args.target())
}

/// What the options of commands name.
trait OfOptions: Sized {
    /// What a user names to be read, which may be standard input.
    fn reads_opened(self, what: &'static str, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Self;

    fn exports<F>(self, exports: &[(F, PathBuf)]) -> Self;

    /// What may be a scenario's file, and the steps that are next to it.
    fn scenario(self, name: &str) -> Self;

    fn policies<'a>(self, specs: impl IntoIterator<Item = &'a PolicySpec>) -> Self;

    fn shared(self, args: &SharedArgs) -> Self;
}

impl OfOptions for Touched {
    fn reads_opened(self, what: &'static str, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Touched {
        self.reads(what, files.into_iter().map(|file| opened(file.as_ref())))
    }

    fn exports<F>(self, exports: &[(F, PathBuf)]) -> Touched {
        self.writes(exports.iter().map(|(_, file)| file))
    }

    fn scenario(self, name: &str) -> Touched {
        let steps = steps_file(Path::new(name));
        self.reads_opened("the scenario", [name]).reads("the scenario's steps", [steps])
    }

    fn policies<'a>(self, specs: impl IntoIterator<Item = &'a PolicySpec>) -> Touched {
        self.reads_opened("the policy", specs.into_iter().filter_map(PolicySpec::file))
    }

    fn shared(self, args: &SharedArgs) -> Touched {
        self.scenario(&args.scenario)
            .reads_opened("the machine's file", &args.machine)
            .reads("the kernel", &args.kernel)
            .writes(&args.report)
    }
}

/// Where what a command reads can be looked at: standard input may be a file too.
fn opened(read: &Path) -> PathBuf {
    if argument(read) == "-" { PathBuf::from("/proc/self/fd/0") } else { read.into() }
}
