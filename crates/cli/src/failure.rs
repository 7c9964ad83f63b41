//! How the program ends when not well.

use schedlab_catalogue::CatalogueError;
use schedlab_model::scenario::ScenarioError;
use schedlab_policy::{CreateError, SpecError};
use schedlab_sweep::DatasetError;
use schedlab_venue::{ErrorClass, VenueError};
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code of a run that was stopped with Ctrl-C: what a shell gives for it.
pub const INTERRUPTED: u8 = 130;

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
    /// Ctrl-C; everything has been said.
    Interrupted,
    /// Whoever reads the output has seen enough.
    NobodyListens,
}

impl Failure {
    /// Says what happened in one line on standard error, and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Usage(error) => return usage(&error),
            Failure::Venue(error) => {
                complain(&error.to_string());
                return match error.class() {
                    ErrorClass::WrongInput => ExitCode::from(2),
                    ErrorClass::Failed => ExitCode::FAILURE,
                };
            }
            Failure::Input(message) => {
                complain(&message);
                return ExitCode::from(2);
            }
            Failure::Policies(errors) => errors.iter().for_each(|error| complain(&error.to_string())),
            Failure::Failed(message) => complain(&message),
            Failure::Interrupted => return ExitCode::from(INTERRUPTED),
            Failure::NobodyListens => return ExitCode::SUCCESS,
        }
        ExitCode::FAILURE
    }
}

fn complain(message: &str) {
    // When standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "schedlab: {message}");
}

/// Help is no failure. Anything else becomes one line: the first paragraph of what clap says, and its tip.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(io::stderr(), "{text}");
        return ExitCode::from(2);
    }
    let paragraphs: Vec<String> =
        text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let what = paragraphs[0].trim_start_matches("error: ");
    let tip = paragraphs.iter().find_map(|part| part.strip_prefix("tip: "));
    let remedy = tip.map_or("see `schedlab --help` and the --help of each command".to_string(), str::to_string);
    complain(&format!("{what}; {remedy}"));
    ExitCode::from(2)
}

/// A defect of ours is one line too; `RUST_BACKTRACE=1` shows where it came from.
pub fn install_panic_hook() {
    let full = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
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
        Failure::Venue(error)
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
            CatalogueError::Unknown(what) => Failure::Input(what),
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

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Failure {
        match error {
            CreateError::Name(_) | CreateError::Exists(_) => Failure::Input(error.to_string()),
            CreateError::Write { .. } => Failure::Failed(error.to_string()),
        }
    }
}
