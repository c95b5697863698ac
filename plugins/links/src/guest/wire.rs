//! Converts this stage's types to those of the contract, and back.

use super::{boson::types::types as wit, world};
use crate::{Code, Deployment, Diagnostic, GroupDocument, Ids, JobSpec, Provided, Severity};
use boson_deployment::instances::Spread;
use boson_document::{Tree, json};

/// A document that came as text.
pub fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    json::parse(text).map_err(|error| to_wire(vec![Diagnostic::malformed(error.to_string(), name)]))
}

/// A job of a release.
pub fn job(job: world::JobSpec) -> Result<JobSpec, Vec<wit::Diagnostic>> {
    let spec = parse(&job.spec, &job.document_name)?;
    Ok(JobSpec {
        spec,
        release: job.release,
        job: job.job,
        document_name: job.document_name,
    })
}

/// The setting for ids. The host has checked them against the schema.
pub fn ids(settings: &Tree) -> Ids {
    match settings.str("ids") {
        Some("job") => Ids::Job,
        _ => Ids::Instance,
    }
}

/// Diagnostics as the contract's records.
pub fn to_wire(diagnostics: Vec<Diagnostic>) -> Vec<wit::Diagnostic> {
    let tell = |diagnostic: Diagnostic| wit::Diagnostic {
        severity: match diagnostic.severity {
            Severity::Error => wit::Severity::Error,
            Severity::Warning => wit::Severity::Warning,
        },
        code: diagnostic.code.name.into(),
        message: diagnostic.message,
        document: Some(diagnostic.document),
        pointer: Some(diagnostic.pointer.to_string()),
        line: None,
        help: diagnostic.help,
        extensions: Vec::new(),
    };
    diagnostics.into_iter().map(tell).collect()
}

/// The reply if only addresses for variables were requested.
pub fn addresses((addresses, diagnostics): (Tree, Vec<Diagnostic>)) -> world::Resolved {
    world::Resolved {
        groups: Vec::new(),
        providers: Vec::new(),
        diagnostics: to_wire(diagnostics),
        extensions: vec![("variable-addresses".into(), json::to_text(&addresses))],
    }
}

impl From<&Code> for wit::Code {
    fn from(code: &Code) -> Self {
        Self {
            name: code.name.into(),
            title: code.title.into(),
            explanation: code.explanation.into(),
        }
    }
}

impl From<wit::Deployment> for Deployment {
    fn from(deployment: wit::Deployment) -> Self {
        Self {
            name: deployment.name,
            namespace: deployment.namespace,
            cluster_domain: deployment.cluster_domain,
            spread: Spread::of(&deployment.extensions),
        }
    }
}

impl From<GroupDocument> for world::ResolvedGroup {
    fn from(group: GroupDocument) -> Self {
        Self {
            name: group.name,
            document: json::to_text(&group.document),
        }
    }
}

impl From<Provided> for world::Provider {
    fn from(provided: Provided) -> Self {
        Self {
            name: provided.name,
            type_: provided.kind,
            group: provided.group,
            job: provided.job,
            properties: json::to_text(&provided.properties),
        }
    }
}
