//! Properties of jobs against their `properties_schema.json`, as the director validates them before it renders.

use super::context::{self, POD_IP};
use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::{self, Release};
use crate::resolved_document::jobs;
use crate::schema::{SettingsError, SettingsErrorKind, job};
use crate::stage::{ResolvedGroup, Stages};
use boson_document::{Pointer, Tree};

/// The errors in the properties of a group's jobs. They name group and job instead of their positions in the manifest,
/// see [`crate::convert::pre_render_ops::in_manifest`].
pub fn errors(
    stages: &dyn Stages,
    group: &ResolvedGroup,
    releases: &[Release],
    manifest_name: &str,
) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for entry in jobs(&group.document) {
        let files = release::find_job(releases, entry);
        let Some((files, schema)) = files.and_then(|files| Some((files, files.properties_schema.as_ref()?))) else {
            continue;
        };
        // The same for all instances.
        let Some(context) = context::context(entry, 0, POD_IP) else {
            continue;
        };
        let properties = context.get("properties").cloned().unwrap_or_else(Tree::object);
        let (name, at) = (&files.name, place(&group.name, &files.name));
        let invalid = |message: String, at: Pointer| {
            Diagnostic::error(codes::RELEASE_PROPERTIES_INVALID, message)
                .in_document(manifest_name)
                .at(at)
        };
        let checked = job::standard(schema).map_err(String::from);
        let checked = checked.and_then(|_| stages.check_properties(schema, &properties));
        match checked {
            Ok(found) => errors.extend(found.into_iter().map(|error| {
                let at = at.at("properties").join(error.place.tokens());
                invalid(
                    format!("Error validating properties for {name}: {}", sentence(&error)),
                    at,
                )
            })),
            Err(why) => {
                let message = format!("Properties of job '{name}' cannot be validated: properties_schema.json: {why}");
                errors.push(invalid(message, at));
            }
        }
    }
    errors
}

fn place(group: &str, job: &str) -> Pointer {
    let groups = Pointer::root().at("instance_groups").at(format!("name={group}"));
    groups.at("jobs").at(format!("name={job}"))
}

/// What is wrong, with the place in the properties.
fn sentence(error: &SettingsError) -> String {
    match (&error.kind, error.place.to_string().as_str()) {
        (SettingsErrorKind::Unknown(name), _) => format!("there is no property '{name}'"),
        (kind, "") => kind.to_string(),
        (SettingsErrorKind::Value(rest), path) => format!("value at '{path}' {rest}"),
        (SettingsErrorKind::Other(sentence), path) => format!("value at '{path}': {sentence}"),
    }
}
