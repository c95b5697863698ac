//! `boson-build sbom`: what a release is made of, as a CycloneDX document: the Rust crates that cargo links, and what
//! is given by name. The same `Cargo.lock` gives the same bytes: the document has neither a time nor a random number.

mod crates;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use self::crates::Crates;

/// The document's content and destination.
#[derive(Args)]
pub(crate) struct SbomArguments {
    /// The version of the release.
    #[arg(long, value_name = "VERSION", default_value = env!("CARGO_PKG_VERSION"))]
    version: String,
    /// The manifest of the workspace.
    #[arg(long, value_name = "FILE", default_value = "Cargo.toml")]
    manifest: PathBuf,
    /// A package that is shipped, with all that it is linked with; may be repeated.
    #[arg(long = "package", value_name = "NAME", required = true)]
    packages: Vec<String>,
    /// A platform that is compiled for; may be repeated.
    #[arg(long = "target", value_name = "TRIPLE", required = true)]
    targets: Vec<String>,
    /// Something else that is shipped, such as `pkg:generic/glibc@2.41=LGPL-2.1-or-later`; may be repeated.
    #[arg(long = "with", value_name = "PURL=LICENSE")]
    others: Vec<String>,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Writes the document.
pub(crate) fn make(arguments: &SbomArguments) -> Result<()> {
    let lock = arguments.manifest.with_file_name("Cargo.lock");
    let lock = fs::read_to_string(&lock).with_context(|| format!("reading {}", lock.display()))?;
    let crates = Crates::linked(&metadata(arguments)?, &lock, &arguments.packages)?;
    let others = arguments.others.iter().map(|other| component(other));
    let others: Vec<Value> = others.collect::<Result<_>>()?;
    let document = document(&arguments.version, &crates, others);
    let text = format!("{document:#}\n");
    fs::write(&arguments.out, text).with_context(|| format!("writing {}", arguments.out.display()))?;
    eprintln!(
        "{} components in {}",
        document["components"].as_array().map_or(0, Vec::len),
        arguments.out.display()
    );
    Ok(())
}

/// What cargo knows about all packages.
fn metadata(arguments: &SbomArguments) -> Result<Value> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]);
    cargo.arg(&arguments.manifest);
    for target in &arguments.targets {
        cargo.args(["--filter-platform", target]);
    }
    let output = cargo.output().context("cargo is missing")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn document(version: &str, crates: &Crates, others: Vec<Value>) -> Value {
    let name = format!("pkg:generic/boson@{version}");
    let references = others.iter().map(|other| other["bom-ref"].clone());
    let roots: Vec<Value> = crates.roots.iter().map(|root| json!(root)).chain(references).collect();
    let mut dependencies = vec![json!({"ref": name, "dependsOn": roots})];
    dependencies.extend(
        crates
            .dependencies
            .iter()
            .map(|(of, on)| json!({"ref": of, "dependsOn": on})),
    );
    let components: Vec<Value> = crates.components.values().cloned().chain(others).collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": name,
            "name": "boson",
            "version": version,
            "licenses": [{"expression": "Apache-2.0"}],
            "purl": name,
        }},
        "components": components,
        "dependencies": dependencies,
    })
}

/// A component that is no crate.
fn component(given: &str) -> Result<Value> {
    let parts = given.split_once('=').and_then(|(purl, license)| {
        let (path, version) = purl.strip_prefix("pkg:")?.rsplit_once('@')?;
        let (_, name) = path.split_once('/')?;
        Some((purl, name.replace("%40", "@"), version, license))
    });
    let Some((purl, name, version, license)) = parts else {
        bail!("'{given}' is not PURL=LICENSE");
    };
    Ok(json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"expression": license}],
        "purl": purl,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_components_have_name_version_and_licence() {
        let ruby = component("pkg:npm/%40ruby/4.0-wasm-wasi@2.10.1=MIT AND (Ruby OR BSD-2-Clause)").unwrap();
        assert_eq!(
            (&ruby["name"], &ruby["version"]),
            (&json!("@ruby/4.0-wasm-wasi"), &json!("2.10.1"))
        );
        assert_eq!(ruby["licenses"][0]["expression"], "MIT AND (Ruby OR BSD-2-Clause)");
        for bad in ["glibc@2=MIT", "pkg:generic/glibc=MIT", "pkg:generic/glibc@2"] {
            assert!(component(bad).is_err(), "{bad}");
        }
    }
}
