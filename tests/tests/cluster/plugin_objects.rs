//! A plugin of the stage `resources` that adds objects: one of every kind that is allowed and that the built-in plugins
//! do not create, or others.

use serde_json::{Value, json};

/// Start of the plugin's data in its memory; the host's input comes after it.
const BASE: usize = 1024;

/// Kind, as kubectl takes it, and body.
pub fn objects() -> Vec<(&'static str, Value)> {
    let labels = json!({"matchLabels": {"extra": "yes"}});
    let template = |policy: &str| {
        json!({"metadata": {"labels": {"extra": "yes"}},
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "example.com/extra:1"}]}})
    };
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "extra"});
    let backend = json!({"service": {"name": "extra", "port": {"number": 80}}});
    vec![
        (
            "configmap",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}),
        ),
        (
            "persistentvolumeclaim",
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim}),
        ),
        (
            "deployment",
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"replicas": 0, "selector": labels, "template": template("Always")}}),
        ),
        (
            "job",
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": true, "template": template("Never")}}),
        ),
        (
            "cronjob",
            json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": template("Never")}}}}),
        ),
        (
            "poddisruptionbudget",
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "spec": {"minAvailable": 1, "selector": labels}}),
        ),
        (
            "horizontalpodautoscaler",
            json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": target, "maxReplicas": 2}}),
        ),
        (
            "networkpolicy",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "spec": {"podSelector": labels, "policyTypes": ["Ingress"]}}),
        ),
        (
            "ingress",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"defaultBackend": backend}}),
        ),
    ]
}

/// The component that adds them.
pub fn plugin() -> Vec<u8> {
    let named = objects().into_iter().map(|(_, mut object)| {
        object["metadata"] = json!({"name": "extra"});
        object
    });
    plugin_of("extras", &named.collect::<Vec<_>>())
}

/// A component of this name that adds these objects.
pub fn plugin_of(name: &str, objects: &[Value]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut place = |text: &str| {
        let at = BASE + data.len();
        data.extend(text.as_bytes());
        [at, text.len()]
    };
    let description = [name, "1.0.0", "{}"].map(&mut place);
    // The case `add`; each case is as long as the longest.
    let additions: Vec<[usize; 9]> = objects
        .iter()
        .map(|object| {
            let [at, length] = place(&object.to_string());
            [2, at, length, 0, 0, 0, 0, 0, 0]
        })
        .collect();
    data.resize(data.len().next_multiple_of(4), 0);
    let mut words = |words: &[usize]| {
        let at = BASE + data.len();
        let bytes = words
            .iter()
            .flat_map(|word| u32::try_from(*word).unwrap().to_le_bytes());
        data.extend(bytes);
        at
    };
    let list = [words(additions.as_flattened()), additions.len()];
    // Neither codes nor additional members.
    let described = words(&[description.as_flattened(), &[0; 4]].concat());
    // ok: edits, diagnostics, additional members.
    let edits = words(&[&[0][..], &list, &[0; 4]].concat());
    component(&data, described, edits)
}

fn component(data: &[u8], described: usize, edits: usize) -> Vec<u8> {
    let interface = "boson:resources/transformation@1.0.0";
    let bytes: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let free = (BASE + data.len()).next_multiple_of(8);
    let text = format!(
        r#"(module
            (memory (export "memory") 256)
            (global $free (mut i32) (i32.const {free}))
            (data (i32.const {BASE}) "{bytes}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $free)
                (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get 3)) (i32.const 7)) (i32.const -8))))
            (func (export "boson:types/about@1.0.0#describe") (result i32) (i32.const {described}))
            (func (export "{interface}#transform") (param i32) (result i32) (i32.const {edits})))"#
    );
    boson_tests::component::component(&text, "resources").unwrap()
}
