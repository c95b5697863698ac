//! The image of a release: the layers of its base, one with accounts and links, some of packages, and one of jobs.
//! Layers that seldom change are below those that change often, and an unchanged package is the same layer in every
//! version of the release.

use crate::base::Base;
use crate::error::write_error;
use crate::gzip::Pool;
use crate::jobs::jobs_layer;
use crate::layer::{self, Draft};
use crate::packages;
use boson_oci::{Blob, Digest, Image, Layer, MediaType};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::{Files, Release};
use boson_releases::Packed;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Layers of an image altogether: storage drivers take 127, and others may build on it.
const MAX_LAYERS: usize = 100;

pub struct Ingredients<'i> {
    /// What it is built on.
    pub base: &'i Base,
    pub release: &'i Release,
    /// The files of its jobs, below `jobs/<job>/`.
    pub jobs: &'i Files,
    pub packages: Packages<'i>,
    /// `<repository>:<tag>`.
    pub name: &'i str,
    /// `<os>/<version>` of the stemcell.
    pub stemcell: &'i str,
}

pub enum Packages<'i> {
    /// In the tarball of a compiled release.
    Packed(&'i Packed),
    /// Layers that [`crate::package_layer`] made, sorted by the names of packages.
    Layers(&'i [Layer]),
}

/// Builds the image; the data of its layers is stored in the directory `place`. `tell` is called with the number of
/// unpacked bytes.
///
/// # Errors
/// The tarball is damaged or hostile; the disk is full.
pub fn build(
    ingredients: &Ingredients<'_>,
    place: &Path,
    pool: &Pool,
    tell: &mut dyn FnMut(u64),
) -> Result<Image, Diagnostic> {
    let base = ingredients.base;
    let mut layers = base.layers.clone();
    layers.push(system_layer(base, place, pool).map_err(|error| write_error(&error))?);
    let available = MAX_LAYERS.saturating_sub(layers.len() + 1).max(1);
    match &ingredients.packages {
        Packages::Packed(packed) => layers.extend(of_packages(packed, available, place, pool, tell)?),
        Packages::Layers(packages) => {
            let each = packages.len().div_ceil(available).max(1);
            for shared in packages.chunks(each) {
                layers.push(layer::merge(shared, place, pool).map_err(|error| write_error(&error))?);
            }
        }
    }
    layers.push(jobs_layer(ingredients.jobs, place, pool)?);
    let config = Blob::json(MediaType::ImageConfig, &config(ingredients, &layers));
    Ok(Image::new(ingredients.name, config, layers))
}

/// Accounts, and BOSH's own path of packages for containers without a volume at `/var/vcap/data`.
fn system_layer(base: &Base, place: &Path, pool: &Pool) -> std::io::Result<Layer> {
    let mut draft = Draft::new(place, pool)?;
    if let Some(passwd) = base.accounts.passwd() {
        draft.system_file("etc/passwd", passwd.as_bytes())?;
    }
    if let Some(group) = base.accounts.group() {
        draft.system_file("etc/group", group.as_bytes())?;
    }
    draft.directory("var/vcap/data")?;
    draft.directory(packages::SOURCES_PATH)?;
    draft.link("var/vcap/data/packages", &format!("/{}", packages::SOURCES_PATH))?;
    draft.finish()
}

/// A layer for each package, sorted by name. Where there are more packages than layers, those that are next to each
/// other in the tarball share one.
fn of_packages(
    release: &Packed,
    available: usize,
    place: &Path,
    pool: &Pool,
    tell: &mut dyn FnMut(u64),
) -> Result<Vec<Layer>, Diagnostic> {
    let each = release.manifest.packages.len().div_ceil(available).max(1);
    let mut layers = BTreeMap::new();
    // One at a time: each holds some blocks that are being compressed.
    let mut open: Option<Shared> = None;
    release.each_package(
        &mut |package, content| {
            let mut shared = match open.take() {
                Some(shared) => shared,
                None => Shared {
                    first: package.name.clone(),
                    draft: Draft::new(place, pool).map_err(|error| write_error(&error))?,
                    packages: 0,
                },
            };
            let (name, fingerprint) = (&package.name, &package.fingerprint);
            packages::add(&mut shared.draft, name, fingerprint, content, &release.source)?;
            shared.packages += 1;
            if shared.packages == each {
                layers.extend([shared.finish()?])
            } else {
                open = Some(shared)
            }
            Ok(())
        },
        tell,
    )?;
    layers.extend(open.map(Shared::finish).transpose()?);
    Ok(layers.into_values().collect())
}

/// A layer that takes packages.
struct Shared {
    first: String,
    draft: Draft,
    packages: usize,
}

// === impl Shared ===

impl Shared {
    fn finish(self) -> Result<(String, Layer), Diagnostic> {
        let layer = self.draft.finish().map_err(|error| write_error(&error))?;
        Ok((self.first, layer))
    }
}

/// The base's configuration with the new layers and labels.
fn config(ingredients: &Ingredients<'_>, layers: &[Layer]) -> Value {
    let Ingredients { base, release, .. } = ingredients;
    let mut config = base.config.clone();
    let diffs: Vec<&Digest> = layers.iter().map(|layer| &layer.diff_id).collect();
    config["rootfs"] = json!({"type": "layers", "diff_ids": diffs});
    let own = layers.len() - base.layers.len();
    match config["history"].as_array_mut() {
        Some(history) => history.extend((0..own).map(|_| json!({"created_by": "host image"}))),
        None => drop(config.as_object_mut().map(|config| config.remove("history"))),
    }
    let marked = member(member(&mut config, "config"), "Labels");
    let version = release.version.as_deref().unwrap_or_default();
    for (label, value) in [
        ("bosh.release.name", release.name.as_str()),
        ("bosh.release.version", version),
        ("bosh.stemcell", ingredients.stemcell),
        ("org.opencontainers.image.title", release.name.as_str()),
        ("org.opencontainers.image.version", version),
        ("org.opencontainers.image.base.digest", base.digest.as_ref()),
    ] {
        marked[label] = value.into();
    }
    config
}

/// The object under this key. The configuration stays JSON: another order of its members would be another image.
fn member<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    let member = &mut value[key];
    if !member.is_object() {
        *member = json!({});
    }
    member
}
