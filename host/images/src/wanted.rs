//! The images that a deployment needs, from its manifest. Pure: no I/O.

use crate::codes;
use boson_document::{Pointer, Tree, ruby};
use boson_manifest::{images, stemcell};
use boson_pipeline::Diagnostic;
use std::collections::BTreeSet;

/// Where Cloud Foundry publishes images of stemcells.
const PUBLISHED: &str = "ghcr.io/cloudfoundry";

/// A stemcell, as it occurs in names of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stemcell {
    /// `ubuntu-jammy`
    pub os: String,
    /// `1.199`
    pub version: String,
}

/// The image of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub release: String,
    pub version: String,
    pub image: String,
    /// URL of the release's tarball, from the manifest.
    pub url: Option<String>,
    /// Digests of the tarball, from the manifest.
    pub digests: Option<String>,
    /// The stemcell of the base image.
    pub stemcell: Stemcell,
    /// Place of the release in the manifest.
    pub pointer: Pointer,
}

// === impl Stemcell ===

impl Stemcell {
    /// Reads `<os>/<version>`.
    pub fn parse(text: &str) -> Option<Self> {
        let (os, version) = text.split_once('/')?;
        let good = |part: &str| !part.is_empty() && !part.contains(['/', ' ', ':']);
        (good(os) && good(version)).then(|| Self {
            os: os.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The stemcell of an image `..<os>-stemcell:<version>`, as Cloud Foundry publishes them.
    pub fn of_image(image: &str) -> Option<Self> {
        let (name, version) = image.rsplit('/').next()?.split_once(':')?;
        let os = name.strip_suffix("-stemcell")?;
        let exact = version.starts_with(|first: char| first.is_ascii_digit()) && !version.contains('@');
        exact.then(|| Self::parse(&format!("{os}/{version}")))?
    }

    /// The image that Cloud Foundry publishes for it.
    pub fn published(&self) -> String {
        format!("{PUBLISHED}/{}-stemcell:{}", self.os, self.version)
    }

    /// `<os>/<version>`
    pub fn text(&self) -> String {
        format!("{}/{}", self.os, self.version)
    }

    /// The name of a release's image on this stemcell, by the same rule as in pods.
    ///
    /// # Errors
    /// Why there is no such name, as the end of a sentence.
    pub fn image(&self, release: &str, version: &str, registry: &str) -> Result<String, String> {
        let stemcell = Tree::object()
            .with("os", self.os.as_str())
            .with("version", self.version.as_str());
        let entry = Tree::object()
            .with("name", release)
            .with("version", version)
            .with("stemcell", stemcell);
        images::of_release(&Tree::Null, &entry, None, Some(registry))
    }
}

/// Every release with each stemcell of the instance groups that use it; with all stemcells if no group uses it.
///
/// # Errors
/// Releases whose image has no name.
pub fn wanted(document: &str, manifest: &Tree, registry: Option<&str>) -> Result<Vec<Wanted>, Vec<Diagnostic>> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for (index, release) in manifest.items("releases").iter().enumerate() {
        let pointer = Pointer::root().at("releases").at(index);
        let mut seen = BTreeSet::new();
        for alias in aliases(manifest, release.str("name").unwrap_or_default()) {
            match one(manifest, release, alias, registry, &pointer) {
                Ok(wanted) if seen.insert(wanted.image.clone()) => all.push(wanted),
                Ok(_) => {}
                Err(why) => errors.push(
                    Diagnostic::error(
                        codes::IMAGE_UNNAMED,
                        format!("the name of the image cannot be determined: {why}"),
                    )
                    .in_document(document)
                    .at(&pointer)
                    .help("set an exact version of the release, a stemcell with OS and exact version, and --registry"),
                ),
            }
        }
    }
    errors.dedup();
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

fn one(
    manifest: &Tree,
    release: &Tree,
    alias: Option<&str>,
    registry: Option<&str>,
    pointer: &Pointer,
) -> Result<Wanted, String> {
    let image = images::of_release(manifest, release, alias, registry)?;
    let stemcell = stemcell::Stemcell::of_release(manifest, release, alias);
    Ok(Wanted {
        release: release.str("name").unwrap_or_default().to_owned(),
        version: text(release, "version").unwrap_or_default(),
        image,
        url: release.str("url").filter(|url| url.contains("://")).map(str::to_owned),
        digests: text(release, "sha1").filter(|digests| !digests.is_empty()),
        stemcell: Stemcell {
            os: stemcell.and_then(|one| one.os()).unwrap_or_default(),
            version: stemcell.and_then(|one| one.version()).unwrap_or_default(),
        },
        pointer: pointer.clone(),
    })
}

/// Aliases of the stemcells that a release is used on. A release that only addons use needs the stemcells of all
/// groups.
fn aliases<'m>(manifest: &'m Tree, release: &str) -> Vec<Option<&'m str>> {
    let groups = manifest.items("instance_groups");
    let in_jobs = |group: &Tree| {
        group
            .items("jobs")
            .iter()
            .any(|job| job.str("release") == Some(release))
    };
    let in_addons = manifest.items("addons").iter().any(in_jobs);
    let using = groups.iter().filter(|group| in_addons || in_jobs(group));
    let aliases: BTreeSet<Option<&str>> = using.map(|group| group.str("stemcell")).collect();
    if !aliases.is_empty() {
        aliases.into_iter().collect()
    } else {
        stemcell::Stemcell::all(manifest).map(|one| one.alias()).collect()
    }
}

fn text(tree: &Tree, key: &str) -> Option<String> {
    tree.get(key).and_then(ruby::string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    const MANIFEST: &str = r#"{
        "releases": [
            {"name": "nats", "version": "56", "url": "https://x/nats.tgz", "sha1": "sha256:ab"},
            {"name": "bpm", "version": 1, "stemcell": {"os": "noble", "version": "1.1"}},
            {"name": "dns", "version": "2"}, {"name": "spare", "version": "3"}],
        "stemcells": [{"alias": "a", "os": "jammy", "version": "1.5"}, {"alias": "b", "os": "noble", "version": "1.1"}],
        "addons": [{"jobs": [{"release": "dns"}]}],
        "instance_groups": [
            {"stemcell": "a", "jobs": [{"release": "nats"}, {"release": "bpm"}]},
            {"stemcell": "b", "jobs": [{"release": "nats"}]}, {"stemcell": "b", "jobs": [{"release": "bpm"}]}]}"#;

    #[test]
    fn every_release_on_the_stemcells_that_it_is_used_on() {
        let manifest = json::parse(MANIFEST).unwrap();
        let all = wanted("m", &manifest, Some("r.example/x")).unwrap();
        let names: Vec<&str> = all.iter().map(|wanted| wanted.image.as_str()).collect();
        let expected = [
            "nats:jammy-1.5-56",
            "nats:noble-1.1-56",
            "bpm:noble-1.1-1",
            "dns:jammy-1.5-2",
            "dns:noble-1.1-2",
            "spare:jammy-1.5-3",
            "spare:noble-1.1-3",
        ];
        assert_eq!(names, expected.map(|name| format!("r.example/x/{name}")));
        assert_eq!(
            (all[0].url.as_deref(), all[0].digests.as_deref()),
            (Some("https://x/nats.tgz"), Some("sha256:ab"))
        );
        assert_eq!(all[2].stemcell.text(), "noble/1.1");
        let errors = wanted("m", &manifest, None).unwrap_err();
        assert!(errors.iter().all(|error| error.code == "image-unnamed"), "{errors:?}");
    }

    #[test]
    fn images_are_named_as_pods_name_them() {
        let stemcell = Stemcell::parse("ubuntu-jammy/1.5").unwrap();
        assert_eq!(
            stemcell.image("nats", "56+dev.1", "r.example").as_deref(),
            Ok("r.example/nats:ubuntu-jammy-1.5-56-dev.1")
        );
        assert!(stemcell.image("nats", "latest", "r.example").is_err());
        let published = Stemcell::parse("ubuntu-noble/1.165").unwrap();
        assert_eq!(
            published.published(),
            "ghcr.io/cloudfoundry/ubuntu-noble-stemcell:1.165"
        );
        assert_eq!(Stemcell::of_image(&published.published()), Some(published));
        for other in [
            "stemcell.tar",
            "r/ubuntu-noble-stemcell:latest",
            "r/ubuntu-noble-stemcell",
            "r/ubuntu:22.04",
        ] {
            assert_eq!(Stemcell::of_image(other), None, "{other}");
        }
        assert_eq!(Stemcell::parse("jammy"), None);
        assert_eq!(Stemcell::parse("a/b/c"), None);
    }
}
