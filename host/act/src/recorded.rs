//! Records what a command has done, beside what the operator records.

use boson_api::BoshDeployment;
use boson_cluster::client::recorded::{RecordedEvent, append};
use boson_cluster::client::{ErrorKind, FieldManager};
use boson_commands::output;
use boson_look::access::Access;
use k8s_openapi::jiff::Timestamp;

const MANAGER: FieldManager = FieldManager("host-events");

/// Records an action on a deployment, with the user.
///
/// # Errors
/// The API server does not answer. A user without the permission gets a note instead.
pub async fn of_deployment(
    access: &Access,
    deployment: &BoshDeployment,
    action: &str,
    context: &str,
) -> anyhow::Result<()> {
    let event = RecordedEvent::about(deployment, action, Timestamp::now()).because(context);
    write(access, event).await
}

/// Records an event, with the user.
///
/// # Errors
/// As [`of_deployment`].
pub async fn write(access: &Access, event: RecordedEvent) -> anyhow::Result<()> {
    let event = event.by(access.user().await);
    match append(&access.cluster, MANAGER, &access.namespace, &[event]).await {
        Ok(()) => Ok(()),
        Err(error) if error.kind == ErrorKind::Forbidden => {
            output::complain(&format!(
                "not recorded for `host events`: you may not {} {}\n",
                error.verb, error.resource
            ));
            Ok(())
        }
        Err(error) => Err(access.explained(error)),
    }
}
