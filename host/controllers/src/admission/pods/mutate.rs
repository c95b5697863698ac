//! The changes to a pod that gets links: a volume for each link, mounted in every container, and an environment
//! variable for each key. Pure.
//!
//! What the pod sets itself has precedence: a variable of the same name stays, with a warning. Another mount at the
//! path of a link is refused, because the pod would read other files than those that it asked for.

use crate::links::{Consumed, Key, Link};
use boson_manifest::labels::{CONSUMER, LINKS_DIGEST};
use boson_manifest::names::{container, label_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where links are mounted.
const LINKS_PATH: &str = "/quarks/link";
/// Linux starts no process with a longer variable, name and value together.
const MAX_VARIABLE_BYTES: usize = (128 << 10) - 2;
/// The lists of containers. An init container may need a link, too, and one that restarts always is a sidecar.
const CONTAINER_LISTS: [&str; 2] = ["initContainers", "containers"];
/// Mode of the files: every user of the pod may read them.
const FILE_MODE: i32 = 0o444;

/// Why a pod cannot have its links.
#[derive(Debug, thiserror::Error)]
pub(super) enum PodError {
    #[error(
        "{first} and {second} both become the variable {variable}; rename one of the properties, or consume one of \
         the links in another pod"
    )]
    SameVariable {
        first: String,
        second: String,
        variable: String,
    },
    /// The name as JSON.
    #[error("it has another volume {0}, which a link needs; rename that volume")]
    OtherVolume(Value),
    #[error("container '{container}' mounts another volume at {path}, where a link belongs; mount it elsewhere")]
    OtherMount { container: String, path: String },
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    /// Operations of a JSON patch.
    pub patch: Vec<Value>,
    pub warnings: Vec<String>,
}

/// Gives a pod its links. `digest`: see [`LINKS_DIGEST`].
///
/// # Errors
/// Why it cannot have them; nothing is changed.
pub(super) fn mutate(pod: &Value, consumed: &Consumed, links: &[Link], digest: &str) -> Result<Changed, PodError> {
    let mut changed = Changed::default();
    let variables = variables(links, &mut changed.warnings)?;
    let volumes: Vec<Value> = links.iter().map(volume).collect();
    let mounts: Vec<Value> = links.iter().map(|link| mount(&consumed.deployment, link)).collect();
    let spec = &pod["spec"];
    changed.replace(
        &spec["volumes"],
        "/spec/volumes",
        with_volumes(list(&spec["volumes"]), volumes)?,
    );
    for kind in CONTAINER_LISTS {
        let mut containers = list(&spec[kind]);
        for container in &mut containers {
            add_to_container(container, &variables, &mounts, &mut changed.warnings)?;
        }
        changed.replace(&spec[kind], &format!("/spec/{kind}"), containers);
    }
    let deployment = label_value(&consumed.deployment);
    for (member, key, value) in [
        ("labels", CONSUMER, deployment.as_str()),
        ("annotations", LINKS_DIGEST, digest),
    ] {
        let mut map = pod["metadata"][member].as_object().cloned().unwrap_or_default();
        map.insert(key.into(), value.into());
        changed.set(&format!("/metadata/{member}"), Value::Object(map));
    }
    Ok(changed)
}

// === impl Changed ===

impl Changed {
    /// Sets a list, if it has changed. `before`: as it was.
    fn replace(&mut self, before: &Value, path: &str, after: Vec<Value>) {
        if list(before) != after {
            self.set(path, Value::Array(after));
        }
    }

    /// Sets a member; `add` replaces one that exists.
    fn set(&mut self, path: &str, value: Value) {
        self.patch.push(json!({"op": "add", "path": path, "value": value}));
    }
}

/// A variable for each key of the links. Keys of values that cannot be variables are available as files only.
fn variables(links: &[Link], warnings: &mut Vec<String>) -> Result<Vec<Value>, PodError> {
    let mut by_name: BTreeMap<String, (&Link, &Key)> = BTreeMap::new();
    let mut variables = Vec::new();
    for link in links {
        for key in &link.keys {
            let name = variable(&key.name);
            if let Some((other, of)) = by_name.get(&name) {
                return Err(PodError::SameVariable {
                    first: format!("key '{}' of the {}", of.name, other.link),
                    second: format!("key '{}' of the {}", key.name, link.link),
                    variable: name,
                });
            }
            let source = json!({"secretKeyRef": {"name": link.secret, "key": key.name}});
            match file_only_reason(key, &name) {
                Some(why) => warnings.push(format!(
                    "key '{}' of the {} is a file, but no variable: {why}",
                    key.name, link.link
                )),
                None => variables.push(json!({"name": name, "valueFrom": source})),
            }
            by_name.insert(name, (link, key));
        }
    }
    Ok(variables)
}

/// `nats.password` becomes `LINK_NATS_PASSWORD`.
fn variable(key: &str) -> String {
    let name = key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("LINK_{}", name.to_ascii_uppercase())
}

fn file_only_reason(key: &Key, name: &str) -> Option<&'static str> {
    match (key.is_text, key.length + name.len() > MAX_VARIABLE_BYTES) {
        (false, _) => Some("its value contains a NUL"),
        (true, true) => Some("its value is longer than Linux accepts in a variable"),
        (true, false) => None,
    }
}

fn volume(link: &Link) -> Value {
    json!({"name": volume_name(link), "secret": {"secretName": link.secret, "defaultMode": FILE_MODE}})
}

fn volume_name(link: &Link) -> String {
    container(&["link", &link.link.kind, &link.link.name])
}

fn mount(deployment: &str, link: &Link) -> Value {
    let path = format!("{LINKS_PATH}/{deployment}/{}-{}", link.link.kind, link.link.name);
    json!({"name": volume_name(link), "mountPath": path, "readOnly": true})
}

/// The volumes of the pod, and those of its links. A pod that was copied from another may have them.
fn with_volumes(mut volumes: Vec<Value>, links: Vec<Value>) -> Result<Vec<Value>, PodError> {
    for link in links {
        match volumes.iter().find(|volume| volume["name"] == link["name"]) {
            None => volumes.push(link),
            Some(there) if there["secret"]["secretName"] == link["secret"]["secretName"] => {}
            Some(_) => return Err(PodError::OtherVolume(link["name"].clone())),
        }
    }
    Ok(volumes)
}

/// Gives one container its variables and mounts. Variables come first, so that those of the user can refer to them.
fn add_to_container(
    container: &mut Value,
    variables: &[Value],
    mounts: &[Value],
    warnings: &mut Vec<String>,
) -> Result<(), PodError> {
    let name = container["name"].as_str().unwrap_or_default().to_string();
    let own = list(&container["env"]);
    let mut environment = Vec::new();
    for variable in variables {
        match own.iter().find(|one| one["name"] == variable["name"]) {
            None => environment.push(variable.clone()),
            Some(one) if one["valueFrom"] == variable["valueFrom"] => {}
            Some(_) => warnings.push(format!(
                "container '{name}' sets {} itself; the value of the link is a file only",
                variable["name"].as_str().unwrap_or_default()
            )),
        }
    }
    environment.extend(own);
    let mut all = list(&container["volumeMounts"]);
    for mount in mounts {
        let at = |mount: &Value| {
            mount["mountPath"]
                .as_str()
                .unwrap_or_default()
                .trim_end_matches('/')
                .to_string()
        };
        match all.iter().find(|other| at(other) == at(mount)) {
            None => all.push(mount.clone()),
            Some(other) if other["name"] == mount["name"] => {}
            Some(_) => {
                return Err(PodError::OtherMount {
                    container: name,
                    path: at(mount),
                });
            }
        }
    }
    for (member, values) in [("env", environment), ("volumeMounts", all)] {
        if container.get(member).is_some() || !values.is_empty() {
            container[member] = Value::Array(values);
        }
    }
    Ok(())
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::LinkName;

    fn link(name: &str, keys: &[&str]) -> Link {
        let key = |key: &&str| Key {
            name: key.to_string(),
            length: 3,
            is_text: true,
        };
        Link {
            link: LinkName {
                kind: "t".into(),
                name: name.into(),
            },
            secret: format!("link-cf-t-{name}"),
            version: "1".into(),
            keys: keys.iter().map(key).collect(),
            content: [0; 32],
        }
    }

    fn consumed() -> Consumed {
        Consumed {
            deployment: "cf".into(),
            links: Vec::new(),
        }
    }

    fn pod(container: Value) -> Value {
        json!({"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": {"containers": [container]}})
    }

    /// The pod after the patch.
    fn patched(pod: &Value, links: &[Link]) -> Result<(Value, Vec<String>), PodError> {
        let changed = mutate(pod, &consumed(), links, "d1")?;
        let mut after = pod.clone();
        for operation in &changed.patch {
            let path = operation["path"].as_str().unwrap();
            let (parent, member) = path.rsplit_once('/').unwrap();
            assert!(!member.contains('~'));
            after.pointer_mut(parent).unwrap()[member] = operation["value"].clone();
        }
        Ok((after, changed.warnings))
    }

    #[test]
    fn every_container_gets_files_and_variables_that_refer_to_the_secret() {
        let mut before = pod(json!({"name": "main", "env": [{"name": "OWN", "value": "$(LINK_NATS_PASSWORD)"}]}));
        before["spec"]["initContainers"] = json!([{"name": "init"}]);
        let (after, warnings) = patched(&before, &[link("nats", &["nats.password"])]).unwrap();
        let variable = json!({"name": "LINK_NATS_PASSWORD",
            "valueFrom": {"secretKeyRef": {"name": "link-cf-t-nats", "key": "nats.password"}}});
        let mount = json!({"name": "link-t-nats", "mountPath": "/quarks/link/cf/t-nats", "readOnly": true});
        assert_eq!(
            after,
            json!({
                "metadata": {"name": "p", "labels": {CONSUMER: "cf"}, "annotations": {"a": "b", LINKS_DIGEST: "d1"}},
                "spec": {
                    "volumes": [{"name": "link-t-nats", "secret": {"secretName": "link-cf-t-nats", "defaultMode": 292}}],
                    "initContainers": [{"name": "init", "env": [variable], "volumeMounts": [mount]}],
                    "containers": [{"name": "main", "volumeMounts": [mount],
                        "env": [variable, {"name": "OWN", "value": "$(LINK_NATS_PASSWORD)"}]}],
                }
            })
        );
        assert_eq!(warnings, [""; 0]);
        let (again, warnings) = patched(&after, &[link("nats", &["nats.password"])]).unwrap();
        assert_eq!((again, warnings.len()), (after, 0), "a copy of a pod with links");
    }

    #[test]
    fn keys_that_become_one_variable_are_refused_with_both_names() {
        for links in [
            vec![link("x", &["a.b", "a_b"])],
            vec![link("x", &["a.b"]), link("y", &["A-B"])],
        ] {
            let error = mutate(&pod(json!({"name": "c"})), &consumed(), &links, "d")
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("key 'a.b' of the link 'x' of type 't' and key '"),
                "{error}"
            );
            assert!(error.contains("both become the variable LINK_A_B;"), "{error}");
        }
    }

    #[test]
    fn a_variable_of_the_user_stays_with_a_warning_and_a_mount_in_the_way_is_refused() {
        let own = json!({"name": "c", "env": [{"name": "LINK_A", "value": "mine"}]});
        let (after, warnings) = patched(&pod(own.clone()), &[link("x", &["a"])]).unwrap();
        assert_eq!(after["spec"]["containers"][0]["env"], own["env"]);
        assert_eq!(
            warnings,
            ["container 'c' sets LINK_A itself; the value of the link is a file only"]
        );
        let mounts = json!({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/quarks/link/cf/t-x/"}]});
        let error = patched(&pod(mounts), &[link("x", &["a"])]).unwrap_err().to_string();
        assert!(
            error.contains("container 'c' mounts another volume at /quarks/link/cf/t-x,"),
            "{error}"
        );
        let mut volumes = pod(json!({"name": "c"}));
        volumes["spec"]["volumes"] = json!([{"name": "link-t-x", "emptyDir": {}}]);
        let error = patched(&volumes, &[link("x", &["a"])]).unwrap_err().to_string();
        assert!(error.contains(r#"another volume "link-t-x""#), "{error}");
    }

    #[test]
    fn values_that_no_process_could_start_with_are_files_only() {
        let mut long = link("x", &["a", "b", "c"]);
        long.keys[0].length = 128 << 10;
        long.keys[1].is_text = false;
        let (after, warnings) = patched(&pod(json!({"name": "c"})), &[long]).unwrap();
        let variables = after["spec"]["containers"][0]["env"].as_array().unwrap();
        assert_eq!(variables.len(), 1);
        assert_eq!(variables[0]["name"], "LINK_C");
        assert_eq!(warnings.len(), 2);
        assert!(
            warnings[0].contains("key 'a' of the link 'x' of type 't' is a file"),
            "{warnings:?}"
        );
    }
}
