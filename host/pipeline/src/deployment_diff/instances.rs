//! Which instances a change creates, restarts, resizes and deletes, in which order, and why. Pure: the same for files
//! and for a controller.

use super::{causes, shape};
use crate::convert::instance_files::{GroupFiles, InstanceFiles};
use crate::plain::stateful_set::is_delete_create;
use crate::pod_resources;
use boson_document::Tree;
use boson_manifest::names::label_value;
use boson_manifest::{labels, pod_contract};
use std::collections::{BTreeMap, BTreeSet};

/// A finished conversion, with objects of the operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side<'t> {
    pub objects: &'t [Tree],
    /// What the instances of each group render, in the order of the manifest.
    pub groups: &'t [GroupFiles],
}

/// What happens with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Only the new conversion has it.
    Create,
    /// Its pod is replaced.
    Restart,
    /// Its pod gets other CPU or memory: while it runs, where the cluster can resize pods. Otherwise it is replaced.
    Resize,
    /// Only the old conversion has it.
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceChange {
    pub group: String,
    /// `spec.az`.
    pub az: Option<String>,
    /// `spec.index`.
    pub index: u32,
    pub action: Action,
    /// Why it restarts or is resized.
    pub reasons: Vec<Reason>,
}

/// Why an instance restarts. Names only, no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Files of a job differ.
    Files {
        job: String,
        /// Below the directory of the job.
        files: Vec<String>,
        /// The properties, links and parts of `spec` of the job that differ, and so may be the cause.
        causes: Vec<String>,
    },
    /// Members of the pod template differ.
    Pod(Vec<String>),
    /// Amounts of CPU and memory differ, and nothing else of the pod template.
    Resources(Vec<String>),
    /// Claims of persistent disks differ.
    Disks(Vec<String>),
    /// Another instance differs, and the pods of a new version replace all.
    Group,
}

// === impl Action ===

impl Action {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Restart => "restart",
            Self::Resize => "resize",
            Self::Delete => "delete",
        }
    }
}

/// The instances that a change touches, in the order of the update: groups that are gone, then the groups of the new
/// manifest, each with its surplus instances first, then zone by zone.
pub(super) fn instances(old: Side<'_>, new: Side<'_>) -> Vec<InstanceChange> {
    let is_gone = |group: &&GroupFiles| find(new, &group.resolved.name).is_none();
    let groups = old.groups.iter().filter(is_gone).chain(new.groups);
    groups
        .flat_map(|group| of_group(old, new, &group.resolved.name))
        .collect()
}

fn find<'t>(side: Side<'t>, group: &str) -> Option<&'t GroupFiles> {
    side.groups.iter().find(|other| other.resolved.name == group)
}

/// What a pod keeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot<'t> {
    az: Option<&'t str>,
    /// The number of the instance in its zone.
    ordinal: usize,
}

struct Instance<'t> {
    group: &'t GroupFiles,
    /// Its number in the group.
    nth: usize,
    files: &'t InstanceFiles,
}

fn slots<'t>(side: Side<'t>, group: &str) -> BTreeMap<Slot<'t>, Instance<'t>> {
    let mut slots = BTreeMap::new();
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let Some(group) = find(side, group) else {
        return slots;
    };
    for (nth, files) in group.instances.iter().enumerate() {
        let az = files.az.as_deref();
        let count = counts.entry(az).or_default();
        slots.insert(Slot { az, ordinal: *count }, Instance { group, nth, files });
        *count += 1;
    }
    slots
}

fn of_group(old: Side<'_>, new: Side<'_>, group: &str) -> Vec<InstanceChange> {
    let (old_set, new_set) = (set_of(old, group), set_of(new, group));
    if old_set.is_none() && new_set.is_none() {
        // An errand has no instances that run.
        return Vec::new();
    }
    let (was, is) = (slots(old, group), slots(new, group));
    let change = |instance: &Instance<'_>, action, reasons| InstanceChange {
        group: group.to_string(),
        az: instance.files.az.clone(),
        index: instance.files.index,
        action,
        reasons,
    };
    let surplus = was.iter().filter(|(slot, _)| !is.contains_key(*slot));
    let mut surplus: Vec<_> = surplus
        .map(|(_, one)| change(one, Action::Delete, Vec::new()))
        .collect();
    surplus.sort_by_key(|one| std::cmp::Reverse(one.index));
    let of_shape = reasons_of_shape(old_set, new_set);
    let mut touched = Vec::new();
    for (slot, one) in &is {
        touched.push(match was.get(slot) {
            Some(before) => {
                let is_other_zone = place(old_set, slot.az) != place(new_set, slot.az);
                let reasons = reasons_of_files(before, one).into_iter();
                let reasons = reasons.chain(reason_of_place(before, one, is_other_zone));
                change(one, Action::Restart, reasons.chain(of_shape.clone()).collect())
            }
            None => change(one, Action::Create, Vec::new()),
        });
    }
    if new_set.is_some_and(|set| !is_updated_in_place(set)) {
        replace_all(&mut touched);
    }
    touched.retain(|one| one.action == Action::Create || !one.reasons.is_empty());
    for one in touched.iter_mut().filter(|one| keeps_its_pod(one)) {
        one.action = Action::Resize;
    }
    let first = is.values().min_by_key(|one| one.files.index);
    let bootstrap = first.and_then(|one| one.files.az.clone());
    touched.sort_by_key(|one| (one.az != bootstrap, one.az.clone(), one.index));
    surplus.into_iter().chain(touched).collect()
}

/// Whether a pod is told another zone or index. It has its index outside of its files, too.
fn reason_of_place(old: &Instance<'_>, new: &Instance<'_>, is_other_zone: bool) -> Option<Reason> {
    let member = if is_other_zone { "zone" } else { "spec.index" };
    let is_moved = is_other_zone || old.files.index != new.files.index;
    is_moved.then(|| Reason::Pod(vec![member.to_string()]))
}

/// Whether its pods are replaced one by one. Those of other groups belong to a version of the group.
fn is_updated_in_place(set: &Tree) -> bool {
    is_delete_create(set) || !template(set).items("volumeClaimTemplates").is_empty()
}

/// If a pod of a version is replaced, all are.
fn replace_all(instances: &mut [InstanceChange]) {
    let is_touched = |one: &InstanceChange| one.action == Action::Restart && is_replaced(one);
    if instances.iter().any(is_touched) {
        for one in instances.iter_mut().filter(|one| keeps_its_pod(one)) {
            one.reasons.push(Reason::Group);
        }
    }
}

/// Whether it restarts, and has no reason for another pod.
fn keeps_its_pod(one: &InstanceChange) -> bool {
    one.action == Action::Restart && !is_replaced(one)
}

/// Whether it has a reason for another pod.
fn is_replaced(one: &InstanceChange) -> bool {
    let mut reasons = one.reasons.iter();
    reasons.any(|reason| !matches!(reason, Reason::Resources(_)))
}

/// The QuarksStatefulSet of a group.
fn set_of<'t>(side: Side<'t>, group: &str) -> Option<&'t Tree> {
    let value = label_value(group);
    let is_of_group = |object: &&Tree| {
        let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
        object.str("kind") == Some("QuarksStatefulSet")
            && labels.and_then(|labels| labels.str(labels::INSTANCE_GROUP_NAME)) == Some(value.as_str())
    };
    side.objects.iter().find(is_of_group)
}

fn template(set: &Tree) -> &Tree {
    let spec = set.get("spec").and_then(|spec| spec.get("template")?.get("spec"));
    spec.unwrap_or(&Tree::Null)
}

/// The position of a zone, and where its nodes are.
fn place<'t>(set: Option<&'t Tree>, az: Option<&str>) -> Option<(usize, Option<&'t str>)> {
    let (spec, az) = (set?.get("spec")?, az?);
    let mut zones = spec.items("zones").iter();
    let value = spec.get("zoneValues").and_then(|values| values.str(az));
    Some((zones.position(|zone| zone.as_str() == Some(az))?, value))
}

fn reasons_of_shape(old: Option<&Tree>, new: Option<&Tree>) -> Vec<Reason> {
    let (Some(old), Some(new)) = (old, new) else {
        return Vec::new();
    };
    let pod = |set: &Tree| {
        let pod = template(set).get("template");
        let member = |name| pod.and_then(|pod| pod.get(name)).cloned().unwrap_or_default();
        let zones = set.get("spec").map_or(0, |spec| spec.items("zones").len());
        without_az_count(member("spec"), zones).with("metadata", without_tags(member("metadata")))
    };
    // Their size, labels and annotations replace no pod.
    let claim = |claim: &Tree| {
        let name = claim.get("metadata").and_then(|metadata| metadata.str("name"));
        Tree::object().with("name", name.unwrap_or_default())
    };
    let claims = |set: &Tree| {
        let claims = template(set).items("volumeClaimTemplates").iter().map(claim);
        Tree::object().with("claims", Tree::Array(claims.collect()))
    };
    let of = |members: BTreeSet<String>, reason: fn(Vec<String>) -> Reason| {
        (!members.is_empty()).then(|| reason(members.into_iter().collect()))
    };
    let (mut old_pod, mut new_pod) = (pod(old), pod(new));
    let mut members = shape::members(&old_pod, &new_pod);
    let amounts = pod_resources::take(&mut old_pod).zip(pod_resources::take(&mut new_pod));
    let reason = match amounts.filter(|_| old_pod == new_pod) {
        Some((old, new)) => {
            let of_running = shape::members(&old, &new);
            members.retain(|member| of_running.contains(member));
            Reason::Resources
        }
        None => Reason::Pod,
    };
    let pod = of(members, reason);
    let disks = of(shape::members(&claims(old), &claims(new)), Reason::Disks);
    pod.into_iter().chain(disks).collect()
}

/// Metadata of pods without what the operator sets on running pods, too: labels and tags of the manifest.
fn without_tags(mut metadata: Tree) -> Tree {
    for member in ["labels", "annotations"] {
        let Some(members) = metadata.as_object_mut() else { break };
        let Some(all) = members.get_mut(member).and_then(Tree::as_object_mut) else {
            continue;
        };
        all.retain(|key, _| key.contains(labels::GROUP));
        if all.is_empty() {
            members.shift_remove(member);
        }
    }
    metadata
}

/// The spec of pods without the number of zones, and the pod contract version that depends on it, in containers of the
/// operator: pods keep them. Any other container that has the variable gets the number.
fn without_az_count(mut pod: Tree, zones: usize) -> Tree {
    let is = |variable: &Tree, name: &str| variable.str("name") == Some(name);
    for list in ["initContainers", "containers"] {
        for container in pod.get_mut(list).and_then(Tree::as_array_mut).into_iter().flatten() {
            let Some(env) = container.get_mut("env").and_then(Tree::as_array_mut) else {
                continue;
            };
            if env.iter().any(|one| is(one, pod_contract::VERSION_VARIABLE)) {
                env.retain(|one| !is(one, pod_contract::VERSION_VARIABLE) && !is(one, pod_contract::AZ_COUNT_VARIABLE));
            } else if let Some(count) = env.iter_mut().find(|one| is(one, pod_contract::AZ_COUNT_VARIABLE)) {
                count.set("value", zones.to_string());
            }
        }
    }
    pod
}

fn reasons_of_files(old: &Instance<'_>, new: &Instance<'_>) -> Vec<Reason> {
    let (old_jobs, new_jobs) = (causes::jobs(old.group, old.nth), causes::jobs(new.group, new.nth));
    let (old, new) = (old.files, new.files);
    let paths: BTreeSet<&String> = old.files.keys().chain(new.files.keys()).collect();
    let mut by_job: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in paths
        .into_iter()
        .filter(|path| old.files.get(*path) != new.files.get(*path))
    {
        if let Some((job, file)) = path.split_once('/') {
            by_job.entry(job).or_default().push(file.to_string());
        }
    }
    let reason = |(job, files): (&str, Vec<String>)| Reason::Files {
        job: job.to_string(),
        files,
        causes: causes::between(old_jobs.get(job), new_jobs.get(job)),
    };
    by_job.into_iter().map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::ResolvedGroup;
    use boson_document::json::parse;

    /// A group with instances in these zones, each with a file of this digest.
    fn group(name: &str, instances: &[(&str, u8)]) -> GroupFiles {
        let instance = |(index, (az, digest)): (u32, &(&str, u8))| InstanceFiles {
            index,
            az: Some((*az).to_string()),
            files: [("app/config/a.yml".to_string(), [*digest; 32])].into(),
        };
        GroupFiles {
            resolved: ResolvedGroup {
                name: name.into(),
                document: Tree::object(),
            },
            instances: (0..).zip(instances).map(instance).collect(),
        }
    }

    fn set(group: &str, image: &str, claims: &str) -> Tree {
        parse(&format!(
            r#"{{"kind": "QuarksStatefulSet", "metadata": {{"labels": {{"{}": "{group}"}}}}, "spec": {{"template": {{"spec":
                {{"volumeClaimTemplates": {claims}, "template": {{"spec": {{"image": "{image}"}}}}}}}}}}}}"#,
            labels::INSTANCE_GROUP_NAME
        ))
        .unwrap()
    }

    fn side<'t>(objects: &'t [Tree], groups: &'t [GroupFiles]) -> Side<'t> {
        Side { objects, groups }
    }

    fn found(old: Side<'_>, new: Side<'_>) -> Vec<String> {
        let found = instances(old, new).into_iter();
        let text = |one: InstanceChange| {
            let az = one.az.unwrap_or_default();
            let kinds = one.reasons.iter().map(|reason| match reason {
                Reason::Files { files, .. } => files.join(","),
                Reason::Pod(members) | Reason::Resources(members) | Reason::Disks(members) => members.join(","),
                Reason::Group => "group".into(),
            });
            let kinds: Vec<String> = kinds.collect();
            format!(
                "{} {}/{} {az} {}",
                one.action.name(),
                one.group,
                one.index,
                kinds.join(" ")
            )
        };
        found.map(text).collect()
    }

    const DISK: &str = r#"[{"metadata": {"name": "data"}}]"#;

    #[test]
    fn zones_follow_that_of_the_bootstrap_instance() {
        let sets = [set("db", "a", DISK)];
        let old = [group("db", &[("z2", 1), ("z1", 1), ("z3", 1), ("z2", 1), ("z1", 1)])];
        let new = [group("db", &[("z2", 1), ("z1", 2), ("z3", 2), ("z2", 2)])];
        let wanted = [
            "delete db/4 z1 ",
            "restart db/3 z2 config/a.yml",
            "restart db/1 z1 config/a.yml",
            "restart db/2 z3 config/a.yml",
        ];
        assert_eq!(found(side(&sets, &old), side(&sets, &new)), wanted);
        assert!(found(side(&sets, &old), side(&sets, &old)).is_empty());
    }

    #[test]
    fn another_zone_at_the_end_restarts_only_instances_whose_index_differs() {
        let set = |zones: &str, contract: u8| {
            let count = parse(zones).unwrap().as_array().unwrap().len();
            let env = format!(
                r#"[{{"name": "{}", "value": "{contract}"}}, {{"name": "{}", "value": "{count}"}}]"#,
                pod_contract::VERSION_VARIABLE,
                pod_contract::AZ_COUNT_VARIABLE
            );
            let mut set = set("db", "a", DISK);
            set.get_mut("spec").unwrap().set("zones", parse(zones).unwrap());
            let template = ["spec", "template", "spec", "template", "spec"];
            let pod = template
                .iter()
                .fold(&mut set, |tree, member| tree.get_mut(member).unwrap());
            let renderer = format!(r#"[{{"name": "template-render", "env": {env}}}]"#);
            pod.set("initContainers", parse(&renderer).unwrap());
            [set]
        };
        let one = (set(r#"["z1"]"#, 2), [group("db", &[("z1", 1), ("z1", 1)])]);
        let two = (
            set(r#"["z1", "z2"]"#, 5),
            [group("db", &[("z1", 1), ("z2", 1), ("z1", 1)])],
        );
        let swapped = (set(r#"["z2", "z1"]"#, 5), [group("db", &[("z2", 1), ("z1", 1)])]);
        let found = |old: &([Tree; 1], [GroupFiles; 1]), new: &([Tree; 1], [GroupFiles; 1])| {
            found(side(&old.0, &old.1), side(&new.0, &new.1))
        };
        assert_eq!(found(&one, &two), ["restart db/2 z1 spec.index", "create db/1 z2 "]);
        assert_eq!(found(&two, &one), ["delete db/1 z2 ", "restart db/1 z1 spec.index"]);
        let wanted = ["delete db/2 z1 ", "restart db/0 z2 zone", "restart db/1 z1 zone"];
        assert_eq!(found(&two, &swapped), wanted);
    }

    #[test]
    fn a_group_is_replaced_as_a_whole_and_groups_that_are_gone_come_first() {
        let old_sets = [set("web", "a", "[]"), set("gone", "a", "[]"), set("db", "a", DISK)];
        let old = [
            group("web", &[("z1", 1), ("z1", 1)]),
            group("gone", &[("z1", 1)]),
            group("db", &[("z1", 1)]),
        ];
        let new_sets = [
            set("web", "a", "[]"),
            set("db", "b", r#"[{"metadata": {"name": "other"}}]"#),
        ];
        let new = [
            group("web", &[("z1", 1), ("z1", 2), ("z1", 1)]),
            group("db", &[("z1", 1)]),
        ];
        let wanted = [
            "delete gone/0 z1 ",
            "restart web/0 z1 group",
            "restart web/1 z1 config/a.yml",
            "create web/2 z1 ",
            "restart db/0 z1 image claims[data],claims[other]",
        ];
        assert_eq!(found(side(&old_sets, &old), side(&new_sets, &new)), wanted);
    }

    #[test]
    fn with_delete_create_only_instances_whose_files_differ_are_replaced() {
        let mut web = set("web", "a", "[]");
        let annotations = Tree::object().with(labels::VM_STRATEGY, labels::DELETE_CREATE);
        let metadata = Tree::object().with("annotations", annotations);
        let template = web.get_mut("spec").and_then(|spec| spec.get_mut("template")).unwrap();
        template.set("metadata", metadata);
        let (old, new) = (
            [group("web", &[("z1", 1), ("z1", 1)])],
            [group("web", &[("z1", 1), ("z1", 2)])],
        );
        let sets = [web];
        assert_eq!(
            found(side(&sets, &old), side(&sets, &new)),
            ["restart web/1 z1 config/a.yml"]
        );
    }

    #[test]
    fn other_amounts_of_memory_resize_pods_unless_something_else_replaces_them() {
        let of = |memory: &str, image: &str| {
            let mut web = set("web", "a", "[]");
            let path = ["spec", "template", "spec", "template", "spec"];
            let pod = path.iter().fold(&mut web, |tree, member| tree.get_mut(member).unwrap());
            let container = format!(
                r#"[{{"name": "c", "image": "{image}", "resources": {{"limits": {{"memory": "{memory}"}}}}}}]"#
            );
            pod.set("containers", parse(&container).unwrap());
            [web]
        };
        let changed = |old: &[u8], new: &[u8], to: &[Tree]| {
            let group = |digests: &[u8]| {
                let instances: Vec<(&str, u8)> = digests.iter().map(|digest| ("z1", *digest)).collect();
                [group("web", &instances)]
            };
            found(side(&of("1Gi", "x"), &group(old)), side(to, &group(new)))
        };
        let member = "containers[c].resources.limits.memory";
        assert_eq!(
            changed(&[1, 1], &[1, 1], &of("2Gi", "x")),
            [format!("resize web/0 z1 {member}"), format!("resize web/1 z1 {member}")]
        );
        assert_eq!(
            changed(&[1, 1], &[1, 2], &of("2Gi", "x")),
            [
                format!("restart web/0 z1 {member} group"),
                format!("restart web/1 z1 config/a.yml {member}")
            ]
        );
        let both = format!("restart web/0 z1 containers[c].image,{member}");
        assert_eq!(changed(&[1], &[1], &of("2Gi", "y")), [both]);
    }

    #[test]
    fn more_instances_tags_and_a_larger_disk_restart_nothing() {
        let web = |labels: &str| {
            let mut web = set("web", "a", "[]");
            let template = ["spec", "template", "spec", "template"];
            let pods = template
                .iter()
                .fold(&mut web, |tree, member| tree.get_mut(member).unwrap());
            pods.set("metadata", Tree::object().with("labels", parse(labels).unwrap()));
            web
        };
        let old_sets = [
            web(r#"{"tier":"web"}"#),
            set("db", "a", r#"[{"metadata": {"name": "data"}, "spec": {"size": 1}}]"#),
        ];
        let new_sets = [
            web(r#"{"tier":"other"}"#),
            set("db", "a", r#"[{"metadata": {"name": "data"}, "spec": {"size": 2}}]"#),
        ];
        let old = [group("web", &[("z1", 1)]), group("db", &[("z1", 1)])];
        let mut new = [group("web", &[("z1", 1), ("z1", 1)]), group("db", &[("z1", 1)])];
        new[0].resolved.document = Tree::object().with("instances", Tree::from(2_i64));
        assert_eq!(
            found(side(&old_sets, &old), side(&new_sets, &new)),
            ["create web/1 z1 "]
        );
    }
}
