//! The account of a deployment's DNS servers. With the operator, the operator creates it in each namespace; the plain
//! target has to include it.
//!
//! # Guarantees
//! It reads EndpointSlices of its namespace, nothing else: no Secret, no pod.

use crate::object::{merge, metadata, namespace, new_object};
use boson_document::Tree;
use boson_manifest::dns::ACCOUNT;

/// ServiceAccount, Role and RoleBinding, if one of the objects is a Deployment that uses the account.
pub fn accounts(objects: &[Tree]) -> Vec<Tree> {
    let account = ["spec", "template", "spec", "serviceAccountName"];
    let is_server = |object: &&Tree| {
        object.str("kind") == Some("Deployment") && object.find(&account).and_then(Tree::as_str) == Some(ACCOUNT)
    };
    let Some(server) = objects.iter().find(is_server) else {
        return Vec::new();
    };
    let metadata = metadata(ACCOUNT, namespace(server), Tree::object(), Tree::object());
    let named = |version: &str, kind: &str| new_object(version, kind, metadata.clone());
    let rbac = "rbac.authorization.k8s.io";
    let subject = merge(Tree::object().with("kind", "ServiceAccount"), &metadata);
    let rule = Tree::object()
        .with("apiGroups", vec!["discovery.k8s.io"])
        .with("resources", vec!["endpointslices"])
        .with("verbs", vec!["list", "watch"]);
    let role = Tree::object()
        .with("apiGroup", rbac)
        .with("kind", "Role")
        .with("name", ACCOUNT);
    vec![
        named("v1", "ServiceAccount"),
        named(&format!("{rbac}/v1"), "Role").with("rules", vec![rule]),
        named(&format!("{rbac}/v1"), "RoleBinding")
            .with("roleRef", role)
            .with("subjects", vec![subject]),
    ]
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
