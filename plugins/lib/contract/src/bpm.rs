//! `wit/bpm`.

use boson_document::Tree;

/// A package that one of a group's releases has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasePackage {
    pub name: String,
    pub release: String,
}

/// A variable that the deployment defines. Each needs one object.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub kind: String,
    /// Options, placeholders replaced.
    pub options: Tree,
    /// `no-overwrite`, `overwrite`, `converge`.
    pub update_mode: Option<String>,
    /// Place of its definition in the manifest: RFC 6901 pointer.
    pub pointer: String,
}
