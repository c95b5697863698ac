//! Rows about plugins in the operator: from a changed component to its effect in a deployment, and new versions while
//! deployments are converted.

use crate::measure::Sample;
use crate::operator::{RELEASE, map};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use boson_tests::wrapper::wrapper;
use boson_tests::{WAIT_TIMEOUT, host, synthetic};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Versions of the plugin, each with one changed instruction.
const VERSIONS: usize = 7;
/// Deployments that use it.
const DEPLOYMENTS: usize = 16;
/// Versions that follow each other while these are converted.
const SWAPS: usize = 10;
/// Between two versions.
const SWAP_INTERVAL: Duration = Duration::from_secs(5);

pub fn plugins() -> Result<Vec<Row>> {
    let mut site = Site::new("bench-plugins")?;
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), 1)?;
    site.registry.push_release(RELEASE, &directory.path().join("release"))?;
    site.start()?;
    let manifest = fs::read_to_string(directory.path().join("manifest.yml"))?;
    site.apply(&[map("manifest", &manifest), site.deployment("d0", "manifest")])?;
    site.wait_until("the deployment", WAIT_TIMEOUT, |site| Ok(using(site, None)? == 1))?;
    let mut times = Vec::new();
    for version in 0..VERSIONS {
        // Changes within three seconds after a conversion wait for each other.
        thread::sleep(SWAP_INTERVAL);
        let began = Instant::now();
        let digest = install(&site, directory.path(), version)?;
        site.wait_until("its effect", WAIT_TIMEOUT, |site| Ok(using(site, Some(&digest))? == 1))?;
        times.push(began.elapsed().as_secs_f64());
    }
    // The first one also adds a plugin where there was none.
    let effect = Sample::of(times.into_iter().skip(1)).median();
    let details = "pack, apply, load and convert a small deployment; without the author's compiler";
    Ok(vec![
        Row::below(
            "plugin: changed wrapper to its effect in a cluster",
            effect,
            3.0,
            "s",
            details,
        ),
        swaps(&site, directory.path())?,
    ])
}

/// New versions, while deployments are being converted with the last one.
fn swaps(site: &Site, directory: &Path) -> Result<Row> {
    let more: Vec<Value> = (1..DEPLOYMENTS)
        .map(|nth| site.deployment(&format!("d{nth}"), "manifest"))
        .collect();
    site.apply(&more)?;
    site.wait_until("all deployments", WAIT_TIMEOUT, |site| {
        Ok(using(site, None)? == DEPLOYMENTS)
    })?;
    // The manifest itself causes warnings, each once for a deployment.
    let (conversions, warnings) = (site.metric("boson_conversions_total")?, warnings(site)?);
    let mut last = String::new();
    for version in 0..SWAPS {
        last = install(site, directory, VERSIONS + version)?;
        // At least one deployment uses it, and others are still to be converted.
        site.wait_until("the next version", WAIT_TIMEOUT, |site| {
            Ok(using(site, Some(&last))? > 0)
        })?;
    }
    site.wait_until("the last version", WAIT_TIMEOUT, |site| {
        Ok(using(site, Some(&last))? == DEPLOYMENTS)
    })?;
    let conversions = site.metric("boson_conversions_total")? - conversions;
    let failed = self::warnings(site)?.saturating_sub(warnings);
    let details = format!("of {conversions:.0}, {SWAPS} new versions for {DEPLOYMENTS} deployments");
    Ok(Row::below(
        "plugin: failed conversions while versions change",
        failed as f64,
        1.0,
        "",
        &details,
    ))
}

/// How often the operator has emitted a warning about a deployment: each failed conversion is one.
fn warnings(site: &Site) -> Result<u64> {
    let events: Value = serde_json::from_str(&site.kubectl(&["get", "events.events.k8s.io", "--output=json"])?)?;
    let is_warning = |event: &&Value| {
        let ours = event["reportingController"]
            .as_str()
            .is_some_and(|name| name.starts_with("quarks."));
        ours && event["type"] == "Warning" && event["regarding"]["kind"] == "BOSHDeployment"
    };
    let times = |event: &Value| event["series"]["count"].as_u64().unwrap_or(1);
    let items = events["items"].as_array().into_iter().flatten();
    Ok(items.filter(is_warning).map(times).sum())
}

/// Packs and applies a version; its digest.
fn install(site: &Site, directory: &Path, version: usize) -> Result<String> {
    let functions = ["convert-deployment", "convert-group"];
    let component = wrapper(
        "bpm",
        "conversion",
        &functions,
        1,
        &format!("(drop (i32.const {version}))"),
    )?;
    fs::write(directory.join("plugin.wasm"), component)?;
    let packed = host(directory, ["plugin", "pack", "bpm", "plugin.wasm"])?;
    ensure!(packed.code == 0, "{}", packed.stderr);
    let maps = serde_yaml::Deserializer::from_str(&packed.stdout);
    let maps: Vec<Value> = maps.map(Value::deserialize).collect::<Result<_, _>>()?;
    site.apply(&maps)?;
    let digest = packed.stdout.split("sha256:").nth(1).and_then(|rest| rest.get(..64));
    digest.map(str::to_string).context("no digest in plugin.yaml")
}

/// How many deployments are up to date, with a plugin of this digest.
fn using(site: &Site, digest: Option<&str>) -> Result<usize> {
    let all: Value = serde_json::from_str(&site.kubectl(&["get", "boshdeployments", "--output=json"])?)?;
    let is_using = |deployment: &&Value| {
        let items = |key: &str| deployment["status"][key].as_array().cloned().unwrap_or_default();
        let applied = items("conditions")
            .iter()
            .any(|one| one["type"] == "Applied" && one["status"] == "True");
        applied && digest.is_none_or(|digest| items("plugins").iter().any(|one| one["digest"] == digest))
    };
    Ok(all["items"].as_array().into_iter().flatten().filter(is_using).count())
}
