//! Observes the state; reads only. All reads are quorum reads, because after a stale one a value that was just
//! generated could be replaced.

pub(super) mod consumers;

use super::signer::{self, AUTHORITY_SECRET, Signer};
use super::{position, request};
use boson_api::QuarksSecret;
use boson_api::request::KeyReference;
use boson_api::secret::SecretType;
use boson_cluster::client::{Cluster, Error, ErrorKind, Identity};
use boson_cluster::reconcile::Interest;
use consumers::Consumers;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use std::collections::{BTreeMap, BTreeSet};

/// A ConfigMap that Kubernetes creates in every namespace: the CA of its API server, and by default of its own signers.
const ROOT_CA_CONFIG_MAP: &str = "kube-root-ca.crt";

#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The Secret of the QuarksSecret.
    pub secret: Option<Secret>,
    /// Secrets that it refers to, by name; none if one is missing.
    pub referred: BTreeMap<String, Option<Secret>>,
    /// Services that it refers to, in order; none if one is missing.
    pub services: Vec<(String, Option<Service>)>,
    /// The state of the copies, in their order.
    pub copies: Vec<ObservedCopy>,
    /// The state of the request, for a certificate with `signerType: cluster`.
    pub request: Option<ObservedRequest>,
    /// What uses a CA that is being rotated.
    pub consumers: Consumers,
}

#[derive(Clone, Debug, Default)]
pub struct ObservedCopy {
    /// A Secret of the copy's name.
    pub secret: Option<Secret>,
    /// A QuarksSecret of the original's name.
    pub consent: Option<QuarksSecret>,
    /// Why the copy cannot be read: the operator need not have permissions in every namespace.
    pub hidden: Option<String>,
}

/// The observed state of a request.
#[derive(Clone, Debug)]
pub struct ObservedRequest {
    pub signer: Signer,
    /// The Secret with the private key.
    pub key: Option<Secret>,
    pub request: Option<CertificateSigningRequest>,
    /// The authority of the built-in signer.
    pub authority: Option<Secret>,
    /// The CA that the cluster gives to its pods.
    pub root: Option<String>,
}

/// Reads the state. References are noted in `interest` before they are read, so that no later change is missed.
///
/// # Errors
/// See [`Error`].
pub async fn observe(
    cluster: &Cluster,
    interest: &Interest,
    signer: &Signer,
    object: &QuarksSecret,
) -> Result<Observed, Error> {
    let Identity { namespace, name, .. } = Identity::of(object)?;
    let spec = &object.spec;
    let references = references(object);
    let services = services(object);
    note(interest, signer, object, &references, &services)?;

    let mut observed = Observed::default();
    if spec.kind != SecretType::Copy {
        observed.secret = cluster.get(namespace, &spec.secret_name).await?;
    }
    for reference in references {
        let found = cluster.get(namespace, &reference).await?;
        observed.referred.insert(reference, found);
    }
    for service in services {
        let found = cluster.get(namespace, &service).await?;
        observed.services.push((service, found));
    }
    for copy in &spec.copies {
        observed
            .copies
            .push(read_copy(cluster, &copy.namespace, &copy.name, name).await?);
    }
    if position::is_rotating(object, observed.secret.as_ref()) {
        observed.consumers = consumers::read(cluster, object).await?;
    }
    if signer::cluster_request(object).is_some() {
        observed.request = Some(read_request(cluster, signer, object).await?);
    }
    Ok(observed)
}

/// Notes the objects that will be read.
fn note(
    interest: &Interest,
    signer: &Signer,
    object: &QuarksSecret,
    references: &BTreeSet<String>,
    services: &[String],
) -> Result<(), Error> {
    let Identity { namespace, name, .. } = Identity::of(object)?;
    let spec = &object.spec;
    let here = references.iter().chain(services).chain([&spec.secret_name]);
    let here = here.map(|name| (namespace.to_string(), name.clone()));
    let copies = spec.copies.iter();
    let there =
        copies.flat_map(|copy| [copy.name.clone(), name.to_string()].map(|name| (copy.namespace.clone(), name)));
    let asked = signer::cluster_request(object);
    let key = asked.map(|_| request::key_name(object)).transpose()?;
    let meanwhile = key.map(|key| (namespace.to_string(), key));
    let authority = asked.filter(|_| signer.is_built_in());
    let authority = authority.map(|_| (signer.namespace.clone(), AUTHORITY_SECRET.to_string()));
    interest.note(namespace, name, here.chain(there).chain(meanwhile).chain(authority));
    Ok(())
}

async fn read_request(cluster: &Cluster, signer: &Signer, object: &QuarksSecret) -> Result<ObservedRequest, Error> {
    let namespace = Identity::of(object)?.namespace;
    let mut observed = ObservedRequest {
        signer: signer.clone(),
        key: cluster.get(namespace, &request::key_name(object)?).await?,
        request: None,
        authority: None,
        root: None,
    };
    if signer.name.is_none() {
        // The operator has no permission for CertificateSigningRequests then.
        return Ok(observed);
    }
    observed.request = cluster.get_global(&request::name(object)?).await?;
    if signer.is_built_in() {
        observed.authority = cluster.get(&signer.namespace, AUTHORITY_SECRET).await?;
    } else if observed.request.as_ref().and_then(request::certificate).is_some() {
        let root: Option<ConfigMap> = cluster.get(namespace, ROOT_CA_CONFIG_MAP).await?;
        observed.root = root.and_then(|root| root.data?.remove("ca.crt"));
    }
    Ok(observed)
}

async fn read_copy(cluster: &Cluster, namespace: &str, copy: &str, original: &str) -> Result<ObservedCopy, Error> {
    let read = async {
        // Read also without consent: the Secret itself may be marked as a copy.
        Ok::<_, Error>(ObservedCopy {
            consent: cluster.get(namespace, original).await?,
            secret: cluster.get(namespace, copy).await?,
            hidden: None,
        })
    };
    match read.await {
        // The Secret itself must not wait for a copy that is forbidden.
        Err(error) if error.kind == ErrorKind::Forbidden => Ok(ObservedCopy {
            hidden: Some(error.to_string()),
            ..ObservedCopy::default()
        }),
        other => other,
    }
}

/// Names of other Secrets that this one depends on.
fn references(object: &QuarksSecret) -> BTreeSet<String> {
    let Some(request) = &object.spec.request else {
        return BTreeSet::new();
    };
    let certificate = request.certificate.iter();
    let certificate = certificate.flat_map(|asked| asked.ca_ref.iter().chain(&asked.ca_key_ref));
    let image = request.image_credentials.iter();
    let image = image.flat_map(|asked| asked.username.iter().chain(&asked.password));
    let config = request.templated_config.iter().flat_map(|asked| asked.values.values());
    let found: Vec<&KeyReference> = match object.spec.kind {
        SecretType::Certificate | SecretType::Tls => certificate.collect(),
        SecretType::DockerConfigJson => image.collect(),
        SecretType::TemplatedConfig => config.collect(),
        _ => Vec::new(),
    };
    found.into_iter().map(|reference| reference.name.clone()).collect()
}

fn services(object: &QuarksSecret) -> Vec<String> {
    let certificate = signer::certificate_request(object);
    let services = certificate.into_iter().flat_map(|certificate| &certificate.service_ref);
    services.map(|service| service.name.clone()).collect()
}

// === impl Observed ===

impl Observed {
    /// The text of an entry, or what is missing.
    pub fn text(&self, reference: &KeyReference) -> Result<String, String> {
        self.str(reference).map(str::to_string)
    }

    /// Like [`Self::text`], borrowed.
    pub fn str(&self, reference: &KeyReference) -> Result<&str, String> {
        let KeyReference { name, key } = reference;
        let Some(secret) = self.referred.get(name).and_then(Option::as_ref) else {
            return Err(format!("there is no Secret '{name}'"));
        };
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        let text = bytes.and_then(|bytes| std::str::from_utf8(&bytes.0).ok());
        text.ok_or_else(|| format!("Secret '{name}' has no text under the key '{key}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OWN_SIGNER;
    use crate::secret::made::asked;
    use kube::runtime::reflector::ObjectRef;

    #[test]
    fn a_certificate_of_the_built_in_signer_depends_on_its_authority() {
        let spec = |signer: &str| {
            let certificate = format!(r#"{{"certificate": {{"commonName": "a", "signerType": "{signer}"}}}}"#);
            asked(&format!(
                r#"{{"type": "certificate", "secretName": "s", "request": {certificate}}}"#
            ))
        };
        let requeued = |signer: &str, object: &QuarksSecret| {
            let (interest, namespace) = (Interest::default(), "o".to_string());
            let signer = Signer {
                name: Some(signer.to_string()),
                namespace,
                cluster_domain: "cluster.local".into(),
            };
            note(&interest, &signer, object, &BTreeSet::new(), &[]).unwrap();
            interest.of::<QuarksSecret>("o", AUTHORITY_SECRET)
        };
        assert_eq!(
            requeued(OWN_SIGNER, &spec("cluster")),
            [ObjectRef::new("a").within("n")]
        );
        assert_eq!(requeued(OWN_SIGNER, &spec("local")), []);
        assert_eq!(requeued("example.com/signer", &spec("cluster")), []);
    }
}
