//! Carries out the steps before a certificate from a CertificateSigningRequest can be written. See
//! [`crate::secret::plan::signing`].

use crate::secret::plan::signing::{AUTHORITY_KEYS, PRIVATE_KEY, Prior};
use crate::secret::signer::{AUTHORITY_SECRET, OWN_SIGNER, Signer};
use crate::secret::stored::desired;
use crate::secret::value::generate::{generated, member};
use crate::secret::value::recipe::Recipe;
use crate::secret::{ActError, MANAGER, request};
use boson_api::QuarksSecret;
use boson_cluster::client::{Cluster, Error, Identity};
use boson_credentials::{KeySize, RsaKey, System};
use boson_document::json;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Options of the authority: ten years, and the longest key that BOSH knows.
const AUTHORITY_OPTIONS: &str =
    r#"{"common_name": "boson signer", "organization": "Boson", "is_ca": true, "duration": 3650, "key_length": 4096}"#;

/// Carries out a step. Of two processes one succeeds, and both observe again.
///
/// # Errors
/// See [`ActError`].
pub(super) async fn act(
    cluster: &Cluster,
    signer: &Signer,
    object: &Arc<QuarksSecret>,
    prior: &Prior,
) -> Result<(), ActError> {
    match prior {
        Prior::Authority(old) => store_authority(cluster, signer, old.as_deref()).await,
        Prior::Key(size, kept) => store_key(cluster, object, *size, kept.clone()).await,
        Prior::Ask(request) => Ok(cluster.create_global(MANAGER, &**request).await.map(drop)?),
        Prior::Approve(request) => Ok(approve(cluster, request).await?),
        Prior::Sign(request, recipe) => sign(cluster, request, recipe).await,
        Prior::Clear { key } => Ok(clear(cluster, object, *key).await?),
    }
}

async fn store_authority(cluster: &Cluster, signer: &Signer, old: Option<&Secret>) -> Result<(), ActError> {
    let options = json::parse(AUTHORITY_OPTIONS).map_err(|error| ActError::Request(error.to_string()))?;
    let recipe = Recipe::new("certificate", options);
    let made = blocking(move || generated(&System::new(), OWN_SIGNER, &recipe)).await?;
    let text = |key: &str| member(&made, key).map_err(ActError::Request);
    let [certificate, key] = AUTHORITY_KEYS;
    let data = [(certificate, text("certificate")?), (key, text("private_key")?)];
    let secret = secret_with(&signer.namespace, AUTHORITY_SECRET, &data);
    match old {
        None => drop(cluster.create(MANAGER, &secret).await?),
        Some(old) => {
            let metadata = old.metadata.clone();
            drop(cluster.replace(MANAGER, &Secret { metadata, ..secret }).await?);
        }
    }
    tracing::info!("created the authority that signs certificates");
    Ok(())
}

async fn store_key(
    cluster: &Cluster,
    object: &Arc<QuarksSecret>,
    size: KeySize,
    kept: Option<String>,
) -> Result<(), ActError> {
    let key = match kept {
        Some(key) => key,
        None => {
            let made = blocking(move || RsaKey::generate(size).map_err(|cause| cause.to_string()));
            made.await?.private_pem()
        }
    };
    let namespace = Identity::of(&**object)?.namespace;
    let mut secret = secret_with(namespace, &request::key_name(object)?, &[(PRIVATE_KEY, key)]);
    // Deleted with the QuarksSecret.
    secret.metadata.owner_references = Some(vec![desired::reference(object)?]);
    cluster.create(MANAGER, &secret).await?;
    Ok(())
}

async fn approve(cluster: &Cluster, request: &CertificateSigningRequest) -> Result<(), Error> {
    let now = Time(Timestamp::now());
    let condition = CertificateSigningRequestCondition {
        type_: "Approved".into(),
        status: "True".into(),
        reason: Some("QuarksSecret".into()),
        message: Some("the request is the one that the operator made for its QuarksSecret".into()),
        last_update_time: Some(now.clone()),
        last_transition_time: Some(now),
    };
    let mut request = request.clone();
    let status = request.status.get_or_insert_default();
    status.conditions.get_or_insert_default().push(condition);
    cluster.replace_part(MANAGER, "approval", &request).await.map(drop)
}

async fn sign(cluster: &Cluster, request: &CertificateSigningRequest, recipe: &Recipe) -> Result<(), ActError> {
    let recipe = recipe.clone();
    let made = blocking(move || generated(&System::new(), OWN_SIGNER, &recipe)).await?;
    let certificate = member(&made, "certificate").map_err(ActError::Request)?.into_bytes();
    let mut request = request.clone();
    request.status.get_or_insert_default().certificate = Some(ByteString(certificate));
    cluster.replace_part(MANAGER, "status", &request).await?;
    Ok(())
}

/// Deletes the request first: without its key it would be useless.
async fn clear(cluster: &Cluster, object: &QuarksSecret, key: bool) -> Result<(), Error> {
    let request: Option<CertificateSigningRequest> = cluster.get_global(&request::name(object)?).await?;
    if let Some(request) = request {
        cluster.delete_global(&request).await?;
    }
    let namespace = Identity::of(object)?.namespace;
    let secret: Option<Secret> = cluster.get(namespace, &request::key_name(object)?).await?;
    match secret {
        Some(secret) if key => cluster.delete(&secret).await,
        _ => Ok(()),
    }
}

fn secret_with(namespace: &str, name: &str, entries: &[(&str, String)]) -> Secret {
    let data: BTreeMap<String, ByteString> = entries
        .iter()
        .map(|(key, text)| ((*key).to_string(), ByteString(text.clone().into_bytes())))
        .collect();
    Secret {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some(namespace.into()),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        type_: Some("Opaque".into()),
        ..Secret::default()
    }
}

/// Runs outside the threads of the runtime: a key of 4096 bits takes a second or more.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ActError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ActError::Request("generating was interrupted".into()))?
        .map_err(ActError::Request)
}
