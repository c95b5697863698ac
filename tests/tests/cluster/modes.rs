//! The commands that pods of a conversion run, `host util`: they give what the operator gives in its process.

use crate::objects::{condition, config_map};
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
    fn of(env: &Environment) -> Result<Self> {
        let mounts = Self {
            root: tempfile::tempdir()?,
        };
        mounts.put(env, "nats.with-ops", "with-ops")?;
        mounts.put(env, "nats.desired-manifest-v1", "desired")?;
        for group in ["broker", "gateway", "smoke-tests"] {
            mounts.put(env, &format!("nats.ig-resolved.{group}-v1"), group)?;
        }
        mounts.put(env, "nats.var-implicit-system-domain", "values/implicit/system_domain")?;
        for (secret, variable) in [
            ("nats.var-nats-ca", "nats_ca"),
            ("nats.var-broker-tls", "broker_tls"),
            ("nats.var-broker-password", "broker_password"),
        ] {
            mounts.put(env, secret, &format!("values/generated/{variable}"))?;
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
    fn put(&self, env: &Environment, secret: &str, folder: &str) -> Result<()> {
        let folder = self.path(folder);
        fs::create_dir_all(&folder)?;
        for (key, bytes) in data(env, secret)? {
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

    /// The links that the last command has written.
    fn providers(&self) -> Value {
        let text = fs::read_to_string(self.path("providers.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
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

fn data(env: &Environment, secret: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let secret = env.get(&format!("secret/{secret}"))?;
    let data = secret["data"].as_object().context("a Secret without data")?;
    data.iter()
        .map(|(key, value)| Ok((key.clone(), STANDARD.decode(value.as_str().unwrap_or_default())?)))
        .collect()
}

/// Checks that a command's output is exactly the content of the Secret.
fn same(env: &Environment, secret: &str, output: &Value) {
    let held = data(env, secret).unwrap();
    assert_eq!(held.len(), output.as_object().unwrap().len(), "{secret}");
    for (key, bytes) in held {
        let text = output[&key].as_str().unwrap();
        assert!(text.as_bytes() == bytes, "{secret}, {key}:\n{text}");
    }
}

#[test]
fn the_commands_of_pods_give_the_bytes_of_the_operator() {
    let env = Environment::new("commands").unwrap();
    // The part of a cloud config that pods need is in the documents that they mount.
    let cloud = "azs: [{name: z1, cloud_properties: {zone: eu-1a}}]\n";
    env.apply(&[config_map("cloud", "cloud-config", cloud)]).unwrap();
    let mut deployment = env.deployment(&["nats-scale"]);
    deployment["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "cloud"});
    env.deploy_as(deployment).unwrap();
    env.wait_until_applied().unwrap();
    let mounts = Mounts::of(&env).unwrap();
    fs::write(mounts.path("namespace"), &env.namespace).unwrap();

    let manifest = mounts.file("manifest", "with-ops/manifest.yaml");
    let (code, output, report) = mounts.run("interpolate", std::slice::from_ref(&manifest)).unwrap();
    assert_eq!(code, 0, "{report}");
    same(&env, "nats.desired-manifest-v1", &output);
    // With other inputs than it was started for, it writes nothing.
    let (code, ..) = mounts.run("interpolate", &[manifest, "--inputs=0".into()]).unwrap();
    assert_eq!(code, 75);

    for group in ["broker", "gateway", "smoke-tests"] {
        let mut arguments = mounts.gather(group);
        arguments.push(format!("--registry={}/bosh", env.registry.host()));
        arguments.push(mounts.file("providers", "providers.json"));
        let (code, output, report) = mounts.run("instance-group", &arguments).unwrap();
        assert_eq!(code, 0, "{report}");
        same(&env, &format!("nats.ig-resolved.{group}-v1"), &output);
        same(&env, "nats.links-v1", &mounts.providers());

        let resolved = mounts.file("resolved", &format!("{group}/properties.yaml"));
        let releases = mounts.file("releases", "all-releases");
        let arguments = [resolved, releases, format!("--group={group}")];
        let (code, output, report) = mounts.run("bpm", &arguments).unwrap();
        assert_eq!(code, 0, "{report}");
        same(&env, &format!("nats.bpm.{group}-v1"), &output);
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
    let env = Environment::new("reported").unwrap();
    env.deploy().unwrap();
    env.wait_until_applied().unwrap();
    let mounts = Mounts::of(&env).unwrap();
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
    let password = data(&env, "nats.var-broker-password").unwrap().remove(0).1;
    assert!(!report.contains(std::str::from_utf8(&password).unwrap()), "{report}");
    assert!(report.contains("<redacted>"), "{report}");
    assert!(condition(&env.get("boshdeployment/nats").unwrap(), "Converted").is_some());
}
