//! Notes about packages that a job's files name and its instance group does not have. A script may look for a package
//! that it does not need, so these are no errors.

use super::{GroupJob, listed};
use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use boson_manifest::packages::PACKAGES;

/// Number of names in a message.
const MAX_NAMES: usize = 5;
/// Number of names that are searched for in templates.
const MAX_SEARCHED: usize = 32;

/// A note about all such packages of a job, at the first. Only those that a template names: other names may be values.
/// A job that lists no packages, for example of an image without such lists, says nothing about what its release has.
pub(super) fn missing(job: &GroupJob<'_>, is_known: impl Fn(&str) -> bool) -> Option<Diagnostic> {
    listed(job.files).next()?;
    let named = job.mentions.iter().flat_map(|(file, mentions)| {
        let names = mentions.packages.iter().map(String::as_str);
        names.map(move |name| (file.as_str(), name))
    });
    let unknown = named.filter(|(_, name)| !is_known(name)).take(MAX_SEARCHED);
    let found = unknown.filter_map(|(file, name)| {
        let template = job.files.template_for(file)?;
        let path = format!("{PACKAGES}/{name}");
        let line = template.text.lines().zip(1..).find(|(text, _)| text.contains(&path))?.1;
        Some((name, template, line))
    });
    let found: Vec<_> = found.collect();
    let (_, template, line) = found.first()?;
    let mut names: Vec<&str> = found.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > MAX_NAMES { ", .." } else { "" };
    let (what, shown) = match names.get(..MAX_NAMES).unwrap_or(&names) {
        [one] => ("a package", (*one).to_string()),
        several => ("packages", several.join(", ")),
    };
    let message = format!(
        "A file of job '{}' names {what} that no job of its instance group has: '{shown}{more}'",
        job.files.name
    );
    let note = Diagnostic::info(codes::PACKAGE_MISSING, message)
        .in_document(&template.document_name)
        .on_line(*line, None);
    Some(note.help("if the job needs it, add a job of the release that has it to the group"))
}
