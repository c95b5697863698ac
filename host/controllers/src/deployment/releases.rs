//! The releases that the manifest's jobs are in, read from their images.

use super::flow::Flow;
use super::manifest::Manifest;
use super::stop::Stop;
use crate::conversion::{PullSecret, ReleaseImage};
use boson_deployment::images;
use boson_document::{Pointer, Tree};
use boson_pipeline::release::Release;
use boson_pipeline::{Diagnostic, convert};

// === impl Flow ===

impl Flow<'_> {
    /// All of them, or everything that is wrong with any.
    pub(super) async fn releases(&self, manifest: &Manifest) -> Result<Vec<Release>, Stop> {
        let (mut releases, mut errors) = (Vec::new(), Vec::new());
        let shared = self.pull_secrets(&manifest.tree).await?;
        for (name, stemcell) in convert::releases(&manifest.tree) {
            let listed = manifest.tree.items("releases").iter();
            let Some((index, release)) = listed
                .enumerate()
                .find(|(_, release)| release.str("name") == Some(name))
            else {
                // The links stage refuses it, in BOSH's words.
                continue;
            };
            let place = Pointer::root().at("releases").at(index);
            let image = images::of_release(&manifest.tree, release, stemcell, self.deployment.registry.as_deref());
            let read = match image {
                Ok(image) => {
                    let wanted = ReleaseImage {
                        release: name.to_string(),
                        pull: own(release, &image).into_iter().chain(shared.clone()).collect(),
                        image,
                    };
                    self.context.conversion.images.release(&wanted).await
                }
                Err(why) => Err(vec![Diagnostic::error(
                    "deployment-no-image",
                    format!("there is no image: {why}"),
                )]),
            };
            match read {
                Ok(release) => releases.push(release),
                Err(some) => errors.extend(some.into_iter().map(|error| match error.place.document {
                    None => error.in_document(&manifest.name).at(&place),
                    Some(_) => error,
                })),
            }
        }
        if errors.is_empty() {
            Ok(releases)
        } else {
            Err(manifest.fail(errors))
        }
    }
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
