//! How the program ends when not well.

use crate::output::complain;
use crate::usage;
use schedlab_catalogue::CatalogueError;
use schedlab_infer::InferError;
use schedlab_model::scenario::ScenarioError;
use schedlab_policy::{CreateError, SpecError};
use schedlab_sweep::DatasetError;
use schedlab_venue::{ErrorClass, VenueError};
use std::process::ExitCode;

/// Exit codes; docs/reference/exit-codes.md has the same table.
pub mod code {
    /// All was done, even if the output was not read to its end.
    pub const DONE: u8 = 0;
    /// The input was good, and something failed.
    pub const FAILED: u8 = 1;
    /// The input cannot be used: nothing has run.
    pub const WRONG_INPUT: u8 = 2;
    /// All was done, and others took too much of this machine to conclude anything.
    pub const INCONCLUSIVE: u8 = 3;
    /// A study needs runs that cannot be made here.
    pub const NOT_RUN: u8 = 4;
    /// A gate was run, and a bound does not hold.
    pub const REGRESSED: u8 = 5;
    /// A command to record is there and could not be started, as shells say it.
    pub const NOT_STARTED: u8 = 126;
    /// A command to record was not found, as shells say it.
    pub const NOT_FOUND: u8 = 127;
    /// Stopped with Ctrl-C: what a shell gives for it.
    pub const INTERRUPTED: u8 = 130;
}

/// Why the program ends without having done all it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// The command line itself.
    Usage(clap::Error),
    /// A library says what is wrong.
    Venue(VenueError),
    /// Policies that failed while others did not.
    Policies(Vec<VenueError>),
    /// Something else that the user can put right.
    Input(String),
    /// The input was good, and yet it did not work.
    Failed(String),
    /// What was asked for cannot be run here, or not all of it.
    NotRun(String),
    /// What came out cannot bear what others took of this machine.
    Inconclusive(String),
    /// A bound of a gate does not hold.
    Regressed(String),
    /// A command that was to be recorded could not be started; the code says why.
    NotStarted(String, u8),
    /// A command that was recorded ended so; everything has been printed.
    Command(u8),
    /// Ctrl-C; everything has been printed.
    Interrupted,
    /// The reader of the output has closed it.
    NobodyListens,
    /// Several of these, at least one.
    Several(Vec<Failure>),
}

/// The end of things that were all tried, whatever came of the others.
pub fn all(tried: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures: Vec<Failure> = tried.into_iter().filter_map(Result::err).collect();
    match failures.len() {
        0 => Ok(()),
        1 => Err(failures.remove(0)),
        _ => Err(Failure::Several(failures)),
    }
}

impl Failure {
    /// The same failure of a command without `--venue`: `advice` is what its user can do instead.
    #[must_use]
    pub fn without_venues(self, advice: &str) -> Failure {
        let each = |error: VenueError| error.without_venues(advice);
        match self {
            Failure::Venue(error) => Failure::Venue(each(error)),
            Failure::Policies(errors) => Failure::Policies(errors.into_iter().map(each).collect()),
            Failure::Several(failures) => {
                Failure::Several(failures.into_iter().map(|failure| failure.without_venues(advice)).collect())
            }
            other => other,
        }
    }

    /// Says what happened in one line on standard error, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        self.tell();
        ExitCode::from(self.code())
    }

    fn tell(&self) {
        match self {
            Failure::Usage(error) => usage::tell(error),
            Failure::Venue(error) => complain(&error.to_string()),
            Failure::Input(message)
            | Failure::NotRun(message)
            | Failure::Failed(message)
            | Failure::NotStarted(message, _)
            | Failure::Regressed(message) => complain(message),
            Failure::Policies(errors) => errors.iter().for_each(|error| complain(&error.to_string())),
            Failure::Inconclusive(why) => complain(&format!("inconclusive: {why}")),
            Failure::Command(_) | Failure::Interrupted | Failure::NobodyListens => {}
            Failure::Several(failures) => failures.iter().for_each(Failure::tell),
        }
    }

    /// Of several, that of the first that is no success.
    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Input(_) => code::WRONG_INPUT,
            Failure::Venue(error) => match error.class() {
                ErrorClass::WrongInput => code::WRONG_INPUT,
                ErrorClass::Failed => code::FAILED,
            },
            Failure::Policies(_) | Failure::Failed(_) => code::FAILED,
            Failure::NotRun(_) => code::NOT_RUN,
            Failure::Inconclusive(_) => code::INCONCLUSIVE,
            Failure::Regressed(_) => code::REGRESSED,
            Failure::Command(code) | Failure::NotStarted(_, code) => *code,
            Failure::Interrupted => code::INTERRUPTED,
            Failure::NobodyListens => code::DONE,
            Failure::Several(failures) => {
                failures.iter().map(Failure::code).find(|&code| code != code::DONE).unwrap_or_default()
            }
        }
    }
}

/// A defect of ours is one line too; `RUST_BACKTRACE=1` shows where it came from. Where a library's panic becomes an error, the
/// error says what is wrong.
pub fn install_panic_hook() {
    let full = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if schedlab_boundary::library::is_guarded() {
            return;
        }
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            return full(info);
        }
        let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
        let place = info.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        complain(&format!(
            "a defect of schedlab: {message}{place}; please report it with the command and its files \
             (RUST_BACKTRACE=1 shows more)"
        ));
    }));
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Failure {
        Failure::Usage(error)
    }
}

impl From<VenueError> for Failure {
    fn from(error: VenueError) -> Failure {
        match error {
            VenueError::Several(errors) => Failure::Several(errors.into_iter().map(Failure::from).collect()),
            error => Failure::Venue(error),
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure::Venue(error.into())
    }
}

impl From<CatalogueError> for Failure {
    fn from(error: CatalogueError) -> Failure {
        match error {
            CatalogueError::Unknown(_) | CatalogueError::Trace(_) => Failure::Input(error.to_string()),
            CatalogueError::Scenario(error) => error.into(),
        }
    }
}

impl From<DatasetError> for Failure {
    fn from(error: DatasetError) -> Failure {
        match error {
            DatasetError::Part { .. } => Failure::Input(error.to_string()),
            DatasetError::File { .. } => Failure::Failed(error.to_string()),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Failure {
        Failure::Venue(error.into())
    }
}

impl From<schedlab_trace::Error> for Failure {
    fn from(error: schedlab_trace::Error) -> Failure {
        Failure::Venue(error.into())
    }
}

impl From<InferError> for Failure {
    fn from(error: InferError) -> Failure {
        match error {
            InferError::Trace(error) => error.into(),
            InferError::Disk(_) => Failure::Failed(error.to_string()),
            InferError::Empty | InferError::Fluid | InferError::TooLong { .. } => Failure::Input(error.to_string()),
        }
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Failure {
        match error {
            CreateError::Name(_) | CreateError::Exists(_) | CreateError::Unknown(_) => {
                Failure::Input(error.to_string())
            }
            CreateError::Write { .. } => Failure::Failed(error.to_string()),
        }
    }
}
