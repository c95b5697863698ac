//! What each instance of a group renders, as digests: two conversions are compared by them.

use crate::release::{Job, TemplateFile};
use crate::stage::ResolvedGroup;
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

/// The digest of a file with this content.
pub(super) fn digest(file: &TemplateFile, content: &str) -> FileDigest {
    let mode = super::filling::mode(file).to_be_bytes();
    Sha256::new().chain_update(mode).chain_update(content).finalize().into()
}

/// The name of a file in [`InstanceFiles`].
pub(super) fn path(job: &Job, file: &TemplateFile) -> String {
    format!("{}/{}", job.name, file.destination)
}
