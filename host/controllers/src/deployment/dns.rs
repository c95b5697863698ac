//! The ServiceAccount of a deployment's DNS servers: it may only list and watch EndpointSlices.

use super::MANAGER;
use super::flow::Flow;
use boson_cluster::client::Error;
use boson_cluster::objects::account::{Account, rule};
use boson_manifest::dns::ACCOUNT;
use serde_json::Value;

// === impl Flow ===

impl Flow<'_> {
    /// Creates the account if the deployment has DNS servers.
    pub(super) async fn dns_account(&self, wanted: &[Value]) -> Result<(), Error> {
        let is_server = |object: &Value| {
            object["kind"] == "Deployment" && object["spec"]["template"]["spec"]["serviceAccountName"] == ACCOUNT
        };
        if !wanted.iter().any(is_server) {
            return Ok(());
        }
        let account = Account {
            name: ACCOUNT,
            rules: vec![rule("discovery.k8s.io", "endpointslices", &["list", "watch"])],
            mounts_token: true,
        };
        account.make(&self.context.cluster, MANAGER, self.namespace).await
    }
}
