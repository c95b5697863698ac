//! `host attach-disk`, `orphan-disk` and `delete-disk`: the disks of instances, as PersistentVolumeClaims.

mod claim;
mod step;
mod volume;

use crate::recorded;
use crate::selection::Selection;
use anyhow::{Context, bail};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::recorded::RecordedEvent;
use boson_commands::confirm::Confirmation;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, DeploymentArguments, Found, PlaceArguments};
use boson_look::command::disks::{self, Disk};
use boson_look::instances::{self, Instance};
use boson_manifest::labels;
use clap::{Args, ValueEnum};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

const ATTACH_EXAMPLES: &str = "\
DISK is an orphaned PersistentVolumeClaim, from `host disks --orphaned`, or a PersistentVolume that no claim has. The instance must be stopped (`host stop`), and \
not ignored. The disk that it has now is orphaned, not deleted: its data is in a claim CLAIM-orphaned-ID from then on. The volume keeps its data and its \
reclaim policy. If the command is interrupted, run it again. Afterwards, `host start` starts the instance with the disk.

With --disk-properties=copy, the claim has the storage class and the requested size of the disk that the instance has now; otherwise, those of the volume.

The command needs the permissions to get the BOSHDeployment, to list BOSHDeployments, QuarksStatefulSets, QuarksJobs, StatefulSets and pods, to get, list, create, \
patch and delete PersistentVolumeClaims, and, in the cluster, to get and patch PersistentVolumes.

Examples:
  host stop db/0 -d cf
  host attach-disk db/0 db-pvc-cf-db-v1-0-orphaned-12ab34cd -d cf
  host start db/0 -d cf";
/// Of `host orphan-disk`.
pub const ORPHAN_EXAMPLES: &str = "\
DISK is a PersistentVolumeClaim of an instance that is stopped and not ignored, from `host disks`. Its data is in a claim DISK-orphaned-ID from then on, \
and the instance gets a new and empty disk when it is started. `host attach-disk` attaches the orphaned disk again. If the command is interrupted, run it \
again. It needs the permissions of `host attach-disk`.

Examples:
  host orphan-disk db-pvc-cf-db-v1-0";
/// Of `host delete-disk`.
pub const DELETE_EXAMPLES: &str = "\
DISK is an orphaned PersistentVolumeClaim, from `host disks --orphaned`. Kubernetes deletes the volume with its data, unless the reclaim policy of the volume is \
Retain. This cannot be undone.

The command needs the permissions to list BOSHDeployments, QuarksStatefulSets, QuarksJobs, pods and PersistentVolumeClaims, and to delete the latter.

Examples:
  host delete-disk db-pvc-cf-db-v1-0-orphaned-12ab34cd";

/// Options of `host attach-disk`.
#[derive(Args, Debug)]
#[command(after_help = ATTACH_EXAMPLES)]
pub struct AttachDiskArguments {
    /// Instance, as `host instances` shows it
    #[arg(value_name = "GROUP/INDEX")]
    instance: Selection,
    /// PersistentVolumeClaim or PersistentVolume
    #[arg(value_name = "DISK")]
    disk: String,
    /// Which properties the disk gets, other than its own
    #[arg(long, value_enum, value_name = "PROPERTIES")]
    disk_properties: Option<DiskProperties>,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// The properties of an attached disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiskProperties {
    /// Those of the disk that the instance has now
    Copy,
}

/// Options of `host orphan-disk` and `host delete-disk`.
#[derive(Args, Debug)]
pub struct DiskArguments {
    /// PersistentVolumeClaim
    #[arg(value_name = "DISK")]
    disk: String,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    confirmation: Confirmation,
}

/// # Errors
/// See [`ExitError`].
pub fn attach(arguments: &AttachDiskArguments) -> Result<(), ExitError> {
    arguments.deployment.run(async |access, found| {
        let Selection::Instance { group, index } = &arguments.instance else {
            bail!("'{}' is no instance: name it as GROUP/INDEX", arguments.instance);
        };
        check_state(&access, &found, &arguments.instance).await?;
        let (set, ordinal) = stateful_set(&access, &found, group, *index).await?;
        let name = claim::name(&set, group, ordinal).map_err(anyhow::Error::msg)?;
        attach_to(&access, &set, &name, arguments).await?;
        let context = format!("disk: {}", arguments.disk);
        let event = RecordedEvent {
            object_type: "disk".into(),
            object_name: name,
            ..RecordedEvent::about(&found.deployment, "attach", Timestamp::now()).with_context(&context)
        };
        recorded::write(&access, event).await?;
        let (disk, instance) = (&arguments.disk, &arguments.instance);
        let deployment = found.deployment.name_any();
        Ok(output::print(&format!(
            "attached disk '{disk}' to '{instance}' in deployment '{deployment}'\n"
        ))?)
    })
}

/// `name`: of the claim that the instance uses.
async fn attach_to(
    access: &Access,
    set: &StatefulSet,
    name: &str,
    arguments: &AttachDiskArguments,
) -> anyhow::Result<()> {
    let disk = &arguments.disk;
    let known = disks::read_disks(access).await?;
    let present = access.get::<PersistentVolumeClaim>(name).await?;
    // The claim is gone if an earlier run was interrupted.
    let source = known.iter().find(|one| one.claim.name_any() == *disk);
    let (from, wanted) = match source {
        Some(one) if disk == name => {
            let volume = step::volume_of(&one.claim).unwrap_or_default();
            bail!("disk '{name}' is attached already, with volume '{volume}'")
        }
        Some(one) if !one.is_orphaned => bail!("disk '{disk}' is in use: only orphaned disks can be attached"),
        Some(one) => {
            let volume = step::volume_of(&one.claim);
            let volume = volume.with_context(|| format!("disk '{disk}' has no volume yet"))?;
            (Some(disk.as_str()), volume.to_string())
        }
        None => (None, disk.clone()),
    };
    let found = volume::read(access, &wanted).await?;
    let holder = found.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    if let Some(holder) = holder.filter(|_| from.is_none()) {
        let namespace = holder.namespace.as_deref().unwrap_or_default();
        if namespace != access.namespace {
            bail!("PersistentVolume '{wanted}' belongs to namespace '{namespace}'");
        }
        let claim = holder.name.as_deref().unwrap_or_default();
        if claim != name && access.get::<PersistentVolumeClaim>(claim).await?.is_some() {
            bail!("PersistentVolume '{wanted}' has the claim '{claim}': name that");
        }
    }
    let copies = arguments.disk_properties == Some(DiskProperties::Copy);
    let claim = claim::attached_claim(name, present.as_ref(), set, &found, copies);
    let claim = claim.with_context(|| format!("cannot make a claim '{name}' for PersistentVolume '{wanted}'"))?;
    if let Some(present) = present.filter(|one| step::volume_of(one).is_some_and(|volume| volume != wanted)) {
        orphan(access, &present).await?;
    }
    volume::move_to(access, &wanted, from, &claim).await
}

/// Gives the volume of a claim an orphaned one. Returns its name.
async fn orphan(access: &Access, present: &PersistentVolumeClaim) -> anyhow::Result<String> {
    let name = present.name_any();
    let volume = step::volume_of(present).with_context(|| format!("disk '{name}' has no volume yet"))?;
    let orphan = claim::orphaned_claim(present).with_context(|| format!("the name of disk '{name}' is too long"))?;
    volume::move_to(access, volume, Some(&name), &orphan).await?;
    output::eprint(&format!(
        "disk '{name}' is orphaned: its data is in '{}'\n",
        orphan.name_any()
    ));
    Ok(orphan.name_any())
}

// === impl DiskArguments ===

impl DiskArguments {
    /// Asks whether to do this, and does it if there is such a disk. `done`: in the note that there is none.
    fn run(
        &self,
        question: &str,
        done: &str,
        work: impl AsyncFnOnce(&Access, Disk) -> anyhow::Result<()>,
    ) -> Result<(), ExitError> {
        self.confirmation.check()?;
        self.place.run(async |access| {
            self.confirmation.ask(&format!("{question}\n"))?;
            let known = disks::read_disks(&access).await?;
            match known.into_iter().find(|one| one.claim.name_any() == self.disk) {
                Some(found) => work(&access, found).await?,
                None => output::eprint(&format!("disk '{}' does not exist: nothing is {done}\n", self.disk)),
            }
            Ok(())
        })
    }
}

/// # Errors
/// See [`ExitError`].
pub fn orphan_disk(arguments: &DiskArguments) -> Result<(), ExitError> {
    let disk = &arguments.disk;
    let question = format!("Orphan disk '{disk}'");
    arguments.run(&question, "orphaned", async |access, found| {
        if found.is_orphaned {
            output::eprint(&format!("disk '{disk}' is orphaned already\n"));
            return Ok(());
        }
        let Ok(instance @ Selection::Instance { .. }) = found.instance().parse() else {
            bail!("disk '{disk}' belongs to no instance");
        };
        let deployment = access.deployment(&found.deployment).await?;
        check_state(access, &deployment, &instance).await?;
        let orphaned = orphan(access, &found.claim).await?;
        record(access, &found, "orphan", &format!("now: {orphaned}")).await
    })
}

/// # Errors
/// See [`ExitError`].
pub fn delete_disk(arguments: &DiskArguments) -> Result<(), ExitError> {
    let disk = &arguments.disk;
    let question = format!("Delete disk '{disk}' and its data");
    arguments.run(&question, "deleted", async |access, found| {
        if !found.is_orphaned {
            bail!("disk '{disk}' is not orphaned: run `host orphan-disk {disk}` first");
        }
        access.call(access.cluster.delete(&found.claim)).await?;
        record(access, &found, "delete", "").await?;
        Ok(output::print(&format!("disk '{disk}' is deleted\n"))?)
    })
}

async fn record(access: &Access, disk: &Disk, action: &str, context: &str) -> anyhow::Result<()> {
    let event = RecordedEvent {
        deployment: disk.deployment.clone(),
        ..RecordedEvent::about(&disk.claim, action, Timestamp::now()).with_context(context)
    };
    recorded::write(access, event).await
}

/// BOSH's conditions: the instance is stopped and not ignored.
///
/// # Errors
/// They are not met, or there is no such instance.
async fn check_state(access: &Access, found: &Found, instance: &Selection) -> anyhow::Result<()> {
    let instances = instance.of(Instance::all(access, found).await?)?;
    let (spec, deployment) = (&found.deployment.spec, found.deployment.name_any());
    if spec.is_ignored(&instance.to_string()) {
        bail!("instance '{instance}' of deployment '{deployment}' is ignored: run `host unignore` first");
    }
    if !instances.iter().any(|one| one.is_stopped(spec)) {
        bail!("instance '{instance}' of deployment '{deployment}' must be stopped: run `host stop` first");
    }
    let runs = |pod: &Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    if instances.iter().filter_map(|one| one.pod.as_ref()).any(runs) {
        bail!("instance '{instance}' of deployment '{deployment}' is not stopped yet: wait until its pod is deleted");
    }
    Ok(())
}

/// The StatefulSet of an instance, and its number there.
async fn stateful_set(
    access: &Access,
    found: &Found,
    group: &str,
    index: usize,
) -> anyhow::Result<(StatefulSet, usize)> {
    let selector = format!("{},{}={group}", found.selector, labels::INSTANCE_GROUP_NAME);
    let groups: Vec<QuarksStatefulSet> = access.list(&selector).await?;
    let places = groups
        .iter()
        .find_map(|set| instances::place(set, &found.deployment, index));
    let (zone, ordinal) = places.with_context(|| format!("there is no instance '{group}/{index}'"))?;
    let sets: Vec<StatefulSet> = access.list(&selector).await?;
    let newest = newest_of_zone(sets, zone);
    let set = newest.with_context(|| format!("instance '{group}/{index}' has no StatefulSet"))?;
    Ok((set, ordinal))
}

fn newest_of_zone(sets: Vec<StatefulSet>, zone: usize) -> Option<StatefulSet> {
    let number = |text: Option<&String>| text.and_then(|text| text.parse::<usize>().ok());
    let of_zone = sets
        .into_iter()
        .filter(|set| number(set.labels().get(labels::AZ_INDEX)).unwrap_or(0) == zone);
    of_zone.max_by_key(|set| number(set.annotations().get(labels::VERSION)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn the_newest_version_of_a_zone_counts() {
        let set = |name: &str, zone: &str, version: &str| -> StatefulSet {
            from_value(json!({"metadata": {"name": name, "labels": {labels::AZ_INDEX: zone},
                "annotations": {labels::VERSION: version}}}))
            .unwrap()
        };
        let all = || vec![set("a", "0", "9"), set("b", "0", "10"), set("c", "1", "11")];
        assert_eq!(newest_of_zone(all(), 0).unwrap().name_any(), "b");
        assert_eq!(newest_of_zone(all(), 1).unwrap().name_any(), "c");
        assert!(newest_of_zone(all(), 2).is_none());
    }
}
