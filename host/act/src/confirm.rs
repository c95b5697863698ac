//! The question before a command changes what runs.

use anyhow::bail;
use boson_commands::output;
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
    /// Asks on a terminal.
    ///
    /// # Errors
    /// Standard input is no terminal, or cannot be read.
    pub fn confirm(self, question: &str) -> anyhow::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            bail!("standard input is not a terminal: use --yes to confirm");
        }
        output::complain(&format!("{question} [y/N] "));
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
    }
}
