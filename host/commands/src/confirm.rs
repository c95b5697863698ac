//! The question before a command changes what runs, as the BOSH CLI asks it.

use crate::exit::ExitError;
use crate::output;
use anyhow::bail;
use clap::Args;
use std::io::{BufRead, IsTerminal};

/// Whether to ask.
#[derive(Args, Clone, Copy, Debug)]
pub struct Confirmation {
    /// Do not ask for confirmation
    #[arg(short, long, visible_alias = "non-interactive")]
    yes: bool,
}

// === impl Confirmation ===

impl Confirmation {
    /// Whether the user has confirmed on the command line.
    pub fn is_given(self) -> bool {
        self.yes
    }

    /// Checks that the question can be asked, before a command reads or shows much.
    ///
    /// # Errors
    /// Standard input is no terminal, and the user has not confirmed.
    pub fn check(self) -> anyhow::Result<()> {
        if !self.yes && !std::io::stdin().is_terminal() {
            bail!("standard input is not a terminal: use --yes to continue without a question");
        }
        Ok(())
    }

    /// Says what will happen, and asks.
    ///
    /// # Errors
    /// The user declines, which is reported; as [`Confirmation::check`]; or standard input cannot be read.
    pub fn ask(self, what: &str) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        self.check()?;
        output::eprint(&format!("{what}Continue? [yN]: "));
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if is_consent(&answer) {
            return Ok(());
        }
        output::eprint("Stopped\n");
        Err(ExitError::Input.into())
    }
}

fn is_consent(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_consent() {
        for (answer, wanted) in [
            ("y\n", true),
            (" YES \n", true),
            ("\n", false),
            ("", false),
            ("yep\n", false),
        ] {
            assert_eq!(is_consent(answer), wanted, "{answer:?}");
        }
    }
}
