//! Whatever a manifest contains, an API server accepts the objects of a conversion that succeeds: mistakes are reported
//! by the conversion, with their lines. The manifests are mutations of the example's, always the same ones; others with
//! `BOSON_FUZZ=1000..2000`.

use crate::valid_objects::dry_run;
use boson_tests::cluster::shared;
use boson_tests::random::{Random, seeds};
use boson_tests::{host, root};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The mutations of each run.
const SEEDS: Range<u64> = 0..120;
/// Changes of one manifest.
const CHANGES: usize = 2;

/// Values that some field does not accept.
fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(70_000),
        json!(3_000_000_000_u64),
        json!(1.5),
        json!(""),
        json!("a"),
        json!("A_b.C"),
        json!("-x"),
        json!("x".repeat(70)),
        json!("../x"),
        json!("a b"),
        json!("é"),
        json!("1"),
        json!([]),
        json!({}),
        json!(["a"]),
        json!({"a": "b"}),
    ]
}

/// Members that manifests have at the places where users add them, by pointer below a group.
const ADDITIONS: &str = r#"
/env/bosh/agent/settings/affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, podAffinityTerm: {topologyKey: a, labelSelector: {matchLabels: {a: b}}}}
/env/bosh/agent/settings/tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
/env/bosh/agent/settings/annotations: {example.com/a: b}
/env/bosh/agent/settings/labels: {example.com/a: b}
/env/bosh/agent/settings/imagePullSecrets: [{name: a}]
/env/bosh/agent/settings/serviceAccountName: a
/env/bosh/agent/settings/terminationGracePeriodSeconds: 60
/env/bosh/agent/settings/dns: 10.0.0.1
/env/bosh/agent/settings/disks:
- pvc: {metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  volumeMount: {name: d, mountPath: /d}
- volume: {name: e, emptyDir: {sizeLimit: 1Mi}}
  volumeMount: {name: e, mountPath: /e}
/tags: {owner: me}
/vm_resources: {cpu: 1, ram: 512, ephemeral_disk_size: 1024}
/jobs/0/properties/quarks/run/capabilities: [NET_ADMIN]
/jobs/0/properties/quarks/run/memory: 128
/jobs/0/properties/quarks/sharePackages: all
/jobs/0/properties/quarks/run/sysctls: {net.ipv4.tcp_keepalive_time: 120, kernel/shm_rmid_forced: "1"}
/jobs/0/properties/quarks/run/pre_start: inline
/jobs/0/properties/quarks/run/writable_packages: [broker, tools]
/jobs/0/properties/quarks/run/security_context:
  runAsUser: 1000
  capabilities: {add: [NET_RAW]}
  seLinuxOptions: {level: a}
  seccompProfile: {type: RuntimeDefault}
/jobs/0/properties/quarks/envs:
- {name: A, value: $(POD_IP)}
- {name: B, valueFrom: {secretKeyRef: {name: a, key: b}}}
- {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
/jobs/0/properties/quarks/run/healthcheck:
  broker:
    startup: {exec: {command: [/bin/true]}, failureThreshold: 3}
    liveness: {httpGet: {path: /a, port: 80, scheme: HTTPS}, periodSeconds: 3}
    readiness: {grpc: {port: 1, service: a}, successThreshold: 2}
/jobs/0/properties/quarks/bpm:
  processes:
  - name: broker
    requests: {memory: 1Mi, cpu: 10m}
    limits: {memory: 64M, open_files: 100}
    additional_volumes: [{path: /var/vcap/data/x, writable: true}]
"#;

/// All pointers below a value, without the value's own.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        found.push(pointer.clone());
        pointers(value, &pointer, found);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(index, value)| below(&index.to_string(), value));
        }
        _ => {}
    }
}

/// Adds a member at a pointer, with the objects that lead to it.
fn add(root: &mut Value, pointer: &str, value: Value) {
    let mut at = root;
    for token in pointer.split('/').skip(1) {
        if !matches!(at, Value::Object(_)) && !matches!(at, Value::Array(items) if !items.is_empty()) {
            *at = json!({});
        }
        at = match at {
            Value::Array(items) => &mut items[0],
            object => &mut object[token],
        };
    }
    *at = value;
}

/// One change of a manifest's instance groups.
fn change(manifest: &mut Value, random: &mut Random) {
    let group = random.below(2);
    if random.below(2) == 0 {
        let all: Map<String, Value> = serde_yaml::from_str(ADDITIONS).unwrap();
        let (pointer, value) = all.iter().nth(random.below(all.len())).unwrap();
        add(&mut manifest["instance_groups"][group], pointer, value.clone());
    }
    let mut all = Vec::new();
    pointers(&manifest["instance_groups"], "/instance_groups", &mut all);
    let pointer = random.of(&all).clone();
    let (parent, token) = pointer.rsplit_once('/').unwrap();
    let value = random.of(&values()).clone();
    let choice = random.below(4);
    match manifest.pointer_mut(parent).unwrap() {
        Value::Object(map) => change_member(map, &token.replace("~1", "/").replace("~0", "~"), value, choice),
        Value::Array(items) => {
            let index: usize = token.parse().unwrap();
            match choice {
                0 => drop(items.remove(index)),
                1 => items.push(items[index].clone()),
                _ => items[index] = value,
            }
        }
        _ => {}
    }
}

fn change_member(map: &mut Map<String, Value>, key: &str, value: Value, choice: usize) {
    match choice {
        0 => drop(map.shift_remove(key)),
        // A typing mistake.
        1 => {
            let old = map.shift_remove(key).unwrap();
            let mut typed = key.to_string();
            typed.pop();
            map.insert(format!("{typed}X"), old);
        }
        _ => drop(map.insert(key.to_string(), value)),
    }
}

/// The store of values that all conversions begin with.
const STORE: &str = "store.yml";

/// The objects of a manifest; `None` if the conversion rejects it.
fn convert(manifest: &Value, store: &str, scratch: &Path) -> Option<String> {
    let name = format!("manifest-for-{store}");
    fs::write(scratch.join(&name), manifest.to_string()).unwrap();
    let releases = root().join("docs/examples/nats/releases");
    let release = |name: &str| releases.join(name).display().to_string();
    let (messaging, smoke) = (release("messaging"), release("smoke"));
    let arguments = [
        "convert",
        &name,
        "--release",
        &messaging,
        "--release",
        &smoke,
        "--vars-store",
        store,
        "-v",
        "system_domain=example.com",
    ];
    let ran = host(scratch, arguments).unwrap();
    assert!(
        ran.code == 0 || ran.code == 1,
        "{store}: exit code {}\n{}",
        ran.code,
        ran.stderr
    );
    (ran.code == 0).then_some(ran.stdout)
}

/// The objects of a mutated manifest.
fn mutated(seed: u64, manifest: &Value, scratch: &Path) -> Option<String> {
    let mut random = Random::new(seed);
    let mut manifest = manifest.clone();
    for _ in 0..CHANGES {
        change(&mut manifest, &mut random);
    }
    // Conversions with the same store would wait for each other.
    let store = format!("{seed}.yml");
    fs::copy(scratch.join(STORE), scratch.join(&store)).unwrap();
    convert(&manifest, &store, scratch)
}

/// Each different object of the accepted manifests, with the first seed that gave it.
fn objects(seeds: Range<u64>) -> BTreeMap<String, u64> {
    let scratch = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/examples/nats/manifest.yml")).unwrap();
    let manifest: Value = serde_yaml::from_str(&text).unwrap();
    // Generates the values, so that the others need not.
    assert!(convert(&manifest, STORE, scratch.path()).is_some());
    let (found, left) = (Mutex::new(BTreeMap::new()), Mutex::new(seeds));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) = { left.lock().next() } {
                    let accepted = mutated(seed, &manifest, scratch.path()).unwrap_or_default();
                    for object in accepted.split("---\n").filter(|object| !object.trim().is_empty()) {
                        found.lock().entry(object.to_string()).or_insert(seed);
                    }
                }
            });
        }
    });
    found.into_inner()
}

#[test]
fn the_objects_of_every_accepted_manifest_are_accepted_by_the_api_server() {
    let cluster = shared().unwrap();
    let found = objects(seeds(SEEDS));
    assert!(found.len() > 20, "only {} objects", found.len());
    let mut refused = Vec::new();
    let all: Vec<(&String, &u64)> = found.iter().collect();
    for part in all.chunks(40) {
        let text: Vec<&str> = part.iter().map(|(object, _)| object.as_str()).collect();
        if dry_run(cluster, &text.join("---\n")).unwrap().is_none() {
            continue;
        }
        let errors = part
            .iter()
            .filter_map(|(object, seed)| Some(format!("seed {seed}: {}", dry_run(cluster, object).unwrap()?)));
        refused.extend(errors);
    }
    assert!(
        refused.is_empty(),
        "{} of {}:\n{}",
        refused.len(),
        found.len(),
        refused.join("\n")
    );
}
