//! The validating webhook for BOSHDeployments: it reports errors when a deployment is written, in the same words as the
//! conditions would later. Every process answers; the leader maintains certificates and configuration.
//!
//! # Guarantees
//! Nothing depends on it: an operator that is down, slow or without permissions accepts everything, and the controller
//! reports the same errors in the conditions. A review writes nothing, and no answer holds a value of a variable.
//!
//! # Caveats
//! A review reads ConfigMaps with the permissions of the operator. So a part of its address is secret and known only to
//! the API server, and other requests are refused.

mod configuration;
mod keeper;
mod material;
mod review;
mod server;

use boson_cluster::client::FieldManager;
use std::net::SocketAddr;

pub(crate) use keeper::Keeper;
pub(crate) use review::Reviewer;
pub(crate) use server::serve;

/// The owner of the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-admission");
/// Name of this part in the health report.
const PART: &str = "admission";

/// Settings of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How the API server reaches it.
    pub way: Way,
}

/// How the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the Service of this name, in the namespace of the operator.
    Service(String),
    /// By address: `https://HOST:PORT`, for an operator outside of the cluster.
    Url(String),
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
