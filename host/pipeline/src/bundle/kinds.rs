//! The kinds of objects that a conversion may create, and the rules for their names: those that every conversion may
//! create, and the custom resources that an administrator allows.

use crate::Diagnostic;
use crate::author::Author;
use crate::bundle::codes;
use crate::name_rule::NameRule;
use crate::object::{name, object_error};
use boson_document::Tree;
use boson_manifest::labels;
use boson_manifest::names::{MAX_LABEL_LENGTH, MAX_STATEFUL_SET_LENGTH};
use boson_manifest::syntax::{is_label, is_subdomain};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`
    pub api_version: &'static str,
    /// `StatefulSet`
    pub kind: &'static str,
    /// Its rule for names.
    pub names: NameRule,
    /// `ingressroutes`, if it is not the regular plural.
    pub plural: Option<&'static str>,
}

const fn kind(api_version: &'static str, kind: &'static str, names: NameRule) -> Kind {
    Kind {
        api_version,
        kind,
        names,
        plural: None,
    }
}

/// All kinds that every conversion may create. No Roles, ServiceAccounts or webhooks: a plugin must not gain
/// permissions through the objects that it returns.
pub const KINDS: &[Kind] = &[
    // Both become part of longer names: a Job's pods, a StatefulSet's version.
    kind(
        labels::API_VERSION,
        "QuarksStatefulSet",
        NameRule::Label(MAX_LABEL_LENGTH),
    ),
    kind(labels::API_VERSION, "QuarksJob", NameRule::Label(MAX_LABEL_LENGTH)),
    kind(labels::API_VERSION, "QuarksSecret", NameRule::Subdomain),
    kind("v1", "Secret", NameRule::Subdomain),
    kind("v1", "ConfigMap", NameRule::Subdomain),
    kind("v1", "Service", NameRule::Service),
    kind("v1", "PersistentVolumeClaim", NameRule::Subdomain),
    // Kubernetes accepts longer names but then creates no pods: name and revision go into one label.
    kind("apps/v1", "StatefulSet", NameRule::Label(MAX_STATEFUL_SET_LENGTH)),
    kind("apps/v1", "Deployment", NameRule::Label(MAX_LABEL_LENGTH)),
    kind("batch/v1", "Job", NameRule::Label(MAX_LABEL_LENGTH)),
    kind("batch/v1", "CronJob", NameRule::Label(52)),
    kind("policy/v1", "PodDisruptionBudget", NameRule::Subdomain),
    kind("autoscaling/v2", "HorizontalPodAutoscaler", NameRule::Subdomain),
    kind("networking.k8s.io/v1", "NetworkPolicy", NameRule::Subdomain),
    kind("networking.k8s.io/v1", "Ingress", NameRule::Subdomain),
];

/// Kinds that only the host creates: the account of the DNS servers, for clusters without the operator.
const KINDS_OF_HOST: &[Kind] = &[
    kind("v1", "ServiceAccount", NameRule::Subdomain),
    kind("rbac.authorization.k8s.io/v1", "Role", NameRule::Subdomain),
    kind("rbac.authorization.k8s.io/v1", "RoleBinding", NameRule::Subdomain),
];

/// Names that a custom resource must not have besides those of the other kinds: events, metrics and messages name a
/// kind without its group.
const NAMES_REFUSED: [&str; 6] = ["Pod", "Event", "Namespace", "Node", "Lease", "BOSHDeployment"];

/// Groups of `k8s.io` that Kubernetes serves itself. All others are custom resources.
const GROUPS_OF_KUBERNETES: [&str; 20] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "imagepolicy.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "settings.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Types of Secrets that Kubernetes treats as credentials: with one, a plugin could read a token of any account.
const SECRET_TYPES_REFUSED: [&str; 2] = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];

// === impl Kind ===

impl Kind {
    pub fn is_of(&self, api_version: &str, kind: &str) -> bool {
        self.api_version == api_version && self.kind == kind
    }

    /// `external-secrets.io`; empty for Kubernetes' core.
    pub fn group(&self) -> &'static str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version, self.kind)
    }
}

/// A custom resource that an administrator allows: `GROUP/VERSION/Kind` or `GROUP/VERSION/Kind=PLURAL`.
impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = custom_resource(text)?;
        // Part of the configuration: it lives as long as the process.
        Ok(Self {
            api_version: read.api_version.to_string().leak(),
            kind: read.kind.to_string().leak(),
            names: NameRule::Subdomain,
            plural: read.plural.map(|plural| &*plural.to_string().leak()),
        })
    }
}

/// The name of a kind that an administrator may allow.
struct CustomResource<'t> {
    api_version: &'t str,
    kind: &'t str,
    plural: Option<&'t str>,
}

fn custom_resource(text: &str) -> Result<CustomResource<'_>, String> {
    let (name, plural) = match text.split_once('=') {
        Some((name, plural)) => (name, Some(plural)),
        None => (text, None),
    };
    let parts: Vec<&str> = name.split('/').collect();
    let [group, version, kind] = parts[..] else {
        return Err("expected GROUP/VERSION/Kind, such as external-secrets.io/v1/ExternalSecret".into());
    };
    let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase()) && is_label(&kind.to_ascii_lowercase());
    if !is_kind || !is_label(version) || !plural.is_none_or(is_label) {
        return Err(format!(
            "expected GROUP/VERSION/Kind with the kind in upper camel case, but found '{kind}' of '{version}'"
        ));
    }
    additional(group, kind)?;
    let api_version = &name[..name.len() - kind.len() - 1];
    Ok(CustomResource {
        api_version,
        kind,
        plural,
    })
}

/// Whether objects of this kind need an administrator's permission and can get it.
pub fn can_be_allowed(api_version: &str, kind: &str) -> bool {
    custom_resource(&format!("{api_version}/{kind}")).is_ok()
}

/// Whether an administrator may allow this kind.
fn additional(group: &str, kind: &str) -> Result<(), String> {
    if group == labels::GROUP || group.ends_with(labels::SUBDOMAINS) {
        return Err("kinds of the operator cannot be added: a plugin could create other deployments".into());
    }
    if !group.contains('.') || GROUPS_OF_KUBERNETES.contains(&group) {
        return Err(
            "only custom resources can be added: of the kinds of Kubernetes itself, the host already allows those that \
             give no permissions in the cluster and on its nodes"
                .into(),
        );
    }
    if !is_subdomain(group) {
        return Err(format!("'{group}' is not an API group"));
    }
    let mut known = KINDS.iter().chain(KINDS_OF_HOST).map(|known| known.kind);
    if known.any(|known| known == kind) || NAMES_REFUSED.contains(&kind) {
        Err(format!(
            "a kind of Kubernetes or of the operator is named '{kind}', too: another kind of this name cannot be added"
        ))
    } else {
        Ok(())
    }
}

/// Checks that the object's kind is allowed and its name valid. `additional`: the custom resources that `author` may
/// create. No author: the host creates it from checked objects.
pub(crate) fn check(object: &Tree, author: Option<&Author>, additional: &[Kind]) -> Result<(), Diagnostic> {
    let member = |key: &str| object.str(key).unwrap_or_default();
    let (version, kind) = (member("apiVersion"), member("kind"));
    let of_host = if author.is_none() { KINDS_OF_HOST } else { &[] };
    let mut known = KINDS.iter().chain(of_host).chain(additional);
    let Some(known) = known.find(|known| known.is_of(version, kind)) else {
        let why = format!("objects of apiVersion '{version}' and this kind are not allowed");
        let error = object_error(object, codes::BUNDLE_KIND_NOT_ALLOWED, &why);
        return Err(match author {
            Some(author) => error.help(help(version, kind, author)),
            None => error,
        });
    };
    if let Err(why) = known.names.check(name(object)) {
        return Err(object_error(object, codes::BUNDLE_INVALID_NAME, &why));
    }
    let is_refused = |kind: &str| SECRET_TYPES_REFUSED.contains(&kind);
    if kind == "Secret" && object.str("type").is_some_and(is_refused) {
        let why = "Secrets of this type give permissions in the cluster";
        return Err(object_error(object, codes::BUNDLE_KIND_NOT_ALLOWED, why));
    }
    Ok(())
}

/// How an administrator can allow a kind, or why that is impossible.
fn help(version: &str, kind: &str, author: &Author) -> String {
    match format!("{version}/{kind}").parse::<Kind>() {
        Ok(kind) => format!(
            "an administrator can allow it with --allow-kind {}{kind}",
            author.prefix()
        ),
        Err(why) => format!("no option allows it: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_resources_can_be_added() {
        for (text, api_version, kind, plural) in [
            (
                "external-secrets.io/v1/ExternalSecret",
                "external-secrets.io/v1",
                "ExternalSecret",
                None,
            ),
            (
                "gateway.networking.k8s.io/v1/Gateway=gateways",
                "gateway.networking.k8s.io/v1",
                "Gateway",
                Some("gateways"),
            ),
        ] {
            let parsed: Kind = text.parse().unwrap();
            assert_eq!(
                (parsed.api_version, parsed.kind, parsed.plural),
                (api_version, kind, plural)
            );
        }
    }

    #[test]
    fn kinds_that_give_permissions_or_could_be_mistaken_for_others_cannot_be_added() {
        for (text, why) in [
            ("rbac.authorization.k8s.io/v1/RoleBinding", "only custom resources"),
            ("rbac.authorization.k8s.io/v1/ClusterRole", "only custom resources"),
            (
                "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
                "only custom resources",
            ),
            (
                "apiextensions.k8s.io/v1/CustomResourceDefinition",
                "only custom resources",
            ),
            ("coordination.k8s.io/v1/Lease", "only custom resources"),
            ("apps/v1/DaemonSet", "only custom resources"),
            ("v1/ServiceAccount", "expected GROUP/VERSION/Kind"),
            ("v1/Pod", "expected GROUP/VERSION/Kind"),
            ("quarks.cloudfoundry.org/v1alpha1/BOSHDeployment", "other deployments"),
            ("x.quarks.cloudfoundry.org/v1/Other", "other deployments"),
            ("serving.knative.dev/v1/Service", "is named 'Service', too"),
            ("example.com/v1/Role", "is named 'Role', too"),
            ("example.com/v1/external", "upper camel case"),
            ("example.com/v1/", "upper camel case"),
            ("example.com/V1/External", "upper camel case"),
            ("example.com/v1/External=", "upper camel case"),
            ("example..com/v1/External", "is not an API group"),
        ] {
            let error = text.parse::<Kind>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
