//! What only the API server knows of a difference: whether writing the object again, or removing what somebody added, would change it at all.
//! Where mutating admission changes what we write, it would not, and doing it again and again would be of no use.

use super::Addition;
use crate::client::{Cluster, Error, FieldManager};
use serde_json::{Map, Value};

/// Reason of the events about what was removed.
pub(crate) const REMOVED: &str = "ChangeRemoved";

/// An object that is as it was written last, by its digest, and differs from that all the same.
#[derive(Clone, Debug)]
pub(crate) struct Drifted {
    pub wanted: Value,
    pub live: Value,
}

/// What others added to an object of ours.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    pub live: Value,
    pub additions: Vec<Addition>,
}

/// Finds the objects that writing again would leave as they are. In `live` they become what is wanted, so that a plan made from it leaves them
/// alone. Whether there were any.
///
/// # Errors
/// A call that failed. A refusal is none: it comes with its reason when the object is written.
pub(crate) async fn settle(
    cluster: &Cluster,
    manager: FieldManager,
    drifted: &[Drifted],
    live: &mut [Value],
) -> Result<bool, Error> {
    let mut any = false;
    for Drifted { wanted, live: found } in drifted {
        match cluster.try_any(manager, wanted).await {
            Ok(result) if is_same(&result, found) => {
                let same = |one: &&mut Value| one["metadata"]["uid"] == found["metadata"]["uid"];
                live.iter_mut().filter(same).for_each(|one| overlay(one, wanted));
                any = true;
            }
            Ok(_) => {}
            Err(error) if error.is_lasting() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(any)
}

/// Removes what others added, but for what admission would add again, or what the API server holds on to. A sentence about each object that was changed.
///
/// # Errors
/// A call that failed.
pub(crate) async fn remove(cluster: &Cluster, manager: FieldManager, excess: &[Excess]) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for Excess { live, additions } in excess {
        let pointers: Vec<String> = additions.iter().map(Addition::pointer).collect();
        match cluster.remove_any(manager, live, &pointers, true).await {
            Ok(tried) if is_same(&tried, live) => continue,
            Ok(_) => {}
            // Something that stays refers to it.
            Err(error) if error.is_lasting() => {
                tracing::warn!(%error, "an addition of somebody else's cannot be removed");
                continue;
            }
            Err(error) => return Err(error),
        }
        cluster.remove_any(manager, live, &pointers, false).await?;
        let (kind, name) = (text(&live["kind"]), text(&live["metadata"]["name"]));
        let additions: Vec<String> = additions.iter().map(ToString::to_string).collect();
        removed.push(format!("removed from {kind} '{name}': {}", additions.join(", ")));
    }
    Ok(removed)
}

/// Whether the server gave back what it has: all but bookkeeping and status.
fn is_same(one: &Value, other: &Value) -> bool {
    let metadata = |object: &Value| {
        ["labels", "annotations", "ownerReferences", "finalizers"].map(|key| object["metadata"][key].clone())
    };
    // Not as lists: the members of an answer come in another order than those of a list.
    let content = |object: &Value| -> Map<String, Value> {
        let members = object.as_object().into_iter().flatten();
        let members = members.filter(|(key, _)| !["metadata", "status"].contains(&key.as_str()));
        members.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    metadata(one) == metadata(other) && content(one) == content(other)
}

fn overlay(live: &mut Value, wanted: &Value) {
    for (key, value) in wanted.as_object().into_iter().flatten() {
        if key != "metadata" {
            live[key] = value.clone();
        }
    }
    for key in ["labels", "annotations"] {
        for (name, value) in wanted["metadata"][key].as_object().into_iter().flatten() {
            live["metadata"][key][name] = value.clone();
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
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
        overlay(&mut noted, &wanted);
        assert!(holds(&noted, &wanted) && !Foreign::of(&noted, &wanted).changed);
        assert_eq!(noted["metadata"]["uid"], "u");
    }
}
