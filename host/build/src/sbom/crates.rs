//! The Rust crates that programs and plugins are linked with, from `cargo metadata` and `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Components and what they need, by their package URLs.
#[derive(Debug)]
pub(super) struct Crates {
    pub roots: BTreeSet<String>,
    pub components: BTreeMap<String, Value>,
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
}

// === impl Crates ===

impl Crates {
    /// The packages and all that they are linked with, without what only their build or their tests need.
    pub(super) fn linked(metadata: &Value, lock: &str, packages: &[String]) -> Result<Self> {
        let by_id = by(&metadata["packages"])?;
        let nodes = by(&metadata["resolve"]["nodes"])?;
        let checksums = checksums(lock);
        let mut found = Self {
            roots: BTreeSet::new(),
            components: BTreeMap::new(),
            dependencies: BTreeMap::new(),
        };
        let mut next = Vec::new();
        for name in packages {
            let is_ours = |package: &&&Value| package["name"] == **name && package["source"].is_null();
            let package = by_id.values().find(is_ours);
            let package = package.with_context(|| format!("the workspace has no package '{name}'"))?;
            found.roots.insert(url(package));
            next.push(text(&package["id"]));
        }
        while let Some(id) = next.pop() {
            let package = by_id.get(id).context("a dependency that is no package")?;
            let url = url(package);
            if found.components.contains_key(&url) {
                continue;
            }
            let needed = nodes.get(id).map(|node| linked_with(node)).unwrap_or_default();
            let urls = needed
                .iter()
                .filter_map(|id| by_id.get(id))
                .map(|package| self::url(package));
            found.dependencies.insert(url.clone(), urls.collect());
            found.components.insert(url, component(package, &checksums));
            next.extend(needed);
        }
        Ok(found)
    }
}

/// The items by their ids.
fn by(items: &Value) -> Result<BTreeMap<&str, &Value>> {
    let items = items.as_array().context("cargo metadata has no packages")?;
    Ok(items.iter().map(|item| (text(&item["id"]), item)).collect())
}

/// The ids of a node's dependencies, without those of its build script and its tests.
fn linked_with(node: &Value) -> Vec<&str> {
    let dependencies = node["deps"].as_array().into_iter().flatten();
    let is_linked = |dependency: &&Value| {
        let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
        kinds.any(|kind| kind["kind"].is_null())
    };
    dependencies
        .filter(is_linked)
        .map(|dependency| text(&dependency["pkg"]))
        .collect()
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let url = url(package);
    let mut component = json!({"type": "library", "bom-ref": url, "name": name, "version": version});
    if let Some(sum) = checksums.get(&(name.to_string(), version.to_string())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component["licenses"] = match package["license"].as_str() {
        // The older form of an expression.
        Some(license) => {
            let licenses: Vec<&str> = license.split('/').map(str::trim).collect();
            json!([{"expression": licenses.join(" OR ")}])
        }
        None => json!([{"license": {"name": text(&package["license_file"])}}]),
    };
    component["purl"] = url.into();
    component
}

fn url(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
}

/// The digests of packages in a `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]\n").skip(1) {
        let field = |name: &str| {
            let begin = format!("{name} = \"");
            let value = |line: &str| Some(line.strip_prefix(&begin)?.strip_suffix('"')?.to_string());
            package.lines().find_map(value)
        };
        if let (Some(name), Some(version), Some(sum)) = (field("name"), field("version"), field("checksum")) {
            found.insert((name, version), sum);
        }
    }
    found
}

/// Empty if it is no string.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: Option<&str>, license: Option<&str>) -> Value {
        json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": license, "license_file": "LICENSE"})
    }

    fn node(name: &str, needed: &[(&str, Option<&str>)]) -> Value {
        let one = |(id, kind): &(&str, Option<&str>)| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        json!({"id": name, "deps": needed.iter().map(one).collect::<Vec<_>>()})
    }

    #[test]
    fn what_is_linked_is_listed_with_licence_and_digest() {
        let registry = Some("registry");
        let metadata = json!({
            "packages": [
                package("host", None, Some("Apache-2.0")),
                package("serde", registry, Some("MIT / Apache-2.0")),
                package("odd", registry, None),
                package("cc", registry, Some("MIT")),
                package("proptest", registry, Some("MIT")),
            ],
            "resolve": {"nodes": [
                node("host", &[("serde", None), ("cc", Some("build")), ("proptest", Some("dev"))]),
                node("serde", &[("odd", None)]),
                node("odd", &[("serde", None)]),
            ]},
        });
        let lock = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n[[package]]\nname = \"host\"\nversion = \"1.0.0\"\n";
        let found = Crates::linked(&metadata, lock, &["host".into()]).unwrap();
        let names: Vec<&Value> = found.components.values().map(|one| &one["name"]).collect();
        assert_eq!(names, ["host", "odd", "serde"]);
        let serde = &found.components["pkg:cargo/serde@1.0.0"];
        assert_eq!(serde["licenses"], json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(serde["hashes"][0]["content"], "abc");
        assert_eq!(
            found.components["pkg:cargo/odd@1.0.0"]["licenses"][0]["license"]["name"],
            "LICENSE"
        );
        assert!(found.dependencies["pkg:cargo/host@1.0.0"].contains("pkg:cargo/serde@1.0.0"));
        let error = Crates::linked(&metadata, lock, &["serde".into()]).unwrap_err();
        assert!(error.to_string().contains("no package 'serde'"), "{error}");
    }
}
