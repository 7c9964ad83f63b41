//! The flags of `completions` and `man`.

use clap::ValueEnum;
use std::path::PathBuf;

/// What `completions` takes.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    /// As in ~/.local/share/bash-completion/completions/schedlab
    Bash,
    /// As in a folder of $fpath, under the name _schedlab
    Zsh,
    /// As in ~/.config/fish/completions/schedlab.fish
    Fish,
}

impl Shell {
    /// What generates them.
    pub fn generator(self) -> clap_complete::Shell {
        match self {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        }
    }
}

/// What `man` takes.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// A command, as in `trace queue`, whose page is printed; or a folder for a page of each command, as in
    /// ~/.local/share/man/man1
    #[arg(value_name = "COMMAND|FOLDER")]
    pub of: Vec<PathBuf>,
}
