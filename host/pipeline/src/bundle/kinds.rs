//! The kinds of objects that a conversion may create, and the rules for their names.

use crate::Diagnostic;
use crate::bundle::codes;
use crate::name_rule::NameRule;
use crate::object::{fault, name};
use boson_document::Tree;
use boson_manifest::labels;
use boson_manifest::names::{LABEL_LIMIT, STATEFUL_SET_LIMIT, SUBDOMAIN_LIMIT};

/// An object kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`
    pub api_version: &'static str,
    /// `StatefulSet`
    pub kind: &'static str,
    /// Its rule for names.
    pub names: NameRule,
}

const fn kind(api_version: &'static str, kind: &'static str, names: NameRule) -> Kind {
    Kind {
        api_version,
        kind,
        names,
    }
}

/// All allowed kinds. No Roles, ServiceAccounts or webhooks: a plugin must not gain permissions through the objects
/// that it returns.
pub const KINDS: &[Kind] = &[
    // Both become part of longer names: a Job's pods, a StatefulSet's version.
    kind(labels::API_VERSION, "QuarksStatefulSet", NameRule::Label(LABEL_LIMIT)),
    kind(labels::API_VERSION, "QuarksJob", NameRule::Label(LABEL_LIMIT)),
    kind(
        labels::API_VERSION,
        "QuarksSecret",
        NameRule::Subdomain(SUBDOMAIN_LIMIT),
    ),
    kind("v1", "Secret", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
    kind("v1", "ConfigMap", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
    kind("v1", "Service", NameRule::Service),
    kind("v1", "PersistentVolumeClaim", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
    // Kubernetes accepts longer names but then creates no pods: name and revision go into one label.
    kind("apps/v1", "StatefulSet", NameRule::Label(STATEFUL_SET_LIMIT)),
    kind("apps/v1", "Deployment", NameRule::Label(LABEL_LIMIT)),
    kind("batch/v1", "Job", NameRule::Label(LABEL_LIMIT)),
    kind("batch/v1", "CronJob", NameRule::Label(52)),
    kind("policy/v1", "PodDisruptionBudget", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
    kind(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        NameRule::Subdomain(SUBDOMAIN_LIMIT),
    ),
    kind(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        NameRule::Subdomain(SUBDOMAIN_LIMIT),
    ),
    kind("networking.k8s.io/v1", "Ingress", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
];

/// Kinds that only the host creates: the account of the DNS servers, for clusters without the operator.
const KINDS_OF_HOST: &[Kind] = &[
    kind("v1", "ServiceAccount", NameRule::Subdomain(SUBDOMAIN_LIMIT)),
    kind(
        "rbac.authorization.k8s.io/v1",
        "Role",
        NameRule::Subdomain(SUBDOMAIN_LIMIT),
    ),
    kind(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        NameRule::Subdomain(SUBDOMAIN_LIMIT),
    ),
];

/// Types of Secrets that Kubernetes treats as credentials: with one, a plugin could read a token of any account.
const SECRET_TYPES_REFUSED: [&str; 2] = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];

/// Checks that the object's kind is allowed and its name valid. `is_of_host`: no plugin had a part in it.
pub(crate) fn check(object: &Tree, is_of_host: bool) -> Result<(), Box<Diagnostic>> {
    let (version, kind) = (
        object.str("apiVersion").unwrap_or_default(),
        object.str("kind").unwrap_or_default(),
    );
    let of_host = if is_of_host { KINDS_OF_HOST } else { &[] };
    let known = KINDS
        .iter()
        .chain(of_host)
        .find(|known| known.api_version == version && known.kind == kind);
    let Some(known) = known else {
        let why = format!("objects of apiVersion '{version}' and this kind are not allowed");
        return Err(fault(object, codes::BUNDLE_KIND_NOT_ALLOWED, &why));
    };
    if let Err(why) = known.names.check(name(object)) {
        return Err(fault(object, codes::BUNDLE_INVALID_NAME, &why));
    }
    if kind == "Secret"
        && object
            .str("type")
            .is_some_and(|kind| SECRET_TYPES_REFUSED.contains(&kind))
    {
        return Err(fault(
            object,
            codes::BUNDLE_KIND_NOT_ALLOWED,
            "Secrets of this type give permissions in the cluster",
        ));
    }
    Ok(())
}
