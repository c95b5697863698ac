//! What a job's templates read, and in which parts two versions of it differ, by name and without values.

use super::shape;
use crate::convert::context;
use crate::convert::instance_files::GroupFiles;
use crate::resolved_document::jobs as jobs_of;
use boson_document::Tree;
use std::collections::BTreeMap;

/// The data of the templates of the instance number `nth`, by job.
pub(super) fn jobs(group: &GroupFiles, nth: usize) -> BTreeMap<String, Tree> {
    let jobs = jobs_of(&group.resolved.document).iter();
    let data = |job: &Tree| {
        Some((
            job.str("name")?.to_string(),
            context::context(job, nth, context::POD_IP)?,
        ))
    };
    jobs.filter_map(data).collect()
}

/// The parts that differ: `properties.a.b`, `links.db`, `spec.index`; and the version of the release.
pub(super) fn between(old: Option<&Tree>, new: Option<&Tree>) -> Vec<String> {
    let (Some(old), Some(new)) = (old, new) else {
        return Vec::new();
    };
    let of_spec = |member: String| {
        let is_own = ["properties", "links", "release"]
            .iter()
            .any(|key| member.starts_with(key));
        if is_own { member } else { format!("spec.{member}") }
    };
    shape::members(old, new).into_iter().map(of_spec).collect()
}
