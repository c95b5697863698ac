//! The conversion in the operator: what `host convert` does at once, with a Secret after each step, and pauses where the cluster has to do
//! something first.

use super::manifest::{self, Manifest};
use super::secrets::{self, Whose};
use super::stop::Stop;
use super::versions::{Content, Next, Series};
use super::{Context, MANAGER, documents, groups, versions};
use crate::api::BoshDeployment;
use crate::client::{Created, Error, resource};
use crate::objects;
use boson_deployment::labels;
use boson_deployment::names::{NameError, Names};
use boson_document::{Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use boson_pipeline::stage::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Kinds whose pods mount versioned Secrets. Pods themselves are of one of these, or are on their way out.
const WORKLOADS: [(&str, &str); 4] = [
    (labels::API_VERSION, "QuarksStatefulSet"),
    (labels::API_VERSION, "QuarksJob"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
];

/// One reconcile of one deployment.
pub(super) struct Flow<'a> {
    pub context: &'a Context,
    pub object: &'a BoshDeployment,
    pub namespace: &'a str,
    pub deployment: Deployment,
    pub names: Names,
    pub owner: OwnerReference,
    /// Whether anything was written.
    pub wrote: AtomicBool,
    /// How many steps are completed.
    pub steps: &'a AtomicI32,
    /// How many instance groups of the manifest run for ever.
    pub groups: &'a AtomicI32,
}

/// What came of it.
pub(super) struct Done {
    /// Objects of the deployment, as they should be.
    pub objects: Vec<Value>,
    /// Variables that the manifest no longer has, and whose values are kept.
    pub removed: Vec<String>,
    /// What has no effect, as the command line would print it.
    pub warnings: Vec<Diagnostic>,
}

// === impl Flow ===

impl Flow<'_> {
    pub(super) async fn run(&self) -> Result<Done, Stop> {
        let documents = documents::read(&self.context.cluster, self.namespace, &self.object.spec).await?;
        let stages = self.context.conversion.rules.stages();
        let manifest = manifest::with_ops(stages.clone(), documents).await?;
        self.groups.store(services(&manifest.tree), Ordering::Relaxed);
        let given = self.given(stages.clone(), &manifest).await?;
        let with_ops = self.whose().with_ops(&manifest.tree);
        self.keep(&with_ops.map_err(|error| manifest.one(error))?).await?;
        let (manifest, variables, removed) = self.generate(stages.clone(), manifest, &given).await?;
        let generated = self.generated(&variables).await?;
        let manifest = manifest::desired(stages.clone(), manifest, given, generated).await?;
        let existing = self.existing().await?;
        let desired = self.whose().desired();
        let content = secrets::content(&desired.name, secrets::MANIFEST, &manifest.tree);
        let content = content.map_err(|error| manifest.one(error))?;
        self.version(&desired, &existing, content).await?;
        self.steps.store(1, Ordering::Relaxed);
        let releases = self.releases(&manifest).await?;
        let (manifest, gathered) = groups::gather(stages.clone(), manifest, self.deployment.clone(), releases).await?;
        self.steps.store(2, Ordering::Relaxed);
        let (gathered, resolved, mut series) = self.keep_groups(&manifest, gathered, &existing).await?;
        series.insert(desired.name);
        self.steps.store(3, Ordering::Relaxed);
        let (manifest, made) = self.convert(stages, manifest, variables, gathered, resolved).await?;
        let objects = self.apply(made, &manifest).await?;
        self.sweep(&series, &existing).await?;
        Ok(Done {
            objects,
            removed,
            warnings: manifest.secrets.scrub(manifest.warnings),
        })
    }

    pub(super) fn whose(&self) -> Whose<'_> {
        Whose {
            names: &self.names,
            namespace: self.namespace,
            owner: &self.owner,
        }
    }

    // --- Secrets ---

    pub(super) async fn existing(&self) -> Result<Vec<Secret>, Error> {
        let labels = format!(
            "{}={},{}={}",
            labels::DEPLOYMENT_NAME,
            self.names.deployment(),
            labels::SECRET_KIND,
            labels::secret_kind::VERSIONED
        );
        self.context.cluster.list(self.namespace, &labels).await
    }

    /// The number of the version that holds this; makes it where there is none.
    pub(super) async fn version(&self, series: &Series, existing: &[Secret], content: Content) -> Result<u32, Stop> {
        let next = series.next(existing, content);
        if let Next::Make(version, secret) = &next {
            self.wrote.store(true, Ordering::Relaxed);
            match self.context.cluster.create(MANAGER, &**secret).await? {
                Created::Made(_) => {}
                // Another process was faster, or an earlier try landed: look again.
                Created::Exists => {
                    let name = secret.metadata.name.as_deref().unwrap_or_default();
                    self.not_of_others(self.secret(name).await?.as_ref())?;
                    return Err(Stop::Waiting(format!("a look at version {version} of {}", series.name)));
                }
            }
        }
        Ok(next.version())
    }

    /// Writes a Secret of ours where the cluster has another.
    pub(super) async fn keep(&self, wanted: &Secret) -> Result<(), Stop> {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let live = self.secret(&name).await?;
        self.not_of_others(live.as_ref())?;
        let content = Content {
            data: wanted.data.clone().unwrap_or_default(),
            ..Content::default()
        };
        let same = live.is_some_and(|live| content.is_in(&live) && live.metadata.labels == wanted.metadata.labels);
        if !same {
            self.wrote.store(true, Ordering::Relaxed);
            self.context.cluster.apply(MANAGER, wanted).await?;
        }
        Ok(())
    }

    /// Deletes versions that nobody uses any more.
    async fn sweep(&self, series: &BTreeSet<String>, existing: &[Secret]) -> Result<(), Error> {
        if versions::garbage(existing, series, |_| false).is_empty() {
            return Ok(());
        }
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, self.names.deployment());
        let mut workloads = String::new();
        for (api_version, kind) in WORKLOADS {
            let all = self
                .context
                .cluster
                .list_any(&resource(api_version, kind), self.namespace, &labels)
                .await?;
            all.iter().for_each(|object| workloads.push_str(&object.to_string()));
        }
        for secret in versions::garbage(existing, series, |name| workloads.contains(&format!("\"{name}\""))) {
            self.wrote.store(true, Ordering::Relaxed);
            self.context.cluster.delete(secret).await?;
        }
        Ok(())
    }

    // --- objects ---

    pub(super) fn own(&self, objects: Vec<Tree>, manifest: &Manifest) -> Result<Vec<Value>, Stop> {
        let owner = serde_json::to_value(&self.owner).unwrap_or_default();
        let one = |object: Tree| {
            let mut value: Value = serde_json::from_str(&json::to_text(&object)).map_err(|_| {
                manifest.one(Diagnostic::error(
                    "deployment-malformed-object",
                    "an object holds a number that JSON has not",
                ))
            })?;
            objects::own(&mut value, &self.names.deployment(), &owner);
            Ok(value)
        };
        objects.into_iter().map(one).collect()
    }

    pub(super) async fn write(&self, object: &Value) -> Result<(), Error> {
        self.wrote.store(true, Ordering::Relaxed);
        self.context.cluster.apply_any(MANAGER, object).await.map(drop)
    }

    /// The objects of a kind that this deployment made: those it owns, and claims.
    pub(super) async fn live(&self, resource: &kube::core::ApiResource) -> Result<Vec<Value>, Error> {
        let labels = format!(
            "{}={},{MANAGED_BY}={BOSON}",
            labels::DEPLOYMENT_NAME,
            self.names.deployment()
        );
        let mut found = self.context.cluster.list_any(resource, self.namespace, &labels).await?;
        found.retain(|object| objects::is_owned(object, &self.owner.uid) || object["kind"] == "PersistentVolumeClaim");
        Ok(found)
    }
}

/// Instance groups of a manifest that run for ever.
fn services(manifest: &Tree) -> i32 {
    let lifecycle = |group: &Tree| group.str("lifecycle").unwrap_or("service") == "service";
    let services = manifest
        .items("instance_groups")
        .iter()
        .filter(|group| lifecycle(group));
    i32::try_from(services.count()).unwrap_or(i32::MAX)
}

pub(super) fn unnamed(error: &NameError) -> Diagnostic {
    Diagnostic::error("convert-no-name", error.to_string()).help("choose another name")
}
