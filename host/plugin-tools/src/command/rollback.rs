//! `host plugin rollback` and `host plugin history`: earlier versions of plugins in a cluster, with the permissions of
//! the user.

use boson_cluster::client::Cluster;
use boson_commands::columns::columns;
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_commands::runtime::block_on;
use boson_oci::short_digest;
use boson_pipeline::report::clean;
use boson_plugins::history::{History, Revision, RevisionState, histories, rollback};
use clap::Args;
use std::collections::BTreeMap;

const HISTORY: &str = "\
The operator records the last ten versions of each plugin, and keeps the content of the last three that were active, up to 8 MiB when \
packed. They are ConfigMaps beside those of the plugin, and are deleted with it. KEPT says whether `host plugin rollback` can use a \
version. The REASON of a pending version says what it gains: `host plugin approve` approves it.

Examples:
  host plugin history
  host plugin history my-labels -n messaging";
const ROLLBACK: &str = "\
Writes the ConfigMaps of an earlier version again: component, settings, selector and cases. The operator then loads it like any other \
version. If the current version was rejected, the last version that was active is written; otherwise the one before. It needs the \
permissions get, list, patch and delete for ConfigMaps. If a tool such as Argo CD manages the ConfigMaps, it will apply its own version \
again: roll back there.

Examples:
  host plugin rollback my-labels -n messaging
  host plugin rollback my-labels --to-revision 3";

/// Options of `host plugin history`.
#[derive(Args, Debug)]
#[command(after_help = HISTORY)]
pub struct HistoryArguments {
    /// Name of the plugin's ConfigMap [default: all]
    plugin: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Options of `host plugin rollback`.
#[derive(Args, Debug)]
#[command(after_help = ROLLBACK)]
pub struct RollbackArguments {
    /// Name of the plugin's ConfigMap: the one with `plugin.yaml`
    plugin: String,
    /// Number of the version to write, its REVISION in the history [default: the last one that was active before]
    #[arg(long, value_name = "NUMBER")]
    to_revision: Option<u64>,
    #[command(flatten)]
    place: Place,
}

/// Where plugins are.
#[derive(Args, Debug)]
pub struct Place {
    /// Namespace of the plugin [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: ConnectionArguments,
}

// === impl Place ===

impl Place {
    /// The cluster, and the namespace in it.
    pub async fn cluster(&self) -> anyhow::Result<(Cluster, String)> {
        self.connection.cluster(self.namespace.as_deref()).await
    }
}

pub fn history(arguments: &HistoryArguments) -> Result<(), ExitError> {
    let (found, namespace) = block_on(async {
        let (cluster, namespace) = arguments.place.cluster().await?;
        let found = histories(&cluster, &namespace, arguments.plugin.as_deref()).await?;
        anyhow::Ok((found, namespace))
    })??;
    if found.is_empty() {
        let of = arguments
            .plugin
            .as_ref()
            .map_or("plugins".to_string(), |name| format!("plugin '{name}'"));
        output::eprint(&format!(
            "no versions of {of} are recorded in namespace '{namespace}'\n"
        ));
        return Ok(());
    }
    Ok(output::print(&table(&found))?)
}

pub fn run(arguments: &RollbackArguments) -> Result<(), ExitError> {
    let Revision { revision, digest, .. } = block_on(async {
        let (cluster, namespace) = arguments.place.cluster().await?;
        anyhow::Ok(rollback(&cluster, &namespace, &arguments.plugin, arguments.to_revision).await?)
    })??;
    Ok(output::print(&format!(
        "plugin '{}' rolled back to revision {revision} ({})\n",
        arguments.plugin,
        short(digest.as_deref())
    ))?)
}

fn table(found: &BTreeMap<String, History>) -> String {
    let head = ["PLUGIN", "REVISION", "STATE", "DIGEST", "SINCE", "KEPT", "REASON"];
    let mut rows = vec![head.map(str::to_string)];
    for (name, history) in found {
        rows.extend(history.revisions.iter().map(|one| row(name, one)));
    }
    columns(&rows)
}

fn row(plugin: &str, one: &Revision) -> [String; 7] {
    let state = match one.state {
        RevisionState::Active => "active",
        RevisionState::Superseded => "superseded",
        RevisionState::Rejected => "rejected",
        RevisionState::Pending => "pending",
    };
    let kept = if one.copies > 0 { "yes" } else { "no" };
    // The first line: excerpts follow.
    let message = one.message.as_deref().and_then(|message| message.lines().next());
    let reason = [one.reason.as_deref(), message]
        .into_iter()
        .flatten()
        .collect::<Vec<&str>>();
    [
        plugin.to_string(),
        one.revision.to_string(),
        state.to_string(),
        short(one.digest.as_deref()),
        one.since.clone(),
        kept.to_string(),
        reason.join(": "),
    ]
}

fn short(digest: Option<&str>) -> String {
    digest.map_or("unknown".to_string(), |digest| {
        clean::line(short_digest(&format!("sha256:{digest}")))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_all_versions_of_all_plugins_on_a_line_each() {
        let text = r#"{"revisions": [
            {"revision": 1, "state": "Active", "since": "2026-11-24T10:00:00Z", "digest": "0123456789abcdef", "identity": "a", "copies": 1, "bytes": 9},
            {"revision": 2, "state": "Rejected", "since": "2026-11-24T10:01:00Z", "identity": "b", "reason": "PluginCaseFailed",
             "message": "plugin 'x': case 'a'\u001b failed\nhelp"}]}"#;
        let history: History = serde_json::from_str(text).unwrap();
        let wanted = "\
PLUGIN  REVISION  STATE     DIGEST               SINCE                 KEPT  REASON
hook    1         active    sha256:0123456789ab  2026-11-24T10:00:00Z  yes
hook    2         rejected  unknown              2026-11-24T10:01:00Z  no    PluginCaseFailed: plugin 'x': case 'a'␛ failed
";
        assert_eq!(table(&[("hook".to_string(), history)].into()), wanted);
    }
}
