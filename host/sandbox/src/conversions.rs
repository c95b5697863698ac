//! Between the contract's types and the pipeline's nouns. What comes from a plugin is foreign text: it is bounded and cleaned here.

use crate::bindings::boson::types::types as wit;
use crate::bindings::exports::boson::bpm::conversion as wit_bpm;
use crate::bindings::exports::boson::links::resolution as wit_links;
use crate::bindings::exports::boson::resources::transformation as wit_resources;
use crate::bindings::exports::boson::variables::interpolation as wit_variables;
use crate::error::{Failure, FailureKind};
use boson_document::{Tree, json};
use boson_pipeline::stage::{
    Deployment, GroupRequest, JobFiles, JobSpec, ObjectReference, Reference, Reply, StageError, Variable,
    fail_on_errors,
};
use boson_pipeline::{Diagnostic, Place, Severity};

/// Diagnostics kept of one reply. More say nothing that the first ones did not.
const MAX_DIAGNOSTICS: usize = 500;
/// Characters of a document that may separate values: a tree takes a hundred times the bytes of its text, and what the host may take for a reply is
/// not the plugin's to choose.
const MAX_SEPARATORS: usize = 2_000_000;
/// Bytes of one text of a diagnostic.
const MAX_TEXT: usize = 16 << 10;

/// A document of a reply.
pub(crate) fn document(plugin: &str, what: &str, text: &str) -> Result<Tree, Failure> {
    let separates = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b'{');
    if text.bytes().filter(separates).count() > MAX_SEPARATORS {
        let message = format!("gave a reply that is too large: `{what}` has too many values");
        return Err(Failure::new(FailureKind::OverOutput, plugin, message));
    }
    json::parse(text).map_err(|error| {
        Failure::new(
            FailureKind::Malformed,
            plugin,
            format!("gave a reply that breaks the contract: `{what}` is not JSON: {error}"),
        )
    })
}

/// Several documents of a reply.
pub(crate) fn documents(plugin: &str, what: &str, texts: &[String]) -> Result<Vec<Tree>, Failure> {
    texts.iter().map(|text| document(plugin, what, text)).collect()
}

pub(crate) fn failed(failure: &Failure) -> StageError {
    StageError::Plugin(Box::new(failure.diagnostic()))
}

/// The reply of a stage function: its value with warnings, or the user's errors.
pub(crate) fn reply<T>(value: T, diagnostics: Vec<wit::Diagnostic>) -> Reply<T> {
    fail_on_errors(value, diagnostics_from(diagnostics))
}

/// `err(list<diagnostic>)`. A plugin that fails without saying why is at fault itself.
pub(crate) fn refusal(plugin: &str, diagnostics: Vec<wit::Diagnostic>) -> StageError {
    let diagnostics = diagnostics_from(diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return StageError::Input(diagnostics);
    }
    failed(&Failure::new(
        FailureKind::Malformed,
        plugin,
        "failed without an error diagnostic that says why",
    ))
}

fn diagnostics_from(mut all: Vec<wit::Diagnostic>) -> Vec<Diagnostic> {
    let more = all.len().saturating_sub(MAX_DIAGNOSTICS);
    all.truncate(MAX_DIAGNOSTICS);
    let mut kept: Vec<Diagnostic> = all.into_iter().map(Diagnostic::from).collect();
    if more > 0 {
        kept.push(Diagnostic::warning(
            "plugin-many-diagnostics",
            format!("{more} more diagnostics are not shown"),
        ));
    }
    kept
}

/// Keeps lines and tabs, and drops what could steer a terminal.
fn clean(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let cut = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push('…');
    }
    text.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    text
}

impl From<wit::Diagnostic> for Diagnostic {
    fn from(said: wit::Diagnostic) -> Self {
        let severity = match said.severity {
            wit::Severity::Error => Severity::Error,
            wit::Severity::Warning => Severity::Warning,
            wit::Severity::Info => Severity::Info,
        };
        let place = Place {
            document: said.document.map(clean),
            pointer: said.pointer.map(clean),
            line: said.line,
            column: None,
        };
        let follows = said.extensions.into_iter().find(|(name, _)| name == "follows");
        Self {
            severity,
            code: clean(said.code),
            message: clean(said.message),
            place,
            help: said.help.map(clean),
            follows: follows.map(|(_, code)| clean(code)),
        }
    }
}

impl From<&Deployment> for wit::Deployment {
    fn from(deployment: &Deployment) -> Self {
        Self {
            name: deployment.name.clone(),
            namespace: deployment.namespace.clone(),
            cluster_domain: deployment.cluster_domain.clone(),
            operator_image: deployment.operator_image.clone(),
            registry: deployment.registry.clone(),
            extensions: deployment.extensions(),
        }
    }
}

impl From<&Variable> for wit_bpm::Variable {
    fn from(variable: &Variable) -> Self {
        Self {
            name: variable.name.clone(),
            kind: variable.kind.clone(),
            options: json::to_text(&variable.options),
            update_mode: variable.update_mode.clone(),
            pointer: variable.pointer.clone(),
        }
    }
}

impl From<&JobFiles> for wit_bpm::JobFiles {
    fn from(job: &JobFiles) -> Self {
        let copies = job.bpm.iter().map(|copy| wit_bpm::BpmCopy {
            document_name: copy.document_name.clone(),
            instances: copy.instances.clone(),
            bpm: json::to_text(&copy.bpm),
        });
        Self {
            job: job.job.clone(),
            release: job.release.clone(),
            templates: job.templates.clone(),
            monitored: job.monitored,
            bpm: copies.collect(),
        }
    }
}

impl From<&GroupRequest<'_>> for wit_bpm::GroupRequest {
    fn from(request: &GroupRequest<'_>) -> Self {
        let mut deployment: wit::Deployment = request.deployment.into();
        let programs = request
            .jobs
            .iter()
            .filter_map(|job| Some((job.job.as_str(), job.start_program.as_deref()?)));
        let programs: Tree = programs.map(|(job, program)| (job, Tree::from(program))).collect();
        if programs.as_object().is_some_and(|programs| !programs.is_empty()) {
            deployment
                .extensions
                .push(("start-programs".into(), json::to_text(&programs)));
        }
        Self {
            deployment,
            group: json::to_text(request.group),
            document_name: request.document_name.into(),
            pointer: request.pointer.into(),
            jobs: request.jobs.iter().map(Into::into).collect(),
            resolved_secret: request.resolved_secret.into(),
        }
    }
}

/// Specs as the contract has them.
pub(crate) fn specs(jobs: &[JobSpec<'_>]) -> Vec<wit_links::JobSpec> {
    let spec = |job: &JobSpec<'_>| wit_links::JobSpec {
        release: job.release.into(),
        job: job.job.into(),
        spec: json::to_text(job.spec),
        document_name: job.document_name.into(),
    };
    jobs.iter().map(spec).collect()
}

/// Names and places.
pub(crate) fn references(said: Vec<wit_variables::Reference>) -> Vec<Reference> {
    said.into_iter()
        .map(|one| Reference {
            name: one.name,
            pointer: one.pointer,
        })
        .collect()
}

/// The name of an object.
pub(crate) fn object_reference(said: wit_resources::ObjectReference) -> ObjectReference {
    ObjectReference {
        api_version: said.api_version,
        kind: said.kind,
        name: said.name,
    }
}
