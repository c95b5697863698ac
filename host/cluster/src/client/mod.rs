//! Calls to the API server, each bounded: 10 seconds for an answer, at most two more tries after an answer that says
//! "not now".
//!
//! kube waits for ever and retries 15 times; a call without an answer would block its object until the operator
//! restarts. All writes of all controllers use this module, so that they are counted and limited in one place.

mod call;
mod connect;
mod containers;
mod dynamic;
mod events;
mod global;
mod object;
mod read;
mod watch_backoff;
mod write;
pub mod written;

pub(crate) use call::Outage;
pub use call::{Error, ErrorKind};
pub use connect::{Connection, connect};
pub use containers::{Container, Ended, Input};
pub use events::{Events, Notice, recorded};
pub use global::GlobalKind;
pub use kube::Client;
pub use kube::api::{AttachedProcess, LogParams, TerminalSize};
pub(crate) use object::resource_of;
pub use object::{
    AnyObject, Identity, Kind, ManagedFields, NamespacedName, OPERATOR_PREFIX, Target, api, api_of_any, managers,
    owner, pod_identity, resource,
};
pub use read::Served;
pub use watch_backoff::WatchBackoff;

use crate::metrics::Metrics;
use boson_pipeline::bundle::kinds::Kind as AdditionalKind;
use kube::core::Request;
use recorded::Recorded;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for one answer. Watches are bounded by kube's own idle timeout instead.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The owner of the fields that an apply sets: one name per controller, so that two of them never take fields from each
/// other unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldManager(pub &'static str);

/// A verb, as in RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Get,
    List,
    Create,
    Update,
    Patch,
    Delete,
}

/// The API server, for controllers.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    metrics: Arc<Metrics>,
    outage: Outage,
    recorded: Recorded,
    answer: Duration,
    /// Kinds that an administrator allows besides those that every conversion may create.
    additional: Arc<[AdditionalKind]>,
}

// === impl Verb ===

impl Verb {
    /// Its name in RBAC.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

// === impl Cluster ===

impl Cluster {
    /// With a client that does not retry by itself: see [`connect()`].
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        let answer = ANSWER_TIMEOUT;
        Self {
            client,
            metrics,
            outage: Outage::default(),
            recorded: Recorded::default(),
            answer,
            additional: Arc::default(),
        }
    }

    /// Sets the kinds that an administrator allows besides those that every conversion may create.
    #[must_use]
    pub fn with_kinds(mut self, additional: Vec<AdditionalKind>) -> Self {
        self.additional = additional.into();
        self
    }

    /// The kinds that an administrator allows besides those that every conversion may create.
    pub fn additional_kinds(&self) -> &[AdditionalKind] {
        &self.additional
    }

    /// Sets another limit for one answer.
    #[must_use]
    pub fn with_answer_timeout(mut self, answer: Duration) -> Self {
        self.answer = answer;
        self
    }

    /// The client, for watches.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether the API server answers.
    pub(crate) fn outage(&self) -> &Outage {
        &self.outage
    }

    /// The events of this process that are not written yet.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }
}

/// The objects of a kind in a namespace.
fn path<K: Kind>(namespace: &str) -> Request {
    Request::new(K::url_path(&(), Some(namespace)))
}
