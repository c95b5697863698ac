//! Versioned Secrets: `<series>-v<N>`, each immutable. The next version of a series, and which versions are garbage.
//! Pure.

use super::names_owner;
use boson_manifest::labels::{self, secret_kind};
use boson_pipeline::encoding::{self, SecretSizeError};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

/// The series of versions of one document.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name without `-v<N>`.
    pub name: String,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub owner: OwnerReference,
}

/// The content of a version: texts, compressed if large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The texts, by key.
    pub data: BTreeMap<String, ByteString>,
    /// Annotations; they do not distinguish versions.
    pub annotations: BTreeMap<String, String>,
}

/// The next version of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The newest version holds this already.
    Keep(u32, Box<Secret>),
    Make(u32, Box<Secret>),
}

// === impl Content ===

impl Content {
    /// With these texts.
    ///
    /// # Errors
    /// They are larger than a Secret may be.
    pub fn of(mut data: BTreeMap<String, ByteString>) -> Result<Self, SecretSizeError> {
        let mut annotations = BTreeMap::new();
        if encoding::pack(data.values_mut().map(|value| &mut value.0))? {
            annotations.insert(labels::ENCODING.to_string(), encoding::GZIP.to_string());
        }
        Ok(Self { data, annotations })
    }

    /// Whether the Secret holds the same texts.
    pub fn is_in(&self, secret: &Secret) -> bool {
        let held = secret.data.iter().flatten();
        held.clone().count() == self.data.len()
            && held
                .zip(&self.data)
                .all(|((key, held), (name, value))| key == name && encoding::is_same(&held.0, &value.0))
    }
}

// === impl Next ===

impl Next {
    /// The number of the version that holds the content.
    pub fn version(&self) -> u32 {
        match self {
            Self::Keep(version, _) | Self::Make(version, _) => *version,
        }
    }
}

// === impl Series ===

impl Series {
    /// The next version with this content. `newest`: see [`Series::newest_of_any_owner`].
    pub fn next(&self, newest: Option<&Secret>, content: Content) -> Next {
        let there = newest.and_then(|secret| Some((self.version(&secret.metadata)?, secret)));
        let Some((version, secret)) = there else {
            return Next::Make(1, Box::new(self.secret(1, content)));
        };
        let held = secret.labels();
        let same_labels = self.labels.iter().all(|(key, value)| held.get(key) == Some(value));
        if content.is_in(secret) && same_labels && self.owns(&secret.metadata) {
            return Next::Keep(version, Box::new(secret.clone()));
        }
        let version = version.saturating_add(1);
        Next::Make(version, Box::new(self.secret(version, content)))
    }

    /// The name of the version with the greatest number, of any owner. `there`: Secrets of the namespace, of any
    /// series.
    pub fn newest_of_any_owner<'s>(&self, there: &'s [ObjectMeta]) -> Option<&'s str> {
        self.last(there)?.name.as_deref()
    }

    /// The name of the newest version of those that exist, if it is this owner's.
    pub fn newest<'s>(&self, there: &'s [ObjectMeta]) -> Option<&'s str> {
        self.last(there).filter(|meta| self.owns(meta))?.name.as_deref()
    }

    fn last<'s>(&self, there: &'s [ObjectMeta]) -> Option<&'s ObjectMeta> {
        let versions = there.iter().filter_map(|meta| Some((self.version(meta)?, meta)));
        versions.max_by_key(|(version, _)| *version).map(|(_, meta)| meta)
    }

    /// Versions of an earlier owner of the same name are not ours: they are about to be deleted.
    fn owns(&self, meta: &ObjectMeta) -> bool {
        names_owner(meta, &self.owner.uid)
    }

    fn version(&self, meta: &ObjectMeta) -> Option<u32> {
        let (series, version) = place(meta)?;
        (series == self.name).then_some(version)
    }

    fn secret(&self, version: u32, content: Content) -> Secret {
        let mut labels = self.labels.clone();
        labels.insert(labels::SECRET_KIND.into(), secret_kind::VERSIONED.into());
        labels.insert(labels::SECRET_VERSION.into(), version.to_string());
        Secret {
            metadata: ObjectMeta {
                name: Some(format!("{}-v{version}", self.name)),
                namespace: Some(self.namespace.clone()),
                labels: Some(labels),
                annotations: Some(content.annotations).filter(|annotations| !annotations.is_empty()),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            data: Some(content.data),
            immutable: Some(true),
            type_: Some("Opaque".into()),
            ..Secret::default()
        }
    }
}

/// Versions that are no longer used. Of a series that the owner has: all but the newest and `keep` more, because pods
/// that start from the outdated view of a controller must still find theirs. Of its other series: all. Versions of
/// other owners are never garbage, whatever their labels: two deployments may have the same label, and any user may set
/// labels.
///
/// `owner`: a UID. `series`: names of those that it has. `is_used`: whether a workload mentions the Secret of this
/// name.
pub fn garbage<'s>(
    there: &'s [ObjectMeta],
    owner: &str,
    series: &BTreeSet<String>,
    keep: usize,
    is_used: impl Fn(&str) -> bool,
) -> Vec<&'s ObjectMeta> {
    let mut all: BTreeMap<&str, BTreeMap<u32, &ObjectMeta>> = BTreeMap::new();
    for meta in there.iter().filter(|meta| names_owner(meta, owner)) {
        if let Some((name, version)) = place(meta) {
            all.entry(name).or_default().insert(version, meta);
        }
    }
    let mut garbage = Vec::new();
    for (name, versions) in all {
        let kept = if series.contains(name) {
            keep.saturating_add(1)
        } else {
            0
        };
        let old = versions.into_values().rev().skip(kept);
        garbage.extend(old.filter(|meta| meta.name.as_deref().is_some_and(|name| !is_used(name))));
    }
    garbage
}

/// The Secret with this metadata, to be deleted.
pub fn with_metadata(meta: &ObjectMeta) -> Secret {
    Secret {
        metadata: meta.clone(),
        ..Secret::default()
    }
}

/// Series and number of a versioned Secret of ours.
fn place(meta: &ObjectMeta) -> Option<(&str, u32)> {
    let labels = meta.labels.as_ref()?;
    let is_ours = labels.get(labels::SECRET_KIND).map(String::as_str) == Some(secret_kind::VERSIONED);
    let (series, version) = parts(meta.name.as_deref()?)?;
    (is_ours && meta.deletion_timestamp.is_none()).then_some((series, version))
}

/// Series and number in a name that ends in `-v<N>`.
pub fn parts(name: &str) -> Option<(&str, u32)> {
    let (series, number) = name.rsplit_once("-v")?;
    // Not `+1` or `01`, which we never write.
    let version: u32 = number.parse().ok()?;
    (version.to_string() == number).then_some((series, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        Series {
            name: "d.bpm.g".into(),
            namespace: "n".into(),
            labels: [("a".to_string(), "b".to_string())].into(),
            owner: OwnerReference::default(),
        }
    }

    fn data(text: &str) -> Content {
        Content::of([("k".to_string(), ByteString(text.into()))].into()).unwrap()
    }

    fn made(next: Next) -> Secret {
        match next {
            Next::Make(_, secret) => *secret,
            Next::Keep(version, _) => unreachable!("version {version} is kept"),
        }
    }

    #[test]
    fn the_same_content_makes_no_version_and_another_makes_the_next() {
        let first = made(series().next(None, data("x")));
        assert_eq!(first.metadata.name.as_deref(), Some("d.bpm.g-v1"));
        assert_eq!(first.immutable, Some(true));
        let there = [first.metadata.clone()];
        let existing = Some(&first);
        assert!(matches!(series().next(existing, data("x")), Next::Keep(1, _)));
        assert_eq!(series().newest(&there), Some("d.bpm.g-v1"));
        assert_eq!(series().next(existing, data("y")).version(), 2);
        let mut reborn = series();
        reborn.owner.uid = "other".into();
        assert_eq!(reborn.next(existing, data("x")).version(), 2);
        assert_eq!(
            (reborn.newest(&there), reborn.newest_of_any_owner(&there)),
            (None, Some("d.bpm.g-v1"))
        );
        let relabelled = Series {
            labels: [("a".to_string(), "c".to_string())].into(),
            ..series()
        };
        assert_eq!(relabelled.next(existing, data("x")).version(), 2);
    }

    #[test]
    fn large_content_is_compressed_and_compared_uncompressed() {
        let text = "line\n".repeat(100_000);
        let first = made(series().next(None, data(&text)));
        let annotations = first.metadata.annotations.clone().unwrap_or_default();
        assert_eq!(annotations.get(labels::ENCODING).map(String::as_str), Some("gzip"));
        // As written by a program that compresses differently, or not at all.
        let plain = Secret {
            data: Some([("k".to_string(), ByteString(text.clone().into()))].into()),
            ..first.clone()
        };
        for existing in [first, plain] {
            assert!(matches!(series().next(Some(&existing), data(&text)), Next::Keep(1, _)));
            assert_eq!(series().next(Some(&existing), data(&(text.clone() + "x"))).version(), 2);
        }
    }

    #[test]
    fn numbers_go_on_after_the_greatest_and_other_series_do_not_count() {
        let of = |name: &str, version: u32| {
            let mut secret = series().secret(version, data("old"));
            secret.metadata.name = Some(name.into());
            secret.metadata
        };
        let existing = [
            of("d.bpm.g-v2", 2),
            of("d.bpm.g-v10", 10),
            of("d.bpm.g-v010", 10),
            of("d.bpm.g-worker-v99", 99),
            of("d.bpm.gg-v50", 50),
        ];
        assert_eq!(series().newest_of_any_owner(&existing), Some("d.bpm.g-v10"));
        let mut tenth = series().secret(10, data("old"));
        tenth.metadata = existing[1].clone();
        assert_eq!(series().next(Some(&tenth), data("x")).version(), 11);
    }

    #[test]
    fn garbage_is_what_is_not_used_except_for_the_newest() {
        let of = |name: &str, version| {
            let mut series = Series {
                name: name.into(),
                ..series()
            };
            series.owner.uid = if name.starts_with("d.") { "ours" } else { "theirs" }.into();
            series.secret(version, data("x")).metadata
        };
        let mut existing: Vec<ObjectMeta> = (1..=6).map(|version| of("d.bpm.g", version)).collect();
        existing.extend([
            of("d.bpm.removed", 1),
            of("d.bpm.removed", 2),
            of("other", 1),
            of("other", 2),
        ]);
        let series = [String::from("d.bpm.g")].into();
        let deleted = garbage(&existing, "ours", &series, 2, |name| {
            matches!(name, "d.bpm.g-v2" | "d.bpm.removed-v2")
        });
        let names: Vec<_> = deleted.iter().filter_map(|meta| meta.name.clone()).collect();
        assert_eq!(names, ["d.bpm.g-v3", "d.bpm.g-v1", "d.bpm.removed-v1"]);
    }
}
