//! Renders the templates of one job on one instance. One call renders them all. If that call breaks down (a template
//! loops or uses all memory), each template is rendered alone, so that every error names its template and the other
//! templates still report theirs.

use crate::diagnostic::Diagnostic;
use crate::release::{Job, TemplateFile};
use crate::scrub::{Exception, Filter};
use crate::stage::{CALL_FAILURES, EXCEPTION, Rendered, StageError, Stages, Template};
use boson_document::Tree;
use std::slice;

/// The rendered templates of one job.
#[derive(Debug, Default)]
pub struct Filled {
    /// In the order of the templates; all of them if there are no errors.
    pub files: Vec<Rendered>,
    /// Errors in BOSH's words, and notes; each names the template's file.
    pub diagnostics: Vec<Diagnostic>,
}

/// The context is not the spec hash of an instance.
const CONTEXT_CODE: &str = "render-context-invalid";

/// BOSH takes the line from the backtrace, and the backtrace of a syntax error has no line of the template.
const SYNTAX_CODE: &str = "render-template-syntax";

// === impl Filled ===

impl Filled {
    pub fn failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Renders these templates of `job` in an instance group, if that is known. `filter`: what their errors may quote.
pub fn fill(
    stages: &dyn Stages,
    group: Option<&str>,
    job: &Job,
    files: &[&TemplateFile],
    context: &Tree,
    filter: Filter<'_>,
) -> Filled {
    let names: Vec<String> = files.iter().map(|file| job.template_name(file)).collect();
    let named = files.iter().zip(&names);
    let templates = named.map(|(file, name)| Template {
        name: name.as_str().into(),
        text: file.text.as_str().into(),
    });
    let templates: Vec<Template<'_>> = templates.collect();
    let mut filled = call(stages, group, &templates, context);
    let exception = Exception::of(job, context, filter);
    for diagnostic in &mut filled.diagnostics {
        hide_values(diagnostic, &exception);
        complete(diagnostic, job);
    }
    filled
}

/// Exceptions quote their input. Diagnostics of the host about the plugin itself quote nothing.
fn hide_values(diagnostic: &mut Diagnostic, exception: &Exception<'_>) {
    if diagnostic.code.starts_with("plugin-") && diagnostic.code != EXCEPTION {
        return;
    }
    diagnostic.message = exception.clean(&diagnostic.message);
    if diagnostic.plugin.is_some() {
        diagnostic.help = diagnostic.help.take().map(|help| exception.clean(&help));
    }
}

/// File mode, as in BOSH's jobs directory: files in a `bin` are executable for all, the group may read the rest.
pub fn mode(file: &TemplateFile) -> u32 {
    let in_bin = file.destination.starts_with("bin/") || file.destination.contains("/bin/");
    if in_bin || file.executable { 0o755 } else { 0o640 }
}

fn call(stages: &dyn Stages, group: Option<&str>, templates: &[Template<'_>], context: &Tree) -> Filled {
    match (stages.render(group, templates, context), templates) {
        (Ok((files, diagnostics)), _) => Filled { files, diagnostics },
        (Err(StageError::Plugin(diagnostic)), [one]) if CALL_FAILURES.contains(&diagnostic.code.as_str()) => Filled {
            files: Vec::new(),
            diagnostics: vec![diagnostic.in_document(&*one.name)],
        },
        (Err(StageError::Plugin(diagnostic)), several) if CALL_FAILURES.contains(&diagnostic.code.as_str()) => {
            let mut filled = Filled::default();
            for one in several {
                let alone = call(stages, group, slice::from_ref(one), context);
                filled.files.extend(alone.files);
                filled.diagnostics.extend(alone.diagnostics);
            }
            filled
        }
        (Err(error), _) => Filled {
            files: Vec::new(),
            diagnostics: error.into(),
        },
    }
}

/// Adds BOSH's words to an error, and replaces the template's name by its file.
fn complete(diagnostic: &mut Diagnostic, job: &Job) {
    let prefix = format!("{}/", job.name);
    let Some(name) = diagnostic.place.document.take() else {
        return;
    };
    let source = name.strip_prefix(&prefix).unwrap_or(&name);
    // The context is built before any template is rendered.
    if diagnostic.is_error() && diagnostic.code != CONTEXT_CODE {
        let line = diagnostic.place.line.filter(|_| diagnostic.code != SYNTAX_CODE);
        let line = line.map_or("(unknown)".to_string(), |line| line.to_string());
        diagnostic.message = format!(
            "Error filling in template '{source}' (line {line}: {})",
            diagnostic.message.trim()
        );
    }
    diagnostic.place.document = Some(document_of(job, source));
}

/// The file of a template, by its source.
fn document_of(job: &Job, source: &str) -> String {
    if source == "monit" {
        return job.monit_document.clone();
    }
    let file = job.templates.iter().find(|file| file.source == source);
    file.map_or(source.to_string(), |file| file.document_name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Row of docs/differences.md: a file outside of `bin` that may be executed in the release.
    #[test]
    fn what_lies_in_a_bin_or_may_be_executed_in_the_release_may_be_executed() {
        for (destination, executable, wanted) in [
            ("bin/run", false, 0o755),
            ("config/bin/check", false, 0o755),
            ("config/run", true, 0o755),
            ("config/app.yml", false, 0o640),
            ("cabin/app.yml", false, 0o640),
            ("bin", false, 0o640),
        ] {
            let file = TemplateFile {
                source: "x".into(),
                destination: destination.into(),
                text: String::new(),
                document_name: "x".into(),
                executable,
            };
            assert_eq!(mode(&file), wanted, "{destination}");
        }
    }
}
