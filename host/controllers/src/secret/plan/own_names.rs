//! Which names the built-in signer certifies. Pure.
//!
//! One authority signs for all namespaces. So that a certificate tells one namespace from another, it names Services
//! and pods of the QuarksSecret's own namespace only, in the forms that contain the namespace: a short name, such as
//! `nats`, exists in every namespace.

use crate::problem::Problem;
use crate::secret::observe::Observed;
use boson_api::QuarksSecret;
use boson_cluster::client::Identity;
use boson_document::Tree;
use k8s_openapi::api::core::v1::Service;

/// Names of Services, and their cluster IPs. Kubernetes assigns cluster IPs; other addresses of a Service are whatever
/// its author writes.
pub fn of_services<'s>(services: impl IntoIterator<Item = &'s Service>, cluster_domain: &str) -> Vec<String> {
    let mut out = Vec::new();
    for service in services {
        let meta = &service.metadata;
        // Without either, it has no name in DNS.
        let (Some(name), Some(namespace)) = (&meta.name, &meta.namespace) else {
            continue;
        };
        for suffix in suffixes(namespace, cluster_domain) {
            out.push(format!("{name}{suffix}"));
            out.push(format!("*.{name}{suffix}"));
        }
        out.extend(cluster_ip(service));
    }
    out
}

/// Refuses names of other namespaces.
///
/// # Errors
/// The first such name, and what is allowed.
pub fn check(object: &QuarksSecret, observed: &Observed, options: &Tree, cluster_domain: &str) -> Result<(), Problem> {
    // With an empty one, names of other namespaces would pass.
    let namespace = Identity::of(object).map_err(Problem::defect)?.namespace;
    let suffixes = suffixes(namespace, cluster_domain);
    let addresses: Vec<String> = observed
        .services
        .iter()
        .filter_map(|(_, service)| cluster_ip(service.as_ref()?))
        .collect();
    let alternative = options.texts("alternative_names");
    let mut names = options.str("common_name").into_iter().chain(alternative);
    let is_allowed = |name: &&str| {
        let of_namespace = |suffix: &String| name.strip_suffix(suffix).is_some_and(|rest| !rest.is_empty());
        suffixes.iter().any(of_namespace) || addresses.iter().any(|address| address == name)
    };
    let Some(name) = names.find(|name| !is_allowed(name)) else {
        return Ok(());
    };
    let [short, full] = suffixes;
    let message = format!(
        "the built-in signer does not sign '{name}': it signs names that end in '{short}' or '{full}', and cluster IPs \
         of Services in serviceRef"
    );
    Err(Problem::new("NameRefused", message))
}

/// What names of the namespace end in. `<service>.<namespace>` is not among them: in a namespace called `com`, it would
/// be a name of the internet.
fn suffixes(namespace: &str, cluster_domain: &str) -> [String; 2] {
    [
        format!(".{namespace}.svc"),
        format!(".{namespace}.svc.{cluster_domain}"),
    ]
}

pub fn cluster_ip(service: &Service) -> Option<String> {
    let address = service.spec.as_ref()?.cluster_ip.clone()?;
    (!address.is_empty() && address != "None").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::made::asked;
    use k8s_openapi::api::core::v1::ServiceSpec;

    fn service(cluster_ip: &str) -> Service {
        let mut service = Service {
            spec: Some(ServiceSpec {
                cluster_ip: Some(cluster_ip.into()),
                external_ips: Some(vec!["192.0.2.1".into()]),
                external_name: Some("example.com".into()),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        };
        service.metadata.name = Some("broker".into());
        service.metadata.namespace = Some("n".into());
        service
    }

    #[test]
    fn only_names_of_the_namespace_are_signed() {
        let object = asked(r#"{"type": "certificate", "secretName": "s"}"#);
        let observed = Observed {
            services: vec![("broker".into(), Some(service("10.0.0.7")))],
            ..Observed::default()
        };
        let allowed = |name: &str| {
            let common = Tree::object().with("common_name", name);
            let alternative = Tree::object().with("alternative_names", vec![Tree::from("a.n.svc"), Tree::from(name)]);
            let check = |options| check(&object, &observed, &options, "cluster.local").is_ok();
            assert_eq!(check(common.clone()), check(alternative), "{name}");
            check(common)
        };
        for name in [
            "broker.n.svc",
            "*.broker.n.svc",
            "pod-0.broker.n.svc.cluster.local",
            "10.0.0.7",
        ] {
            assert!(allowed(name), "{name}");
        }
        for name in [
            "broker",
            "broker.n",
            "broker.other.svc",
            "broker.n.svc.example.com",
            ".n.svc",
            "10.0.0.8",
            "192.0.2.1",
            "example.com",
            "xn.svc",
            "broker.n.svc.",
        ] {
            assert!(!allowed(name), "{name}");
        }
    }

    #[test]
    fn names_of_services_are_among_what_is_signed() {
        let names = of_services(&[service("10.0.0.7"), service("None")], "cluster.local");
        let object = asked(r#"{"type": "certificate", "secretName": "s"}"#);
        let observed = Observed {
            services: vec![("broker".into(), Some(service("10.0.0.7")))],
            ..Observed::default()
        };
        let all: Vec<Tree> = names.iter().map(|name| Tree::from(name.as_str())).collect();
        let options = Tree::object().with("alternative_names", all);
        assert!(check(&object, &observed, &options, "cluster.local").is_ok());
        assert!(names.contains(&"broker.n.svc.cluster.local".to_string()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("192.0.2")), "{names:?}");
    }
}
