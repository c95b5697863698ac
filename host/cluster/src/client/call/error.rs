//! Errors of calls, as data, with texts that may be shown to anybody.
//!
//! The message of the server is shown only for kinds without secrets: it quotes values ("Invalid value: ..."), and so
//! do messages of JSON parsers.

use crate::client::Verb;
use crate::codes::OPERATOR_FLAWED_OBJECT as FLAWED;
use kube::Resource;
use kube::core::ApiResource;
use kube::runtime::watcher;
use std::fmt;
use std::time::Duration;

/// Kinds for which the message of the server is not shown: a pod and the template of one may hold secrets, too.
const KINDS_WITH_VALUES: &[&str] = &["Secret", "StatefulSet", "Job", "Pod"];
/// Beginnings of the parts of a server message that hold only names and numbers, never a value.
const VALUE_FREE_MESSAGES: [&str; 3] = ["exceeded quota: ", "strict decoding error: ", SCHEMA_ERROR];
/// How the API server words the refusal of one object too many.
const QUOTA_MESSAGE: &str = "exceeded quota";
/// How a message begins about an object with an unknown field or a value of the wrong type. Server-side apply answers
/// with code 500.
const SCHEMA_ERROR: &str = "failed to create typed patch object";
/// Begins a value in such a message, up to the end of the line.
const VALUE_SEPARATOR: &str = ", got ";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    pub verb: &'static str,
    pub object_kind: String,
    /// Plural and group, as RBAC names them.
    pub resource: String,
    /// The name of the object; the labels of a list.
    pub name: String,
    pub kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    #[error("it does not exist")]
    NotFound,
    #[error("it exists already")]
    AlreadyExists,
    /// The object has changed since it was read, or is another one.
    #[error("it has changed meanwhile")]
    Conflict,
    #[error("the operator lacks the permission")]
    Forbidden,
    /// The server refuses the object; its message, if it may be shown.
    #[error("the API server refuses it{}", after_colon(.0))]
    Refused(Option<String>),
    /// The server is overloaded; how long to wait, if it says so.
    #[error("the API server is overloaded")]
    Busy(Option<Duration>),
    /// No connection, or it was lost.
    #[error("no connection to the API server")]
    Connection,
    /// No answer within this time. Whether a write succeeded is unknown.
    #[error("no answer from the API server within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// An answer that does not have the form of the kind.
    #[error("the answer of the API server does not have the form of this kind")]
    Unreadable,
    /// Any other answer, by its HTTP code.
    #[error("the API server answers with code {0}")]
    Other(u16),
    /// The operator itself failed; its log has the details.
    #[error("a defect of the operator; see its log, and please report it")]
    Defect,
    /// The object lacks something that every such object has, which is a defect of the operator: what, as the end of a
    /// sentence.
    #[error("it {0}: a defect of the operator ({code}); please report it", code = FLAWED.name)]
    Flawed(&'static str),
}

/// The kind that a call is about.
#[derive(Clone, Debug)]
pub(in crate::client) struct Subject {
    pub kind: String,
    /// Plural and group, as RBAC names them.
    pub resource: String,
}

// === impl Subject ===

impl Subject {
    pub(in crate::client) fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self::named(&K::kind(&()), &K::plural(&()), &K::group(&()))
    }

    /// A subresource, which has its own RBAC rule.
    pub(in crate::client) fn of_part<K: Resource<DynamicType = ()>>(part: &str) -> Self {
        Self::named(&K::kind(&()), &format!("{}/{part}", K::plural(&())), &K::group(&()))
    }

    pub(in crate::client) fn of_resource(resource: &ApiResource) -> Self {
        Self::named(&resource.kind, &resource.plural, &resource.group)
    }

    fn named(kind: &str, plural: &str, group: &str) -> Self {
        Self {
            kind: kind.into(),
            resource: if group.is_empty() {
                plural.into()
            } else {
                format!("{plural}.{group}")
            },
        }
    }
}

// === impl Error ===

impl Error {
    pub(in crate::client) fn of(subject: &Subject, verb: Verb, name: &str, kind: ErrorKind) -> Self {
        Self::new(subject.clone(), verb.as_str(), name, kind)
    }

    fn new(subject: Subject, verb: &'static str, name: &str, kind: ErrorKind) -> Self {
        Self {
            verb,
            object_kind: subject.kind,
            resource: subject.resource,
            name: name.into(),
            kind,
        }
    }

    pub(in crate::client) fn from_kube(subject: &Subject, verb: Verb, name: &str, error: &kube::Error) -> Self {
        let shown = !KINDS_WITH_VALUES.contains(&subject.kind.as_str());
        let kind = match error {
            kube::Error::Api(status) => ErrorKind::from_status(status, shown),
            kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => ErrorKind::Connection,
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => ErrorKind::Unreadable,
            _ => ErrorKind::Other(0),
        };
        Self::of(subject, verb, name, kind)
    }

    /// A failed list outside of [`crate::client::Cluster`].
    pub(crate) fn of_list<K: Resource<DynamicType = ()>>(error: &kube::Error) -> Self {
        Self::from_kube(&Subject::of::<K>(), Verb::List, "", error)
    }

    /// A forbidden watch; none for other errors. A controller watches several kinds, and only the answer of the server
    /// names this one.
    pub fn of_watch(error: &watcher::Error) -> Option<Self> {
        let (verb, status): (_, &kube::core::Status) = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status)) => ("list", status),
            watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => ("watch", status),
            _ => return None,
        };
        let details = status.details.as_ref()?;
        let subject = Subject::named(&details.kind, &details.kind, &details.group);
        let kind = ErrorKind::from_status(status, false);
        (kind == ErrorKind::Forbidden).then(|| Self::new(subject, verb, "", kind))
    }

    /// A panic during the reconcile of an object.
    pub(crate) fn defect<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        let name = object.meta().name.as_deref().unwrap_or_default();
        Self::new(Subject::of::<K>(), "reconcile", name, ErrorKind::Defect)
    }

    /// A defect of an object that was read or built. `what`: see [`ErrorKind::Flawed`].
    pub fn flawed(object_kind: &str, name: Option<&str>, what: &'static str) -> Self {
        let (subject, name) = (Subject::named(object_kind, "", ""), name.unwrap_or_default());
        Self::new(subject, "use", name, ErrorKind::Flawed(what))
    }

    /// An object that was read does not have the form of its kind.
    pub(in crate::client) fn unreadable(object_kind: &str, name: &str) -> Self {
        let subject = Subject::named(object_kind, "", "");
        Self::new(subject, "read", name, ErrorKind::Unreadable)
    }

    /// A required object is missing.
    pub fn missing<K: Resource<DynamicType = ()>>(name: &str) -> Self {
        Self::of(&Subject::of::<K>(), Verb::Get, name, ErrorKind::NotFound)
    }

    /// Whether a user or administrator has to resolve it, so that it belongs into the status. An unavailable server is
    /// not such an error.
    pub fn is_lasting(&self) -> bool {
        matches!(self.kind, ErrorKind::Refused(_) | ErrorKind::Forbidden)
    }

    /// Whether a quota has no place for the object.
    pub fn exceeds_quota(&self) -> bool {
        matches!(&self.kind, ErrorKind::Refused(Some(words)) if words.contains(QUOTA_MESSAGE))
    }

    /// Whether the data that was read is out of date: read again and decide again. It is no error. A list of objects
    /// that does not exist is one: their definition is missing.
    pub fn is_race(&self) -> bool {
        match self.kind {
            ErrorKind::Conflict | ErrorKind::AlreadyExists => true,
            ErrorKind::NotFound => self.verb != Verb::List.as_str(),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, resource) = (self.verb, &self.resource);
        match &self.kind {
            ErrorKind::Forbidden => write!(
                f,
                "the operator may not {verb} {resource}: {}",
                rule_hint(verb, resource)
            ),
            ErrorKind::NotFound if verb == Verb::List.as_str() => {
                write!(
                    f,
                    "the API server does not know {resource}: its definition (crds/) is missing"
                )
            }
            kind => write!(f, "cannot {verb} {} '{}': {kind}", self.object_kind, self.name),
        }
    }
}

// === impl ErrorKind ===

impl ErrorKind {
    pub(in crate::client) fn from_status(status: &kube::core::Status, shown: bool) -> Self {
        let details = status.details.as_ref();
        let wait = details
            .map(|details| details.retry_after_seconds)
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds.into()));
        match (status.code, status.reason.as_str()) {
            (404, _) => Self::NotFound,
            (409, "AlreadyExists") => Self::AlreadyExists,
            (409, _) => Self::Conflict,
            (403, _) if is_leaving(status) => Self::Refused(Some("its namespace is being deleted".into())),
            (403, _) if !is_missing_permission(status) => Self::Refused(words(status, shown)),
            (401 | 403, _) => Self::Forbidden,
            (429 | 503 | 504, _) => Self::Busy(wait),
            // The server gave up on a write that may have succeeded.
            (500, "ServerTimeout" | "Timeout") => Self::Busy(wait),
            (500, _) if status.message.contains(SCHEMA_ERROR) => Self::Refused(words(status, shown)),
            (400 | 413 | 415 | 422, _) => Self::Refused(words(status, shown)),
            (code, _) => Self::Other(code),
        }
    }

    /// A word for metrics and logs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AlreadyExists => "exists",
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
            Self::Refused(_) => "refused",
            Self::Busy(_) => "busy",
            Self::Connection => "connection",
            Self::NoAnswer(_) => "no-answer",
            Self::Unreadable => "unreadable",
            Self::Other(_) => "other",
            Self::Defect | Self::Flawed(_) => "defect",
        }
    }
}

fn after_colon(words: &Option<String>) -> String {
    let text = words.as_ref().map(|words| format!(": {words}"));
    text.unwrap_or_default()
}

/// The message of the server for a refused object. If that could hold a value: only the names of the wrong fields, or
/// of the exceeded quota.
fn words(status: &kube::core::Status, shown: bool) -> Option<String> {
    if shown {
        return Some(status.message.clone());
    }
    if let Some(at) = VALUE_FREE_MESSAGES.iter().find_map(|part| status.message.find(part)) {
        let lines = status.message.get(at..)?.lines();
        let lines = lines.map(|line| line.split_once(VALUE_SEPARATOR).map_or(line, |(before, _)| before));
        return Some(lines.collect::<Vec<_>>().join("\n"));
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<String> = causes
        .filter(|cause| !cause.field.is_empty())
        .map(|cause| {
            if cause.reason.is_empty() {
                cause.field.clone()
            } else {
                format!("{} ({})", cause.field, cause.reason)
            }
        })
        .collect();
    (!fields.is_empty()).then(|| fields.join(", "))
}

/// Whether "Forbidden" means a missing permission. Quotas, policies and webhooks use it, too, when they refuse an
/// object.
fn is_missing_permission(status: &kube::core::Status) -> bool {
    status.message.contains("User \"") || status.message.is_empty()
}

/// Where the missing rule is in `deploy/`.
fn rule_hint(verb: &str, resource: &str) -> &'static str {
    let (resource, _) = resource.split_once('/').unwrap_or((resource, ""));
    match (verb, resource) {
        (_, "leases.coordination.k8s.io") => "the Role 'boson' of its own namespace has no such rule, or is not bound",
        ("list" | "watch", "namespaces") => "the ClusterRole 'boson-cluster' has no such rule, or is not bound",
        (
            _,
            "validatingwebhookconfigurations.admissionregistration.k8s.io" | "clusterroles.rbac.authorization.k8s.io",
        ) => "the ClusterRole 'boson-webhook' (deploy/webhook) has no such rule, or is not bound",
        (_, "mutatingwebhookconfigurations.admissionregistration.k8s.io") => {
            "the ClusterRole 'boson-links-webhook' (deploy/links) has no such rule, or is not bound"
        }
        (_, "certificatesigningrequests.certificates.k8s.io" | "certificatesigningrequests") => {
            "the ClusterRole 'boson-signer' (deploy/signer) has no such rule, or is not bound"
        }
        (
            "create" | "apply",
            "serviceaccounts" | "roles.rbac.authorization.k8s.io" | "rolebindings.rbac.authorization.k8s.io",
        ) => "apply deploy/namespace to this namespace, or bind the optional ClusterRole 'boson-accounts'",
        _ => "the ClusterRole 'boson' has no such rule, or is not bound in this namespace",
    }
}

/// Whether the namespace is being deleted. The server answers "forbidden" for that, too.
fn is_leaving(status: &kube::core::Status) -> bool {
    let details = status.details.iter().flat_map(|details| &details.causes);
    details.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod refusals {
    use super::*;
    use kube::core::Status;
    use kube::core::response::{StatusCause, StatusDetails};

    fn kind(code: u16, message: &str, field: &str, shown: bool) -> ErrorKind {
        kind_for("FieldValueInvalid", code, message, field, shown)
    }

    fn kind_for(reason: &str, code: u16, message: &str, field: &str, shown: bool) -> ErrorKind {
        let cause = StatusCause {
            reason: reason.into(),
            message: "Invalid value: CANARY".into(),
            field: field.into(),
        };
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 0,
        };
        ErrorKind::from_status(
            &Status::failure(message, "Forbidden")
                .with_code(code)
                .with_details(details),
            shown,
        )
    }

    #[test]
    fn an_exceeded_quota_is_no_missing_permission_and_is_named_even_for_secrets() {
        let right = r#"secrets "a" is forbidden: User "operator" cannot create resource "secrets" in API group """#;
        assert_eq!(kind(403, right, "", true), ErrorKind::Forbidden);
        let quota = "secrets \"a\" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=2, limited: secrets=2";
        assert_eq!(kind(403, quota, "", true), ErrorKind::Refused(Some(quota.into())));
        let expected = Some("exceeded quota: few, requested: secrets=1, used: secrets=2, limited: secrets=2".into());
        assert_eq!(kind(403, quota, "", false), ErrorKind::Refused(expected));
    }

    #[test]
    fn an_unknown_field_is_an_error_of_the_object_and_no_outage() {
        let message = "failed to create typed patch object (n/d-g-v1; apps/v1, Kind=StatefulSet): errors:\n  \
                       .spec.template.spec.securityContext.runAsNonroot: field not declared in schema\n  \
                       .spec.replicas: expected numeric (int or float), got CANARY";
        let shown = message.replace(", got CANARY", "");
        assert_eq!(kind(500, message, "", false), ErrorKind::Refused(Some(shown)));
        assert_eq!(kind(500, "etcdserver: no leader", "", true), ErrorKind::Other(500));
    }

    #[test]
    fn only_fields_are_named_where_a_message_may_hold_values() {
        let message = "data[x]: Invalid value: CANARY";
        assert_eq!(
            kind(422, message, "data[x]", false),
            ErrorKind::Refused(Some("data[x] (FieldValueInvalid)".into()))
        );
        assert_eq!(
            kind_for("", 422, message, "data[x]", false),
            ErrorKind::Refused(Some("data[x]".into()))
        );
        assert_eq!(kind(422, message, "", false), ErrorKind::Refused(None));
        assert_eq!(kind(422, message, "", true), ErrorKind::Refused(Some(message.into())));
    }
}

#[cfg(test)]
mod missing_permissions {
    use super::*;
    use kube::core::response::StatusDetails;

    fn refused(code: u16, plural: &str, group: &str) -> Box<kube::core::Status> {
        let details = StatusDetails {
            kind: plural.into(),
            group: group.into(),
            name: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        };
        Box::new(
            kube::core::Status::failure("forbidden: User \"boson\" cannot", "Forbidden")
                .with_code(code)
                .with_details(details),
        )
    }

    #[test]
    fn a_forbidden_watch_names_the_rule() {
        let list = watcher::Error::InitialListFailed(kube::Error::Api(refused(403, "secrets", "")));
        assert_eq!(
            Error::of_watch(&list).unwrap().to_string(),
            "the operator may not list secrets: the ClusterRole 'boson' has no such rule, or is not bound in this namespace"
        );
        let watch = watcher::Error::WatchError(refused(403, "statefulsets", "apps"));
        let text = Error::of_watch(&watch).unwrap().to_string();
        assert!(
            text.starts_with("the operator may not watch statefulsets.apps"),
            "{text}"
        );
    }

    #[test]
    fn a_rule_of_a_component_is_named_with_the_component() {
        let group = "admissionregistration.k8s.io";
        for (plural, role) in [
            ("validatingwebhookconfigurations", "'boson-webhook' (deploy/webhook)"),
            ("mutatingwebhookconfigurations", "'boson-links-webhook' (deploy/links)"),
        ] {
            let watch = watcher::Error::WatchError(refused(403, plural, group));
            let text = Error::of_watch(&watch).unwrap().to_string();
            assert!(
                text.contains(&format!("the ClusterRole {role} has no such rule")),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unavailable_server_is_no_missing_permission() {
        let away = watcher::Error::WatchStartFailed(kube::Error::Api(refused(503, "secrets", "")));
        assert_eq!(Error::of_watch(&away), None);
    }
}
