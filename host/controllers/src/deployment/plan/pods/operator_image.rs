//! Pods keep the operator image that they were created with until something else changes them: an upgrade of the
//! operator restarts no pod. If configured to, the operator rolls one instance group of a deployment at a time. In the
//! same way pods keep how they get their job sources: see [`init_containers`]. Pure.

use super::init_containers;
use super::job_sources::JobSources;
use crate::deployment::plan::object::{self, PODS, containers, is_same, is_stateful_set};
use crate::{instance_revisions, resources};
use boson_api::OutdatedGroup;
use boson_cluster::client::AnyObject;
use boson_cluster::objects;
use boson_manifest::pod_contract;
use serde_json::Value;

/// An object whose pods would get a newer operator image or other init containers if they were created now, and no
/// other change.
struct Outdated {
    /// Its index among the wanted objects.
    at: usize,
    /// The wanted object, as its pods are now.
    kept: Value,
    /// Whether it is a service. An errand that has ended does not run again for a new image.
    runs: bool,
    /// Its group, if the image is older.
    group: Option<OutdatedGroup>,
}

/// How the pods of a deployment start.
pub struct Pods<'a> {
    /// The operator's own image.
    pub image: &'a str,
    /// The job sources of its groups.
    pub sources: &'a JobSources,
    /// Names of the ConfigMaps with job sources that exist.
    pub existing: &'a [String],
    /// Whether one group may get the operator's image now.
    pub may_roll: bool,
}

/// Which groups have an older image.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Groups that keep theirs.
    pub outdated: Vec<OutdatedGroup>,
    /// The group that gets the operator's image.
    pub rolls: Option<String>,
}

/// Gives pods their job sources. Keeps the old operator image, and the way to get job sources, in objects that would
/// change only in them, except for one that may roll now.
pub fn keep(wanted: &mut [Value], live: &[Value], pods: &Pods<'_>) -> Images {
    let long = wanted.to_vec();
    for object in wanted.iter_mut() {
        if let Some(name) = pods.sources.of(object) {
            init_containers::replace_copiers(object, name);
        }
    }
    let forms = wanted.iter().zip(&long).enumerate();
    let outdated = forms.filter_map(|(at, (new, long))| outdated(at, new, long, live, pods));
    let mut outdated: Vec<Outdated> = outdated.collect();
    let mut images = Images::default();
    let first = outdated.iter().position(|one| one.runs && one.group.is_some());
    if let Some(first) = first.filter(|_| pods.may_roll && are_all_ready(live)) {
        images.rolls = outdated.remove(first).group.map(|group| group.name);
    }
    for one in outdated {
        if let Some(object) = wanted.get_mut(one.at) {
            *object = one.kept;
        }
        images.outdated.extend(one.group.filter(|_| one.runs));
    }
    images
}

/// Whether the pods of all instance groups are ready.
fn are_all_ready(live: &[Value]) -> bool {
    let mut sets = live.iter().filter(|object| is_stateful_set(object));
    sets.all(|set| {
        set["status"]["ready"] == true && set["status"]["observedGeneration"] == set["metadata"]["generation"]
    })
}

/// What the pods of an object keep, if anything. `new`: the object as new pods are created; `long`: with containers
/// that copy job sources.
fn outdated(at: usize, new: &Value, long: &Value, live: &[Value], pods: &Pods<'_>) -> Option<Outdated> {
    let found = live.iter().find(|found| is_same(found, new))?;
    if !starts_pods(new) {
        return None;
    }
    for (nth, mut kept) in forms(new, long, found, pods.existing).into_iter().enumerate() {
        let old = keep_image(&mut kept, found, pods.image);
        let is_earlier = !is_written(found, &kept) && !keeps_pods(found, &kept);
        if is_earlier {
            // By an operator of before there were revisions.
            instance_revisions::remove(&mut kept);
            if !is_written(found, &kept) {
                continue;
            }
        }
        return (nth > 0 || is_earlier || old.is_some()).then(|| Outdated {
            at,
            kept,
            runs: is_stateful_set(new),
            group: old.map(|image| OutdatedGroup {
                name: object::group(new).to_string(),
                image,
            }),
        });
    }
    None
}

/// An object with all init containers that its pods may have, the preferred ones first. `found`: the existing object;
/// `sources`: names of the ConfigMaps with job sources that exist.
fn forms(new: &Value, long: &Value, found: &Value, sources: &[String]) -> Vec<Value> {
    let mut all = vec![new.clone(), long.clone()];
    // Sources that an earlier version of the operator stored in another way, or that no longer fit into the Secret.
    let present = init_containers::mounted(found).filter(|name| sources.iter().any(|known| known == name));
    let mut short = long.clone();
    if present.is_some_and(|name| init_containers::replace_copiers(&mut short, name)) {
        all.push(short);
    }
    all
}

/// Whether an object was written last in this form.
fn is_written(found: &Value, form: &Value) -> bool {
    found.annotation(objects::DIGEST) == Some(objects::digest(form).as_str())
}

/// Whether what was written and this form differ at most in what replaces no pod, such as the number of instances or
/// zones at the end. Other CPU or memory does where the cluster cannot resize pods, and keeps the image even there.
fn keeps_pods(found: &Value, form: &Value) -> bool {
    let (found, form) = (&found["spec"], &form["spec"]);
    let revisions = |spec| instance_revisions::of_spec(spec);
    let agree = revisions(found)
        .zip(revisions(form))
        .map(|(found, form)| instance_revisions::agree(&found, &form));
    let shapes = |spec: &Value| {
        let mut spec = spec.clone();
        resources::take(&mut spec);
        instance_revisions::shapes(&spec)
    };
    let (found, form) = (shapes(found), shapes(form));
    agree == Some(true) && found.iter().zip(&form).all(|(found, form)| found == form)
}

/// Whether a change of its template starts new pods. A manual errand gets the new image with its next run.
fn starts_pods(object: &Value) -> bool {
    match object.kind() {
        Some(object::STATEFUL_SET) => true,
        Some(object::JOB) => object["spec"]["updateOnConfigChange"] == true,
        _ => false,
    }
}

/// Gives the containers of `object` that run the operator image the images that they have in `found`, with the pod
/// contract versions that they were made for; not where other zones need a later version, which an older image may not
/// serve. Returns the first image that differs.
fn keep_image(object: &mut Value, found: &Value, image: &str) -> Option<String> {
    let mut old = None;
    let has_other_zones = object["spec"]["zones"] != found["spec"]["zones"];
    for list in ["initContainers", "containers"] {
        let own = object.pointer_mut(PODS).and_then(|pods| pods[list].as_array_mut());
        for container in own.into_iter().flatten() {
            if !runs_operator_image(container, image) {
                continue;
            }
            let Some(there) = containers(found, list).find(|there| there["name"] == container["name"]) else {
                continue;
            };
            if has_other_zones && pod_contract_version(container) > pod_contract_version(there) {
                continue;
            }
            if let Some(other) = there["image"].as_str().filter(|other| container["image"] != *other) {
                old.get_or_insert_with(|| other.to_string());
                container["image"] = other.into();
                keep_pod_contract(container, there);
            }
        }
    }
    old
}

/// The pod contract version that a container was made for.
fn pod_contract_version(container: &Value) -> Option<u32> {
    version_variable(container)?["value"].as_str()?.parse().ok()
}

fn version_variable(container: &Value) -> Option<&Value> {
    let mut env = container["env"].as_array()?.iter();
    env.find(|one| one["name"] == pod_contract::VERSION_VARIABLE)
}

fn keep_pod_contract(container: &mut Value, there: &Value) {
    let Some(old) = version_variable(there) else { return };
    let mut env = container["env"].as_array_mut().into_iter().flatten();
    if let Some(version) = env.find(|one| one["name"] == pod_contract::VERSION_VARIABLE) {
        version.clone_from(old);
    }
}

/// Recognized by its command, too: a plugin of the stage resources may have set a mirror.
fn runs_operator_image(container: &Value, image: &str) -> bool {
    let command = container["command"].as_array();
    let util =
        command.is_some_and(|words| matches!(words.as_slice(), [host, util, ..] if host == "host" && util == "util"));
    util || container["image"] == image
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::{container_run, copier, labels};
    use serde_json::json;

    fn object(kind: &str, image: &str, command: &str) -> Value {
        let containers = json!([{"name": "app", "image": "release:1", "command": [command]}]);
        let init = json!([{"name": "copier", "image": "release:1"}, {"name": "template-render", "image": image}]);
        json!({
            "kind": kind, "metadata": {"name": "d-web", "labels": {labels::INSTANCE_GROUP_NAME: "web"}},
            "spec": {"updateOnConfigChange": true,
                "template": {"spec": {"template": {"spec": {"initContainers": init, "containers": containers}}}}}
        })
    }

    fn with_revisions(mut object: Value, revisions: &str, replicas: u32) -> Value {
        let pods = object.pointer_mut("/spec/template/spec/template").unwrap();
        pods["metadata"] =
            json!({"annotations": {labels::INSTANCE_REVISIONS: revisions, labels::RENDERED_AS: "d.bpm.web-v1"}});
        object["spec"]["template"]["spec"]["replicas"] = replicas.into();
        object
    }

    #[test]
    fn a_change_that_restarts_no_instance_leaves_the_image() {
        let of =
            |image, revisions, replicas| with_revisions(object("QuarksStatefulSet", image, "run"), revisions, replicas);
        let live = stored(of("host:1", r#"{"":["1"]}"#, 1));
        let scaled = of("host:2", r#"{"":["1","2"]}"#, 2);
        let kept_image = of("host:1", r#"{"":["1","2"]}"#, 2);
        assert_eq!(kept(&scaled, &live), [("host:1".to_string(), kept_image)]);
        assert_eq!(kept(&of("host:2", r#"{"":["2"]}"#, 1), &live), [], "its files differ");
    }

    #[test]
    fn another_zone_leaves_the_image_if_it_serves_what_that_zone_needs() {
        let of = |image, zones: &[&str], version: &str| {
            let mut object = with_revisions(object("QuarksStatefulSet", image, "run"), r#"{"a":["1"]}"#, 1);
            object["spec"]["zones"] = json!(zones);
            object.pointer_mut(PODS).unwrap()["initContainers"][1]["env"] = json!([
                {"name": pod_contract::VERSION_VARIABLE, "value": version},
                {"name": pod_contract::AZ_COUNT_VARIABLE, "value": zones.len().to_string()}
            ]);
            object
        };
        let more = of("host:2", &["a", "b", "c"], "5");
        assert_eq!(
            kept(&more, &stored(of("host:1", &["a", "b"], "5"))),
            [("host:1".to_string(), of("host:1", &["a", "b", "c"], "5"))]
        );
        assert_eq!(kept(&more, &stored(of("host:1", &["a"], "2"))), []);
        assert_eq!(
            kept(&more, &stored(of("host:1", &["b", "a"], "5"))),
            [],
            "in another order"
        );
    }

    #[test]
    fn pods_of_an_operator_without_revisions_get_them_with_another_change() {
        let old = object("QuarksStatefulSet", "host:1", "run");
        let new = |command| {
            let mut new = object("QuarksStatefulSet", "host:2", command);
            new.pointer_mut("/spec/template/spec/template").unwrap()["metadata"] =
                json!({"annotations": {labels::INSTANCE_REVISIONS: r#"{"":["1"]}"#}});
            new["metadata"]["annotations"] = json!({labels::UPDATE_AFTER: r#"["db"]"#});
            new
        };
        let mut live = old.clone();
        live.pointer_mut("/spec/template/spec/template").unwrap()["metadata"] = json!({});
        assert_eq!(
            kept(&new("run"), &stored(live.clone())),
            [("host:1".to_string(), live.clone())]
        );
        assert_eq!(kept(&new("run --more"), &stored(live)), []);
    }

    fn stored(object: Value) -> Value {
        let mut live = objects::plan(vec![object], &[]).apply.remove(0);
        live["metadata"]["generation"] = 3.into();
        live["status"] = json!({"ready": true, "observedGeneration": 3});
        live
    }

    fn outdated_with(new: &Value, long: &Value, live: &Value, existing: &[String]) -> Option<Outdated> {
        let pods = Pods {
            image: "host:2",
            sources: &JobSources::default(),
            existing,
            may_roll: false,
        };
        outdated(0, new, long, std::slice::from_ref(live), &pods)
    }

    fn kept(wanted: &Value, live: &Value) -> Vec<(String, Value)> {
        let outdated = outdated_with(wanted, wanted, live, &[]);
        let image = |group: Option<OutdatedGroup>| group.map_or_else(String::new, |group| group.image);
        outdated.into_iter().map(|one| (image(one.group), one.kept)).collect()
    }

    #[test]
    fn objects_that_differ_by_the_operators_image_only_keep_it() {
        for kind in ["QuarksStatefulSet", "QuarksJob"] {
            let old = object(kind, "host:1", "run");
            let live = stored(old.clone());
            assert_eq!(
                kept(&object(kind, "host:2", "run"), &live),
                [("host:1".to_string(), old)]
            );
            assert_eq!(
                kept(&object(kind, "host:2", "run --more"), &live),
                [],
                "it rolls for another reason"
            );
        }
        let new = object("QuarksStatefulSet", "host:2", "run");
        assert_eq!(kept(&new, &stored(new.clone())), []);
        let by_hand = |image| {
            let mut errand = object("QuarksJob", image, "run");
            errand["spec"]["updateOnConfigChange"] = false.into();
            errand
        };
        assert_eq!(kept(&by_hand("host:2"), &stored(by_hand("host:1"))), []);
    }

    #[test]
    fn pods_that_keep_an_image_keep_the_pod_contract_version_that_it_serves() {
        let with = |image: &str, version: &str, command: &str| {
            let mut object = object("QuarksStatefulSet", image, command);
            let renderer = object
                .pointer_mut(PODS)
                .unwrap()
                .pointer_mut("/initContainers/1")
                .unwrap();
            let contract = json!({"name": pod_contract::VERSION_VARIABLE, "value": version});
            renderer["env"] = json!([{"name": "A", "value": "1"}, contract]);
            object
        };
        let (old, new) = (with("host:1", "2", "run"), with("host:2", "5", "run"));
        assert_eq!(kept(&new, &stored(old.clone())), [("host:1".to_string(), old.clone())]);
        assert_eq!(kept(&with("host:2", "5", "run --more"), &stored(old)), []);
        assert_eq!(
            kept(&new, &stored(with("host:2", "2", "run"))),
            [],
            "the same image serves both"
        );
    }

    /// With init containers that copy job sources.
    fn copying(image: &str, command: &str) -> Value {
        let mut object = object("QuarksStatefulSet", image, command);
        let install = json!({"name": "container-run-copier", "image": image, "command": container_run::install()});
        let copier =
            json!({"name": "spec-copier-r", "image": "release:1", "command": copier::command(&copier::target("r"))});
        let renderer =
            json!({"name": "template-render", "image": image, "command": ["host", "util", "template-render"]});
        object.pointer_mut(PODS).unwrap()["initContainers"] = json!([install, copier, renderer]);
        object
    }

    fn short(image: &str, command: &str, sources: &str) -> Value {
        let mut object = copying(image, command);
        assert!(init_containers::replace_copiers(&mut object, sources));
        object
    }

    #[test]
    fn pods_keep_how_they_get_their_job_sources_until_something_else_changes() {
        let of = |new: &Value, live: Value, sources: &[&str]| -> Vec<(Option<String>, Value)> {
            let sources: Vec<String> = sources.iter().map(|name| (*name).to_string()).collect();
            let outdated = outdated_with(new, &copying("host:2", "run"), &stored(live), &sources).into_iter();
            outdated
                .map(|one| (one.group.map(|group| group.image), one.kept))
                .collect()
        };
        let new = short("host:2", "run", "s-1");
        assert_eq!(of(&new, new.clone(), &["s-1"]), [], "nothing changes");
        let old = short("host:1", "run", "s-1");
        assert_eq!(
            of(&new, old.clone(), &["s-1"]),
            [(Some("host:1".to_string()), old)],
            "a new image"
        );
        // An operator of before there were job sources: `host:1` does not know them.
        let old = copying("host:1", "run");
        assert_eq!(of(&new, old.clone(), &[]), [(Some("host:1".to_string()), old)]);
        let old = copying("host:2", "run");
        assert_eq!(
            of(&new, old.clone(), &[]),
            [(None, old.clone())],
            "its sources were not stored"
        );
        assert_eq!(
            of(&old, new.clone(), &["s-1"]),
            [(None, new.clone())],
            "its sources are not stored any more"
        );
        assert_eq!(of(&old, new.clone(), &[]), [], "the sources were deleted");
        let packed = short("host:2", "run", "s-0");
        assert_eq!(
            of(&new, packed.clone(), &["s-0"]),
            [(None, packed)],
            "packed in another way"
        );
        assert_eq!(of(&new, copying("host:1", "other"), &[]), [], "it changes anyway");
    }

    #[test]
    fn a_mirror_of_the_image_is_known_by_its_command() {
        let at = "/spec/template/spec/template/spec/initContainers/1/command";
        let mirrored = |image: &str| {
            let mut object = object("QuarksStatefulSet", image, "run");
            let container = at.strip_suffix("/command").unwrap();
            object.pointer_mut(container).unwrap()["command"] = json!(["host", "util", "template-render"]);
            object
        };
        let kept = kept(&mirrored("mirror/host:2"), &stored(mirrored("mirror/host:1")));
        assert_eq!(kept[0].0, "mirror/host:1");
    }

    #[test]
    fn a_group_rolls_when_all_are_ready() {
        let ready = stored(object("QuarksStatefulSet", "host:1", "run"));
        let mut other = ready.clone();
        assert!(are_all_ready(&[ready.clone(), other.clone()]));
        other["metadata"]["generation"] = 4.into();
        assert!(!are_all_ready(&[ready.clone(), other.clone()]));
        other["status"] = json!({"ready": false, "observedGeneration": 4});
        assert!(!are_all_ready(&[ready, other]));
    }
}
