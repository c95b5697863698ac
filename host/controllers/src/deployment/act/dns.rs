//! The ServiceAccount of a deployment's DNS servers: it may only list and watch EndpointSlices.

use crate::deployment::context::MANAGER;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::Error;
use boson_cluster::objects::account::{Account, rule};
use boson_manifest::dns::ACCOUNT;

/// Creates the account, or corrects it.
pub async fn make_account(run: &Reconcile<'_>) -> Result<(), Error> {
    let account = Account {
        name: ACCOUNT,
        rules: vec![rule("discovery.k8s.io", "endpointslices", &["list", "watch"])],
        mounts_token: true,
    };
    account.make(&run.context.cluster, MANAGER, run.namespace).await
}
