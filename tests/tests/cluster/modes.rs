//! Both modes of a conversion: in the operator's process, and in pods with the commands of `host util`.

use crate::operator::{Stage, condition, config_map, is};
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::{host, root};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest in diagnostics.
const MANIFEST: &str = "configmap/nats-manifest/manifest";

/// The folders that the pods of a conversion mount, filled from the Secrets of a cluster.
struct Mounts {
    root: tempfile::TempDir,
}

// === impl Mounts ===

impl Mounts {
    fn of(stage: &Stage) -> Result<Self> {
        let mounts = Self {
            root: tempfile::tempdir()?,
        };
        mounts.put(stage, "nats.with-ops", "with-ops")?;
        mounts.put(stage, "nats.desired-manifest-v1", "desired")?;
        for group in ["broker", "gateway", "smoke-tests"] {
            mounts.put(stage, &format!("nats.ig-resolved.{group}-v1"), group)?;
        }
        mounts.put(
            stage,
            "nats.var-implicit-system-domain",
            "values/implicit/system_domain",
        )?;
        for (secret, variable) in [
            ("nats.var-nats-ca", "nats_ca"),
            ("nats.var-broker-tls", "broker_tls"),
            ("nats.var-broker-password", "broker_password"),
        ] {
            mounts.put(stage, secret, &format!("values/generated/{variable}"))?;
        }
        for release in ["messaging", "smoke"] {
            let jobs = root().join("docs/examples/nats/releases").join(release).join("jobs");
            copy(&jobs, &mounts.path(&format!("all-releases/jobs-src/{release}")))?;
        }
        Ok(mounts)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The files of a Secret.
    fn put(&self, stage: &Stage, secret: &str, folder: &str) -> Result<()> {
        let folder = self.path(folder);
        fs::create_dir_all(&folder)?;
        for (key, bytes) in data(stage, secret)? {
            fs::write(folder.join(key), bytes)?;
        }
        Ok(())
    }

    /// Runs a command of `host util` with the common arguments; its exit code, output and report.
    fn run(&self, command: &str, arguments: &[String]) -> Result<(i32, Value, String)> {
        let (output, report) = (self.path("output.json"), self.path("report"));
        let _ = fs::remove_file(&output);
        fs::write(&report, "")?;
        let mut all: Vec<String> = ["util", command].map(String::from).into();
        all.push(format!("--manifest-name={MANIFEST}"));
        for (option, path) in [
            ("values", self.path("values")),
            ("output", output.clone()),
            ("report", report.clone()),
        ] {
            all.push(format!("--{option}={}", path.display()));
        }
        all.extend(arguments.iter().cloned());
        let ran = host(self.root.path(), all)?;
        let output = fs::read_to_string(&output).unwrap_or_default();
        let output = serde_json::from_str(&output).unwrap_or(Value::Null);
        ensure!(ran.code == 0 || output.is_null(), "a failure left output");
        Ok((ran.code, output, fs::read_to_string(&report)?))
    }

    fn file(&self, option: &str, name: &str) -> String {
        format!("--{option}={}", self.path(name).display())
    }

    fn gather(&self, group: &str) -> Vec<String> {
        vec![
            self.file("manifest", "desired/manifest.yaml"),
            self.file("releases", "all-releases"),
            format!("--group={group}"),
            "--deployment=nats".into(),
            format!("--namespace={}", self.namespace()),
            "--operator-image=example.com/boson:1".into(),
        ]
    }

    fn namespace(&self) -> String {
        fs::read_to_string(self.path("namespace")).unwrap_or_default()
    }
}

/// Copies a release's jobs in the layout of an image.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(name))?;
        } else {
            let name = if name == "spec" { "job.MF".to_string() } else { name };
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

fn data(stage: &Stage, secret: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let secret = stage.get(&format!("secret/{secret}"))?;
    let data = secret["data"].as_object().context("a Secret without data")?;
    data.iter()
        .map(|(key, value)| Ok((key.clone(), STANDARD.decode(value.as_str().unwrap_or_default())?)))
        .collect()
}

/// Checks that a command's output is exactly the content of the Secret.
fn same(stage: &Stage, secret: &str, output: &Value) {
    let held = data(stage, secret).unwrap();
    assert_eq!(held.len(), output.as_object().unwrap().len(), "{secret}");
    for (key, bytes) in held {
        let text = output[&key].as_str().unwrap();
        assert!(text.as_bytes() == bytes, "{secret}, {key}:\n{text}");
    }
}

#[test]
fn the_commands_of_pods_give_the_bytes_of_the_operator() {
    let stage = Stage::new("commands").unwrap();
    // The part of a cloud config that pods need is in the documents that they mount.
    let cloud = "azs: [{name: z1, cloud_properties: {zone: eu-1a}}]\n";
    stage.apply(&[config_map("cloud", "cloud-config", cloud)]).unwrap();
    let mut deployment = stage.deployment(&["nats-scale"]);
    deployment["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "cloud"});
    stage.deploy_as(deployment).unwrap();
    stage
        .wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let mounts = Mounts::of(&stage).unwrap();
    fs::write(mounts.path("namespace"), &stage.namespace).unwrap();

    let manifest = mounts.file("manifest", "with-ops/manifest.yaml");
    let (code, output, report) = mounts.run("interpolate", std::slice::from_ref(&manifest)).unwrap();
    assert_eq!(code, 0, "{report}");
    same(&stage, "nats.desired-manifest-v1", &output);
    // With other inputs than it was started for, it writes nothing.
    let (code, ..) = mounts.run("interpolate", &[manifest, "--inputs=0".into()]).unwrap();
    assert_eq!(code, 75);

    for group in ["broker", "gateway", "smoke-tests"] {
        let mut arguments = mounts.gather(group);
        arguments.push(format!("--registry={}/bosh", stage.registry.host()));
        let (code, output, report) = mounts.run("instance-group", &arguments).unwrap();
        assert_eq!(code, 0, "{report}");
        same(&stage, &format!("nats.ig-resolved.{group}-v1"), &output);

        let resolved = mounts.file("resolved", &format!("{group}/properties.yaml"));
        let releases = mounts.file("releases", "all-releases");
        let arguments = [resolved, releases, format!("--group={group}")];
        let (code, output, report) = mounts.run("bpm", &arguments).unwrap();
        assert_eq!(code, 0, "{report}");
        same(&stage, &format!("nats.bpm.{group}-v1"), &output);
    }
    let (code, _, report) = mounts.run("instance-group", &mounts.gather("unknown")).unwrap();
    assert_eq!(code, 65);
    assert!(
        report.contains("convert-no-group") && report.contains(MANIFEST),
        "{report}"
    );
}

#[test]
fn an_error_of_a_template_is_reported_with_its_line_and_without_values() {
    let stage = Stage::new("reported").unwrap();
    stage.deploy().unwrap();
    stage
        .wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let mounts = Mounts::of(&stage).unwrap();
    let template = mounts.path("all-releases/jobs-src/messaging/broker/templates/broker.conf.erb");
    let text = fs::read_to_string(&template).unwrap();
    let lines = text.lines().count();
    fs::write(
        &template,
        format!("{}\n<% raise p('broker.password') %>\n", text.trim_end()),
    )
    .unwrap();
    let arguments = [
        mounts.file("resolved", "broker/properties.yaml"),
        mounts.file("releases", "all-releases"),
        "--group=broker".to_string(),
    ];
    let (code, _, report) = mounts.run("bpm", &arguments).unwrap();
    assert_eq!(code, 65);
    let first: Value = serde_json::from_str(report.lines().next().unwrap()).unwrap();
    assert!(
        first["document"].as_str().unwrap().ends_with("broker.conf.erb"),
        "{first:#}"
    );
    assert_eq!(first["line"], lines + 1);
    let password = data(&stage, "nats.var-broker-password").unwrap().remove(0).1;
    assert!(!report.contains(std::str::from_utf8(&password).unwrap()), "{report}");
    assert!(report.contains("<redacted>"), "{report}");
    assert!(condition(&stage.get("boshdeployment/nats").unwrap(), "Converted").is_some());
}

/// The QuarksJobs of the conversion.
const JOBS: [&str; 3] = ["bpm-configs-nats", "data-gathering-nats", "var-interpolation-nats"];

/// Loads the releases of the example into the node, as the images of this deployment.
pub fn load_releases(cluster: &Cluster, stage: &Stage) -> Result<()> {
    let releases = root().join("docs/examples/nats/releases");
    for (name, tag) in [("messaging", "1.4.0"), ("smoke", "0.3.1")] {
        cluster.load_image(&Image::release(&tagged(stage, name, tag), &releases.join(name))?)?;
    }
    Ok(())
}

fn tagged(stage: &Stage, release: &str, version: &str) -> String {
    format!("{}/bosh/{release}:ubuntu-jammy-1.584-{version}", stage.registry.host())
}

/// The objects of a deployment, without the fields that change on their own.
fn everything(stage: &Stage) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for kind in [
        "secret",
        "quarkssecret",
        "quarksstatefulset",
        "statefulset",
        "service",
        "quarksjob",
    ] {
        let list = stage.get(kind)?;
        for mut object in list["items"].as_array().cloned().unwrap_or_default() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if kind == "quarksjob" && JOBS.contains(&name) {
                continue;
            }
            let uid = object["metadata"]["uid"].clone();
            let labels = object["metadata"]["labels"].clone();
            object["metadata"] = serde_json::json!({"name": name, "uid": uid, "labels": labels});
            if let Some(members) = object.as_object_mut() {
                members.remove("status");
            }
            all.push(object);
        }
    }
    Ok(all)
}

fn conversion_jobs(stage: &Stage) -> Vec<String> {
    let mut names = stage.names("quarksjob").unwrap();
    names.retain(|name| name != "nats-smoke-tests");
    names
}

fn message(deployment: &Value) -> String {
    let reported = condition(deployment, "Converted").map(|reported| reported["message"].clone());
    reported
        .and_then(|reported| Some(reported.as_str()?.to_string()))
        .unwrap_or_default()
}

/// One test, because each run of pods takes time: from nothing, the other mode and back, a changed value, and two mistakes.
#[test]
fn pods_convert_as_the_operator_does() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut stage = Stage::with_pods(cluster, "pods").unwrap();
    load_releases(cluster, &stage).unwrap();
    stage.deploy().unwrap();
    let applied = |deployment: &Value| is(deployment, "Applied", "True") && is(deployment, "Converted", "True");
    stage.wait("Applied by jobs", applied).unwrap();
    assert_eq!(conversion_jobs(&stage), JOBS);
    let made = everything(&stage).unwrap();
    assert!(
        made.iter()
            .any(|object| object["metadata"]["name"] == "nats.bpm.broker-v1")
    );

    for (mode, jobs) in [("InProcess", &[][..]), ("Jobs", &JOBS[..])] {
        stage.mode = mode;
        stage.apply(&[stage.deployment(&["nats-scale"])]).unwrap();
        stage.wait(mode, applied).unwrap();
        assert_eq!(conversion_jobs(&stage), jobs, "{mode}");
        assert_eq!(everything(&stage).unwrap(), made, "{mode}");
    }

    a_changed_value_runs_what_depends_on_it(&stage);
    mistakes_are_reported_with_their_place(cluster, &stage);
}

fn a_changed_value_runs_what_depends_on_it(stage: &Stage) {
    let value = r#"{"stringData":{"value":"example.org"}}"#;
    stage
        .kubectl(&[
            "patch",
            "secret/nats.var-implicit-system-domain",
            "--type=merge",
            "--patch",
            value,
        ])
        .unwrap();
    stage
        .wait("another manifest", |deployment| {
            let names = stage.names("secret").unwrap_or_default();
            is(deployment, "Converted", "True") && names.iter().any(|name| name == "nats.desired-manifest-v2")
        })
        .unwrap();
    let digest = |name: &str| {
        let secret = stage.get(&format!("secret/{name}")).unwrap();
        secret["metadata"]["annotations"]["quarks.cloudfoundry.org/desired-manifest-digest"].clone()
    };
    let names = stage.names("secret").unwrap();
    let newest = |series: &str| {
        names
            .iter()
            .filter(|name| name.starts_with(series))
            .max()
            .cloned()
            .unwrap()
    };
    // Every document is of the new manifest, whether or not its content changed.
    let bpm = digest(&newest("nats.bpm.broker-v"));
    assert!(bpm.is_string());
    for group in ["broker", "gateway", "smoke-tests"] {
        assert_eq!(digest(&newest(&format!("nats.ig-resolved.{group}-v"))), bpm, "{group}");
    }
}

fn mistakes_are_reported_with_their_place(cluster: &Cluster, stage: &Stage) {
    let version = |version: &str| {
        let ops = format!("- type: replace\n  path: /releases/name=messaging/version\n  value: {version}\n");
        stage
            .apply(&[
                config_map("version", "ops", &ops),
                stage.deployment(&["nats-scale", "version"]),
            ])
            .unwrap();
    };
    let releases = root().join("docs/examples/nats/releases");
    let template = releases.join("messaging/jobs/broker/templates/broker.conf.erb");
    let text = fs::read_to_string(template).unwrap();
    let broken = format!("{}\n<%= p('broker.nothing') %>\n", text.trim_end());
    let image = Image::release(&tagged(stage, "messaging", "1.4.1"), &releases.join("messaging")).unwrap();
    let image = image.file("var/vcap/jobs-src/broker/templates/broker.conf.erb", broken);
    cluster.load_image(&image).unwrap();
    version("1.4.1");
    let reported = stage
        .wait("the template's error", |deployment| {
            message(deployment).contains("broker.conf.erb")
        })
        .unwrap();
    let place = format!("broker.conf.erb:{}", text.trim_end().lines().count() + 1);
    assert!(message(&reported).contains(&place), "{}", message(&reported));
    assert!(
        message(&reported).contains("Can't find property '[\"broker.nothing\"]'"),
        "{}",
        message(&reported)
    );

    version("9.9.9");
    let reported = stage
        .wait("the missing image", |deployment| {
            condition(deployment, "Converted").is_some_and(|reported| reported["reason"] == "DeploymentImagePull")
        })
        .unwrap();
    assert!(
        message(&reported).contains("messaging:ubuntu-jammy-1.584-9.9.9"),
        "{}",
        message(&reported)
    );
    version("1.4.0");
    stage
        .wait("the fix", |deployment| {
            is(deployment, "Converted", "True") && is(deployment, "Applied", "True")
        })
        .unwrap();
}
