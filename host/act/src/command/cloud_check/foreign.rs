//! Fields of the operator's objects that others have set, from the API server's record of it. Pure.

use boson_cluster::client::{OPERATOR_PREFIX, managers};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::ObjectMeta;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Kubernetes' own, which fill in fields.
const KUBERNETES_MANAGERS: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"];
/// Everybody may set metadata, and a status is of a controller.
const SHARED_FIELDS: [&str; 2] = ["f:metadata", "f:status"];

/// The fields that others have set in an object of the operator: JSON pointers, by manager. Items of lists are left
/// out: the operator removes those that it has not written.
pub fn fields(object: &ObjectMeta) -> BTreeMap<String, Vec<String>> {
    let (own, others): (Vec<_>, Vec<_>) =
        managers(object).partition(|(manager, _)| manager.starts_with(OPERATOR_PREFIX));
    let is_foreign = own.is_empty();
    let own: BTreeSet<String> = own.into_iter().flat_map(|(_, entry)| field_pointers(entry)).collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (manager, entry) in others {
        if is_foreign || KUBERNETES_MANAGERS.contains(&manager) {
            continue;
        }
        let mut set = field_pointers(entry);
        set.retain(|field| !own.contains(field));
        if !set.is_empty() {
            found.entry(manager.into()).or_default().extend(set);
        }
    }
    found
}

/// JSON pointers to the fields of an entry.
fn field_pointers(entry: &ManagedFieldsEntry) -> Vec<String> {
    let fields = entry.fields_v1.as_ref().and_then(|fields| fields.0.as_object());
    let mut all = Vec::new();
    for (key, inner) in fields.into_iter().flatten() {
        if !SHARED_FIELDS.contains(&key.as_str()) {
            collect_pointers(key, inner, String::new(), &mut all);
        }
    }
    all
}

/// The depth is that of an object of Kubernetes, which the API server has checked.
fn collect_pointers(key: &str, inner: &Value, path: String, all: &mut Vec<String>) {
    let Some(name) = key.strip_prefix("f:") else { return };
    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    let none = Map::new();
    let members = inner.as_object().unwrap_or(&none);
    if members.keys().all(|key| key == ".") {
        all.push(path);
        return;
    }
    for (key, inner) in members {
        collect_pointers(key, inner, path.clone(), all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    fn of(entries: &Value) -> BTreeMap<String, Vec<String>> {
        fields(&from_value(json!({"managedFields": entries})).unwrap())
    }

    #[test]
    fn only_fields_that_the_operator_has_not_set_are_found() {
        let own = json!({"manager": "boson-statefulset", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let status = json!({"manager": "kube-controller-manager", "subresource": "status", "fieldsV1": {"f:status": {"f:x": {}}}});
        let edit = json!({"manager": "kubectl-edit", "fieldsV1": {
            "f:metadata": {"f:annotations": {"f:a": {}}},
            "f:spec": {"f:replicas": {}, "f:minReadySeconds": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"x\"}": {".": {}}}}}},
            "f:data": {"f:a/b": {}},
        }});
        let wanted = [(
            "kubectl-edit".to_string(),
            vec!["/data/a~1b".to_string(), "/spec/minReadySeconds".to_string()],
        )];
        let mut found = of(&json!([own, status, edit]));
        found.values_mut().for_each(|fields| fields.sort());
        assert_eq!(found, wanted.into());
        assert!(of(&json!([edit])).is_empty(), "an object of somebody else");
    }
}
