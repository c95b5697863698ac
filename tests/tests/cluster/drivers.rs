//! The drivers of a conversion report the same errors for the same input: the command line, the operator, and the
//! commands that pods run.

use crate::modes;
use crate::objects::{condition, config_map, deployment_of};
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::WAIT_TIMEOUT;
use boson_tests::{golden, host};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Arguments of the golden cases that every driver can convert.
const PLAIN: &str = "convert\nmanifest.yml\n--release\nrelease";
/// The image of their release.
const IMAGE: &str = "demo:ubuntu-jammy-1.1-1";
/// Codes of the steps that no command of a pod runs: the operator makes the objects.
const OF_OBJECTS: [&str; 3] = ["bpm-", "bundle-", "variables-"];
/// Cases whose errors depend on what only one driver has, with the reason.
const OTHERS: [(&str, &str); 12] = [
    (
        "variables/cyclic-in-deployment",
        "the cluster generates each value by itself",
    ),
    ("variables/undefined", "the values are missing Secrets"),
    ("variables/suggests-variable", "the value is a missing Secret"),
    ("releases/latest", "no image has the version `latest`"),
    ("manifest/latest-stemcell", "no image has the version `latest`"),
    ("manifest/no-name", "the object's name is the deployment's"),
    ("releases/no-registry", "the test gives a registry"),
    ("manifest/release-url", "the test gives a registry"),
    ("manifest/no-stemcell", "the release has no image"),
    (
        "manifest/malformed",
        "the releases are not a list, so they have no images",
    ),
    ("releases/empty", "the release is read in another way"),
    ("manifest/not-a-map", "the manifest has no jobs"),
];

#[test]
fn every_driver_reports_the_same_errors() {
    let env = Environment::new("drivers").unwrap();
    let cases: Vec<Case> = cases(&env).unwrap();
    assert!(cases.len() > 30, "only {} cases", cases.len());
    for case in &cases {
        case.deploy(&env).unwrap();
    }
    let mut wrong = Vec::new();
    for case in &cases {
        let line = case.by_command_line(&env).unwrap();
        assert!(!line.is_empty(), "{}: no error", case.name);
        let operator = case.by_operator(&env).unwrap();
        let is_same = if operator.contains(CUT) {
            operator
                .iter()
                .filter(|error| *error != CUT)
                .all(|error| line.iter().any(|whole| whole.starts_with(error.as_str())))
        } else {
            operator == line
        };
        if !is_same {
            wrong.push(format!("{}: command line {line:#?}, operator {operator:#?}", case.name));
        }
        let of_pods: Errors = line
            .iter()
            .filter(|error| !OF_OBJECTS.iter().any(|code| error.starts_with(code)))
            .cloned()
            .collect();
        // The operator adds the places in the manifest, which pods do not have.
        let of_pods: Errors = of_pods.iter().map(|error| without_place(error)).collect();
        let pods = case.by_pods(&env).unwrap();
        let pods = pods.map(|pods| pods.iter().map(|error| without_place(error)).collect::<Errors>());
        if pods.as_ref().is_some_and(|pods| *pods != of_pods) {
            wrong.push(format!("{}: command line {of_pods:#?}, pods {pods:#?}", case.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// Stands for the errors that a condition has no room for.
const CUT: &str = "[the message is cut";

/// Errors without the names of files, which depend on the driver: code, message, line and column.
type Errors = BTreeSet<String>;

/// A golden case with wrong input.
struct Case {
    /// `<stage>-<case>`.
    name: String,
    folder: TempDir,
}

fn cases(env: &Environment) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for case in golden::cases()? {
        let expected = case.folder.join("expected.err");
        let is_plain = case.arguments()?.trim_end() == PLAIN && expected.exists();
        if !is_plain || OTHERS.iter().any(|(other, _)| *other == case.name) {
            continue;
        }
        let folder = tempfile::tempdir()?;
        case.write_inputs(folder.path())?;
        // A release that cannot be read is an error of the command line alone: its image cannot be built.
        let release = folder.path().join("release");
        if fs::read_to_string(expected)?.contains("error[release-") || !release.join("jobs/app/spec").exists() {
            continue;
        }
        let name = case.name.replace('/', "-");
        env.registry.push_release(&format!("{name}/{IMAGE}"), &release)?;
        cases.push(Case { name, folder });
    }
    Ok(cases)
}

// === impl Case ===

impl Case {
    fn registry(&self, env: &Environment) -> String {
        format!("{}/bosh/{}", env.registry.host(), self.name)
    }

    fn manifest(&self) -> Result<String> {
        Ok(fs::read_to_string(self.folder.path().join("manifest.yml"))?)
    }

    fn deploy(&self, env: &Environment) -> Result<()> {
        let name = &self.name;
        let manifest = format!("{name}-manifest");
        env.apply(&[
            config_map(&manifest, "manifest", &self.manifest()?),
            deployment_of(name, &manifest, &[], &self.registry(env)),
        ])
    }

    fn by_operator(&self, env: &Environment) -> Result<Errors> {
        env.operator.wait_for_value(&self.name, WAIT_TIMEOUT, || {
            let deployment = env.get(&format!("boshdeployment/{}", self.name))?;
            let converted = condition(&deployment, "Converted").context("no condition")?;
            let message = converted["message"].as_str().unwrap_or_default();
            let is_decided = converted["status"] == "False" || converted["status"] == "True";
            ensure!(is_decided, "it waits: {message}");
            Ok(errors(message))
        })
    }

    fn by_command_line(&self, env: &Environment) -> Result<Errors> {
        let registry = self.registry(env);
        let options = [
            "--registry",
            &registry,
            "--name",
            &self.name,
            "--namespace",
            &env.namespace,
        ];
        let ran = host(self.folder.path(), PLAIN.lines().chain(options))?;
        Ok(errors(&ran.stderr))
    }

    /// The errors of the commands of pods, one after the other as the operator runs them; `None` if the manifest has no
    /// pods yet.
    fn by_pods(&self, env: &Environment) -> Result<Option<Errors>> {
        let scratch = tempfile::tempdir()?;
        let place = |name: &str| scratch.path().join(name);
        let interpolated = host(self.folder.path(), ["interpolate", "manifest.yml"])?;
        if interpolated.code != 0 {
            return Ok(None);
        }
        fs::write(place("manifest.yaml"), &interpolated.stdout)?;
        modes::copy(
            &self.folder.path().join("release/jobs"),
            &place("all-releases/jobs-src/demo"),
        )?;
        let mut found = Errors::new();
        for group in group_names(&interpolated.stdout)? {
            let (registry, gathered) = (self.registry(env), place("gathered.json"));
            let options = [
                ("manifest", place("manifest.yaml").display().to_string()),
                ("deployment", self.name.clone()),
                ("namespace", env.namespace.clone()),
                ("operator-image", "example.com/boson:1".into()),
                ("registry", registry),
            ];
            let said = run(scratch.path(), "instance-group", &group, &gathered, &options)?;
            found.extend(errors(&said));
            let Ok(text) = fs::read_to_string(&gathered) else {
                continue;
            };
            let texts: Value = serde_json::from_str(&text)?;
            let resolved = texts["properties.yaml"].as_str().context("no document")?;
            fs::write(place("properties.yaml"), resolved)?;
            let options = [("resolved", place("properties.yaml").display().to_string())];
            let said = run(scratch.path(), "bpm", &group, &place("bpm.json"), &options)?;
            found.extend(errors(&said));
        }
        Ok(Some(found))
    }
}

/// Runs a command of a pod; its messages.
fn run(scratch: &Path, command: &str, group: &str, output: &Path, options: &[(&str, String)]) -> Result<String> {
    let _ = fs::remove_file(output);
    let mut arguments: Vec<String> = ["util", command, "--manifest-name=manifest.yml"]
        .map(String::from)
        .into();
    let common = [
        ("group", group.to_string()),
        ("releases", scratch.join("all-releases").display().to_string()),
        ("output", output.display().to_string()),
        ("report", scratch.join("report").display().to_string()),
    ];
    for (option, value) in common.iter().chain(options) {
        arguments.push(format!("--{option}={value}"));
    }
    let ran = host(scratch, arguments)?;
    ensure!(ran.code == 0 || !output.exists(), "a failure left output");
    Ok(ran.stderr)
}

fn group_names(manifest: &str) -> Result<Vec<String>> {
    let manifest: serde_yaml::Value = serde_yaml::from_str(manifest)?;
    let groups = manifest["instance_groups"].as_sequence().cloned().unwrap_or_default();
    let names = groups
        .iter()
        .filter_map(|group| group["name"].as_str().map(String::from));
    Ok(names.collect())
}

fn without_place(error: &str) -> String {
    error.split(" @").next().unwrap_or_default().to_string()
}

/// The errors of a report.
fn errors(report: &str) -> Errors {
    let mut errors = Errors::new();
    let mut lines = report.lines().peekable();
    if report.contains(CUT) {
        errors.insert(CUT.into());
    }
    while let Some(line) = lines.next() {
        let Some(error) = line.strip_prefix("error[") else {
            continue;
        };
        let mut error = error.to_string();
        while let Some(more) = lines.next_if(|line| line.starts_with("    ") && !line.contains(" | ")) {
            error.push('\n');
            error.push_str(more);
        }
        if let Some(place) = lines.next_if(|line| line.trim_start().starts_with("--> ")) {
            let numbers = place.rsplit(':').take(2).filter(|part| part.parse::<u32>().is_ok());
            error.push_str(&numbers.map(|number| format!(" @{number}")).collect::<String>());
        }
        errors.insert(error);
    }
    errors
}
