//! The question before a change.

use anyhow::bail;
use boson_commands::output;
use clap::Args;
use std::io::{BufRead, IsTerminal};

/// Whether to ask.
#[derive(Args, Clone, Copy, Debug)]
pub struct ConfirmArguments {
    /// Do not ask for confirmation
    #[arg(short = 'y', long = "non-interactive", visible_alias = "yes")]
    is_confirmed: bool,
}

// === impl ConfirmArguments ===

impl ConfirmArguments {
    /// Checks that the question can be asked.
    ///
    /// # Errors
    /// Standard input is no terminal, and the user has not confirmed.
    pub fn check(self) -> anyhow::Result<()> {
        if !self.is_confirmed && !std::io::stdin().is_terminal() {
            bail!("standard input is not a terminal: use --non-interactive to make the change without a question");
        }
        Ok(())
    }

    /// Asks as BOSH does.
    ///
    /// # Errors
    /// Standard input cannot be read.
    pub fn ask(self) -> anyhow::Result<bool> {
        if self.is_confirmed {
            return Ok(true);
        }
        output::complain("Continue? [yN]: ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
    }
}
