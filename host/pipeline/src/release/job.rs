//! One job: its spec, templates, `monit` and properties schema, from a directory of the release's files.

use super::files::{FileError, Files};
use super::open;
use super::paths;
use super::{Job, TemplateFile, error_at, spec, weight};
use crate::diagnostic::Diagnostic;
use crate::release::codes;
use crate::report::Sources;
use crate::yaml::{self, Dialect, Document};
use boson_document::{Pointer, Tree, json};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `jobs/<job>/spec` of a source directory.
    Source,
    /// `job.MF` of a release tarball's job.
    Archive,
    /// `job.MF` of a `jobs-src` tree.
    Image,
}

/// Reads the job `name` from the directory `directory`. Unusual but valid parts are added to `warnings`, documents with
/// errors to `sources`.
///
/// # Errors
/// All its errors.
pub fn read(
    files: &Files,
    directory: &str,
    name: &str,
    layout: Layout,
    warnings: &mut Vec<Diagnostic>,
    sources: &mut Sources,
) -> Result<Job, Vec<Diagnostic>> {
    let mut reader = Reader {
        files,
        directory,
        name,
        layout,
        errors: Vec::new(),
        warnings,
        sources,
    };
    let Some(spec) = reader.spec() else {
        return Err(reader.errors);
    };
    let templates = reader.templates(&spec);
    let monit = reader.ok_or_report(reader.monit()).flatten();
    let properties_schema = reader.ok_or_report(reader.properties_schema()).flatten();
    if !reader.errors.is_empty() {
        reader.sources.add_document(spec, false);
        return Err(reader.errors);
    }
    Ok(Job {
        name: name.to_owned(),
        spec,
        templates,
        monit,
        monit_document: files.document(&reader.path("monit")),
        properties_schema,
    })
}

struct Reader<'a> {
    files: &'a Files,
    directory: &'a str,
    name: &'a str,
    layout: Layout,
    errors: Vec<Diagnostic>,
    warnings: &'a mut Vec<Diagnostic>,
    sources: &'a mut Sources,
}

// === impl Layout ===

impl Layout {
    fn spec_file(self) -> &'static str {
        match self {
            Self::Source => "spec",
            Self::Archive | Self::Image => "job.MF",
        }
    }
}

fn of_text(text: &[u8]) -> u64 {
    weight::of_text(text.len())
}

// === impl Reader ===

impl Reader<'_> {
    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }

    fn ok_or_report<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn spec(&mut self) -> Option<Document> {
        let path = self.path(self.layout.spec_file());
        let document = self.files.document(&path);
        let file = self.files.counted(&path, yaml::weight);
        let file = file.map_err(|why| self.no_spec(&path, &why));
        let read = file.and_then(|file| open::yaml(Dialect::Psych, &document, &file.bytes, self.sources));
        let spec = self.ok_or_report(read)?;
        self.errors.extend(spec::check(self.name, &spec.tree, &document));
        self.check_name(&spec);
        self.warnings.extend(spec.warnings.iter().cloned());
        Some(spec)
    }

    fn no_spec(&self, path: &str, why: &FileError) -> Diagnostic {
        let name = self.name;
        match (why, self.layout) {
            (FileError::Missing, Layout::Source) => {
                let document = self.files.document(path);
                let message = format!("Reading job spec '{document}': no such file");
                Diagnostic::error(codes::RELEASE_JOB_MANIFEST, message)
                    .in_document(document)
                    .help("every directory in `jobs` is a job and needs a file `spec`")
            }
            (FileError::Missing, Layout::Archive | Layout::Image) => Diagnostic::error(
                codes::RELEASE_JOB_MANIFEST,
                format!("Missing job manifest for '{name}'"),
            )
            .in_document(self.files.document(path)),
            _ => open::error(self.files, path, why),
        }
    }

    fn check_name(&mut self, spec: &Document) {
        // A spec that is not a map has been reported.
        if spec.tree.as_object().is_none() {
            return;
        }
        let name = self.name;
        let got = spec.tree.get("name").and_then(spec::text).unwrap_or_default();
        if spec.tree.str("name") == Some(name) {
            return;
        }
        let message = match self.layout {
            Layout::Source if got == name => return,
            Layout::Source => format!("Job directory '{name}' does not match job name '{got}' in spec"),
            Layout::Archive | Layout::Image => {
                format!("Inconsistent name for job '{name}'(exptected: '{name}', got: '{got}')")
            }
        };
        let at = if spec.tree.get("name").is_some() {
            Pointer::root().at("name")
        } else {
            Pointer::root()
        };
        self.errors
            .push(error_at(codes::RELEASE_JOB_NAME, &spec.name, &at, message));
    }

    fn templates(&mut self, spec: &Document) -> Vec<TemplateFile> {
        let Some(listed) = spec.tree.get("templates").and_then(Tree::as_object) else {
            return Vec::new();
        };
        let mut sources: HashMap<String, &str> = HashMap::new();
        let mut templates = Vec::with_capacity(listed.len());
        for (source, destination) in listed {
            let at = Pointer::root().at("templates").at(source);
            let file = self.ok_or_report(self.template(source, &at, &spec.name)).flatten();
            let destination = self.ok_or_report(self.destination(source, destination, &at, &spec.name));
            let (Some(file), Some(destination)) = (file, destination) else {
                continue;
            };
            if let Some(other) = sources.insert(destination.clone(), source) {
                let message = format!(
                    "Job '{}' writes '{destination}' twice: from '{other}' and from '{source}'",
                    self.name
                );
                self.warnings.push(
                    Diagnostic::warning(codes::RELEASE_TEMPLATE_DESTINATION, message)
                        .in_document(&spec.name)
                        .at(&at),
                );
            }
            templates.push(TemplateFile { destination, ..file });
        }
        templates
    }

    /// A template, without its destination.
    fn template(&self, source: &str, at: &Pointer, spec: &str) -> Result<Option<TemplateFile>, Diagnostic> {
        let path = self.path(&format!("templates/{source}"));
        match self.files.counted(&path, of_text) {
            Ok(file) => {
                let text = open::text(self.files, &path, file)?;
                // The target of the link: that is the file that the user will edit.
                let real = self.files.follow(&path).unwrap_or(path);
                Ok(Some(TemplateFile {
                    source: source.to_owned(),
                    destination: String::new(),
                    text,
                    document_name: self.files.document(&real),
                    executable: file.executable,
                }))
            }
            Err(FileError::Missing) => {
                let message = format!("Missing template file '{source}' for job '{}'", self.name);
                let help = format!("the spec lists it, but there is no '{}'", self.files.document(&path));
                Err(error_at(codes::RELEASE_TEMPLATE_MISSING, spec, at, message).help(help))
            }
            // Once for a job: there is no memory left for any other template either.
            Err(FileError::OverBudget) if self.errors.iter().any(|error| error.code == "release-too-large") => Ok(None),
            Err(why) => Err(open::error(self.files, &path, &why)),
        }
    }

    fn destination(&self, source: &str, value: &Tree, at: &Pointer, spec: &str) -> Result<String, Diagnostic> {
        let name = self.name;
        let message = match value.as_str().map(paths::clean) {
            Some(Ok(destination)) if destination.contains(char::is_control) => {
                format!("Template '{source}' of job '{name}' has a destination with control characters")
            }
            Some(Ok(destination)) if !destination.is_empty() => return Ok(destination),
            Some(_) => format!("Template '{source}' of job '{name}' has a destination outside of the job's directory"),
            None => format!("Template '{source}' of job '{name}' has no destination"),
        };
        let help = "use a path relative to /var/vcap/jobs/<job>, such as `config/app.yml`";
        Err(error_at(codes::RELEASE_TEMPLATE_DESTINATION, spec, at, message).help(help))
    }

    fn monit(&self) -> Result<Option<String>, Diagnostic> {
        let path = self.path("monit");
        match self.files.counted(&path, of_text) {
            Ok(file) => open::text(self.files, &path, file).map(Some),
            // Image builders leave it out if they build one container for one process.
            Err(FileError::Missing) if self.layout == Layout::Image || self.has_other_monit() => Ok(None),
            Err(FileError::Missing) => {
                let message = format!("Job '{}' is missing monit file", self.name);
                let help = "create an empty file if the job runs no process";
                let error = Diagnostic::error(codes::RELEASE_MONIT_MISSING, message);
                Err(error.in_document(self.files.document(&path)).help(help))
            }
            Err(why) => Err(open::error(self.files, &path, &why)),
        }
    }

    /// A director also accepts `*.monit` files.
    fn has_other_monit(&self) -> bool {
        self.files
            .names(self.directory)
            .iter()
            .any(|name| name.ends_with(".monit"))
    }

    fn properties_schema(&self) -> Result<Option<Tree>, Diagnostic> {
        let path = self.path("properties_schema.json");
        let file = match self.files.counted(&path, yaml::weight) {
            Ok(file) => file,
            Err(FileError::Missing) => return Ok(None),
            Err(why) => return Err(open::error(self.files, &path, &why)),
        };
        let text = open::text(self.files, &path, file)?;
        let parsed = json::parse(&text).map_err(|error| {
            let document = self.files.document(&path);
            let message = format!(
                "Job '{}' has an invalid properties_schema.json: {}",
                self.name, error.message
            );
            Diagnostic::error(codes::RELEASE_PROPERTIES_SCHEMA, message).in_document(document)
        })?;
        Ok(Some(parsed))
    }
}
