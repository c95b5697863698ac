//! The label `deployment-version` of instance groups: the version of the desired manifest from which a group was last
//! changed. A new manifest that changes nothing about a group does not change its label either, so that it causes no
//! write. Pure.

use crate::deployment::plan::object::{is_same, is_stateful_set};
use boson_cluster::client::AnyObject;
use boson_cluster::objects;
use boson_cluster::objects::versioned;
use boson_manifest::labels;
use serde_json::Value;

/// Gives each group the label that it has now, so that it can be compared with what was written.
pub fn keep(wanted: &mut [Value], live: &[Value]) {
    for object in wanted.iter_mut().filter(|object| is_stateful_set(object)) {
        let found = live.iter().find(|found| is_same(found, object));
        let version = found.and_then(|found| found["metadata"]["labels"].get(labels::DEPLOYMENT_VERSION));
        set(object, version.cloned());
    }
}

/// Gives groups that change the present version. `desired`: name of the Secret with the desired manifest.
pub fn renew(wanted: &mut [Value], live: &[Value], desired: &str) {
    let Some((_, version)) = versioned::parts(desired) else {
        return;
    };
    for object in wanted.iter_mut().filter(|object| is_stateful_set(object)) {
        let found = live.iter().find(|found| is_same(found, object));
        let written = found.and_then(|found| found.annotation(objects::DIGEST));
        if written != Some(objects::digest(object).as_str()) {
            set(object, Some(version.to_string().into()));
        }
    }
}

fn set(object: &mut Value, version: Option<Value>) {
    let Some(all) = object["metadata"]["labels"].as_object_mut() else {
        return;
    };
    match version {
        Some(version) => all.insert(labels::DEPLOYMENT_VERSION.into(), version),
        None => all.remove(labels::DEPLOYMENT_VERSION),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn group(name: &str, image: &str) -> Value {
        json!({"kind": "QuarksStatefulSet", "metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"image": image}})
    }

    fn labelled(mut wanted: Vec<Value>, live: &[Value], desired: &str) -> Vec<Value> {
        keep(&mut wanted, live);
        renew(&mut wanted, live, desired);
        wanted
    }

    fn versions(objects: &[Value]) -> Vec<&str> {
        let label = |object: &'_ Value| object["metadata"]["labels"].get(labels::DEPLOYMENT_VERSION).cloned();
        let text = |version: Option<Value>| match version.as_ref().and_then(Value::as_str) {
            Some("1") => "1",
            Some("2") => "2",
            _ => "none",
        };
        objects.iter().map(|object| text(label(object))).collect()
    }

    #[test]
    fn only_groups_that_change_get_the_version_of_the_manifest() {
        let wanted = || vec![group("a", "1"), group("b", "1"), json!({"kind": "Service"})];
        let first = labelled(wanted(), &[], "d.desired-manifest-v1");
        assert_eq!(versions(&first), ["1", "1", "none"]);
        let live = objects::plan(first, &[]).apply;
        let mut changed = wanted();
        changed[1] = group("b", "2");
        let second = labelled(changed, &live, "d.desired-manifest-v2");
        assert_eq!(versions(&second), ["1", "2", "none"]);
        let plan = objects::plan(second, &live);
        assert_eq!(plan.apply.len(), 1, "{:?}", plan.apply);
        // Groups of an operator that set no label.
        let live = objects::plan(wanted(), &[]).apply;
        let same = labelled(wanted(), &live, "d.desired-manifest-v2");
        assert_eq!(versions(&same), ["none", "none", "none"]);
        assert!(objects::plan(same, &live).apply.is_empty());
    }
}
