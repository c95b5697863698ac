//! The releases of the jobs in a manifest, read from their images.

use super::memory::reserve_memory;
use super::pull_secrets;
use crate::codes;
use crate::conversion::ReleaseImage;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::reconcile::{ReadReleases, Reconcile};
use boson_budget::Class;
use boson_cluster::pull_secret::PullSecret;
use boson_document::{Pointer, Tree};
use boson_manifest::{copier, images};
use boson_pipeline::diagnostic::all;
use boson_pipeline::release::{self, Release};
use boson_pipeline::{Diagnostic, convert};
use std::sync::Arc;

/// Bytes of memory that the releases of a deployment may use.
const MAX_RELEASE_BYTES: u64 = 128 << 20;

/// All releases, read once for all steps, or all that is wrong with them.
pub async fn read(run: &Reconcile<'_>, manifest: &Manifest) -> Result<Arc<Vec<Release>>, DeployError> {
    let read = run.releases.get_or_try_init(|| read_all(run, manifest)).await?;
    Ok(read.releases.clone())
}

async fn read_all(run: &Reconcile<'_>, manifest: &Manifest) -> Result<ReadReleases, DeployError> {
    let (mut releases, mut errors) = (Vec::new(), Vec::new());
    let most = MAX_RELEASE_BYTES.min(run.context.conversion.budget.holder_limit(Class::Releases));
    // The most that they can need, because their size is unknown; the rest is given back.
    let mut share = reserve_memory(run, Class::Releases, most).await?;
    let shared = pull_secrets::contents(run, &manifest.tree).await?;
    for (place, image) in release_images(run, manifest) {
        let read = match image {
            Ok(mut image) => {
                image.pull.extend(shared.clone());
                run.context.conversion.images.release(&image).await
            }
            Err(error) => Err(vec![error]),
        };
        match read {
            Ok(release) => {
                releases.push(release);
                // Checked before the next one is read: a manifest can list any number of releases.
                release::check_all(&releases, most).map_err(|error| manifest.error(error))?;
            }
            Err(some) => errors.extend(some.into_iter().map(|error| match error.place.document {
                None => error.in_document(&manifest.name).at(&place),
                Some(_) => error,
            })),
        }
    }
    manifest.check_errors(errors)?;
    share.shrink_to(releases.iter().map(Release::weight).sum());
    Ok(ReadReleases {
        releases: Arc::new(releases),
        _share: share,
    })
}

/// The images of the releases, for pods that run them.
pub fn images(run: &Reconcile<'_>, manifest: &Manifest) -> Result<Vec<ReleaseImage>, DeployError> {
    let placed = |(place, image): (Pointer, Result<ReleaseImage, Diagnostic>)| {
        image.map_err(|error| error.in_document(&manifest.name).at(&place))
    };
    let images = release_images(run, manifest).into_iter().map(placed);
    all(images).map_err(|errors| manifest.errors(errors))
}

/// The image of each release that has jobs in use, or why it has no image, with its JSON pointer.
fn release_images(run: &Reconcile<'_>, manifest: &Manifest) -> Vec<(Pointer, Result<ReleaseImage, Diagnostic>)> {
    let mut found = Vec::new();
    for (name, stemcell) in convert::releases(&manifest.tree) {
        let mut listed = manifest.tree.items("releases").iter().enumerate();
        let Some((index, release)) = listed.find(|(_, release)| release.str("name") == Some(name)) else {
            // The links stage reports it, in BOSH's words.
            continue;
        };
        let place = Pointer::root().at("releases").at(index);
        let image = images::of_release(&manifest.tree, release, stemcell, run.deployment.registry.as_deref());
        let image = image
            .map(|image| ReleaseImage {
                release: name.to_string(),
                pull: own_pull_secret(release, &image).into_iter().collect(),
                as_root: is_root_needed(&manifest.tree, name),
                image,
            })
            .map_err(|why| Diagnostic::error(codes::DEPLOYMENT_NO_IMAGE, format!("no image: {why}")));
        found.push((place, image));
    }
    found
}

/// Whether any job of a release may need root.
fn is_root_needed(manifest: &Tree, release: &str) -> bool {
    let groups = manifest.items("instance_groups").iter().chain(manifest.items("addons"));
    let mut jobs = groups.flat_map(|group| group.items("jobs"));
    jobs.any(|job| job.str("release") == Some(release) && !copier::needs_no_root(job))
}

/// The credentials that the manifest gives a release.
fn own_pull_secret(release: &Tree, image: &str) -> Option<PullSecret> {
    let text = |key: &str| release.get("credentials").and_then(|credentials| credentials.str(key));
    let (Some(username), Some(password)) = (text("username"), text("password")) else {
        return None;
    };
    let registry = image.split('/').next().unwrap_or_default();
    let config = serde_json::json!({ "auths": { registry: { "username": username, "password": password } } });
    Some(PullSecret(config.to_string().into_bytes()))
}
