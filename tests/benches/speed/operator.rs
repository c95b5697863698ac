//! Rows about `host operator`, with a real API server and a real registry.

use crate::rollout::make_ready;
use crate::site::{self, Site};
use crate::table::Row;
use anyhow::{Context, Result};
use boson_tests::registry::push_example;
use boson_tests::{root, synthetic};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Instance groups of cf-deployment with its usual ops files; each of ours has three jobs.
const LARGE_GROUPS: usize = 30;
const IDLE_DEPLOYMENTS: usize = 500;
/// Timeout of one row on a busy machine.
const ROW_TIMEOUT: Duration = Duration::from_secs(1800);
/// How long idle deployments are observed.
const IDLE_DURATION: Duration = Duration::from_secs(60);
/// The image of [`synthetic::write_deployment`]'s release.
pub const RELEASE: &str = "shop:ubuntu-jammy-1.584-1.0.0";

/// From `kubectl apply` to all objects.
pub fn apply() -> Result<Vec<Row>> {
    let mut site = Site::new("bench-apply")?;
    push_example(&site.registry)?;
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), LARGE_GROUPS)?;
    site.registry.push_release(RELEASE, &directory.path().join("release"))?;
    site.start()?;
    let example = fs::read_to_string(root().join("docs/examples/nats/manifest.yml"))?;
    let domain = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
        "stringData": {"value": "example.com"}});
    let small = applied(&site, "nats", &example, vec![domain], "nats-gateway-z0-v1")?;
    let manifest = fs::read_to_string(directory.path().join("manifest.yml"))?;
    let last = format!("shop-group-{}-z0-v1", LARGE_GROUPS - 1);
    let large = applied(&site, "shop", &manifest, Vec::new(), &last)?;
    let details = "first conversion of the process, keys of 3,072 bits included";
    let what = format!("{LARGE_GROUPS} groups x 3 jobs x 4 templates");
    Ok(vec![
        Row::below("operator: apply to objects, the example", small, 3.0, "s", details),
        Row::below(
            "operator: apply to objects, as large as cf-deployment",
            large,
            15.0,
            "s",
            &what,
        ),
    ])
}

/// Applies a deployment and waits for its last StatefulSet. Returns seconds.
fn applied(site: &Site, name: &str, manifest: &str, more: Vec<Value>, last: &str) -> Result<f64> {
    let mut objects = more;
    objects.push(map(name, manifest));
    objects.push(site.deployment(name, name));
    let began = Instant::now();
    site.apply(&objects)?;
    let deployment = format!("boshdeployment/{name}");
    site.kubectl(&["wait", "--for=condition=Applied", "--timeout=600s", &deployment])?;
    site.kubectl(&["wait", "--for=create", "--timeout=600s", &format!("statefulset/{last}")])?;
    Ok(began.elapsed().as_secs_f64())
}

/// Many deployments without changes, a reconcile of each, and a restart.
pub fn idle() -> Result<Vec<Row>> {
    let mut site = Site::new("bench-idle")?;
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), 1)?;
    site.registry.push_release(RELEASE, &directory.path().join("release"))?;
    site.start()?;
    let mut objects = vec![map(
        "manifest",
        &fs::read_to_string(directory.path().join("manifest.yml"))?,
    )];
    objects.extend((0..IDLE_DEPLOYMENTS).map(|nth| site.deployment(&format!("d{nth}"), "manifest")));
    // A canary that is never ready fails after minutes, and is reported: that is no idle deployment.
    let runtime = Runtime::new()?;
    let client = runtime.block_on(site.client())?;
    let kubelet = runtime.spawn(make_ready(client, site.namespace().to_string()));
    let began = Instant::now();
    site.apply(&objects)?;
    site.wait_until("all deployments", ROW_TIMEOUT, |site| {
        Ok(count(site)? == IDLE_DEPLOYMENTS)
    })?;
    let all = began.elapsed().as_secs_f64();
    quiet(&site)?;
    let mut rows = vec![memory(&site, all)?];
    rows.push(reconcile(&site)?);
    rows.extend(restart(&mut site)?);
    kubelet.abort();
    Ok(rows)
}

fn memory(site: &Site, all: f64) -> Result<Row> {
    let memory = site.memory()?;
    let details = format!("resident, after {IDLE_DEPLOYMENTS} conversions in {all:.0} s");
    Ok(Row::below(
        "operator: memory of 500 deployments",
        memory,
        250.0,
        "MiB",
        &details,
    ))
}

/// Reconciles without changes: a field that affects no conversion is changed on each deployment.
fn reconcile(site: &Site) -> Result<Row> {
    let before = site.buckets("boson_reconcile_seconds")?;
    let conversions = site.metric("boson_conversions_total")?;
    site.kubectl(&["annotate", "boshdeployment", "--all", "bench=1"])?;
    quiet(site)?;
    let after = site.buckets("boson_reconcile_seconds")?;
    let counts: Vec<(f64, f64)> = after
        .iter()
        .zip(&before)
        .map(|((limit, now), (_, then))| (*limit, now - then))
        .collect();
    let (_, reconciles) = counts.last().context("no buckets")?;
    let details = format!(
        "of {reconciles:.0} reconciles, {:.0} conversions among them",
        site.metric("boson_conversions_total")? - conversions
    );
    Ok(Row::below(
        "operator: a reconcile without change, p99",
        p99(&counts) * 1e3,
        20.0,
        "ms",
        &details,
    ))
}

/// As Prometheus computes it: the values within a bucket are taken as evenly spread.
fn p99(counts: &[(f64, f64)]) -> f64 {
    let wanted = counts.last().map_or(0.0, |(_, all)| all * 0.99);
    let mut below = (0.0, 0.0);
    for (limit, count) in counts {
        if *count >= wanted && *count > below.1 {
            return below.0 + (limit - below.0) * (wanted - below.1) / (count - below.1);
        }
        below = (*limit, *count);
    }
    f64::NAN
}

/// The same deployments for a new process, followed by a minute without changes.
fn restart(site: &mut Site) -> Result<Vec<Row>> {
    site.stop()?;
    let before = site.requests()?;
    let began = Instant::now();
    let ready = site.start()?;
    site.wait_until("all reconciles", ROW_TIMEOUT, |site| {
        Ok(site.metric("boson_conversions_total")? >= IDLE_DEPLOYMENTS as f64)
    })?;
    let all = began.elapsed().as_secs_f64();
    quiet(site)?;
    let mut written = 0;
    let mut kinds = Vec::new();
    for (what, count) in site.requests()?.iter().filter(|(what, _)| site::is_write(what)) {
        let count = count - before.get(what).copied().unwrap_or(0);
        written += count;
        if count > 0 {
            kinds.push(format!("{what} {count}"));
        }
    }
    let details = format!("every deployment reconciled again after {all:.0} s");
    let mut rows = vec![
        Row::below("operator: restart with 500, to ready", ready, 60.0, "s", &details),
        Row::below(
            "operator: restart with 500, writes",
            written as f64,
            1.0,
            "",
            &format!("by the audit log, without leases and dry runs; {}", kinds.join(", ")),
        ),
    ];
    let (seconds, writes) = (site.seconds()?, site.writes()?);
    std::thread::sleep(IDLE_DURATION);
    let share = (site.seconds()? - seconds) / IDLE_DURATION.as_secs_f64() * 100.0;
    let details = format!(
        "of a core over a minute; {} writes; {:.0} MiB",
        site.writes()? - writes,
        site.memory()?
    );
    rows.push(Row::below("operator: 500 idle deployments", share, 1.0, "%", &details));
    Ok(rows)
}

/// Waits until there is no reconcile for ten seconds.
fn quiet(site: &Site) -> Result<()> {
    let reconciles = |site: &Site| site.metric("boson_reconcile_seconds_count");
    let last = std::cell::Cell::new((reconciles(site)?, Instant::now()));
    site.wait_until("a pause", ROW_TIMEOUT, |site| {
        let now = reconciles(site)?;
        if now > last.get().0 {
            last.set((now, Instant::now()));
        }
        Ok(last.get().1.elapsed() > Duration::from_secs(10))
    })
}

/// Number of up-to-date deployments.
fn count(site: &Site) -> Result<usize> {
    std::thread::sleep(Duration::from_secs(3));
    let path = "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Applied')].status}{'\\n'}{end}";
    let text = site.kubectl(&["get", "boshdeployment", "--output", path])?;
    Ok(text.lines().filter(|line| *line == "True").count())
}

pub fn map(name: &str, manifest: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"manifest": manifest}})
}
