//! `env.bosh.agent.settings`: settings that are copied to the pod.

use crate::codes;
use crate::metadata::{Use, user_map};
use crate::rules::affinity;
use crate::rules::disk_rules;
use crate::rules::fields;
use crate::rules::kubernetes_rules;
use boson_document::{Map, Place, Report, Tree, ruby};
use boson_manifest::group::{SETTINGS, settings};
use boson_manifest::syntax::is_subdomain;
use std::net::IpAddr;

/// The settings of a group.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Labels of all objects.
    pub labels: Map,
    /// Annotations of all objects.
    pub annotations: Map,
    /// Members of the pod, under Kubernetes' own names.
    pub pod: Map,
    /// Names of pull Secrets, as Kubernetes has them.
    pub pull_secrets: Vec<Tree>,
    /// Address of a name server.
    pub dns: Option<String>,
    /// The ephemeral disk is a claim.
    pub ephemeral_claim: bool,
    /// Log files are not shown.
    pub no_logs: bool,
    pub disks: Vec<ExtraDisk>,
    /// Of errands.
    pub backoff_limit: Option<i64>,
    /// Containers get the number of replicas as a variable.
    pub replicas_env: Option<bool>,
}

/// A disk for some of the containers.
#[derive(Clone, Debug, Default)]
pub struct ExtraDisk {
    pub claim: Option<Tree>,
    /// A volume of the pod.
    pub volume: Option<Tree>,
    pub mount: Option<Tree>,
    /// Only containers of this job.
    pub job: Option<String>,
    /// Only containers of this process.
    pub process: Option<String>,
    /// Only processes with (or without) an ephemeral disk.
    pub ephemeral: Option<bool>,
    /// Only processes with (or without) a persistent disk.
    pub persistent: Option<bool>,
}

// === impl Settings ===

impl Settings {
    /// Reads them from a group.
    pub fn read(group: &Tree, place: &Place, report: &mut Report) -> Self {
        let Some(tree) = settings(group) else {
            return Self::default();
        };
        let place = place.join(&SETTINGS);
        let mut pod = Map::new();
        for key in [
            "affinity",
            "tolerations",
            "serviceAccountName",
            "automountServiceAccountToken",
            "terminationGracePeriodSeconds",
        ] {
            if let Some(value) = tree.get(key).filter(|value| !value.is_null()) {
                pod.insert(key.into(), value.clone());
            }
        }
        check(tree, &place, report);
        check_fields(tree, &place, report);
        Self {
            labels: user_map(tree.get("labels"), Use::Labels, &place.at("labels"), report),
            annotations: user_map(
                tree.get("annotations"),
                Use::Annotations,
                &place.at("annotations"),
                report,
            ),
            pod,
            pull_secrets: pull_secrets(tree, &place, report),
            dns: ruby::member(tree, "dns").filter(|dns| !dns.is_empty()),
            ephemeral_claim: tree.get("ephemeralAsPVC") == Some(&Tree::Bool(true)),
            no_logs: tree.get("disable_log_sidecar") == Some(&Tree::Bool(true)),
            disks: disks(tree, &place, report),
            backoff_limit: tree.i64("jobBackoffLimit"),
            replicas_env: tree.get("injectReplicasEnv").and_then(Tree::as_bool),
        }
    }
}

/// Checks values that Kubernetes would refuse when the objects are applied.
fn check(tree: &Tree, place: &Place, report: &mut Report) {
    let mut report_error = |key: &str, why: &str| {
        report.error(codes::SETTINGS, place.at(key), format!("'{key}' {why}"));
    };
    for key in ["terminationGracePeriodSeconds", "jobBackoffLimit"] {
        if tree.i64(key).is_some_and(|value| value < 0) {
            report_error(key, "should be greater than -1");
        }
    }
    if tree.str("serviceAccountName").is_some_and(|name| !is_subdomain(name)) {
        report_error("serviceAccountName", "cannot be the name of a ServiceAccount");
    }
    if tree
        .str("dns")
        .is_some_and(|address| !address.is_empty() && address.parse::<IpAddr>().is_err())
    {
        report_error("dns", "is not an IP address of a name server");
    }
}

/// Maps that are copied into pods.
fn check_fields(tree: &Tree, place: &Place, report: &mut Report) {
    if let Some(value) = tree.get("affinity") {
        let place = place.at("affinity");
        if fields::check("core.v1.Affinity", value, &place, report) {
            affinity::check(value, &place, report);
        }
    }
    let copied = [
        ("tolerations", "[core.v1.Toleration]"),
        ("imagePullSecrets", "[core.v1.LocalObjectReference]"),
    ];
    let parts = [
        ("pvc", "core.v1.PersistentVolumeClaim"),
        ("volume", "core.v1.Volume"),
        ("volumeMount", "core.v1.VolumeMount"),
    ];
    for (key, kind) in copied {
        if let Some(value) = tree.get(key) {
            fields::check(kind, value, &place.at(key), report);
        }
    }
    for (index, disk) in tree.items("disks").iter().enumerate() {
        for (key, kind) in parts {
            let place = place.at("disks").at(index).at(key);
            let value = disk.get(key).filter(|value| !value.is_null());
            if let Some(value) = value.filter(|value| fields::check(kind, value, &place, report)) {
                disk_rules::check(key, value, &place, report);
            }
        }
    }
    if let Some(list) = tree.get("tolerations") {
        kubernetes_rules::tolerations(list, &place.at("tolerations"), report);
    }
}

fn pull_secrets(tree: &Tree, place: &Place, report: &mut Report) -> Vec<Tree> {
    let place = place.at("imagePullSecrets");
    for (index, item) in tree.items("imagePullSecrets").iter().enumerate() {
        if item.str("name").is_none() {
            let text = "An entry of 'imagePullSecrets' must be an object with a 'name'";
            report.error(codes::SETTINGS, place.at(index), text);
        }
    }
    tree.items("imagePullSecrets").to_vec()
}

fn disks(tree: &Tree, place: &Place, report: &mut Report) -> Vec<ExtraDisk> {
    let items = tree.items("disks").iter().enumerate();
    items
        .map(|(index, item)| disk(item, &place.at("disks").at(index), report))
        .collect()
}

fn disk(item: &Tree, place: &Place, report: &mut Report) -> ExtraDisk {
    const KNOWN: [&str; 4] = ["pvc", "volume", "volumeMount", "filters"];
    if item.as_object().is_none() {
        let text = "A disk must be an object with 'pvc', 'volume', 'volumeMount' and 'filters'";
        report.error(codes::SETTINGS, place, text);
    }
    let keys = item.as_object().into_iter().flat_map(Map::keys);
    for key in keys.filter(|key| !KNOWN.contains(&key.as_str())) {
        let text = format!("Key '{key}' is not known and has no effect");
        report
            .warning(codes::UNKNOWN_KEY, place.at(key), text)
            .suggest(key, KNOWN);
    }
    let part = |key: &str| item.get(key).filter(|value| value.as_object().is_some()).cloned();
    let (claim, volume) = (part("pvc"), part("volume"));
    let metadata = claim.as_ref().and_then(|claim| claim.get("metadata"));
    for (key, named) in [("pvc", metadata), ("volume", volume.as_ref())] {
        let given = item.get(key).is_some_and(|value| !value.is_null());
        if given && named.and_then(|tree| tree.str("name")).is_none() {
            let text = format!("The '{key}' of a disk has no name");
            report.error(codes::SETTINGS, place.at(key), text);
        }
    }
    let filters = part("filters").unwrap_or_default();
    let name = |key: &str| ruby::member(&filters, key).filter(|name| !name.is_empty());
    ExtraDisk {
        job: name("job_name"),
        process: name("process_name"),
        ephemeral: filters.get("ephemeral").and_then(Tree::as_bool),
        persistent: filters.get("persistent").and_then(Tree::as_bool),
        mount: part("volumeMount"),
        claim,
        volume,
    }
}
