//! Reports native Secrets and Services that provide a link to a deployment that does not exist.

use crate::deployment::context::Context;
use crate::orphans::{Namers, Naming, report};
use boson_api::BoshDeployment;
use boson_cluster::client::{Error, Kind, Notice};
use boson_manifest::labels::DEPLOYMENT_NAME;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use std::collections::BTreeSet;

/// Native objects that provide links, in one namespace or in all.
struct Natives<'c> {
    context: &'c Context,
    namespace: Option<&'c str>,
}

/// Checks from time to time, for ever.
pub async fn report_orphans(context: &Context, namespace: &Option<String>, deployments: &Store<BoshDeployment>) {
    let natives = Natives {
        context,
        namespace: namespace.as_deref(),
    };
    report(&context.cluster, deployments, &natives).await;
}

// === impl Natives ===

impl Natives<'_> {
    /// Emits an event about an object, if it still exists.
    async fn emit_about<K: Kind + Send + Sync>(
        &self,
        one: &Naming<<Self as Namers>::What>,
        notice: &Notice,
    ) -> Result<(), Error> {
        let (_, name) = &one.what;
        match self.context.cluster.get::<K>(&one.namespace, name).await? {
            // It says what has no effect, and is repeated.
            Some(object) => self.context.events.unrecorded().emit(&object, notice).await,
            None => Ok(()),
        }
    }
}

impl Namers for Natives<'_> {
    /// Kind and name.
    type What = (&'static str, String);
    const KEY: &'static str = DEPLOYMENT_NAME;
    const EFFECT: &'static str = "it provides a link to no deployment";

    fn all(&self) -> BTreeSet<Naming<Self::What>> {
        let all = self.context.cache.natives(self.namespace).into_iter();
        let all = all.filter(|(place, _)| self.context.scope.holds(&place.namespace));
        all.map(|(place, deployment)| Naming {
            namespace: place.namespace,
            deployment,
            what: (place.kind, place.name),
        })
        .collect()
    }

    async fn emit(&self, one: &Naming<Self::What>, notice: &Notice) -> Result<(), Error> {
        match one.what.0 {
            "Secret" => self.emit_about::<PartialObjectMeta<Secret>>(one, notice).await,
            _ => self.emit_about::<PartialObjectMeta<Service>>(one, notice).await,
        }
    }
}
