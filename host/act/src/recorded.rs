//! Records what a command has done, beside what the operator records.

use boson_cluster::client::recorded::{RecordedEvent, append};
use boson_cluster::client::{ErrorKind, FieldManager};
use boson_commands::output;
use boson_look::access::Access;

const MANAGER: FieldManager = FieldManager("host-events");

/// Records an event, with the user.
///
/// # Errors
/// The API server does not answer. A user without the permission gets a note instead.
pub async fn write(access: &Access, event: RecordedEvent) -> anyhow::Result<()> {
    let event = event.by(access.user().await);
    match append(&access.cluster, MANAGER, &access.namespace, &[event]).await {
        Ok(()) => Ok(()),
        Err(error) if error.kind == ErrorKind::Forbidden => {
            output::eprint(&format!(
                "not recorded for `host events`: you may not {} {}\n",
                error.verb, error.resource
            ));
            Ok(())
        }
        Err(error) => Err(access.explain(error)),
    }
}
