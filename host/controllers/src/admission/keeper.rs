//! Maintains the objects that the webhooks need: the Secret with their certificates, and their configurations.

use super::configuration::{self, Inputs, authorities, owner};
use super::material::{self, Material, MaterialError, SIGNING_DELAY, Step};
use super::{MANAGER, Settings};
use boson_cluster::client::{Cluster, Error, GlobalKind, WatchBackoff};
use boson_cluster::namespaces::Namespaces;
use boson_cluster::objects;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::api::{Api, ObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use std::fmt::Debug;
use std::future::ready;
use std::pin::pin;
use std::time::{Duration, SystemTime};

/// Name of the Secret, in the namespace of the operator.
const SECRET_NAME: &str = "boson-webhook";
/// Between two reconciles without a watch event: certificates expire without one.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(600);
/// After a failure.
const FAILURE_RETRY_DELAY: Duration = Duration::from_secs(30);
/// After a lost race.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Maintains Secret and configurations.
#[derive(Clone)]
pub(crate) struct Keeper {
    cluster: Cluster,
    settings: Settings,
    served: Namespaces,
    namespace: String,
}

/// The configurations in the cluster.
#[derive(Default)]
struct Live {
    deployments: Option<ValidatingWebhookConfiguration>,
    pods: Option<MutatingWebhookConfiguration>,
}

/// Why they could not be updated.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeeperError {
    #[error(transparent)]
    Api(#[from] Error),
    #[error("cannot create certificates: {0}")]
    Material(#[from] MaterialError),
}

// === impl Keeper ===

impl Keeper {
    /// `namespace`: the operator's own. `served`: the namespaces whose objects are reviewed.
    pub(crate) fn new(cluster: Cluster, settings: Settings, served: Namespaces, namespace: &str) -> Self {
        Self {
            cluster,
            settings,
            served,
            namespace: namespace.into(),
        }
    }

    /// Keeps all up to date, for ever. Only the leader does this: two versions of the operator would overwrite each
    /// other.
    pub(crate) async fn run(&self) {
        let mut changes = pin!(self.changes());
        loop {
            let wake = match self.reconcile().await {
                Ok(wake) => wake,
                Err(KeeperError::Api(error)) if error.is_race() => CONFLICT_RETRY_DELAY,
                Err(error) => {
                    tracing::warn!(%error, "the webhooks are not up to date; deployments may be stored without a review, and pods that ask for links not be created");
                    FAILURE_RETRY_DELAY
                }
            };
            let _ = tokio::time::timeout(wake, changes.next()).await;
        }
    }

    /// The Secret, now and after each change. Errors are logged and retried.
    pub(super) fn secrets(&self) -> impl Stream<Item = Option<Secret>> + Send + use<> {
        let api: Api<Secret> = Api::namespaced(self.cluster.client(), &self.namespace);
        let secrets = watch_object(api, SECRET_NAME).backoff(WatchBackoff::default());
        secrets.filter_map(|event| {
            let event = event.inspect_err(|error| tracing::warn!(%error, "cannot watch the Secret of the webhook"));
            ready(event.ok())
        })
    }

    /// Creates the Secret. Of several processes only one succeeds, and all use its Secret.
    pub(super) async fn create_secret(&self) -> Result<(), KeeperError> {
        let material = self.make_material(Step::Make, None).await?;
        let made = self.cluster.create(MANAGER, &self.secret(None, &material)).await?;
        if made.is_some() {
            tracing::info!("created certificates for the webhook");
        }
        Ok(())
    }

    /// Yields whenever the Secret or a configuration may have changed.
    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let mut all = vec![self.secrets().map(drop).boxed()];
        all.push(self.changes_of::<ValidatingWebhookConfiguration>().boxed());
        if self.settings.links {
            all.push(self.changes_of::<MutatingWebhookConfiguration>().boxed());
        }
        stream::select_all(all)
    }

    fn changes_of<K: GlobalKind + Send + 'static>(&self) -> impl Stream<Item = ()> + Send + use<K> {
        let api: Api<K> = Api::all(self.cluster.client());
        let events = watch_object(api, &self.name()).backoff(WatchBackoff::default());
        events.filter_map(|event| ready(event.ok().map(drop)))
    }

    async fn live(&self) -> Result<Live, Error> {
        let name = self.name();
        Ok(Live {
            deployments: self.cluster.get_global(&name).await?,
            // Without the setting, the operator has no permission for it.
            pods: if self.settings.links {
                self.cluster.get_global(&name).await?
            } else {
                None
            },
        })
    }

    /// One reconcile. Returns when to reconcile again.
    async fn reconcile(&self) -> Result<Duration, KeeperError> {
        let secret: Option<Secret> = self.cluster.get(&self.namespace, SECRET_NAME).await?;
        let live = self.live().await?;
        let Some(secret) = secret else {
            self.create_secret().await?;
            return Ok(CONFLICT_RETRY_DELAY);
        };
        let names = self.settings.way.names(&self.namespace);
        let published = live.published(self.settings.links);
        let old = Material::read(&secret);
        let step = material::plan(old.as_ref(), &names, &published, SystemTime::now());
        let material = match (step, old) {
            (Step::Keep, Some(material)) => material,
            (step, old) => {
                let material = self.make_material(step, old).await?;
                self.cluster
                    .replace(MANAGER, &self.secret(Some(secret), &material))
                    .await?;
                tracing::info!(?step, "changed the certificates of the webhook");
                material
            }
        };
        self.configure(live, &material).await?;
        Ok(match material.next {
            Some(_) => SIGNING_DELAY,
            None => RECONCILE_INTERVAL,
        })
    }

    /// Updates the configurations that differ.
    async fn configure(&self, live: Live, material: &Material) -> Result<(), Error> {
        let name = self.name();
        let inputs = |owner| Inputs {
            name: &name,
            namespace: &self.namespace,
            owner,
            way: &self.settings.way,
            served: &self.served,
            material,
        };
        let of_deployments = inputs(self.owner(owner::ROLE_FOR_DEPLOYMENTS).await?);
        self.update(live.deployments, configuration::deployments(&of_deployments))
            .await?;
        if self.settings.links {
            let of_pods = inputs(self.owner(owner::ROLE_FOR_PODS).await?);
            self.update(live.pods, configuration::pods(&of_pods)).await?;
        }
        Ok(())
    }

    /// The owner of a configuration: this ClusterRole; if it does not exist, the namespace of the operator.
    async fn owner(&self, role: &str) -> Result<OwnerReference, Error> {
        let found: Option<ClusterRole> = self.cluster.get_global(role).await?;
        if let Some(owner) = found.and_then(|found| owner::role(&found, &self.name())) {
            return Ok(owner);
        }
        let found: Option<Namespace> = self.cluster.get_global(&self.namespace).await?;
        let owner = found.and_then(|found| found.owner_ref(&()));
        owner.ok_or_else(|| Error::missing::<Namespace>(&self.namespace))
    }

    /// Writes a configuration if it differs.
    async fn update<K: GlobalKind + Debug>(&self, live: Option<K>, wanted: K) -> Result<(), Error> {
        let name = self.name();
        let value = |configuration: &K| {
            let flawed = |_| Error::flawed(&K::kind(&()), Some(&name), "is not JSON");
            serde_json::to_value(configuration).map_err(flawed)
        };
        let live = live.as_ref().map(value).transpose()?;
        for object in objects::plan(vec![value(&wanted)?], live.as_slice()).apply {
            self.cluster.apply_global::<K>(MANAGER, &name, &object).await?;
        }
        Ok(())
    }

    async fn make_material(&self, step: Step, old: Option<Material>) -> Result<Material, KeeperError> {
        let names = self.settings.way.names(&self.namespace);
        let made = tokio::task::spawn_blocking(move || material::make(step, old, &names)).await;
        Ok(made.map_err(|_| MaterialError::Crashed)??)
    }

    /// The Secret with this material. `old`: the Secret to replace, if it has not changed.
    fn secret(&self, old: Option<Secret>, material: &Material) -> Secret {
        let metadata = ObjectMeta {
            name: Some(SECRET_NAME.into()),
            namespace: Some(self.namespace.clone()),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            ..ObjectMeta::default()
        };
        Secret {
            metadata: old.map_or(metadata, |old| old.metadata),
            data: Some(material.data()),
            type_: Some("Opaque".into()),
            ..Secret::default()
        }
    }

    /// Name of the configurations, unique by the operator's namespace.
    fn name(&self) -> String {
        format!("boson.{}", self.namespace)
    }
}

// === impl Live ===

impl Live {
    /// For each configuration that should exist, its authorities; none if it does not.
    fn published(&self, links: bool) -> Vec<Option<String>> {
        let deployments = self.deployments.as_ref().and_then(|one| one.webhooks.as_ref()?.first());
        let pods = self.pods.as_ref().and_then(|one| one.webhooks.as_ref()?.first());
        let mut all = vec![deployments.and_then(|webhook| authorities(&webhook.client_config))];
        if links {
            all.push(pods.and_then(|webhook| authorities(&webhook.client_config)));
        }
        all
    }
}
