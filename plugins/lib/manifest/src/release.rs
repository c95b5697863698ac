//! The releases that a manifest lists.

use crate::members::{self, Members};
use crate::redacted::plain;
use boson_document::{Code, Place, Pointer, Report, Tree, ruby};
use std::collections::HashSet;

/// The codes under which a stage reports errors.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// Types and required keys.
    pub members: &'static members::Codes,
    /// Two have the same name.
    pub duplicate: &'static Code,
}

/// A release that the manifest lists.
#[derive(Clone, Debug)]
pub struct Release<'a> {
    pub tree: &'a Tree,
    pub place: Place,
    pub name: String,
    /// Its `version`; empty where that is missing.
    pub version: String,
}

// === impl Release ===

impl<'a> Release<'a> {
    /// The releases of a manifest, in order.
    pub fn list(manifest: &Members<'a>, codes: &'static Codes, report: &mut Report) -> Vec<Self> {
        if manifest.get("releases").is_none() {
            manifest.missing("releases", report);
        }
        let (mut releases, mut names) = (Vec::new(), HashSet::new());
        for (place, tree) in manifest.items("releases", report) {
            let Some(release) = Self::read(tree, place, codes.members, report) else {
                continue;
            };
            if !names.insert(release.name.clone()) {
                let message = format!("Duplicate release name '{}'", plain(&release.name));
                report.error(codes.duplicate, release.place.at("name"), message);
            }
            releases.push(release);
        }
        releases
    }

    /// The releases of a manifest that can be read. The links stage reports the others.
    pub fn all(manifest: &'a Tree) -> impl Iterator<Item = Self> {
        let listed = manifest.items("releases").iter().enumerate();
        let place = Place::from(Pointer::root().at("releases"));
        listed.filter_map(move |(index, tree)| {
            Self::read(tree, place.at(index), members::UNREPORTED, &mut members::unreported())
        })
    }

    /// Reads a release.
    pub fn read(tree: &'a Tree, place: Place, codes: &'static members::Codes, report: &mut Report) -> Option<Self> {
        let entry = Members::of(tree, place, codes, report)?;
        let name = entry.required_string("name", report);
        let version = entry.required_string("version", report);
        Some(Self {
            tree,
            place: entry.place,
            name: name?,
            version: version.unwrap_or_default(),
        })
    }

    /// The stemcell that it was compiled for.
    pub fn stemcell(&self) -> Option<&'a Tree> {
        self.tree.get("stemcell")
    }

    /// The operating system that it was compiled for.
    pub fn system(&self) -> Option<&'a str> {
        self.stemcell()?.as_map()?.get("os")?.as_str()
    }

    /// User name and password for its image.
    pub fn credentials(&self) -> Option<(String, String)> {
        let given = self.tree.get("credentials")?;
        Some((ruby::member(given, "username")?, ruby::member(given, "password")?))
    }
}
