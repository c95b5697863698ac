//! Which instance groups are updated before others, by `update.serial`. Pure.
//!
//! As in BOSH, a serial group is updated after all groups before it, and is a barrier: the groups after it follow when
//! it is done. Only what is written counts. By BOSH's default, all groups would wait for each other.

use crate::deployment::plan::object;
use boson_cluster::client::AnyObject;
use boson_document::Tree;
use boson_manifest::group::InstanceGroup;
use boson_manifest::labels;
use boson_manifest::names::label_value;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The groups that are updated before a group, by its label.
pub type UpdateAfter = BTreeMap<String, Vec<String>>;

/// The order of the groups of a manifest. Groups that wait for none are left out.
pub fn update_after(manifest: &Tree) -> UpdateAfter {
    let serial = |tree: &Tree| tree.get("update")?.get("serial")?.as_bool();
    let of_all = serial(manifest);
    let (mut before, mut barrier, mut all) = (Vec::new(), 0, UpdateAfter::new());
    for group in InstanceGroup::all(manifest).filter(InstanceGroup::is_service) {
        let name = label_value(&group.name);
        let serial = serial(group.tree).or(of_all);
        let awaited = match serial {
            Some(true) => before.len(),
            Some(false) => barrier,
            None => 0,
        };
        let awaited: Vec<String> = before.iter().take(awaited).cloned().collect();
        before.push(name.clone());
        if serial == Some(true) {
            barrier = before.len();
        }
        if !awaited.is_empty() {
            all.insert(name, awaited);
        }
    }
    all
}

/// Tells each QuarksStatefulSet its groups.
pub fn annotate(order: &UpdateAfter, objects: &mut [Value]) {
    for object in objects.iter_mut().filter(|object| object::is_stateful_set(object)) {
        if let Some(groups) = order.get(object::group(object)) {
            object.set_annotation(labels::UPDATE_AFTER, Some(&json!(groups).to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    /// `s`: a serial group, `p`: one that is not, neither: without the key; `e`: an errand.
    fn order(groups: &str, of_all: &str) -> String {
        let group = |name: &str| {
            let serial = match name {
                name if name.contains('s') => r#""update": {"serial": true},"#,
                name if name.contains('p') => r#""update": {"serial": false},"#,
                _ => "",
            };
            let lifecycle = if name.contains('e') { "errand" } else { "service" };
            format!(r#"{{"name": "{name}", {serial} "lifecycle": "{lifecycle}"}}"#)
        };
        let groups: Vec<String> = groups.split(' ').map(group).collect();
        let manifest = format!(r#"{{{of_all} "instance_groups": [{}]}}"#, groups.join(","));
        let order = update_after(&parse(&manifest).unwrap());
        let text = |(name, after): (String, Vec<String>)| format!("{name}:{}", after.join("+"));
        order.into_iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_serial_group_is_updated_after_those_before_it_and_before_those_after_it() {
        for (groups, of_all, expected) in [
            ("a b c", "", ""),
            ("a bs c", "", "bs:a"),
            ("ap bp cs dp fp", "", "cs:ap+bp dp:ap+bp+cs fp:ap+bp+cs"),
            ("a b", r#""update": {"serial": true},"#, "b:a"),
            ("as es bs", "", "bs:as"),
            ("ap bs", r#""update": {"serial": true},"#, "bs:ap"),
        ] {
            assert_eq!(order(groups, of_all), expected, "{groups}");
        }
    }
}
