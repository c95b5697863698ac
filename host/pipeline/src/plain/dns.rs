//! The account of a deployment's DNS servers. With the operator, the operator creates it in each namespace; the plain
//! target has to include it.
//!
//! # Guarantees
//! It reads EndpointSlices of its namespace, nothing else: no Secret, no pod.

use boson_document::Tree;
use boson_manifest::dns::ACCOUNT;

/// ServiceAccount, Role and RoleBinding, if one of the objects is a Deployment that uses the account.
pub fn accounts(objects: &[Tree]) -> Vec<Tree> {
    let is_server = |object: &Tree| {
        let spec = ["spec", "template", "spec"]
            .iter()
            .try_fold(object, |tree, key| tree.get(key));
        object.str("kind") == Some("Deployment")
            && spec.and_then(|spec| spec.str("serviceAccountName")) == Some(ACCOUNT)
    };
    let Some(server) = objects.iter().find(|object| is_server(object)) else {
        return Vec::new();
    };
    let namespace = server.get("metadata").and_then(|metadata| metadata.str("namespace"));
    let rbac = "rbac.authorization.k8s.io";
    let subject = Tree::object().with("kind", "ServiceAccount").with("name", ACCOUNT);
    let subject = match namespace {
        Some(namespace) => subject.with("namespace", namespace),
        None => subject,
    };
    let rule = Tree::object()
        .with("apiGroups", vec!["discovery.k8s.io"])
        .with("resources", vec!["endpointslices"])
        .with("verbs", vec!["list", "watch"]);
    let role = Tree::object()
        .with("apiGroup", rbac)
        .with("kind", "Role")
        .with("name", ACCOUNT);
    vec![
        named("v1", "ServiceAccount", namespace),
        named(&format!("{rbac}/v1"), "Role", namespace).with("rules", vec![rule]),
        named(&format!("{rbac}/v1"), "RoleBinding", namespace)
            .with("roleRef", role)
            .with("subjects", vec![subject]),
    ]
}

fn named(version: &str, kind: &str, namespace: Option<&str>) -> Tree {
    let mut metadata = Tree::object().with("name", ACCOUNT);
    if let Some(namespace) = namespace {
        metadata.set("namespace", namespace);
    }
    Tree::object()
        .with("apiVersion", version)
        .with("kind", kind)
        .with("metadata", metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn the_account_is_created_only_with_the_servers() {
        let server = |account: &str| {
            let text = format!(
                r#"{{"kind": "Deployment", "metadata": {{"name": "d-dns", "namespace": "n"}}, "spec": {{"template": {{"spec": {{"serviceAccountName": "{account}"}}}}}}}}"#
            );
            [parse(&text).unwrap()]
        };
        assert!(accounts(&server("other")).is_empty() && accounts(&[]).is_empty());
        let made = accounts(&server(ACCOUNT));
        let kinds: Vec<_> = made.iter().filter_map(|object| object.str("kind")).collect();
        assert_eq!(kinds, ["ServiceAccount", "Role", "RoleBinding"]);
        let rules = made[1].items("rules");
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].items("verbs").len(), 2);
        assert!(
            made.iter()
                .all(|object| object.get("metadata").unwrap().str("namespace") == Some("n"))
        );
    }
}
