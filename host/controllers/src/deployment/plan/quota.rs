//! Checks whether the new objects of a deployment together fit the quotas of its namespace. The API server checks each
//! object alone, so it might accept three of five Services. Pure.

use crate::codes;
use boson_cluster::client::{AnyObject, resource};
use boson_cluster::objects::drift::quantity;
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, ResourceQuota, ResourceQuotaStatus, ServiceSpec};
use kube::ResourceExt;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One object, in the unit of [`quantity`].
const ONE_OBJECT: i128 = 1000;
/// Kinds that a quota may name without `count/`.
const PLAIN_KEYS: [&str; 4] = ["configmaps", "persistentvolumeclaims", "secrets", "services"];

/// An error for each limit that the objects exceed.
pub fn exceeded_errors(quotas: &[ResourceQuota], new: &[&Value]) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for quota in quotas {
        let name = quota.name_any();
        // A quota without a status is not computed yet.
        let Some(ResourceQuotaStatus { hard, used }) = quota.status.clone() else {
            continue;
        };
        let used = used.unwrap_or_default();
        for (key, hard) in hard.unwrap_or_default() {
            let needed: i128 = new.iter().map(|object| usage(&key, object)).sum();
            let now = used.get(&key).and_then(|used| quantity(&used.0));
            let (Some(most), Some(now)) = (quantity(&hard.0), now) else {
                continue;
            };
            if needed > 0 && now + needed > most {
                let [most, now, needed] = [most, now, needed].map(|amount| amount / ONE_OBJECT);
                let text =
                    format!("the quota '{name}' limits {key} to {most}: {now} are used, {needed} more are needed");
                errors.push(
                    Diagnostic::error(codes::DEPLOYMENT_QUOTA_EXCEEDED, text)
                        .help("raise the quota, or delete what uses it; the operator retries every 30 s"),
                );
            }
        }
    }
    errors
}

/// How much an object uses of what this key of a quota limits.
fn usage(key: &str, object: &Value) -> i128 {
    let [version, kind] = [object.api_version(), object.kind()].map(Option::unwrap_or_default);
    let of = resource(version, kind);
    let counted = match of.group.as_str() {
        "" => format!("count/{}", of.plural),
        group => format!("count/{}.{group}", of.plural),
    };
    let is_core = of.group.is_empty();
    match key {
        "services.loadbalancers" | "services.nodeports" if is_core && of.plural == "services" => {
            spec(object).map_or(0, |spec| of_service(key, &spec))
        }
        "requests.storage" if is_core && of.plural == "persistentvolumeclaims" => {
            spec(object).and_then(|spec| storage(&spec)).unwrap_or(0)
        }
        _ if key == counted => ONE_OBJECT,
        _ if is_core && key == of.plural && PLAIN_KEYS.contains(&key) => ONE_OBJECT,
        _ => 0,
    }
}

/// Its spec, as a type; none where it has another shape.
fn spec<T: DeserializeOwned>(object: &Value) -> Option<T> {
    T::deserialize(object.spec()?).ok()
}

fn of_service(key: &str, spec: &ServiceSpec) -> i128 {
    let ports = spec.ports.as_ref().map_or(0, Vec::len);
    match (key, spec.type_.as_deref()) {
        ("services.loadbalancers", Some("LoadBalancer")) => ONE_OBJECT,
        ("services.nodeports", Some("LoadBalancer" | "NodePort")) => {
            i128::try_from(ports).map_or(0, |ports| ports * ONE_OBJECT)
        }
        _ => 0,
    }
}

fn storage(spec: &PersistentVolumeClaimSpec) -> Option<i128> {
    let requests = spec.resources.as_ref()?.requests.as_ref()?;
    quantity(&requests.get("storage")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn quota(hard: Value, used: Value) -> ResourceQuota {
        let quota = json!({"metadata": {"name": "q"}, "status": {"hard": hard, "used": used}});
        serde_json::from_value(quota).unwrap()
    }

    #[test]
    fn objects_are_counted_together() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "ClusterIP"}});
        let group = json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet"});
        let new = [&service, &service, &group];
        let of = |hard: Value, used: Value| -> Vec<String> {
            let errors = exceeded_errors(&[quota(hard, used)], &new);
            errors.into_iter().map(|error| error.message).collect()
        };
        assert_eq!(
            of(json!({"services": "3"}), json!({"services": "2"})),
            ["the quota 'q' limits services to 3: 2 are used, 2 more are needed"]
        );
        assert_eq!(
            of(json!({"count/services": "4"}), json!({"count/services": "2"})),
            [""; 0]
        );
        let key = "count/quarksstatefulsets.quarks.cloudfoundry.org";
        assert_eq!(of(json!({key: "1"}), json!({key: "1"})).len(), 1);
        assert_eq!(
            of(
                json!({"secrets": "1", "pods": "0"}),
                json!({"secrets": "1", "pods": "0"})
            ),
            [""; 0]
        );
        assert_eq!(
            of(json!({"services": "0"}), json!({})),
            [""; 0],
            "it is not computed yet"
        );
    }

    #[test]
    fn some_objects_use_more_than_one_unit() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}});
        assert_eq!(usage("services.nodeports", &service), 2 * ONE_OBJECT);
        assert_eq!(usage("services.loadbalancers", &service), 0);
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "spec": {"resources": {"requests": {"storage": "1Ki"}}}});
        assert_eq!(usage("requests.storage", &claim), 1024 * ONE_OBJECT);
    }
}
