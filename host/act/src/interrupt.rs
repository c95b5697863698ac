//! Ctrl-C.

use boson_commands::exit::ExitError;
use boson_commands::output;

/// Waits for the end of some work, or for Ctrl-C. `still`: what goes on without this command.
///
/// # Errors
/// The work fails, or is interrupted.
pub async fn unless_interrupted(work: impl Future<Output = anyhow::Result<()>>, still: &str) -> anyhow::Result<()> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => {
            output::eprint(&format!("\n{still}\n"));
            Err(ExitError::Interrupted.into())
        }
    }
}
