//! Which files a command line names to be read, and which to be written: no command replaces what it reads.

use crate::args::paths::argument;
use crate::args::{
    AgreementArgs, Command, GateArgs, PageFormat, ReportArgs, SharedArgs, SpecList, StudyArgs, TraceArgs, View,
};
use crate::commands::gate::beside;
use crate::commands::study::of_question;
use crate::failure::Failure;
use schedlab_infer::steps_file;
use schedlab_policy::{PolicySpec, Reference};
use schedlab_regression::Gate;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether each file that a command is to write is another one than those that it reads, and than the others that it writes.
pub fn check(command: &Command) -> Result<(), Failure> {
    of(command).check()
}

/// The same for the files that a gate names, once it is read.
pub fn check_gate(args: &GateArgs, gate: &Gate) -> Result<(), Failure> {
    let folder = beside(&args.file);
    let policies = gate.named().filter_map(|name| PolicySpec::parse(name).ok());
    let policies: Vec<PolicySpec> = policies.map(|spec| spec.beside(folder)).collect();
    let named = gate.named().map(|name| folder.join(name));
    of_gate(args).reads("a file of the gate", named).policies(&policies).check()
}

/// The files of a command line.
#[derive(Default)]
struct Touched {
    /// What each is, and where.
    read: Vec<(&'static str, PathBuf)>,
    written: Vec<PathBuf>,
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
        Command::Sweep(args) => none.reads("the sweep", [&args.file]).writes(&args.report).exports(&args.export),
        Command::Gate(args) => of_gate(args),
        Command::Bisect(args) => none.reads("the gate", [&args.gate]).writes(&args.report).exports(&args.export),
        Command::Score(args) => none.reads(SCORE, [&args.file]).policies([&args.policy]).exports(&args.export),
        Command::Tune(args) => {
            none.reads(SCORE, [&args.file]).policies([&args.policy]).writes(&args.output).exports(&args.export)
        }
        Command::Agreement(args) => of_agreement(args),
        Command::Report(args) => none.reads("a run", &args.runs).writes(page_of(args)),
        Command::Calibrate(args) => none.writes(&args.machine),
        Command::Trace(args) => of_trace(args),
        Command::Record(args) => none.writes([&args.output]),
        Command::Import(args) => none.reads(RECORDING, [&args.recording]).writes([args.trace()]),
        Command::Model(args) => {
            none.reads(RECORDING, [&args.recording]).writes([args.output.clone(), steps_file(&args.output)])
        }
        Command::Predict(args) => {
            let policies = all(&args.policy).chain(&args.recorded);
            none.reads(RECORDING, [&args.recording]).policies(policies).writes(&args.report).exports(&args.export)
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
    Touched::default().reads("the study", study).writes(&args.report).exports(&args.export)
}

fn of_gate(args: &GateArgs) -> Touched {
    let pages = [&args.junit, &args.markdown, &args.report].into_iter().flatten();
    Touched::default().reads("the gate", [&args.file]).writes(pages).exports(&args.export)
}

fn of_agreement(args: &AgreementArgs) -> Touched {
    let named = args.scenario.iter().fold(Touched::default(), |touched, name| touched.scenario(name));
    let policies = args.policy.iter().flat_map(|list| list.iter().map(|pair| &pair.policy));
    let page = args.markdown.as_ref().map(|target| target.path());
    let read = named.policies(policies).reads("the machine's file", &args.machine);
    read.writes(page).writes(&args.report).exports(&args.export)
}

fn of_trace(args: &TraceArgs) -> Touched {
    let converted = match &args.view {
        Some(View::Timeline(view)) => view.output.as_ref(),
        _ => None,
    };
    let read = Touched::default().reads("the trace", std::iter::once(&args.trace).chain(&args.against));
    read.writes(converted).writes(&args.report).exports(&args.export)
}

fn all(lists: &[SpecList]) -> impl Iterator<Item = &PolicySpec> {
    lists.iter().flat_map(|list| list.iter())
}

/// The page of a report; charts go into a folder.
fn page_of(args: &ReportArgs) -> Option<&Path> {
    (args.format == PageFormat::Html).then(|| args.target())
}

impl Touched {
    fn reads(mut self, what: &'static str, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Touched {
        self.read.extend(files.into_iter().map(|file| (what, file.as_ref().into())));
        self
    }

    fn writes(mut self, files: impl IntoIterator<Item = impl AsRef<Path>>) -> Touched {
        self.written.extend(files.into_iter().map(|file| file.as_ref().into()));
        self
    }

    fn exports<F>(self, exports: &[(F, PathBuf)]) -> Touched {
        self.writes(exports.iter().map(|(_, file)| file))
    }

    /// What may be a scenario's file, and the steps that are next to it.
    fn scenario(self, name: &str) -> Touched {
        let steps = steps_file(Path::new(name));
        self.reads("the scenario", [name]).reads("the scenario's steps", [steps])
    }

    fn policies<'a>(self, specs: impl IntoIterator<Item = &'a PolicySpec>) -> Touched {
        let file = |spec: &'a PolicySpec| match &spec.reference {
            Reference::Source(path) | Reference::Object(path) => Some(path.as_path()),
            Reference::Program(words) | Reference::ProgramOnce(words) => words.first().map(Path::new),
            Reference::Name(_) => None,
        };
        self.reads("the policy", specs.into_iter().filter_map(file))
    }

    fn shared(self, args: &SharedArgs) -> Touched {
        self.scenario(&args.scenario)
            .reads("the machine's file", &args.machine)
            .reads("the kernel", &args.kernel)
            .writes(&args.report)
    }

    fn check(&self) -> Result<(), Failure> {
        for (index, file) in self.written.iter().enumerate() {
            let there = identity(file);
            let replaced = self.read.iter().find(|(_, read)| there.is_some() && identity(&opened(read)) == there);
            if let Some((what, _)) = replaced {
                let name = file.display();
                let why = format!("{name}: this would replace {what}, which the command reads; name another file");
                return Err(Failure::Input(why));
            }
            if self.written[..index].iter().any(|other| place(other) == place(file)) {
                return Err(Failure::Input(format!("{} is named twice: name another file", file.display())));
            }
        }
        Ok(())
    }
}

/// Where what a command reads can be looked at: standard input may be a file too.
fn opened(read: &Path) -> PathBuf {
    if argument(read) == "-" { PathBuf::from("/proc/self/fd/0") } else { read.into() }
}

/// What a path leads to, also through links; none where there is no file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((data.dev(), data.ino()))
}

/// A file that may not be there yet, by its name in its folder, however it is written.
fn place(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().map_or_else(|_| file.into(), |folder| folder.join(file.file_name().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refusal(touched: &Touched) -> String {
        match touched.check() {
            Err(Failure::Input(why)) => why,
            _ => String::new(),
        }
    }

    #[test]
    fn nothing_that_is_read_is_replaced_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        symlink("a", at("link")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        let touched = |name: &str| Touched::default().reads("the trace", [at("a")]).writes([at(name)]);
        for name in ["a", "./a", "link", "hard"] {
            let why = refusal(&touched(name));
            assert!(
                why.ends_with(": this would replace the trace, which the command reads; name another file"),
                "{why}"
            );
        }
        for name in ["other", "new"] {
            assert_eq!(refusal(&touched(name)), "", "{name}");
        }
    }

    #[test]
    fn two_files_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        assert_eq!(refusal(&Touched::default().writes([&a, &b])), "");
        for again in [&a, &folder.path().join("./a")] {
            assert!(
                refusal(&Touched::default().writes([&a, &b, again])).ends_with("is named twice: name another file")
            );
        }
    }
}
