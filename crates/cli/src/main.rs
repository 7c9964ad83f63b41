//! `schedlab`: from flags to libraries and back to a terminal. Everything that computes is elsewhere.

mod args;
mod commands;
mod confined;
mod export;
mod failure;
mod files;
mod interrupt;
mod job;
mod kept;
mod meant;
mod output;
mod overlay;
mod page;
mod progress;
mod touched;
mod usage;

use args::Command;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::install_panic_hook();
    // The hook has printed the message. A panic that unwinds to here has released what it held.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::FAILURE)
}

fn run() -> ExitCode {
    let result = match args::parse() {
        Ok(args) => {
            let instead = args.command.instead_of_venues();
            let done = touched::check(&args.command).and_then(|()| carry_out(args.command));
            done.map_err(|failure| match instead {
                Some(advice) => failure.without_venues(advice),
                None => failure,
            })
        }
        Err(error) if error.use_stderr() => Err(error.into()),
        Err(help) => shown(&help),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Help and version are output as any other.
fn shown(help: &clap::Error) -> Result<(), Failure> {
    let text = help.render();
    output::print(&if output::style().colours { text.ansi().to_string() } else { text.to_string() })
}

fn carry_out(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Policies(args) => commands::policies::run(args),
        Command::Scenarios(args) => commands::scenarios::run(args),
        Command::Study(args) => commands::study::run(args),
        Command::Overhead(args) => commands::overhead::run(args),
        Command::Quota(args) => commands::quota::run(args),
        Command::Sweep(args) => commands::sweep::run(args),
        Command::Gate(args) => commands::gate::run(args),
        Command::Bisect(args) => commands::bisect::run(args),
        Command::Score(args) => commands::score::run(args),
        Command::Tune(args) => commands::tune::run(args),
        Command::Search(args) => commands::search::run(args),
        Command::Agreement(args) => commands::agreement::run(args),
        Command::Report(args) => commands::report::run(&args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Venues(args) => commands::venues::run(&args),
        Command::Vm { command } => commands::vm::run(&command),
        Command::Import(args) => commands::import::run(&args),
        Command::Model(args) => commands::model::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Load(args) => commands::load::run(&args),
        Command::Completions(args) => commands::shell::completions(&args),
        Command::Man(args) => commands::shell::man(&args),
    }
}
