//! Checks of the manifest's `features`, for which BOSH has other messages than for the rest.

use crate::codes;
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::schema::MANIFEST;

/// Checks the members of `features`.
pub fn check(features: &Tree, place: &Place, report: &mut Report) {
    for (name, value) in features.as_object().into_iter().flatten() {
        let known = MANIFEST
            .iter()
            .any(|key| key.path.strip_prefix("features.") == Some(name));
        if known && value.as_bool().is_none() {
            let class = ruby::class(value);
            let text = format!("Key '{name}' in 'features' expected to be a boolean, but received '{class}'");
            report.error(codes::WRONG_TYPE, place.at(name), text);
        }
    }
    for key in ["use_dns_addresses", "use_short_dns_addresses"] {
        let is = |key: &str, value: bool| features.get(key) == Some(&Tree::Bool(value));
        if is("use_link_dns_names", true) && is(key, false) {
            let text = format!("cannot enable `use_link_dns_names` when `{key}` is explicitly disabled");
            report.error(codes::BAD_VALUE, place.at("use_link_dns_names"), text);
        }
    }
    if features.get("use_dns_addresses") == Some(&Tree::Bool(false)) {
        let text = "Feature 'use_dns_addresses' cannot be false: addresses are always DNS names in Kubernetes";
        report.error(codes::REFUSED_KEY, place.at("use_dns_addresses"), text);
    }
}
