//! The resource of a kind.

use boson_pipeline::bundle::kinds::Kind;
use kube::core::{ApiResource, GroupVersionKind};

/// The resource of an apiVersion and kind. The regular plural holds for all kinds that a conversion creates.
pub fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let lower = kind.to_lowercase();
    let plural = match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if lower.ends_with('s') => format!("{lower}es"),
        None => format!("{lower}s"),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural)
}

/// The resource of a kind that may have another plural.
pub(crate) fn resource_of(kind: &Kind) -> ApiResource {
    let mut resource = resource(kind.api_version, kind.kind);
    if let Some(plural) = kind.plural {
        resource.plural = plural.to_string();
    }
    resource
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_those_of_the_server() {
        for (api_version, kind, plural) in [
            ("v1", "Secret", "secrets"),
            ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
            ("networking.k8s.io/v1", "Ingress", "ingresses"),
            (
                "quarks.cloudfoundry.org/v1alpha1",
                "QuarksStatefulSet",
                "quarksstatefulsets",
            ),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        ] {
            let resource = resource(api_version, kind);
            assert_eq!(
                (resource.plural.as_str(), resource.api_version.as_str()),
                (plural, api_version)
            );
        }
    }
}
