//! Ctrl-C.

use boson_commands::exit::ExitError;
use boson_commands::output;

/// Waits for the end of some work, or for Ctrl-C. `still`: what goes on without this command.
///
/// # Errors
/// The work fails.
pub async fn unless_interrupted(
    work: impl Future<Output = anyhow::Result<()>>,
    still: &str,
) -> anyhow::Result<Result<(), ExitError>> {
    tokio::select! {
        done = work => done.map(Ok),
        _ = tokio::signal::ctrl_c() => {
            output::complain(&format!("\n{still}\n"));
            Ok(Err(ExitError::Interrupted))
        }
    }
}
