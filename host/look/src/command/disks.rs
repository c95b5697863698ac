//! `host disks`: the PersistentVolumeClaims of deployments.

use crate::access::{Access, PlaceArguments};
use crate::instances::{self, Group, Instance, label};
use crate::table::{Cell, Table, TableArguments};
use boson_api::{BoshDeployment, QuarksJob, QuarksStatefulSet};
use boson_cluster::pods::claims;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_manifest::instances::Spread;
use boson_manifest::{labels, names};
use clap::Args;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
Disk CID is the name of the PersistentVolumeClaim. A disk is orphaned if no pod uses it, and neither an instance nor an errand that exists will use \
it: its instance, AZ, instance group or deployment was removed, or its group has other disks now. Orphaned disks are never deleted automatically; an \
instance that is added again gets its disk back. With --orphaned, the deployment need not exist any more. Instance is GROUP/? if the index is not \
known any more, and GROUP for an errand.

State is the phase of the claim, or `Terminating`. The command needs the permissions to list PersistentVolumeClaims, pods, QuarksStatefulSets and \
QuarksJobs, and to get the BOSHDeployment; without -d, to list BOSHDeployments.

Examples:
  host disks -d nats -n messaging
  host disks --orphaned --column 'disk cid'";
const HEADER: [&str; 8] = [
    "Disk CID",
    "Size",
    "Deployment",
    "Instance",
    "AZ",
    "Storage Class",
    "State",
    "Orphaned",
];

/// Options of `host disks`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DisksArguments {
    /// Name of the BOSHDeployment [default: all]
    #[arg(short, long, value_name = "NAME")]
    deployment: Option<String>,
    /// Show only disks that nothing uses any more
    #[arg(short, long)]
    orphaned: bool,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    table: TableArguments,
}

struct Known {
    name: String,
    /// Value of the label with its name.
    label: String,
    spread: Spread,
}

struct Snapshot {
    deployments: Vec<Known>,
    groups: Vec<QuarksStatefulSet>,
    jobs: Vec<QuarksJob>,
    pods: Vec<Pod>,
    claims: Vec<PersistentVolumeClaim>,
}

/// The instance that a claim was created for.
struct Place<'o> {
    /// Name of the claim's template.
    template: &'o str,
    version: u32,
    zone: usize,
    ordinal: usize,
    /// Whether the StatefulSet is of a zone, or of a group without zones.
    is_in_zone: bool,
    stateful_set: &'o str,
}

pub struct Disk {
    pub claim: PersistentVolumeClaim,
    /// The name of its deployment, or nothing.
    pub deployment: String,
    label: String,
    /// None if no instance group is known.
    instance: Option<Instance>,
    is_of_errand: bool,
    pub is_orphaned: bool,
}

// === impl Place ===

impl<'o> Place<'o> {
    /// Of a name `<template>-<StatefulSet>-<ordinal>`; of an orphaned disk, the one that it had. None: it is not a
    /// claim of a StatefulSet.
    fn of(claim: &'o PersistentVolumeClaim) -> Option<Self> {
        let stateful_set = label(claim, labels::STATEFUL_SET_NAME);
        let (_, version) = stateful_set.rsplit_once("-v")?;
        let name = orphaned_from(claim).or(claim.metadata.name.as_deref())?;
        let (start, ordinal) = name.rsplit_once('-')?;
        let template = start.strip_suffix(stateful_set)?.strip_suffix('-')?;
        let zone = label(claim, labels::AZ_INDEX).parse().unwrap_or(0);
        Some(Self {
            template,
            version: version.parse().ok()?,
            zone,
            ordinal: ordinal.parse().ok()?,
            is_in_zone: false,
            stateful_set,
        })
    }

    /// Whether the group has, or had, its StatefulSet. If so, this is the place in the group.
    fn within(self, set: &QuarksStatefulSet) -> Option<Self> {
        let named = |zone: &str| {
            let ending = format!("{zone}-v{}", self.version);
            let name = names::cut_again(&set.name_any(), &ending, names::MAX_STATEFUL_SET_LENGTH);
            name == self.stateful_set
        };
        let is_in_zone = named(&format!("-z{}", self.zone));
        (is_in_zone || named("")).then_some(Self { is_in_zone, ..self })
    }

    /// Whether the group has its zone now.
    fn has_zone(&self, set: &QuarksStatefulSet) -> bool {
        self.is_in_zone != set.spec.zones.is_empty() && self.zone < set.spec.zones.len().max(1)
    }
}

// === impl Snapshot ===

impl Snapshot {
    fn disks(&self) -> Vec<Disk> {
        let used = self.used_claims();
        let newest = self.newest_versions();
        let disks = self.claims.iter().filter_map(|claim| {
            let mut disk = self.disk(claim, &newest)?;
            disk.is_orphaned &= !used.contains(&claim.name_any());
            Some(disk)
        });
        let mut disks: Vec<Disk> = disks.collect();
        disks.sort_by_key(|disk| {
            let instance = disk.instance.as_ref();
            let place = instance.map(|instance| (instance.group.clone(), instance.index));
            (disk.label.clone(), place, disk.claim.name_any())
        });
        disks
    }

    /// Names of the claims that pods and errands use.
    fn used_claims(&self) -> BTreeSet<String> {
        let is_over = |pod: &Pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            matches!(phase, Some("Succeeded" | "Failed"))
        };
        let active = self.pods.iter().filter(|pod| !is_over(pod));
        let of_pods = active.flat_map(claims).map(String::from);
        of_pods.chain(self.jobs.iter().flat_map(errand_claims)).collect()
    }

    /// The newest version of each group that has claims, by the name of its QuarksStatefulSet: pods use the claims of
    /// this version, even while there are no StatefulSets.
    fn newest_versions(&self) -> BTreeMap<String, u32> {
        let mut newest = BTreeMap::new();
        for claim in &self.claims {
            let Some((set, place)) = self.group(claim) else {
                continue;
            };
            if place.has_zone(set) {
                let version: &mut u32 = newest.entry(set.name_any()).or_default();
                *version = place.version.max(*version);
            }
        }
        newest
    }

    /// The instance group of a claim, by the name of its StatefulSet: claims of additional disks lack the labels.
    fn group<'o>(&'o self, claim: &'o PersistentVolumeClaim) -> Option<(&'o QuarksStatefulSet, Place<'o>)> {
        self.groups
            .iter()
            .find_map(|set| Some((set, Place::of(claim)?.within(set)?)))
    }

    /// None: it is not a claim of a deployment.
    fn disk(&self, claim: &PersistentVolumeClaim, newest: &BTreeMap<String, u32>) -> Option<Disk> {
        let found = self.group(claim);
        let deployment = match &found {
            Some((set, _)) => label(*set, labels::DEPLOYMENT_NAME),
            None => label(claim, labels::DEPLOYMENT_NAME),
        };
        let known = self.deployments.iter().find(|known| known.label == deployment);
        let disk = |instance: Option<Instance>, is_orphaned: bool| Disk {
            claim: claim.clone(),
            deployment: known.map_or(deployment, |known| &known.name).to_string(),
            label: deployment.to_string(),
            instance,
            is_of_errand: false,
            is_orphaned,
        };
        if let Some((set, place)) = found {
            let group = Group::of(set, known.map_or_else(Spread::default, |known| known.spread));
            let has_zone = place.has_zone(set);
            let will_use = has_zone
                && group.has(place.zone, place.ordinal)
                && newest.get(&set.name_any()) == Some(&place.version)
                && has_template(set, place.template)
                && orphaned_from(claim).is_none();
            let az = if has_zone { group.az(place.zone) } else { "" };
            let index = has_zone.then(|| group.index_of_any(place.zone, place.ordinal));
            let instance = Instance {
                group: group.name.into(),
                index: index.flatten(),
                az: az.into(),
                pod: None,
            };
            return Some(disk(Some(instance), !will_use));
        }
        let group = label(claim, labels::INSTANCE_GROUP_NAME);
        let is_of_errand = label(claim, labels::STATEFUL_SET_NAME).is_empty();
        if is_of_errand && (deployment.is_empty() || group.is_empty()) {
            return None;
        }
        let instance = (!group.is_empty()).then(|| Instance {
            group: group.into(),
            index: None,
            az: String::new(),
            pod: None,
        });
        Some(Disk {
            is_of_errand,
            ..disk(instance, true)
        })
    }

    /// `deployment`: the label of the only one that is shown.
    fn table(&self, deployment: Option<&str>, only_orphaned: bool) -> Table {
        let disks = self
            .disks()
            .into_iter()
            .filter(|disk| deployment.is_none_or(|label| disk.label == label) && (disk.is_orphaned || !only_orphaned));
        Table::new("disks", &HEADER, disks.map(|disk| disk.row()).collect())
    }
}

// === impl Disk ===

impl Disk {
    /// Its instance, or the instance group of its errand, or nothing.
    pub fn instance(&self) -> String {
        match &self.instance {
            Some(instance) if self.is_of_errand => instance.group.clone(),
            Some(instance) => instance.to_string(),
            None => String::new(),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let az = self.instance.as_ref().map_or("", |instance| instance.az.as_str());
        let spec = self.claim.spec.as_ref();
        let class = spec.and_then(|spec| spec.storage_class_name.as_deref());
        vec![
            self.claim.name_any().into(),
            size(&self.claim).into(),
            self.deployment.as_str().into(),
            self.instance().into(),
            az.into(),
            class.unwrap_or_default().into(),
            state(&self.claim),
            self.is_orphaned.to_string().into(),
        ]
    }
}

/// The claim that the volume of an orphaned disk had.
fn orphaned_from(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.annotations().get(labels::ORPHANED_FROM).map(String::as_str)
}

/// Whether the pods of a group have claims of this template.
fn has_template(set: &QuarksStatefulSet, name: &str) -> bool {
    let template = Value::Object(set.spec.template.members());
    let templates = template.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    let mut templates = templates.into_iter().flatten();
    templates.any(|one| one.pointer("/metadata/name").and_then(Value::as_str) == Some(name))
}

/// Names of the claims of an errand's pods.
fn errand_claims(job: &QuarksJob) -> Vec<String> {
    let template = Value::Object(job.spec.template.members());
    let volumes = template
        .pointer("/spec/template/spec/volumes")
        .and_then(Value::as_array);
    let volumes = volumes.into_iter().flatten();
    let names = volumes.filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str());
    names.map(String::from).collect()
}

/// What it has, or requests if it is not bound yet.
fn size(claim: &PersistentVolumeClaim) -> &str {
    let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let asked = resources.and_then(|resources| resources.requests.as_ref());
    let all = [capacity, asked].into_iter().flatten();
    let mut sizes = all.filter_map(|all| all.get("storage"));
    sizes.next().map_or("", |size| size.0.as_str())
}

fn state(claim: &PersistentVolumeClaim) -> Cell {
    if claim.metadata.deletion_timestamp.is_some() {
        return "Terminating".into();
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    match phase.unwrap_or_default() {
        phase @ ("Bound" | "Lost") => Cell::state(phase, phase == "Bound"),
        phase => phase.into(),
    }
}

pub fn run(arguments: &DisksArguments, color: Color) -> Result<(), ExitError> {
    let table = arguments.place.run(async |access| table(&access, arguments).await)?;
    Ok(arguments.table.print(vec![table], color)?)
}

async fn table(access: &Access, arguments: &DisksArguments) -> anyhow::Result<Table> {
    let deployments = deployments(access, arguments).await?;
    let seen = read_snapshot(access, deployments).await?;
    let only = arguments.deployment.as_deref().map(|name| access.names(name));
    let only = only.transpose()?.map(|names| names.deployment());
    Ok(seen.table(only.as_deref(), arguments.orphaned))
}

/// All disks of the namespace.
///
/// # Errors
/// Something cannot be listed.
pub async fn read_disks(access: &Access) -> anyhow::Result<Vec<Disk>> {
    let seen = read_snapshot(access, access.list("").await?).await?;
    Ok(seen.disks())
}

async fn read_snapshot(access: &Access, deployments: Vec<BoshDeployment>) -> anyhow::Result<Snapshot> {
    let known = deployments.iter().map(|deployment| {
        let name = deployment.name_any();
        anyhow::Ok(Known {
            label: access.names(&name)?.deployment(),
            spread: instances::spread(deployment),
            name,
        })
    });
    Ok(Snapshot {
        deployments: known.collect::<Result<_, _>>()?,
        groups: access.list("").await?,
        jobs: access.list("").await?,
        pods: access.list("").await?,
        claims: access.list("").await?,
    })
}

/// The deployments that are shown. Deleted ones have orphaned disks, too.
async fn deployments(access: &Access, arguments: &DisksArguments) -> anyhow::Result<Vec<BoshDeployment>> {
    let Some(name) = &arguments.deployment else {
        return access.list("").await;
    };
    if !arguments.orphaned {
        return Ok(vec![access.deployment(name).await?.deployment]);
    }
    Ok(access.get(name).await?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use serde_json::json;

    fn group(name: &str, zones: &[&str], replicas: u32) -> QuarksStatefulSet {
        let claims = json!([{"metadata": {"name": format!("{name}-pvc")}}, {"metadata": {"name": "extra"}}]);
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("nats-{name}"),
                "labels": {labels::DEPLOYMENT_NAME: "nats", labels::INSTANCE_GROUP_NAME: name}},
            "spec": {"template": {"spec": {"replicas": replicas, "volumeClaimTemplates": claims}}, "zones": zones},
        }))
        .unwrap()
    }

    /// With the labels that Kubernetes and the templates give it. `owner`: its StatefulSet, without the deployment.
    fn claim(template: &str, owner: &str, ordinal: u32) -> PersistentVolumeClaim {
        let zone = owner.split("-z").nth(1).and_then(|rest| rest.split('-').next());
        let mut all =
            json!({labels::STATEFUL_SET_NAME: format!("nats-{owner}"), labels::AZ_INDEX: zone.unwrap_or("0")});
        if let Some(group) = template.strip_suffix("-pvc") {
            all[labels::DEPLOYMENT_NAME] = "nats".into();
            all[labels::INSTANCE_GROUP_NAME] = group.into();
        }
        made(&format!("{template}-nats-{owner}-{ordinal}"), &all)
    }

    fn made(name: &str, labels: &Value) -> PersistentVolumeClaim {
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}},
        }))
        .unwrap()
    }

    fn pod(claim: &str, phase: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p"}, "status": {"phase": phase},
            "spec": {"containers": [], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]},
        }))
        .unwrap()
    }

    fn snapshot(groups: Vec<QuarksStatefulSet>, claims: Vec<PersistentVolumeClaim>) -> Snapshot {
        let nats = Known {
            name: "nats".into(),
            label: "nats".into(),
            spread: Spread::Total,
        };
        Snapshot {
            deployments: vec![nats],
            groups,
            jobs: Vec::new(),
            pods: Vec::new(),
            claims,
        }
    }

    /// Name and instance of each orphaned disk.
    fn orphaned(seen: &Snapshot) -> Vec<String> {
        let table = in_json(&seen.table(Some("nats"), true));
        let rows = table.iter().skip(1).map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            format!("{} {} {}", cells[0], cells[3], cells[4])
        });
        rows.collect()
    }

    #[test]
    fn disks_have_the_names_of_their_instances() {
        let mut pending = claim("web-pvc", "web-v1", 0);
        pending.status = serde_json::from_value(json!({"phase": "Pending"})).unwrap();
        let others = json!({labels::DEPLOYMENT_NAME: "gone", labels::INSTANCE_GROUP_NAME: "db",
            labels::STATEFUL_SET_NAME: "gone-db-v1"});
        let claims = vec![
            pending,
            claim("nats-pvc", "nats-z1-v2", 1),
            claim("nats-pvc", "nats-z0-v2", 0),
            claim("extra", "nats-z0-v2", 0),
            made("db-pvc-gone-db-v1-0", &others),
            made("of-nobody", &json!({})),
        ];
        let seen = snapshot(vec![group("nats", &["a", "b"], 2), group("web", &[], 1)], claims);
        let all = on_terminal(&seen.table(None, false));
        assert!(
            all[1].starts_with("db-pvc-gone-db-v1-0         2Gi   gone        db/?  "),
            "{all:#?}"
        );
        assert_eq!(all.last().unwrap(), "5 disks");
        let json = in_json(&seen.table(Some("nats"), false));
        let wanted = [
            "disk_cid|size|deployment|instance|az|storage_class|state|orphaned",
            "extra-nats-nats-z0-v2-0|2Gi|nats|nats/0|a|fast|Bound|false",
            "nats-pvc-nats-nats-z0-v2-0|2Gi|nats|nats/0|a|fast|Bound|false",
            "nats-pvc-nats-nats-z1-v2-1|2Gi|nats|nats/3|b|fast|Bound|false",
            "web-pvc-nats-web-v1-0|1Gi|nats|web/0||fast|Pending|false",
        ];
        assert_eq!(json, wanted);
        assert_eq!(orphaned(&seen), [""; 0]);
    }

    #[test]
    fn disks_of_what_was_removed_are_orphaned() {
        let claims = vec![
            claim("nats-pvc", "nats-z0-v2", 0),
            claim("nats-pvc", "nats-z0-v2", 1),
            claim("nats-pvc", "nats-z0-v1", 0),
            claim("nats-pvc", "nats-z2-v2", 0),
            claim("nats-pvc", "nats-v9", 0),
            claim("old", "nats-z0-v2", 0),
            claim("gone-pvc", "gone-v1", 0),
        ];
        let wanted = [
            "gone-pvc-nats-gone-v1-0 gone/? ",
            "nats-pvc-nats-nats-v9-0 nats/? ",
            "nats-pvc-nats-nats-z2-v2-0 nats/? ",
            "nats-pvc-nats-nats-z0-v1-0 nats/0 a",
            "old-nats-nats-z0-v2-0 nats/0 a",
            "nats-pvc-nats-nats-z0-v2-1 nats/2 a",
        ];
        let mut seen = snapshot(vec![group("nats", &["a", "b"], 1)], claims);
        assert_eq!(orphaned(&seen), wanted);
        seen.pods = vec![
            pod("nats-pvc-nats-nats-z0-v2-1", "Running"),
            pod("gone-pvc-nats-gone-v1-0", "Succeeded"),
        ];
        assert_eq!(orphaned(&seen), wanted[..5], "a pod uses the last one still");
        seen.deployments[0].spread = Spread::PerZone;
        seen.pods.clear();
        assert_eq!(
            orphaned(&seen)[2],
            "nats-pvc-nats-nats-z0-v2-1 nats/? a",
            "1 is the index of another"
        );
    }

    #[test]
    fn a_disk_that_a_command_has_orphaned_tells_its_instance() {
        let mut orphan = claim("nats-pvc", "nats-z0-v1", 0);
        let before = orphan.metadata.name.replace("nats-pvc-orphaned-1".into()).unwrap();
        orphan.metadata.annotations = Some([(labels::ORPHANED_FROM.to_string(), before)].into());
        let claims = vec![claim("nats-pvc", "nats-z0-v1", 0), orphan];
        let seen = snapshot(vec![group("nats", &["a"], 1)], claims);
        assert_eq!(orphaned(&seen), ["nats-pvc-orphaned-1 nats/0 a"]);
    }

    #[test]
    fn the_disk_of_an_errand_is_orphaned_without_the_errand() {
        let of_errand = json!({labels::DEPLOYMENT_NAME: "nats", labels::INSTANCE_GROUP_NAME: "smoke"});
        let native = json!({labels::DEPLOYMENT_NAME: "nats"});
        let claims = vec![made("nats-smoke", &of_errand), made("native", &native)];
        let mut seen = snapshot(Vec::new(), claims);
        assert_eq!(orphaned(&seen), ["nats-smoke smoke "]);
        let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "nats-smoke"}}]);
        let errand = json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksJob", "metadata": {"name": "nats-smoke"},
            "spec": {"trigger": {"strategy": "manual"},
                "template": {"spec": {"template": {"spec": {"volumes": volumes}}}}},
        });
        seen.jobs.push(serde_json::from_value(errand).unwrap());
        assert!(orphaned(&seen).is_empty());
    }
}
