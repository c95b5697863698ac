//! No message reveals a value, wherever in the manifest its variable stands and whatever its kind: each value of a
//! manifest in turn is replaced by a variable, so that every stage has something to complain about.

use boson_tests::host;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::thread;

/// What no message may contain, in any of its parts.
const SEED: &str = "hunter2-Dr4gon-s3cret";
const NUMBER: u64 = 648_392_017_564;

/// Members whose values are names: objects and messages have them, so they are no secrets (`scrub::NAMES`).
const NAMES: [&str; 11] = [
    "name",
    "release",
    "stemcell",
    "alias",
    "os",
    "az",
    "azs",
    "from",
    "as",
    "deployment",
    "instance_group",
];

/// A manifest in which everything is used that a conversion reads.
const MANIFEST: &str = r#"
name: demo
releases: [{name: demo, version: "1", url: registry.example.com/demo, sha1: "sha256:00"}]
stemcells: [{alias: default, os: ubuntu-jammy, version: "1.1"}]
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000-30000, update_watch_time: 1000-30000, serial: false}
features: {use_dns_addresses: true, converge_variables: false}
tags: {team: core}
variables:
- {name: pw, type: password, options: {length: 20}, update_mode: converge}
- {name: tls, type: certificate, options: {is_ca: true, common_name: x, duration: 30, key_length: 2048, key_usage: [key_cert_sign]}}
addons:
- name: more
  include: {jobs: [{name: app, release: demo}]}
  jobs: []
instance_groups:
- name: web
  instances: 1
  azs: [z1]
  lifecycle: service
  stemcell: default
  vm_type: small
  vm_resources: {cpu: 1, ram: 512, ephemeral_disk_size: 1024}
  vm_extensions: [x]
  persistent_disk: 1024
  persistent_disk_type: fast
  networks: [{name: default, default: [dns], static_ips: [10.0.0.1]}]
  migrated_from: [{name: old, az: z1}]
  update: {canaries: 1, serial: true}
  env:
    bosh:
      password: x
      remove_dev_tools: true
      agent:
        settings:
          labels: {a: b}
          annotations: {a: b}
          tmpfs: true
          ephemeralAsPVC: false
          serviceAccountName: me
          imagePullSecrets: [{name: x}]
          affinity: {nodeAffinity: {}}
          tolerations: [{key: a, operator: Exists}]
          disks: [{pvc: {metadata: {name: d}, spec: {}}, volumeMount: {name: d, mountPath: /d}}]
          preRenderOps: {instanceGroup: [{type: replace, path: /name, value: web}], bpm: []}
  jobs:
  - name: app
    release: demo
    consumes: {db: {from: other, deployment: else, ip_addresses: true}}
    provides: {web: {as: mine, shared: true}}
    custom_provider_definitions: [{name: mine, type: thing, properties: [app.domain]}]
    properties:
      app: {domain: example.com}
      quarks:
        ports: [{name: http, protocol: TCP, internal: 8080}]
        run: {healthcheck: {app: {readiness: {httpGet: {port: 8080, httpHeaders: [{name: a, value: b}]}}}}}
        bpm: {processes: [{name: app, executable: /x, args: [a], env: {A: b}, limits: {memory: 1G}}]}
        envs: [{name: A, value: b}]
"#;

/// A place in the manifest, and the manifest with `((seed))` there, whole or as a part of a text.
struct Seeded {
    place: String,
    manifest: Value,
    in_text: bool,
}

/// All places below `value`. `whole` puts a new value where `value` is.
fn seed(value: &Value, place: &str, whole: &dyn Fn(Value) -> Value, found: &mut Vec<Seeded>) {
    let mut add = |text: &str, in_text| {
        let (place, manifest) = (place.to_string(), whole(json!(text)));
        found.push(Seeded {
            place,
            manifest,
            in_text,
        });
    };
    if !place.is_empty() {
        add("((seed))", false);
    }
    match value {
        Value::String(_) => add("x-((seed))-y", true),
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                let changed = |new: Value| {
                    let mut items = items.clone();
                    items[nth] = new;
                    whole(Value::Array(items))
                };
                seed(item, &format!("{place}/{nth}"), &changed, found);
            }
        }
        Value::Object(map) => {
            for (name, member) in map.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                let changed = |new: Value| {
                    let mut map = map.clone();
                    map.insert(name.clone(), new);
                    whole(Value::Object(map))
                };
                seed(member, &format!("{place}/{name}"), &changed, found);
            }
        }
        _ => {}
    }
}

#[track_caller]
fn reveals_nothing(said: &str, place: &str, value: &Value) {
    for piece in SEED
        .as_bytes()
        .windows(8)
        .chain(NUMBER.to_string().as_bytes().windows(8))
    {
        let piece = std::str::from_utf8(piece).unwrap();
        assert!(
            !said.contains(piece),
            "{piece:?} of {value} at {place} is revealed:\n{said}"
        );
    }
}

fn convert(folder: &Path, seeded: &Seeded) {
    let Seeded { place, manifest, .. } = seeded;
    fs::write(folder.join("m.yml"), manifest.to_string()).unwrap();
    let others = [json!(NUMBER), json!([SEED, {SEED: NUMBER}]), json!({SEED: {"x": SEED}})];
    let other = &others[place.len() % others.len()];
    for value in [&json!(SEED), other].into_iter().take(2 - usize::from(seeded.in_text)) {
        fs::write(folder.join("vars.yml"), json!({"seed": value}).to_string()).unwrap();
        let arguments = [
            "convert",
            "m.yml",
            "--release",
            "release",
            "-l",
            "vars.yml",
            "--warnings",
            "all",
        ];
        let ran = host(folder, arguments).unwrap();
        assert!([0, 1].contains(&ran.code), "{value} at {place}: {}", ran.stderr);
        reveals_nothing(&ran.stderr, place, value);
        assert!(ran.code == 0 || ran.stdout.is_empty(), "{value} at {place}");
    }
}

#[test]
fn no_message_reveals_a_value_wherever_its_variable_stands() {
    let manifest: Value = serde_yaml::from_str(MANIFEST).unwrap();
    let mut all = Vec::new();
    seed(&manifest, "", &|new| new, &mut all);
    assert!(all.len() > 150, "{}", all.len());
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases/demo");
    let threads = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(threads)) {
            let release = &release;
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                std::os::unix::fs::symlink(release, folder.path().join("release")).unwrap();
                part.iter().for_each(|seeded| convert(folder.path(), seeded));
            });
        }
    });
}
