//! Conversions between the contract's types and the pipeline's.

use crate::bindings::boson::types::types as wit;
use crate::bindings::exports::boson::bpm::conversion as wit_bpm;
use crate::bindings::exports::boson::links::resolution as wit_links;
use crate::bindings::exports::boson::resources::transformation as wit_resources;
use crate::bindings::exports::boson::variables::interpolation as wit_variables;
use crate::reply::Reading;
use boson_document::json;
use boson_pipeline::stage::{
    Deployment, GroupRequest, JobFiles, JobSpec, ObjectReference, Reference, Spread, StageError, Variable,
    VariableRules,
};

impl From<&Deployment> for wit::Deployment {
    fn from(deployment: &Deployment) -> Self {
        Self {
            name: deployment.name.clone(),
            namespace: deployment.namespace.clone(),
            cluster_domain: deployment.cluster_domain.clone(),
            operator_image: deployment.operator_image.clone(),
            registry: deployment.registry.clone(),
            spread: match deployment.spread {
                Spread::Total => wit::Spread::Total,
                Spread::PerZone => wit::Spread::PerZone,
            },
            more: Vec::new(),
        }
    }
}

impl From<VariableRules> for wit_variables::Rules {
    fn from(rules: VariableRules) -> Self {
        match rules {
            VariableRules::Director => Self::Director,
            VariableRules::Cli => Self::Cli,
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
            more: Vec::new(),
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
            start_program: job.start_program.clone(),
            dns_aliases: job.aliases.as_ref().map(json::to_text),
            bpm: copies.collect(),
            more: Vec::new(),
        }
    }
}

impl From<&GroupRequest<'_>> for wit_bpm::GroupRequest {
    fn from(request: &GroupRequest<'_>) -> Self {
        Self {
            deployment: request.deployment.into(),
            group: json::to_text(request.group),
            document_name: request.document_name.into(),
            pointer: request.pointer.into(),
            jobs: request.jobs.iter().map(Into::into).collect(),
            resolved_secret: request.resolved_secret.into(),
            more: Vec::new(),
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
        more: Vec::new(),
    };
    jobs.iter().map(spec).collect()
}

/// Names and places.
pub(crate) fn references(
    reading: &Reading<'_>,
    reply: Vec<wit_variables::Reference>,
) -> Result<Vec<Reference>, StageError> {
    reply
        .into_iter()
        .map(|one| {
            reading.pointer("references", &one.pointer)?;
            Ok(Reference {
                name: one.name,
                pointer: one.pointer,
            })
        })
        .collect()
}

/// The name of an object.
pub(crate) fn object_reference(reply: wit_resources::ObjectReference) -> ObjectReference {
    ObjectReference {
        api_version: reply.api_version,
        kind: reply.kind,
        name: reply.name,
    }
}
