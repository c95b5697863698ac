//! Releases: jobs, their specs and templates, from a source directory, a release tarball or the `jobs-src` tree of an
//! image.
//!
//! Pure: the reader of a release fills a [`Files`] tree and calls the function of its layout ([`source`], [`archive`],
//! [`image`]). All errors of a release are reported at once, in BOSH's words where BOSH reports them.

pub mod archive;
pub mod codes;
pub mod files;
pub mod image;
mod job;
mod open;
pub mod paths;
pub mod source;
mod spec;
pub mod version;
mod weight;

pub use files::{Entry, File, Files};
pub use paths::Naming;
pub use weight::check_all;

use crate::diagnostic::Diagnostic;
use crate::report::Sources;
use crate::yaml::Document;
use boson_document::{Code, Pointer, Tree};

#[derive(Clone, Debug)]
pub struct Release {
    /// Name, as manifests refer to it.
    pub name: String,
    /// Version; of a source directory: its newest final version. `None` if it is unknown.
    pub version: Option<String>,
    /// Sorted by name.
    pub jobs: Vec<Job>,
    /// Its source: the path that the user gave.
    pub source: String,
    /// Warnings about unusual parts.
    pub warnings: Vec<Diagnostic>,
}

/// A job of a release.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    /// The `spec` (or `job.MF`) file, with positions.
    pub spec: Document,
    /// In the order of the spec.
    pub templates: Vec<TemplateFile>,
    /// Text of the `monit` file, which is a template as well. Images may lack it.
    pub monit: Option<String>,
    /// Name of the `monit` file, for diagnostics.
    pub monit_document: String,
    /// Content of `properties_schema.json`.
    pub properties_schema: Option<Tree>,
}

/// A template of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFile {
    /// Relative to the job's `templates`.
    pub source: String,
    /// Relative to `/var/vcap/jobs/<job>`; without `.` and `..`.
    pub destination: String,
    pub text: String,
    /// Name of the file, for diagnostics.
    pub document_name: String,
    /// The file has an execute bit.
    pub executable: bool,
}

// === impl Release ===

impl Release {
    /// The job of this name.
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.name == name)
    }
}

// === impl Job ===

impl Job {
    /// Destination of the bpm template.
    pub const BPM: &str = "config/bpm.yml";

    /// Destinations of all templates, in the order of the spec.
    pub fn destinations(&self) -> impl Iterator<Item = &str> {
        self.templates.iter().map(|template| template.destination.as_str())
    }

    /// The template with this destination.
    pub fn template_for(&self, destination: &str) -> Option<&TemplateFile> {
        self.templates
            .iter()
            .find(|template| template.destination == destination)
    }

    /// Whether `monit` names a process.
    ///
    /// # Caveats
    /// Reads the template, not the rendered text: a `check process` under an ERB condition counts.
    pub fn is_monitored(&self) -> bool {
        self.monit.as_deref().is_some_and(names_a_process)
    }

    /// The first `start program` of `monit`, as written in the template.
    pub fn start_program(&self) -> Option<String> {
        start_program(self.monit.as_deref()?)
    }

    /// The name of a template in BOSH's errors, which the render stage gets, too: `<job>/<source>`.
    pub fn template_name(&self, template: &TemplateFile) -> String {
        format!("{}/{}", self.name, template.source)
    }

    /// The name of the template of the file at this path, relative to the job.
    pub fn template_at(&self, destination: &str) -> Option<String> {
        Some(self.template_name(self.template_for(destination)?))
    }
}

fn names_a_process(monit: &str) -> bool {
    outside_of_tags(monit).join(" ").lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace().map(str::to_ascii_lowercase);
        words.by_ref().any(|word| word == "check") && words.next().is_some_and(|word| word == "process")
    })
}

/// `start program = "/var/vcap/jobs/x/bin/ctl start"`; the quotes may be single, and the `=` may be missing.
fn start_program(monit: &str) -> Option<String> {
    monit.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default().trim_start();
        let rest = line.strip_prefix("start")?.trim_start().strip_prefix("program")?;
        let rest = rest.trim_start().trim_start_matches('=').trim_start();
        let quote = rest.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let (program, _) = rest[1..].split_once(quote)?;
        (!program.is_empty()).then(|| program.to_string())
    })
}

/// The parts of a template outside of its tags: one more than there are tags.
pub(crate) fn outside_of_tags(template: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, tag)) = rest.split_once("<%") {
        parts.push(before);
        rest = tag.split_once("%>").map_or("", |(_, after)| after);
    }
    parts.push(rest);
    parts
}

/// `[-0-9A-Za-z_+.]+`: what BOSH accepts as a name or version of a release, job or package.
pub fn is_identifier(text: &str) -> bool {
    // Identifiers become names of files and directories.
    !matches!(text, "" | "." | "..")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte))
}

/// An error at a place of a document.
fn error_at(code: &Code, document: &str, at: &Pointer, message: String) -> Diagnostic {
    Diagnostic::error(code, message).in_document(document).at(at)
}

/// The name given by a user or a file, or why it is invalid.
fn checked_name(name: &str) -> Result<String, Diagnostic> {
    if is_identifier(name) {
        return Ok(name.to_owned());
    }
    Err(
        Diagnostic::error(codes::RELEASE_IDENTIFIER, format!("Invalid release name: {name:?}"))
            .help("use letters, digits, `-`, `_`, `+` and `.` only"),
    )
}

/// A warning if the user gives a release another name than its own.
fn renamed(given: Option<&str>, own: &str, document: &str) -> Option<Diagnostic> {
    let given = given.filter(|given| *given != own)?;
    let message = format!("The release '{own}' is taken as '{given}', which is not what it calls itself");
    let warning = Diagnostic::warning(codes::RELEASE_RENAMED, message).in_document(document);
    Some(warning.help("a manifest that lists it under its own name does not find it now"))
}

// === impl Sources ===

impl Sources {
    /// Registers the specs, templates and monit files of releases.
    pub fn add_releases(&mut self, releases: &[Release]) {
        for job in releases.iter().flat_map(|release| &release.jobs) {
            self.add_document(job.spec.clone(), false);
            for file in &job.templates {
                self.add_text(&file.document_name, &file.text);
            }
            if let Some(monit) = &job.monit {
                self.add_text(&job.monit_document, monit);
            }
        }
    }
}

/// The job of a release that an entry of a resolved document is about.
pub fn find_job<'a>(releases: &'a [Release], job: &Tree) -> Option<&'a Job> {
    let release = job.str("release")?;
    let release = releases.iter().find(|one| one.name == release)?;
    release.job(job.str("name")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monit_names_a_process_or_not() {
        for (monit, named) in [
            ("check process nats\n  with pidfile /x", true),
            ("  check   process <%= name %>", true),
            ("<% if p('x') %>check process a<% end %>", true),
            ("<%# a # comment %> check process a", true),
            ("", false),
            ("# check process nats", false),
            ("check file x", false),
            ("check system processor", false),
            ("<%# check process nats %>", false),
            ("<% check process", false),
        ] {
            assert_eq!(names_a_process(monit), named, "{monit}");
        }
    }

    #[test]
    fn identifiers_are_bosh_s() {
        for good in ["nats", "bosh-dns", "1.0+dev.2", "_"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "a/b", "a b", "é", "a\n", ".", ".."] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
