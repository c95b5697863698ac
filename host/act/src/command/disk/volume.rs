//! Carries out the steps that move a volume.

use super::step::{self, Step};
use anyhow::{Context, bail};
use boson_cluster::client::FieldManager;
use boson_look::access::Access;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt;
use std::time::{Duration, Instant};

const MANAGER: FieldManager = FieldManager("host-disks");
/// Between two reads while Kubernetes deletes or binds a claim.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Deleting and binding take seconds.
const MOVE_TIMEOUT: Duration = Duration::from_secs(120);

/// The volume of this name.
///
/// # Errors
/// It does not exist, or cannot be read.
pub async fn read(access: &Access, name: &str) -> anyhow::Result<PersistentVolume> {
    let found = access.call(access.cluster.get_global::<PersistentVolume>(name)).await?;
    found.with_context(|| format!("there is no disk '{name}': neither a PersistentVolumeClaim nor a PersistentVolume"))
}

/// Gives a volume another claim. Nothing is done if it has it. `from`: the name of its present claim.
///
/// # Errors
/// It cannot be moved, or not in time.
pub async fn move_to(
    access: &Access,
    volume: &str,
    from: Option<&str>,
    to: &PersistentVolumeClaim,
) -> anyhow::Result<()> {
    let (began, name) = (Instant::now(), to.name_any());
    while began.elapsed() < MOVE_TIMEOUT {
        let present = read(access, volume).await?;
        let old: Option<PersistentVolumeClaim> = match from {
            Some(from) => access.get(from).await?,
            None => None,
        };
        // A StatefulSet may have created another claim of that name.
        let old = old.filter(|old| step::volume_of(old) == Some(volume));
        let new: Option<PersistentVolumeClaim> = access.get(&name).await?;
        let new = new.filter(|new| old.as_ref().is_none_or(|old| old.metadata.uid != new.metadata.uid));
        let other = step::claim_of(&present).filter(|other| *other != name && Some(*other) != from);
        let other: Option<PersistentVolumeClaim> = match other {
            Some(other) => access.get(other).await?,
            None => None,
        };
        let next = step::next_step(&present, old.as_ref(), new.as_ref(), &name, other.as_ref());
        let done = match (next, &old, &new) {
            (Step::Done, ..) => return Ok(()),
            (Step::Refuse(why), ..) => bail!(why),
            (Step::Create, ..) => access.cluster.create(MANAGER, to).await.map(drop),
            (Step::ChangeClaim(members), _, Some(new)) => access.cluster.merge(MANAGER, new, members).await.map(drop),
            (Step::ChangeVolume(members), ..) => {
                access.cluster.merge_global(MANAGER, &present, members).await.map(drop)
            }
            (Step::Delete, Some(old), _) => access.cluster.delete(old).await,
            (Step::Wait | Step::ChangeClaim(_) | Step::Delete, ..) => {
                tokio::time::sleep(POLL_INTERVAL).await;
                Ok(())
            }
        };
        match done {
            Err(error) if !error.is_race() => return Err(access.explain(error)),
            // What has changed is read again.
            _ => {}
        }
    }
    bail!("the disk is not moved yet: Kubernetes has not deleted or bound a claim in time; run the command again")
}
