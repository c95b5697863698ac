//! The permissions that manifests grant to a ServiceAccount, and those that it used, from the audit log.

use anyhow::Result;
use boson_tests::cluster::Cluster;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    group: String,
    /// With the subresource: `quarkssecrets/status`.
    resource: String,
    verb: String,
}

/// The requests of a user to the API server.
#[derive(Debug, Default)]
pub struct Use {
    /// Successful ones.
    pub permissions: BTreeSet<Permission>,
    /// Forbidden ones.
    pub forbidden: BTreeSet<String>,
}

// === impl Permission ===

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)
    }
}

/// The permissions of each rule of the roles among these objects.
pub fn granted(objects: &[Value]) -> Vec<BTreeSet<Permission>> {
    let roles = objects
        .iter()
        .filter(|object| matches!(text(&object["kind"]), "ClusterRole" | "Role"));
    roles
        .flat_map(|role| role["rules"].as_array().into_iter().flatten())
        .map(of_rule)
        .collect()
}

fn of_rule(rule: &Value) -> BTreeSet<Permission> {
    let all = |key: &str| rule[key].as_array().cloned().unwrap_or_default();
    let mut permissions = BTreeSet::new();
    for group in all("apiGroups") {
        for resource in all("resources") {
            for verb in all("verbs") {
                permissions.insert(Permission {
                    group: text(&group).into(),
                    resource: text(&resource).into(),
                    verb: text(&verb).into(),
                });
            }
        }
    }
    permissions
}

/// The requests of this user so far.
pub fn used(cluster: &Cluster, user: &str) -> Result<Use> {
    let mut found = Use::default();
    for line in BufReader::new(File::open(cluster.audit_log())?).lines() {
        let line = line?;
        if !line.contains(user) {
            continue;
        }
        // The last line may be half written.
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if event["user"]["username"] == user {
            note(&mut found, &event);
        }
    }
    Ok(found)
}

fn note(found: &mut Use, event: &Value) {
    let (object, code) = (&event["objectRef"], &event["responseStatus"]["code"]);
    let (verb, resource) = (text(&event["verb"]), text(&object["resource"]));
    let resource = match text(&object["subresource"]) {
        "" => resource.to_string(),
        subresource => format!("{resource}/{subresource}"),
    };
    let permission = |verb: &str| Permission {
        group: text(&object["apiGroup"]).into(),
        resource: resource.clone(),
        verb: verb.into(),
    };
    if code == 403 && event["annotations"]["authorization.k8s.io/decision"] == "forbid" {
        found
            .forbidden
            .insert(format!("{} in {}", permission(verb), object["namespace"]));
        return;
    }
    // Which kinds and subresources there are: every authenticated user may ask that.
    if text(&event["requestURI"]) == "/api/v1" {
        return;
    }
    found.permissions.insert(permission(verb));
    // An apply that creates an object needs the permission to create it, too.
    if verb == "patch" && code == 201 {
        found.permissions.insert(permission("create"));
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The permissions in `some` that none of `others` has, as text.
pub fn beyond(some: &BTreeSet<Permission>, others: &[BTreeSet<Permission>]) -> Vec<String> {
    let rest = some
        .iter()
        .filter(|permission| !others.iter().any(|other| other.contains(permission)));
    rest.map(Permission::to_string).collect()
}
