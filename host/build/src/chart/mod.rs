//! `boson-build chart`: a Helm chart, generated from the manifests in `deploy/`, so that both installations are the
//! same. Each file of `deploy/` becomes a template of the same name with its comments; `files/` has the rest of the
//! chart: its values, their schema and its notes.

mod deploy;
mod operator;
mod template;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::deploy::{Deploy, PARTS};

/// The chart's content and destination.
#[derive(Args)]
pub(crate) struct ChartArguments {
    /// The manifests.
    #[arg(long, value_name = "DIR", default_value = "deploy")]
    deploy: PathBuf,
    /// The definitions of the custom resources.
    #[arg(long, value_name = "DIR", default_value = "crds")]
    crds: PathBuf,
    /// The version of the chart and of the image.
    #[arg(long, value_name = "VERSION", default_value = env!("CARGO_PKG_VERSION"))]
    version: String,
    /// The folder to write, which is replaced.
    #[arg(long, value_name = "DIR", default_value_os_t = crate::target().join("chart"))]
    out: PathBuf,
}

/// The files of the chart, by path.
type Files = BTreeMap<String, String>;

/// Writes the chart.
pub(crate) fn make(arguments: &ChartArguments) -> Result<()> {
    let mut files = templates(&Deploy::read(&arguments.deploy)?, &arguments.version)?;
    for name in definitions(&arguments.crds)? {
        let text = read(&arguments.crds.join(&name))?;
        files.insert(format!("crds/{name}"), text);
    }
    if arguments.out.exists() {
        // Only a chart is replaced: a wrong path must not delete anything else.
        ensure!(
            arguments.out.join("Chart.yaml").is_file(),
            "{} exists and is not a chart",
            arguments.out.display()
        );
        fs::remove_dir_all(&arguments.out).with_context(|| format!("replacing {}", arguments.out.display()))?;
    }
    for (path, text) in &files {
        let file = arguments.out.join(path);
        fs::create_dir_all(file.parent().context("a file without a folder")?)?;
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    eprintln!(
        "chart {}: {} files in {}",
        arguments.version,
        files.len(),
        arguments.out.display()
    );
    Ok(())
}

/// All files except the definitions.
fn templates(deploy: &Deploy, version: &str) -> Result<Files> {
    ensure!(
        deploy.image.tag == version,
        "deploy/operator/kustomization.yaml has the tag {}, which is not the version {version}",
        deploy.image.tag
    );
    let mut files = Files::new();
    for part in PARTS {
        for (name, text) in deploy.files(part.folder) {
            let text = match (part.folder, name) {
                // `helm install --create-namespace` creates it: Helm stores its own records there.
                ("operator", "namespace.yaml") => continue,
                ("operator", "operator.yaml") => operator::template(text, deploy)?,
                ("operator", "network-policy.yaml") => operator::registry_ports(text)?,
                _ => text.to_string(),
            };
            let path = format!("templates/{}/{name}", part.folder);
            let text = template::of(&text, part).with_context(|| format!("{}/{name}", part.folder))?;
            files.insert(path, text);
        }
    }
    files.insert("templates/_image.tpl".into(), include_str!("files/_image.tpl").into());
    files.insert("templates/NOTES.txt".into(), include_str!("files/NOTES.txt").into());
    files.insert(
        "values.schema.json".into(),
        include_str!("files/values.schema.json").into(),
    );
    files.insert(
        "Chart.yaml".into(),
        include_str!("files/Chart.yaml").replace("VERSION", version),
    );
    files.insert(
        "values.yaml".into(),
        operator::values(include_str!("files/values.yaml"), deploy)?,
    );
    Ok(files)
}

/// The names of the files with definitions.
fn definitions(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".yaml") {
            names.push(name);
        }
    }
    ensure!(!names.is_empty(), "{} has no definitions", directory.display());
    Ok(names)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the manifests of this checkout.
    fn chart(version: &str) -> Result<Files> {
        // Read at run time: checkouts may share a target directory.
        let package = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        templates(&Deploy::read(&Path::new(&package).join("../../deploy"))?, version)
    }

    #[test]
    fn each_manifest_is_a_template_with_its_comments() {
        let files = chart(env!("CARGO_PKG_VERSION")).unwrap();
        assert_eq!(
            files.keys().filter(|path| path.ends_with(".yaml")).count(),
            20,
            "{:?}",
            files.keys()
        );
        let rules = &files["templates/operator/rbac.yaml"];
        assert!(
            rules.contains("# BOSHDeployments: read and watch them. One that has changed is read by name, for who changed it.\n- apiGroups"),
            "{rules}"
        );
        let binding = &files["templates/namespace/rbac.yaml"];
        assert!(binding.contains("{{- range .Values.namespaces }}\n---\n"), "{binding}");
        assert!(binding.contains("  namespace: {{ . | quote }}\n"), "{binding}");
        assert!(
            binding.contains("  namespace: {{ $.Release.Namespace | quote }}\n"),
            "{binding}"
        );
    }

    #[test]
    fn defaults_are_those_of_the_manifests() {
        let files = chart(env!("CARGO_PKG_VERSION")).unwrap();
        let values = &files["values.yaml"];
        for line in [
            "replicas: 2",
            "  repository: ghcr.io/boson/host",
            "namespaces: [default]",
            "    memory: 2Gi",
        ] {
            assert!(values.lines().any(|one| one == line), "no '{line}' in\n{values}");
        }
        let operator = &files["templates/operator/operator.yaml"];
        assert!(
            !operator.contains("ghcr.io") && !operator.contains("2Gi\n        securityContext"),
            "{operator}"
        );
        for (path, text) in &files {
            let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            for line in code.filter(|_| path.starts_with("templates/")) {
                assert!(!line.contains("boson-system"), "{path}: {line}");
            }
        }
    }

    #[test]
    fn another_version_than_that_of_the_manifests_is_an_error() {
        let error = chart("99.0.0").unwrap_err();
        assert!(error.to_string().contains("is not the version 99.0.0"), "{error}");
    }
}
