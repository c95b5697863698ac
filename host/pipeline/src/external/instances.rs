//! The instances of a link: what is behind its Service.

use super::object::Object;
use boson_document::{Map, Tree};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Label of an EndpointSlice: its Service.
pub const SERVICE_LABEL: &str = "kubernetes.io/service-name";
/// Address types in the order in which one is chosen, if the Service does not prefer one.
const ADDRESS_TYPES: [&str; 3] = ["IPv4", "IPv6", "FQDN"];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    name: String,
    id: String,
    address: String,
}

/// The instances behind a Service as templates get them, sorted by name; `None` if it has neither a selector nor
/// endpoints. `objects`: EndpointSlices, Endpoints and Pods of its namespace.
///
/// Those that are not ready count: a pod that is unready for a moment must not restart the consumers of the link.
pub fn instances_of(service: &Object<'_>, objects: &[Object<'_>]) -> Option<Vec<Tree>> {
    if service.spec("type").and_then(Tree::as_str) == Some("ExternalName") {
        return Some(external_name(service));
    }
    let selector = service.spec("selector").and_then(Tree::as_map);
    let selector = selector.filter(|selector| !selector.is_empty());
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object.kind() == kind);
    let slices = of_kind("EndpointSlice").filter(|slice| slice.label(SERVICE_LABEL) == Some(service.name()));
    let slices: Vec<&Object<'_>> = slices.collect();
    let mut endpoints = of_kind("Endpoints").filter(|endpoints| endpoints.name() == service.name());
    let found: Vec<Endpoint> = if !slices.is_empty() {
        of_slices(service, &slices)
    } else if let Some(endpoints) = endpoints.next() {
        of_endpoints(service, endpoints)
    } else {
        let selector = selector?;
        of_kind("Pod").filter_map(|pod| of_pod(pod, selector)).collect()
    };
    (!found.is_empty() || selector.is_some()).then(|| numbered(found))
}

fn external_name(service: &Object<'_>) -> Vec<Tree> {
    let address = service.spec("externalName").and_then(Tree::as_str);
    numbered(address.map(|address| of_object(service, address)).into_iter().collect())
}

/// An endpoint with the name and UID of an object.
fn of_object(object: &Object<'_>, address: &str) -> Endpoint {
    Endpoint {
        name: object.name().into(),
        id: object.text("uid").unwrap_or(address).into(),
        address: address.into(),
    }
}

/// The endpoints of one address family: each pod of a dual-stack cluster has an address in both.
fn of_slices(service: &Object<'_>, slices: &[&Object<'_>]) -> Vec<Endpoint> {
    let families = service.spec("ipFamilies").and_then(Tree::as_array);
    let preferred = families.into_iter().flatten().filter_map(Tree::as_str);
    let of_family = |family: &str| {
        let slices = slices
            .iter()
            .filter(move |slice| slice.tree.str("addressType") == Some(family));
        let endpoints = slices.flat_map(|slice| slice.tree.items("endpoints"));
        endpoints.filter_map(|endpoint| of_slice(service, endpoint)).collect()
    };
    let found = preferred.chain(ADDRESS_TYPES).map(of_family);
    let mut found = found.filter(|endpoints: &Vec<Endpoint>| !endpoints.is_empty());
    found.next().unwrap_or_default()
}

fn of_slice(service: &Object<'_>, endpoint: &Tree) -> Option<Endpoint> {
    if endpoint.find(&["conditions", "terminating"]) == Some(&Tree::Bool(true)) {
        return None;
    }
    let address = endpoint.items("addresses").first()?.as_str()?;
    Some(named(service, endpoint, address))
}

fn of_endpoints(service: &Object<'_>, endpoints: &Object<'_>) -> Vec<Endpoint> {
    let subsets = endpoints.tree.items("subsets").iter();
    let addresses = subsets.flat_map(|subset| {
        let ready = subset.items("addresses").iter();
        ready.chain(subset.items("notReadyAddresses"))
    });
    let endpoint = |address: &Tree| Some(named(service, address, address.str("ip")?));
    addresses.filter_map(endpoint).collect()
}

/// An endpoint with the name and UID of its pod; without a pod, with its host name or the Service's, and its address.
fn named(service: &Object<'_>, endpoint: &Tree, address: &str) -> Endpoint {
    let of_pod = |key: &str| endpoint.get("targetRef")?.str(key);
    let name = of_pod("name").or_else(|| endpoint.str("hostname"));
    Endpoint {
        name: name.unwrap_or(service.name()).into(),
        id: of_pod("uid").unwrap_or(address).into(),
        address: address.into(),
    }
}

fn of_pod(pod: &Object<'_>, selector: &Map) -> Option<Endpoint> {
    let selects = |(key, value): (&String, &Tree)| pod.label(key) == value.as_str();
    let status = pod.tree.get("status")?;
    let ended = matches!(status.str("phase"), Some("Succeeded" | "Failed"));
    if !selector.iter().all(selects) || ended || pod.text("deletionTimestamp").is_some() {
        return None;
    }
    Some(of_object(pod, status.str("podIP")?))
}

/// The instances as templates get them: each once, in the order of their names.
fn numbered(endpoints: Vec<Endpoint>) -> Vec<Tree> {
    // An endpoint can be in two slices for a moment, and in one subset for each port.
    let unique: BTreeMap<(String, String), Endpoint> = endpoints
        .into_iter()
        .map(|endpoint| ((endpoint.id.clone(), endpoint.address.clone()), endpoint))
        .collect();
    let mut sorted: Vec<Endpoint> = unique.into_values().collect();
    sorted.sort_by(|one, other| natural(&one.name, &other.name).then_with(|| one.address.cmp(&other.address)));
    let instance = |(index, endpoint): (usize, Endpoint)| {
        Tree::object()
            .with("name", endpoint.name)
            .with("index", index as u64)
            .with("id", endpoint.id)
            .with("address", endpoint.address)
            .with("bootstrap", index == 0)
    };
    sorted.into_iter().enumerate().map(instance).collect()
}

/// The order of names in which `nats-10` comes after `nats-2`, as ordinals of a StatefulSet do.
fn natural(one: &str, other: &str) -> Ordering {
    let parts = |name: &str| -> (String, u64) {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name.get(base.len()..).and_then(|digits| digits.parse().ok());
        (base.to_string(), number.unwrap_or_default())
    };
    parts(one).cmp(&parts(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_numbers() {
        let mut names = ["nats-10", "nats-2", "mysql-0", "nats-9", "nats", "nats-02"];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, ["mysql-0", "nats", "nats-02", "nats-2", "nats-9", "nats-10"]);
    }
}
