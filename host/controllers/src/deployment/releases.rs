//! The releases of the jobs in a manifest, read from their images.

use super::flow::{Flow, ReadReleases};
use super::manifest::{Manifest, SharedStages, blocking};
use super::pulls;
use super::reading::hold;
use super::stop::Stop;
use crate::conversion::{PullSecret, ReleaseImage};
use boson_budget::Class;
use boson_cluster::client::resource;
use boson_document::{Pointer, Tree};
use boson_manifest::{copier, images};
use boson_pipeline::bundle::Bundle;
use boson_pipeline::release::{self, Release};
use boson_pipeline::stage::Named;
use boson_pipeline::{Diagnostic, convert};
use std::sync::Arc;

/// Bytes of memory that the releases of a deployment may use.
const MOST: u64 = 128 << 20;

// === impl Flow ===

impl Flow<'_> {
    /// All releases, read once for all steps, or all that is wrong with them.
    pub(super) async fn releases(&self, manifest: &Manifest) -> Result<Arc<Vec<Release>>, Stop> {
        let read = self.releases.get_or_try_init(|| self.read(manifest)).await?;
        Ok(read.releases.clone())
    }

    async fn read(&self, manifest: &Manifest) -> Result<ReadReleases, Stop> {
        let (mut releases, mut errors) = (Vec::new(), Vec::new());
        let budget = &self.context.conversion.budget;
        let most = MOST.min(budget.most(Class::Releases));
        // The most that they can need, because their size is unknown; the rest is given back.
        let mut share = hold(budget, Class::Releases, self.namespace, most).await?;
        let shared = self.pull_secrets(&manifest.tree).await?;
        for (place, image) in self.listed(manifest) {
            let read = match image {
                Ok(mut image) => {
                    image.pull.extend(shared.clone());
                    self.context.conversion.images.release(&image).await
                }
                Err(error) => Err(vec![error]),
            };
            match read {
                Ok(release) => {
                    releases.push(release);
                    // Checked before the next one is read: a manifest can list any number of releases.
                    release::check_all(&releases, most).map_err(|error| manifest.one(error))?;
                }
                Err(some) => errors.extend(some.into_iter().map(|error| match error.place.document {
                    None => error.in_document(&manifest.name).at(&place),
                    Some(_) => error,
                })),
            }
        }
        if !errors.is_empty() {
            return Err(manifest.fail(errors));
        }
        share.shrink_to(releases.iter().map(Release::weight).sum());
        Ok(ReadReleases {
            releases: Arc::new(releases),
            _share: share,
        })
    }

    /// The images of the releases, for pods that run them.
    pub(super) fn images(&self, manifest: &Manifest) -> Result<Vec<ReleaseImage>, Stop> {
        let (mut images, mut errors) = (Vec::new(), Vec::new());
        for (place, image) in self.listed(manifest) {
            match image {
                Ok(image) => images.push(image),
                Err(error) => errors.push(error.in_document(&manifest.name).at(&place)),
            }
        }
        if errors.is_empty() {
            Ok(images)
        } else {
            Err(manifest.fail(errors))
        }
    }

    /// The image of each release that has jobs in use, or why it has no image, with its JSON pointer.
    fn listed(&self, manifest: &Manifest) -> Vec<(Pointer, Result<ReleaseImage, Diagnostic>)> {
        let mut found = Vec::new();
        for (name, stemcell) in convert::releases(&manifest.tree) {
            let mut listed = manifest.tree.items("releases").iter().enumerate();
            let Some((index, release)) = listed.find(|(_, release)| release.str("name") == Some(name)) else {
                // The links stage reports it, in BOSH's words.
                continue;
            };
            let place = Pointer::root().at("releases").at(index);
            let image = images::of_release(&manifest.tree, release, stemcell, self.deployment.registry.as_deref());
            let image = image
                .map(|image| ReleaseImage {
                    release: name.to_string(),
                    pull: own(release, &image).into_iter().collect(),
                    as_root: is_root_needed(&manifest.tree, name),
                    image,
                })
                .map_err(|why| Diagnostic::error("deployment-no-image", format!("no image: {why}")));
            found.push((place, image));
        }
        found
    }

    /// Names of the Secrets that pods of the conversion pull these images with: those of releases with credentials, those that agent settings name,
    /// and those of the ServiceAccounts of the deployment's pods. The pods of the conversion run as another account.
    pub(super) async fn pull_secret_names(&self, manifest: &Tree) -> Result<Vec<String>, Stop> {
        let with_credentials = manifest
            .items("releases")
            .iter()
            .filter(|release| has_credentials(release));
        let names = with_credentials.filter_map(|release| release.str("name"));
        let mut all: Vec<String> = names
            .filter_map(|name| self.names.release_credentials(name).ok())
            .collect();
        all.extend(self.pull_names(manifest).await?);
        Ok(pulls::in_pods(all))
    }

    /// Applies the pull Secrets early: pods of the conversion need them before the objects of the deployment exist.
    pub(super) async fn keep_pull_secrets(&self, stages: &SharedStages, manifest: &Manifest) -> Result<(), Stop> {
        if !manifest.tree.items("releases").iter().any(has_credentials) {
            return Ok(());
        }
        let (stages, deployment) = (stages.clone(), self.deployment.clone());
        let (name, tree) = (manifest.name.clone(), manifest.tree.clone());
        let made = blocking(move || {
            let named = Named {
                name: &name,
                tree: &tree,
            };
            stages.convert_deployment(&deployment, named, &[])
        });
        let (objects, _) = made.await?.map_err(|error| manifest.wrong(error))?;
        let secrets = objects
            .into_iter()
            .filter(|object| object.str("kind") == Some("Secret"));
        let mut bundle = Bundle::new(&self.deployment);
        let checked = bundle.add(secrets.collect(), "bpm");
        checked.map_err(|errors| manifest.fail(errors))?;
        let wanted = self.own(bundle.into_objects(), manifest)?;
        let mut live = self.live(&resource("v1", "Secret")).await?;
        for object in self.differences(wanted, &mut live).await?.apply {
            self.write(&object).await?;
        }
        Ok(())
    }
}

/// Whether any job of a release may need root.
fn is_root_needed(manifest: &Tree, release: &str) -> bool {
    let groups = manifest.items("instance_groups").iter().chain(manifest.items("addons"));
    let mut jobs = groups.flat_map(|group| group.items("jobs"));
    jobs.any(|job| job.str("release") == Some(release) && !copier::needs_no_root(job))
}

fn has_credentials(release: &Tree) -> bool {
    release
        .get("credentials")
        .is_some_and(|credentials| !credentials.is_null())
}

/// The credentials that the manifest gives a release.
fn own(release: &Tree, image: &str) -> Option<PullSecret> {
    let text = |key: &str| release.get("credentials").and_then(|credentials| credentials.str(key));
    let (Some(username), Some(password)) = (text("username"), text("password")) else {
        return None;
    };
    let registry = image.split('/').next().unwrap_or_default();
    let config = serde_json::json!({ "auths": { registry: { "username": username, "password": password } } });
    Some(PullSecret(config.to_string().into_bytes()))
}
