//! What plugins of the stages `resources` and `checks` see and reply: `wit/types`, interface `objects`, and
//! `wit/resources`.

use crate::types::Named;
use boson_document::Tree;

/// Name of the document of a [`View`] in places of diagnostics.
pub const MANIFEST: &str = "manifest";

/// A conversion before its objects are applied.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// `quarks` or `kubernetes`.
    pub target: &'a str,
    /// The manifest with its ops files; placeholders are not replaced. Plugins know it as [`MANIFEST`].
    pub manifest: Named<'a>,
    /// The converted groups.
    pub groups: &'a [GroupSummary],
    /// All objects.
    pub objects: &'a [Tree],
}

/// An instance group, without values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSummary {
    /// Name of the group.
    pub name: String,
    /// Number of instances over all AZs.
    pub instances: u32,
    /// In the order of the resolved document.
    pub jobs: Vec<JobSummary>,
}

/// A job of an instance group, without values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    /// Name of the job.
    pub name: String,
    /// The release that has it.
    pub release: String,
    /// In the order of the job's spec.
    pub consumes: Vec<ConsumedLink>,
}

/// A link that a job consumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedLink {
    /// Name under which the job consumes it.
    pub name: String,
    /// Instance group that provides it, if it is one of this deployment.
    pub provider_group: Option<String>,
}

/// Names one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReference {
    /// `apps/v1`
    pub api_version: String,
    /// `StatefulSet`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
}

/// One change of the objects.
#[derive(Clone, Debug)]
pub enum Edit {
    /// RFC 6902 operations on an object.
    JsonPatch(ObjectReference, Tree),
    /// RFC 7386: merged into an object.
    MergePatch(ObjectReference, Tree),
    /// A new object.
    Add(Tree),
    /// An object to remove.
    Remove(ObjectReference),
}

// === impl View ===

impl<'a> View<'a> {
    /// The same view, with these objects.
    #[must_use]
    pub fn with_objects(self, objects: &'a [Tree]) -> Self {
        Self { objects, ..self }
    }
}

/// [Converts](crate::bindings) what plugins see to the records of generated bindings, and back.
#[macro_export]
macro_rules! objects_records {
    ($wit:ident) => {
        $crate::record!(
            $crate::objects::GroupSummary,
            $wit::Group {
                name,
                instances,
                jobs
            } + more
        );
        $crate::record!(
            $crate::objects::JobSummary,
            $wit::Job {
                name,
                release,
                consumes
            } + more
        );
        $crate::record!(
            $crate::objects::ConsumedLink,
            $wit::ConsumedLink { name, provider_group } + more
        );
    };
}
