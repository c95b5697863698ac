//! Dry runs: whether writing an object again, or removing an addition, would change it at all. If mutating admission
//! changes what we write, it would not, and repeating the write would be useless.

use super::Addition;
use crate::client::{AnyObject, Cluster, Error, Events, FieldManager, Notice};
use kube::Resource;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reason of the events about removed additions.
const REMOVED_REASON: &str = "ChangeRemoved";

/// An object with the digest of the last write that differs from it nevertheless.
#[derive(Clone, Debug)]
pub struct Drifted {
    /// The object as written.
    pub wanted: Value,
    /// The object on the server.
    pub live: Value,
}

/// Additions by others to an object of ours.
#[derive(Clone, Debug)]
pub struct AddedByOthers {
    /// The object on the server.
    pub live: Value,
    pub additions: Vec<Addition>,
}

/// Finds the objects that another write would not change, and replaces them in `live` by the wanted ones, so that a
/// plan leaves them alone. Returns whether there were any.
///
/// # Errors
/// A call that failed. A refusal is no error here: the write reports it later.
pub async fn skip_unchangeable(
    cluster: &Cluster,
    manager: FieldManager,
    drifted: &[Drifted],
    live: &mut [Value],
) -> Result<bool, Error> {
    let mut any = false;
    for Drifted { wanted, live: found } in drifted {
        match cluster.try_any(manager, wanted).await {
            Ok(result) if is_same(&result, found) => {
                let same = |one: &&mut Value| one.uid() == found.uid();
                live.iter_mut().filter(same).for_each(|one| one.overlay(wanted));
                any = true;
            }
            Ok(_) => {}
            Err(error) if error.is_lasting() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(any)
}

/// Removes additions by others, unless admission would add them again or the API server refuses. Emits an event about
/// `owner` for each changed object, at once: no later reconcile would know of it. Returns whether any was changed.
///
/// # Errors
/// A call that failed.
pub async fn remove<K>(events: &Events, owner: &K, changed: &[AddedByOthers]) -> Result<bool, Error>
where
    K: Resource<DynamicType = ()>,
{
    let (cluster, manager) = (events.cluster(), events.controller());
    let mut any = false;
    for AddedByOthers { live, additions } in changed {
        let pointers: Vec<String> = additions.iter().map(Addition::pointer).collect();
        match cluster.remove_any(manager, live, &pointers, true).await {
            Ok(tried) if is_same(&tried, live) => continue,
            Ok(_) => {}
            // Another field refers to it.
            Err(error) if error.is_lasting() => {
                tracing::warn!(%error, "cannot remove a change by others");
                continue;
            }
            Err(error) => return Err(error),
        }
        cluster.remove_any(manager, live, &pointers, false).await?;
        let target = live.target()?;
        let additions: Vec<String> = additions.iter().map(ToString::to_string).collect();
        let note = format!(
            "removed from {} '{}': {}",
            target.resource.kind,
            target.name,
            additions.join(", ")
        );
        tracing::info!(reason = REMOVED_REASON, "{note}");
        events.emit_all(owner, &[Notice::warning(REMOVED_REASON, note)]).await;
        any = true;
    }
    Ok(any)
}

/// Whether both are the same, except for server-managed metadata and status.
fn is_same(one: &Value, other: &Value) -> bool {
    // As maps: the answer has the members in another order.
    let content = |object: &'_ Value| -> BTreeMap<String, Value> {
        let members = object.content();
        members.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    one.marks() == other.marks() && content(one) == content(other)
}

#[cfg(test)]
mod tests {
    use super::super::{Foreign, holds};
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_that_comes_back_as_it_is_counts_as_written() {
        let wanted = json!({"kind": "K", "metadata": {"name": "a", "annotations": {"d": "1"}}, "spec": {"image": "i"}});
        let live = json!({"kind": "K",
            "metadata": {"name": "a", "uid": "u", "generation": 1, "annotations": {"d": "1"}, "managedFields": [
                {"manager": "x", "fieldsV1": {"f:spec": {"f:list": {}}}}]},
            "spec": {"image": "mirror/i", "list": [1]}, "status": {"ready": 1}});
        let mut result = live.clone();
        result["status"] = Value::Null;
        result["metadata"]["generation"] = 2.into();
        assert!(is_same(&result, &live));
        let mut members: Vec<_> = result.as_object().unwrap().clone().into_iter().collect();
        members.reverse();
        assert!(is_same(&members.into_iter().collect(), &live), "in any order");
        result["spec"]["image"] = "i".into();
        assert!(!is_same(&result, &live));
        let mut noted = live.clone();
        noted.overlay(&wanted);
        assert!(holds(&noted, &wanted) && !Foreign::of(&noted, &wanted).changed);
        assert_eq!(noted["metadata"]["uid"], "u");
    }
}
