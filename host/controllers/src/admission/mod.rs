//! The webhooks, with one server and one set of certificates. Every process answers; the leader maintains certificates
//! and configurations.
//!
//! - BOSHDeployments are validated: errors are reported when a deployment is written, in the same words as the
//!   conditions would later. Nothing depends on it: without an operator that answers, everything is accepted.
//! - Deletions of BOSHDeployments whose links others use are allowed with a warning.
//! - Pods that ask for links get them. Without an operator that answers, such a pod is not created, and its controller
//!   tries again. Other pods are never sent.
//!
//! # Guarantees
//! A review writes nothing, and no answer holds a value of a variable or a link.
//!
//! # Caveats
//! A review reads ConfigMaps and Secrets with the permissions of the operator. So a part of its address is secret and
//! known only to the API server, and other requests are refused.

mod answer;
mod configuration;
mod deletions;
mod deployments;
#[expect(clippy::disallowed_methods, reason = "it keeps the Secret of the server")]
mod keeper;
mod material;
mod pods;
mod server;

use crate::deployment::Context;
use crate::links::DigestKey;
use crate::slots::Slots;
use boson_cluster::client::FieldManager;
use boson_cluster::namespaces::Namespaces;
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) use keeper::Keeper;
pub(crate) use server::serve;

/// The owner of the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-admission");
/// Name of this part in the health report.
const HEALTH_PART: &str = "admission";
/// Last part of the path for deployments, and their label in metrics.
const DEPLOYMENTS: &str = "deployments";
/// Last part of the path for deletions of deployments, and their label in metrics.
const DELETIONS: &str = "deletions";
/// The same for pods.
const PODS: &str = "pods";

/// Settings of the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How the API server reaches it.
    pub way: Way,
    /// Whether pods get the links that they ask for.
    pub links: bool,
}

/// How the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the Service of this name, in the namespace of the operator.
    Service(String),
    /// By address: `https://HOST:PORT`, for an operator outside of the cluster.
    Url(String),
}

/// What answers the requests.
pub(crate) struct Reviewers {
    context: Arc<Context>,
    /// The namespaces whose objects are reviewed.
    served: Namespaces,
    /// Of the digests that pods carry.
    key: DigestKey,
    /// Whether pods get the links that they ask for.
    links: bool,
    /// For each sort of reviews.
    deployments: Slots,
    deletions: Slots,
    pods: Slots,
}

// === impl Way ===

impl Way {
    /// The names and addresses of the serving certificate.
    fn names(&self, namespace: &str) -> Vec<String> {
        match self {
            Self::Service(name) => vec![format!("{name}.{namespace}.svc"), format!("{name}.{namespace}")],
            Self::Url(url) => vec![host(url).to_string()],
        }
    }
}

// === impl Reviewers ===

impl Reviewers {
    pub(crate) fn new(context: Context, served: Namespaces, key: DigestKey, links: bool) -> Self {
        Self {
            context: Arc::new(context),
            served,
            key,
            links,
            deployments: Slots::shared(deployments::MAX_CONCURRENT_CHECKS),
            deletions: Slots::shared(deletions::MAX_CONCURRENT_REVIEWS),
            pods: Slots::shared(pods::MAX_CONCURRENT_REVIEWS),
        }
    }

    /// Whether requests from this namespace are answered. The API server selects monitored namespaces by their label.
    fn serves(&self, namespace: &str) -> bool {
        match &self.served {
            Namespaces::Fixed(names) => names.contains(namespace),
            Namespaces::Monitored(_) => true,
        }
    }
}

/// The host of a URL, without port, and without the brackets of an IPv6 address.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = rest.split('/').next().unwrap_or_default();
    match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => place.rsplit_once(':').map_or(place, |(host, _)| host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_have_the_name_that_the_api_server_uses() {
        for (way, names) in [
            (Way::Service("w".into()), vec!["w.n.svc", "w.n"]),
            (Way::Url("https://127.0.0.1:8443".into()), vec!["127.0.0.1"]),
            (Way::Url("https://[::1]:8443/".into()), vec!["::1"]),
            (Way::Url("https://boson.example.com".into()), vec!["boson.example.com"]),
        ] {
            assert_eq!(way.names("n"), names);
        }
    }
}
