//! Reads what the cluster has of a deployment, and writes what a plan says.

use super::plan::{MANAGER, Plan, Present, Stamp};
use super::record::{Revision, garbage, result};
use super::values::Content;
use anyhow::{Context, bail};
use boson_api::BoshDeployment;
use boson_cluster::client::{AnyObject, FieldManager, Kind};
use boson_look::access::Access;
use boson_manifest::labels;
use boson_manifest::names::Names;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::{Timestamp, ToSpan};
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const FIELD_MANAGER: FieldManager = FieldManager(MANAGER);

/// A plan that was carried out.
pub struct Applied {
    /// Of the BOSHDeployment.
    pub generation: i64,
    record: ConfigMap,
}

// === impl Present ===

impl Present {
    /// Reads the state of a deployment, which may not exist.
    ///
    /// # Errors
    /// Something cannot be read, or no deployment can have this name.
    pub async fn read(access: &Access, name: &str) -> anyhow::Result<Self> {
        let names = access.names(name)?;
        let found: Option<BoshDeployment> = access.get(name).await?;
        let mut present = Self {
            revisions: Revision::all(access, &names).await?,
            deployment: found.map(|found| json!(found)),
            names,
            namespace: access.namespace.clone(),
            name: name.into(),
            secrets: BTreeMap::new(),
        };
        let vars = present.current().map(|one| one.record.inputs.vars.clone());
        for variable in vars.unwrap_or_default() {
            let content = access.get::<Secret>(&variable.secret).await?;
            let content = content.and_then(|secret| Content::of_secret(&secret));
            present
                .secrets
                .extend(content.map(|content| (variable.secret, content)));
        }
        Ok(present)
    }
}

// === impl Stamp ===

impl Stamp {
    /// Now, by the user of the connection as far as the API server tells.
    pub async fn now(access: &Access) -> Self {
        let now = Timestamp::now();
        Self {
            // Without fractions, as Kubernetes writes times.
            time: now
                .checked_sub(i64::from(now.subsec_nanosecond()).nanoseconds())
                .unwrap_or(now)
                .to_string(),
            user: access.user().await,
        }
    }
}

pub fn generation(deployment: Option<&Value>) -> i64 {
    let generation = deployment.and_then(|one| one.pointer("/metadata/generation"));
    generation.and_then(Value::as_i64).unwrap_or_default()
}

/// Checks by dry runs that the API server accepts everything.
///
/// # Errors
/// It does not.
pub async fn check(access: &Access, plan: &Plan) -> anyhow::Result<()> {
    let all = std::iter::once(&plan.record).chain(&plan.inputs);
    for object in all.chain([&plan.deployment]) {
        access.call(access.cluster.try_any(FIELD_MANAGER, object)).await?;
    }
    Ok(())
}

/// Writes the record, then the inputs, then the BOSHDeployment: so everything that a deploy has stored is named in a
/// record, even if it is killed, and the operator finds all inputs.
///
/// # Errors
/// Something cannot be written, or another deploy has the number.
pub async fn apply(access: &Access, present: &Present, plan: &Plan) -> anyhow::Result<Applied> {
    let owner = present.deployment.as_ref().and_then(owner_reference);
    let mut record = plan.record.clone();
    let mut inputs = plan.inputs.clone();
    if let Some(owner) = &owner {
        record.set_owner(owner);
        inputs.iter_mut().for_each(|object| object.set_owner(owner));
    }
    let record: ConfigMap = serde_json::from_value(record)?;
    let Some(mut record) = access.call(access.cluster.create(FIELD_MANAGER, &record)).await? else {
        bail!(
            "revision {} of deployment '{}' was made meanwhile, by another deploy: try again",
            plan.number,
            present.name
        );
    };
    for object in &inputs {
        write(access, object).await?;
    }
    let deployment = write(access, &plan.deployment).await?;
    // Then deleting the deployment deletes its inputs. A new one has no UID before it is created.
    if let (None, Some(owner)) = (&owner, owner_reference(&deployment)) {
        for mut object in inputs {
            object.set_owner(&owner);
            write(access, &object).await?;
        }
        record = merge(access, &record, json!({"metadata": {"ownerReferences": [owner]}})).await?;
    }
    let mut applied = Applied {
        generation: generation(Some(&deployment)),
        record,
    };
    applied.record_result(access, result::APPLIED).await?;
    Ok(applied)
}

async fn write(access: &Access, object: &Value) -> anyhow::Result<Value> {
    access.call(access.cluster.apply_any(FIELD_MANAGER, object)).await
}

async fn merge(access: &Access, record: &ConfigMap, members: Value) -> anyhow::Result<ConfigMap> {
    access.call(access.cluster.merge(FIELD_MANAGER, record, members)).await
}

/// Not as controller: the operator must not take the objects for its own.
fn owner_reference(deployment: &Value) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: labels::API_VERSION.into(),
        kind: "BOSHDeployment".into(),
        name: deployment.name()?.into(),
        uid: deployment.uid()?.into(),
        ..OwnerReference::default()
    })
}

// === impl Applied ===

impl Applied {
    /// Records how the deploy ended.
    ///
    /// # Errors
    /// The record cannot be written.
    pub async fn record_result(&mut self, access: &Access, result: &str) -> anyhow::Result<()> {
        let members = json!({"metadata": {"annotations": {labels::DEPLOY_RESULT: result}}});
        self.record = merge(access, &self.record, members).await?;
        Ok(())
    }
}

/// Deletes old revisions, and the inputs that only they have. A record is deleted last, so that a later deploy finds
/// what was left.
///
/// # Errors
/// Something cannot be read or deleted.
pub async fn delete_garbage(access: &Access, names: &Names, current: u64, keep: usize) -> anyhow::Result<()> {
    let all = Revision::all(access, names).await?;
    let garbage = garbage(&all, current, keep);
    for name in &garbage.config_maps {
        delete::<ConfigMap>(access, names, name).await?;
    }
    for name in &garbage.secrets {
        delete::<Secret>(access, names, name).await?;
    }
    for revision in all.iter().filter(|one| garbage.revisions.contains(&one.number)) {
        access.call(access.cluster.delete(&revision.object)).await?;
    }
    Ok(())
}

/// Deletes an object that a deploy has stored.
async fn delete<K: Kind>(access: &Access, names: &Names, name: &str) -> anyhow::Result<()> {
    let found = access.get::<K>(name).await?;
    let is_ours = |object: &K| object.labels().get(labels::INPUT_OF) == Some(&names.deployment());
    let Some(object) = found.filter(is_ours) else {
        return Ok(());
    };
    let deleted = access.call(access.cluster.delete(&object)).await;
    deleted.with_context(|| format!("cannot delete the unused '{name}'"))
}
