//! The rules, without WIT.

use boson_plugin::Code;
use serde_json::Value;

const PRIVILEGED: &str = "security-policy-privileged";
const ROOT: &str = "security-policy-root";
const EXPOSED: &str = "security-policy-exposed";

/// What each code means, for `host explain`.
pub const CODES: &[Code] = &[
    Code {
        name: PRIVILEGED,
        title: "A container is privileged",
        explanation: "A privileged container has all rights of its node. A process is privileged if its `bpm.yml` has \
         `unsafe.privileged`.",
    },
    Code {
        name: ROOT,
        title: "A container runs as root",
        explanation: "The container, or its pod, has `runAsUser: 0`. If a process has to open a port below 1024, use a capability \
         instead.",
    },
    Code {
        name: EXPOSED,
        title: "A Service is reachable from outside the cluster",
        explanation: "A Service of the type `NodePort` or `LoadBalancer` opens its ports outside the cluster. Use an Ingress.",
    },
];

/// A violation.
#[derive(Debug, PartialEq)]
pub struct Finding {
    pub code: &'static str,
    pub message: String,
    /// RFC 6901 pointer into the object.
    pub pointer: String,
    pub help: &'static str,
}

/// The violations in an object of Kubernetes or of the operator.
pub fn findings(object: &Value, init_containers: bool) -> Vec<Finding> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let pod = match kind {
        "Service" => return service(object).into_iter().collect(),
        "Pod" => "/spec",
        "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "StatefulSet" => "/spec/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        // Their template is a StatefulSet and a Job.
        "QuarksStatefulSet" | "QuarksJob" => "/spec/template/spec/template/spec",
        _ => return Vec::new(),
    };
    let lists: &[&str] = if init_containers {
        &["initContainers", "containers"]
    } else {
        &["containers"]
    };
    let mut found = Vec::new();
    for list in lists {
        let containers = object.pointer(&format!("{pod}/{list}")).and_then(Value::as_array);
        for (nth, container) in containers.into_iter().flatten().enumerate() {
            check_container(
                container,
                &format!("{pod}/{list}/{nth}"),
                &object.pointer(pod).unwrap_or(&Value::Null)["securityContext"],
                &mut found,
            );
        }
    }
    found
}

fn check_container(container: &Value, pointer: &str, of_pod: &Value, found: &mut Vec<Finding>) {
    let name = container["name"].as_str().unwrap_or_default();
    let context = &container["securityContext"];
    if context["privileged"] == true {
        found.push(Finding {
            code: PRIVILEGED,
            message: format!("The container '{name}' is privileged"),
            pointer: format!("{pointer}/securityContext/privileged"),
            help: "remove `unsafe.privileged` from the bpm.yml of the job",
        });
    }
    // The container's own user overrides that of the pod.
    let user = context.get("runAsUser").unwrap_or(&of_pod["runAsUser"]);
    if *user == 0 {
        found.push(Finding {
            code: ROOT,
            message: format!("The container '{name}' runs as root"),
            pointer: pointer.to_string(),
            help: "let the process run as `vcap`",
        });
    }
}

fn service(object: &Value) -> Option<Finding> {
    let kind = object["spec"]["type"]
        .as_str()
        .filter(|kind| ["NodePort", "LoadBalancer"].contains(kind))?;
    Some(Finding {
        code: EXPOSED,
        message: format!("The Service is of the type '{kind}'"),
        pointer: "/spec/type".into(),
        help: "use the type `ClusterIP` and an Ingress",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn codes_and_pointers(object: Value, init_containers: bool) -> Vec<(&'static str, String)> {
        let findings = findings(&object, init_containers);
        findings
            .into_iter()
            .map(|finding| (finding.code, finding.pointer))
            .collect()
    }

    #[test]
    fn privileged_and_root_containers_are_found_in_every_workload() {
        let pod = json!({
            "securityContext": {"runAsUser": 0},
            "initContainers": [{"name": "pre-start", "securityContext": {"runAsUser": 0}}],
            "containers": [
                {"name": "a", "securityContext": {"runAsUser": 1000}},
                {"name": "b", "securityContext": {"privileged": true}},
            ],
        });
        let set = json!({"kind": "StatefulSet", "spec": {"template": {"spec": pod}}});
        let b = "/spec/template/spec/containers/1";
        let expected = [
            (PRIVILEGED, format!("{b}/securityContext/privileged")),
            (ROOT, b.to_string()),
        ];
        assert_eq!(codes_and_pointers(set.clone(), false), expected);
        assert_eq!(codes_and_pointers(set.clone(), true).len(), 3);
        let quarks = json!({"kind": "QuarksStatefulSet", "spec": {"template": set}});
        assert_eq!(codes_and_pointers(quarks, false).len(), 2);
    }

    #[test]
    fn services_outside_the_cluster_are_found() {
        let service = |kind: &str| codes_and_pointers(json!({"kind": "Service", "spec": {"type": kind}}), false);
        assert_eq!(service("NodePort"), [(EXPOSED, "/spec/type".to_string())]);
        assert_eq!(service("ClusterIP"), []);
    }
}
