//! The validating webhook for BOSHDeployments: what is wrong with one is said to whoever writes it, in the words that its conditions would
//! have later. Every process answers; the one that leads keeps certificates and configuration.
//!
//! # Guarantees
//! Nothing rests on it: an operator that is down, slow or without rights lets everything pass, and the controller says the same in the
//! conditions. Nothing is written in a review, and no value of a variable is in an answer.
//!
//! # Caveats
//! A review reads ConfigMaps with the rights of the operator, so it answers only whoever knows the address, of which a part is secret and
//! known to the API server.

mod configuration;
mod keeper;
mod material;
mod review;
mod server;

use crate::client::FieldManager;
use std::net::SocketAddr;

pub(crate) use keeper::Keeper;
pub(crate) use review::{PLACES, Reviewer};
pub(crate) use server::serve;

/// Who owns the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-admission");
/// What its health is told under.
const PART: &str = "admission";

/// How to answer the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How the API server gets there.
    pub way: Way,
}

/// How the API server gets to the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the Service of this name, in the namespace of the operator.
    Service(String),
    /// By address: `https://HOST:PORT`, for an operator outside of the cluster.
    Url(String),
}

// === impl Way ===

impl Way {
    /// The names and addresses that the serving certificate is for.
    fn names(&self, namespace: &str) -> Vec<String> {
        match self {
            Self::Service(name) => vec![format!("{name}.{namespace}.svc"), format!("{name}.{namespace}")],
            Self::Url(url) => vec![host(url).to_string()],
        }
    }
}

/// The host of an address, without port; of an IPv6 address, what is between the brackets.
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
    fn certificates_are_for_the_way_that_the_api_server_takes() {
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
