//! The init containers of a pod that bring container-run and templates. The bpm stage gives each release a container
//! that copies its templates out of its image. The kubelet starts init containers one after the other, about a second
//! apart. So a pod whose job sources the operator has mounts them instead, and the container that renders them also
//! installs container-run. Pure.

use crate::deployment::plan::object::{self, PODS};
use boson_manifest::copier::{self, RELEASES};
use boson_manifest::{container_run, pod_contract};
use boson_pipeline::convert::job_sources::{FILE, root};
use serde_json::{Value, json};
use std::ops::Range;

/// The container that renders templates.
const RENDERER_COMMAND: [&str; 3] = ["host", "util", "template-render"];
/// The volume of the job sources, and its mount point.
const JOB_SOURCES_VOLUME: &str = "job-sources";
const JOB_SOURCES_PATH: &str = "/var/run/boson/job-sources";

/// Replaces the containers that copy container-run and job sources. `config_map`: the job sources. Returns whether it
/// did: not if something else runs before the templates are rendered, such as pre-render scripts or a container of a
/// plugin, which may need the copies.
pub fn replace_copiers(object: &mut Value, config_map: &str) -> bool {
    let Some(pod) = object.pointer_mut(PODS) else {
        return false;
    };
    let init = pod["initContainers"].as_array_mut();
    let Some((init, copiers)) = init.and_then(|init| copiers(init).map(|range| (init, range))) else {
        return false;
    };
    let at = copiers.start;
    init.drain(copiers);
    let Some(renderer) = init.get_mut(at) else {
        return false;
    };
    let file = format!("{JOB_SOURCES_PATH}/{FILE}");
    let arguments = ["--job-sources", &file, "--install", container_run::IN_IMAGE];
    extend(renderer, "args", arguments.map(Value::from));
    extend(
        renderer,
        "volumeMounts",
        [json!({"name": JOB_SOURCES_VOLUME, "mountPath": JOB_SOURCES_PATH, "readOnly": true})],
    );
    let mut variables = renderer["env"].as_array_mut().into_iter().flatten();
    if let Some(version) = variables.find(|one| one["name"] == pod_contract::VERSION_VARIABLE) {
        let needed = version["value"].as_str().and_then(|text| text.parse().ok());
        version["value"] = pod_contract::WITH_JOB_SOURCES
            .max(needed.unwrap_or(0))
            .to_string()
            .into();
    }
    extend(
        pod,
        "volumes",
        [json!({"name": JOB_SOURCES_VOLUME, "configMap": {"name": config_map}})],
    );
    true
}

/// The containers that copy container-run and job sources, right before the one that renders. The sidecar for log
/// files, which is before them, needs no copy.
fn copiers(init: &[Value]) -> Option<Range<usize>> {
    let first = usize::from(init.first().is_some_and(shows_logs));
    let range = first..init.iter().position(renders)?;
    let (installer, others) = init.get(range.clone())?.split_first()?;
    (installs(installer) && others.iter().all(copies)).then_some(range)
}

/// The ConfigMap with the job sources that pods of an object mount.
pub fn mounted(object: &Value) -> Option<&str> {
    object::config_map(object, JOB_SOURCES_VOLUME)
}

fn command(container: &Value) -> Vec<&str> {
    let words = container["command"].as_array().into_iter().flatten();
    words.filter_map(Value::as_str).collect()
}

fn renders(container: &Value) -> bool {
    command(container).starts_with(&RENDERER_COMMAND)
}

fn shows_logs(container: &Value) -> bool {
    command(container).starts_with(&[container_run::IN_IMAGE, "logs"])
}

fn installs(container: &Value) -> bool {
    command(container) == container_run::install()
}

fn copies(container: &Value) -> bool {
    let command = command(container);
    let [.., target] = command.as_slice() else { return false };
    command == copier::command(target) && target.starts_with(&format!("{RELEASES}/{}", root("")))
}

fn extend(object: &mut Value, list: &str, items: impl IntoIterator<Item = Value>) {
    match object[list].as_array_mut() {
        Some(all) => all.extend(items),
        None => object[list] = items.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(before: &[Value]) -> Value {
        let mut init = vec![json!({"name": "logs", "command": [container_run::IN_IMAGE, "logs"]})];
        init.extend_from_slice(before);
        init.push(json!({
            "name": "template-render", "image": "host:1", "command": RENDERER_COMMAND, "args": ["--plugin=x"],
            "env": [{"name": "A", "value": "1"}, {"name": pod_contract::VERSION_VARIABLE, "value": "2"}]
        }));
        init.push(json!({"name": "package-copier-b"}));
        init.push(json!({"name": "bosh-pre-start-app"}));
        let resolved = json!({"name": object::RESOLVED, "secret": {"secretName": "d.ig-resolved.web-v3"}});
        let pods = json!({"initContainers": init, "containers": [{"name": "app"}], "volumes": [resolved]});
        json!({"kind": "QuarksStatefulSet", "spec": {"template": {"spec": {"template": {"spec": pods}}}}})
    }

    fn install() -> Value {
        json!({"name": "container-run-copier", "command": container_run::install()})
    }

    fn copy(release: &str) -> Value {
        json!({"name": format!("spec-copier-{release}"), "command": copier::command(&copier::target(release))})
    }

    #[test]
    fn the_renderer_reads_the_mounted_sources_and_installs_container_run() {
        let mut object = group(&[install(), copy("a"), copy("b")]);
        assert!(replace_copiers(&mut object, "d.job-sources.web-1") && !replace_copiers(&mut object, "again"));
        let pod = object.pointer(PODS).unwrap();
        let init = pod["initContainers"].as_array().unwrap();
        let names: Vec<&str> = init.iter().filter_map(|container| container["name"].as_str()).collect();
        let expected = ["logs", "template-render", "package-copier-b", "bosh-pre-start-app"];
        assert_eq!(names, expected);
        let renderer = &init[1];
        assert_eq!(
            renderer["args"],
            json!([
                "--plugin=x",
                "--job-sources",
                "/var/run/boson/job-sources/job-sources.json.gz",
                "--install",
                "/usr/bin/container-run"
            ])
        );
        assert_eq!(renderer["env"][1]["value"], pod_contract::WITH_JOB_SOURCES.to_string());
        assert_eq!(renderer["volumeMounts"][0]["name"], JOB_SOURCES_VOLUME);
        assert_eq!(mounted(&object), Some("d.job-sources.web-1"));
        assert_eq!(object::resolved(&object), Some("d.ig-resolved.web-v3"));
        let version = "/initContainers/3/env/1/value";
        let mut newer = group(&[install(), copy("a")]);
        *newer.pointer_mut(PODS).unwrap().pointer_mut(version).unwrap() = "5".into();
        assert!(replace_copiers(&mut newer, "d.job-sources.web-1"));
        let init = &newer.pointer(PODS).unwrap()["initContainers"];
        assert_eq!(init[1]["env"][1]["value"], "5", "it needs this version, too");
    }

    #[test]
    fn pods_with_anything_else_before_rendering_keep_their_containers() {
        let other = json!({"name": "pre-render-scripts", "command": ["host", "util", "pre-render-scripts"]});
        let elsewhere = json!({"name": "spec-copier-a", "command": copier::command("/var/vcap/store")});
        let mut changed = install();
        changed["command"][2] = "/elsewhere".into();
        for before in [
            vec![],
            vec![copy("a")],
            vec![install(), copy("a"), other.clone()],
            vec![other, install(), copy("a")],
            vec![install(), elsewhere],
            vec![changed, copy("a")],
        ] {
            let mut object = group(&before);
            assert!(!replace_copiers(&mut object, "sources"), "{before:#?}");
            assert_eq!(object, group(&before));
        }
        let mut service = json!({"kind": "Service"});
        assert!(!replace_copiers(&mut service, "sources") && mounted(&service).is_none());
    }
}
