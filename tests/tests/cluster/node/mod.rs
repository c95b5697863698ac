//! Tests whose pods run on a node. They need root; without it they are skipped, except in continuous integration. `make
//! node` runs them alone.

mod active;
mod conversion;
mod disks;
mod faults;
mod install_page;
mod lifecycle;
mod links;
mod messaging;
mod names;
mod native_links;
mod outputs;
mod packages;
mod page;
mod plugins_in_pods;
mod pod_dns;
mod pods;
mod pre_start;
mod requests;
mod restarts;
mod rotation;
mod run_errand;
mod running;
mod unready;
mod up;
mod work;

use crate::objects::config_map;
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::root;
use std::fs;

/// The manifest of a release of `tests/fixtures/releases`.
fn manifest_of(release: &str) -> Result<String> {
    let folder = root().join("tests/fixtures/releases").join(release);
    Ok(fs::read_to_string(folder.join("manifest.yml"))?)
}

/// Creates or changes a deployment of this manifest, and waits until it is ready.
fn deploy(env: &Environment, name: &str, manifest: &str) -> Result<()> {
    env.deploy_manifest(name, manifest)?;
    env.wait_until_ready(name)
}

/// Creates or changes the deployment of a release of `tests/fixtures/releases`, with this ops file.
fn deploy_with_ops(env: &Environment, release: &str, ops: &str) -> Result<()> {
    env.apply(&[
        config_map("manifest", "manifest", &manifest_of(release)?),
        config_map("ops", "ops", ops),
        env.deployment_of(release, "manifest", &["ops"]),
    ])
}
