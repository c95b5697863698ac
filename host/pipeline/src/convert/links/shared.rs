//! The links that a deployment shares with others, outside of a cluster: a Secret in the form in which the operator
//! stores all links, and the other deployments as given objects show them.

use crate::convert::{codes, providers_document, stored_documents};
use crate::diagnostic::Diagnostic;
use crate::external::{self, NATIVE_LINK_AMBIGUOUS, Object};
use crate::object::{metadata, new_object};
use crate::plain::secret::with_packed_data;
use crate::plain::{self, FIRST_VERSION};
use crate::stage::{Deployment, ExternalLink, OtherDeployment, Provider};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::Tree;
use boson_manifest::labels::{self, secret_kind, secret_type};
use boson_manifest::names::Names;
use std::collections::{BTreeMap, BTreeSet};

/// The Secret with the links that the deployment shares; `None` if it shares none.
///
/// It is not marked as immutable: there is one version, and the next conversion must be able to replace it.
///
/// # Errors
/// More text than a Secret holds.
pub fn secret(names: &Names, providers: &[Provider], manifest: &Tree) -> Result<Option<Tree>, Diagnostic> {
    let shared = providers.iter().filter(|provider| provider.shared.is_some());
    let shared: Vec<Provider> = shared.cloned().collect();
    if shared.is_empty() {
        return Ok(None);
    }
    let labels = Tree::object()
        .with(labels::DEPLOYMENT_NAME, names.deployment())
        .with(labels::SECRET_TYPE, secret_type::LINKS)
        .with(labels::SECRET_KIND, secret_kind::VERSIONED)
        .with(labels::SECRET_VERSION, FIRST_VERSION.to_string());
    let tags: Tree = plain::tags(manifest, None).into_iter().collect();
    let name = names.links(Some(FIRST_VERSION));
    let secret = new_object("v1", "Secret", metadata(&name, None, labels, tags)).with("type", "Opaque");
    let texts = stored_documents::providers(&shared).into_iter().collect();
    with_packed_data(secret, texts).map(Some).map_err(|error| {
        let help = "it holds the links that the deployment shares: share fewer of them, or with fewer properties";
        error.help(help)
    })
}

/// Those of a deployment's links that it shares.
pub fn shared(deployment: &str, providers: Vec<Provider>) -> Vec<ExternalLink> {
    let link = |provider: Provider| {
        Some(ExternalLink {
            origin: format!(
                "job '{}' in instance group '{}' in deployment '{deployment}'",
                provider.job, provider.group
            ),
            name: provider.name,
            kind: provider.kind,
            content: provider.shared?,
        })
    };
    providers.into_iter().filter_map(link).collect()
}

/// The other deployments that a manifest names in its links.
pub struct Others {
    named: BTreeSet<String>,
    /// By the value of their label.
    by_label: BTreeMap<String, Other>,
}

struct Other {
    name: String,
    /// Name of its Secrets with links, without the version.
    series: String,
}

/// A version of a deployment's links, and the object that has it.
#[derive(Clone, Copy)]
struct Version<'o, 'a> {
    number: u32,
    secret: &'o Object<'a>,
}

// === impl Others ===

impl Others {
    /// Those that this manifest names. A name that no deployment can have is left out.
    pub fn of(manifest: &Tree, deployment: &Deployment) -> Self {
        let named = external::consumed(manifest, &deployment.name);
        let other = |name: &String| {
            let names = Names::new(name, &deployment.namespace, &deployment.cluster_domain).ok()?;
            let (name, series) = (name.clone(), names.links(None));
            Some((names.deployment(), Other { name, series }))
        };
        Self {
            by_label: named.iter().filter_map(other).collect(),
            named,
        }
    }

    /// Whether an object shows that one of them exists: it is its BOSHDeployment, or has its label. Native objects that
    /// provide links to a deployment do not, although their label may name it.
    pub fn have(&self, object: &Object<'_>) -> bool {
        self.of_object(object).is_some()
    }

    fn of_object(&self, object: &Object<'_>) -> Option<&str> {
        if object.kind() == "BOSHDeployment" {
            return self.named.get(object.name()).map(String::as_str);
        }
        if external::is_marked(|key| object.annotation(key).is_some()) {
            return None;
        }
        let other = self.by_label.get(object.label(labels::DEPLOYMENT_NAME)?)?;
        Some(&other.name)
    }

    /// The deployments that these objects show, and what they share. Of several versions of a deployment's links, the
    /// newest one counts.
    ///
    /// # Errors
    /// Secrets that are damaged, or that differ although they are the same version.
    pub fn deployments(&self, objects: &[Object<'_>]) -> Result<Vec<OtherDeployment>, Vec<Diagnostic>> {
        let mut newest: BTreeMap<&str, Option<Version<'_, '_>>> = BTreeMap::new();
        let mut errors = Vec::new();
        for object in objects {
            let Some(name) = self.of_object(object) else { continue };
            let newest = newest.entry(name).or_default();
            match (self.version(object), *newest) {
                (None, _) => {}
                (Some(number), Some(other)) if number == other.number && data(other.secret) != data(object) => {
                    errors.push(ambiguous(other.secret, object));
                }
                (Some(number), Some(other)) if number <= other.number => {}
                (Some(number), _) => *newest = Some(Version { number, secret: object }),
            }
        }
        let mut deployments = Vec::new();
        for (name, newest) in newest {
            match newest.map_or_else(|| Ok(Vec::new()), |newest| links(name, newest.secret)) {
                Ok(links) => deployments.push(OtherDeployment {
                    name: name.to_string(),
                    links,
                }),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(deployments)
        } else {
            Err(errors)
        }
    }

    /// The version of a Secret with the links of one of them; `None` for other objects.
    fn version(&self, object: &Object<'_>) -> Option<u32> {
        let is_links = object.kind() == "Secret" && object.label(labels::SECRET_TYPE) == Some(secret_type::LINKS);
        let other = self.by_label.get(object.label(labels::DEPLOYMENT_NAME)?)?;
        let version = object.name().strip_prefix(&other.series)?.strip_prefix("-v")?;
        is_links.then(|| version.parse().ok()).flatten()
    }
}

fn data<'a>(secret: &Object<'a>) -> Option<&'a str> {
    secret.tree.get("data")?.str(stored_documents::PROVIDERS)
}

/// The links in such a Secret that are shared.
fn links(deployment: &str, secret: &Object<'_>) -> Result<Vec<ExternalLink>, Diagnostic> {
    let read = || {
        let bytes = STANDARD.decode(data(secret)?.trim()).ok()?;
        let document = stored_documents::read(secret.name(), &bytes).ok()?;
        providers_document::read(&document).ok()
    };
    let providers = read().ok_or_else(|| {
        // What is wrong within the document may quote a value.
        let message = format!("{secret} does not have the links of deployment '{deployment}' in its data");
        let help = format!("read it from the cluster again, or convert '{deployment}' again");
        secret.error(codes::CONVERT_FOREIGN_DOCUMENT, &[], message, &help)
    })?;
    Ok(shared(deployment, providers))
}

fn ambiguous(one: &Object<'_>, other: &Object<'_>) -> Diagnostic {
    let message = format!(
        "{other} has other links than the object of the same name in '{}'",
        one.document
    );
    other.error(
        NATIVE_LINK_AMBIGUOUS,
        &["name"],
        message,
        "pass only the one that the deployment has now",
    )
}
