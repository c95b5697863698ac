//! What each instance of a group renders, as digests: two conversions are compared by them, and so are what the pod of
//! an instance has rendered and what it would render now.

use crate::release::{Job, TemplateFile};
use crate::stage::ResolvedGroup;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A group, as its pods render it.
#[derive(Clone, Debug)]
pub struct GroupFiles {
    /// Its resolved document. It has values of variables.
    pub resolved: ResolvedGroup,
    /// In the order of `spec.index`.
    pub instances: Vec<InstanceFiles>,
}

/// The rendered files of an instance, `spec.ip` being a placeholder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceFiles {
    /// `spec.index`.
    pub index: u32,
    /// `spec.az`.
    pub az: Option<String>,
    /// Digest of mode and content by `<job>/<path below the directory of the job>`.
    pub files: BTreeMap<String, FileDigest>,
}

/// SHA-256.
pub type FileDigest = [u8; 32];

/// The digests of the instances of a group by zone, in the order of their ordinals. Without zones, the name of the zone
/// is empty.
pub type InstanceDigests = BTreeMap<String, Vec<String>>;

/// Bytes of a digest that tells what an instance renders: more would be in the way, as there is one for each instance.
const INSTANCE_DIGEST_BYTES: usize = 8;

pub fn digests(instances: &[InstanceFiles]) -> InstanceDigests {
    let mut digests = InstanceDigests::new();
    for instance in instances {
        let zone = instance.az.clone().unwrap_or_default();
        digests.entry(zone).or_default().push(instance.digest());
    }
    digests
}

// === impl InstanceFiles ===

impl InstanceFiles {
    /// The digest of all files.
    fn digest(&self) -> String {
        let mut all = Sha256::new();
        for (path, digest) in &self.files {
            all.update((path.len() as u64).to_be_bytes());
            all.update(path);
            all.update(digest);
        }
        HEXLOWER.encode(&all.finalize()[..INSTANCE_DIGEST_BYTES])
    }
}

/// The digest of a file with this content.
pub(super) fn digest(file: &TemplateFile, content: &str) -> FileDigest {
    let mode = super::filling::mode(file).to_be_bytes();
    Sha256::new().chain_update(mode).chain_update(content).finalize().into()
}

/// The name of a file in [`InstanceFiles`].
pub(super) fn path(job: &Job, file: &TemplateFile) -> String {
    format!("{}/{}", job.name, file.destination)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(az: Option<&str>, files: &[(&str, u8)]) -> InstanceFiles {
        let files = files.iter().map(|(path, byte)| ((*path).to_string(), [*byte; 32]));
        InstanceFiles {
            index: 0,
            az: az.map(str::to_string),
            files: files.collect(),
        }
    }

    #[test]
    fn the_digest_of_an_instance_depends_on_its_files_alone() {
        let of = |files| instance(None, files).digest();
        assert_eq!(of(&[("a/b", 1), ("a/c", 2)]), of(&[("a/c", 2), ("a/b", 1)]));
        let different = [of(&[]), of(&[("a/b", 1)]), of(&[("a/b", 2)]), of(&[("a/bc", 1)])];
        assert_eq!(different.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }

    #[test]
    fn instances_are_in_their_zones_in_the_order_of_their_ordinals() {
        let [a, b, c] = [1, 2, 3].map(|byte| instance(Some("z2"), &[("f", byte)]));
        let other = instance(Some("z1"), &[("f", 4)]);
        let found = digests(&[a.clone(), other.clone(), b.clone(), c.clone()]);
        assert_eq!(found["z1"], [other.digest()]);
        assert_eq!(found["z2"], [a.digest(), b.digest(), c.digest()]);
        assert_eq!(digests(&[instance(None, &[])]).keys().collect::<Vec<_>>(), [""]);
    }
}
