//! `deploy/` as read from disk: the files of each folder, and what its kustomization changes in the operator's
//! Deployment.
//!
//! Only the parts of kustomize that `deploy/` uses are understood. Everything else is an error, because the chart would
//! lack it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::read;

/// A folder of `deploy/`, and when its objects are in the chart.
pub(super) struct Part {
    pub folder: &'static str,
    /// A condition of Helm's templates; empty: always.
    pub when: &'static str,
    /// Once for each namespace that is listed.
    pub each: bool,
}

pub(super) const PARTS: &[Part] = &[
    part("operator", ""),
    part("listed", r#"eq .Values.scope "listed""#),
    Part {
        each: true,
        ..part("namespace", r#"eq .Values.scope "listed""#)
    },
    Part {
        each: true,
        ..part(
            "namespace/links",
            r#"and (eq .Values.scope "listed") .Values.links.enabled"#,
        )
    },
    part("cluster-wide", r#"eq .Values.scope "cluster-wide""#),
    part(
        "cluster-wide/links",
        r#"and (eq .Values.scope "cluster-wide") .Values.links.enabled"#,
    ),
    part("webhook", ".Values.webhook.enabled"),
    part("links", ".Values.links.enabled"),
    part("signer", ".Values.signer.enabled"),
    part("service-monitor", ".Values.serviceMonitor.enabled"),
    part("dashboards", ".Values.dashboards.enabled"),
];

const fn part(folder: &'static str, when: &'static str) -> Part {
    Part {
        folder,
        when,
        each: false,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Image {
    pub name: String,
    #[serde(rename = "newTag")]
    pub tag: String,
}

/// The part of a kustomization that `deploy/` uses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Kustomization {
    #[serde(rename = "apiVersion")]
    _api_version: Option<String>,
    #[serde(rename = "kind")]
    _kind: Option<String>,
    #[serde(default)]
    resources: Vec<String>,
    /// The chart has a value for each.
    #[serde(default, rename = "components")]
    _components: Vec<String>,
    #[serde(default)]
    patches: Vec<Patch>,
    #[serde(default)]
    images: Vec<Image>,
    /// One: the image is also a variable of the container. [`super::operator`] does the same.
    #[serde(default, rename = "replacements")]
    _replacements: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    patch: String,
}

/// The folders, by name; the variables that their kustomizations set; the image.
pub(super) struct Deploy {
    folders: BTreeMap<String, Vec<(String, String)>>,
    variables: BTreeMap<String, Vec<(String, String)>>,
    pub image: Image,
}

// === impl Deploy ===

impl Deploy {
    /// Reads all folders.
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let (mut folders, mut variables, mut image) = (BTreeMap::new(), BTreeMap::new(), None);
        let known: BTreeSet<&str> = PARTS.iter().map(|part| part.folder).chain([""]).collect();
        for folder in kustomizations(directory, "")? {
            ensure!(
                known.contains(folder.as_str()),
                "the chart has no value for deploy/{folder}"
            );
            let place = directory.join(&folder);
            let file = place.join("kustomization.yaml");
            let kustomization: Kustomization =
                serde_yaml::from_str(&read(&file)?).with_context(|| file.display().to_string())?;
            let mut files = Vec::new();
            for resource in kustomization.resources.iter().filter(|path| path.ends_with(".yaml")) {
                files.push((resource.clone(), read(&place.join(resource))?));
            }
            let set = kustomization.patches.iter().map(|patch| set_by(&patch.patch));
            let set = set
                .collect::<Result<Vec<_>>>()
                .with_context(|| file.display().to_string())?;
            folders.insert(folder.clone(), files);
            variables.insert(folder, set.concat());
            image = kustomization.images.into_iter().next().or(image);
        }
        for part in PARTS {
            ensure!(folders.contains_key(part.folder), "deploy/{} is missing", part.folder);
        }
        Ok(Self {
            folders,
            variables,
            image: image.context("no kustomization names the image")?,
        })
    }

    /// Name and text of the files that the folder's kustomization lists.
    pub(super) fn files(&self, folder: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self.folders.get(folder).into_iter().flatten();
        files.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Variables of the operator's container that the folder's kustomization sets; the folder `""` is `deploy/` itself.
    pub(super) fn variables(&self, folder: &str) -> &[(String, String)] {
        self.variables.get(folder).map_or(&[], Vec::as_slice)
    }
}

/// The folders with a kustomization, relative to `deploy/`.
fn kustomizations(directory: &Path, folder: &str) -> Result<Vec<String>> {
    let place = directory.join(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(&place).with_context(|| format!("reading {}", place.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let inner = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            found.extend(kustomizations(directory, &inner)?);
        } else if name == "kustomization.yaml" {
            found.push(folder.to_string());
        }
    }
    found.sort();
    Ok(found)
}

/// The variables that a patch sets.
fn set_by(patch: &str) -> Result<Vec<(String, String)>> {
    let mut patch: Value = serde_yaml::from_str(patch)?;
    let variables = patch
        .pointer_mut("/spec/template/spec/containers/0/env")
        .map(Value::take);
    let rest = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "boson", "namespace": "boson-system"},
        "spec": {"template": {"spec": {"containers": [{"name": "operator", "env": null}]}}},
    });
    ensure!(
        patch == rest,
        "the chart understands only patches of the operator's variables"
    );
    let mut set = Vec::new();
    for variable in variables.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) else {
            bail!("the chart understands only variables with a value");
        };
        set.push((name.to_string(), value.to_string()));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: boson, namespace: boson-system}, spec: {template: {spec: {containers: [
        {name: operator, env: [{name: BOSON_A, value: b}]}]}}}}";

    #[test]
    fn a_patch_of_anything_else_is_an_error() {
        assert_eq!(set_by(PATCH).unwrap(), [("BOSON_A".to_string(), "b".to_string())]);
        for (from, to) in [
            ("name: operator,", "name: operator, image: b,"),
            ("value: b", "valueFrom: {}"),
            ("kind: Deployment", "kind: StatefulSet"),
        ] {
            assert!(set_by(&PATCH.replace(from, to)).is_err(), "{to}");
        }
    }
}
