//! Conversions between the contract's types and the pipeline's.

use crate::bindings::boson::types::types as wit;
use crate::bindings::exports::boson::bpm::conversion as wit_bpm;
use crate::bindings::exports::boson::links::resolution as wit_links;
use crate::bindings::exports::boson::resources::transformation as wit_resources;
use crate::bindings::exports::boson::variables::interpolation as wit_variables;
use crate::reply::Reading;
use boson_document::{Tree, json};
use boson_pipeline::stage::{
    Deployment, GroupRequest, JobFiles, JobSpec, ObjectReference, Reference, StageError, Variable, VariableRules,
};

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
        let aliases = request
            .jobs
            .iter()
            .filter_map(|job| Some((job.job.as_str(), job.aliases.clone()?)));
        let aliases: Tree = aliases.collect();
        if aliases.as_object().is_some_and(|aliases| !aliases.is_empty()) {
            deployment
                .extensions
                .push(("dns-aliases".into(), json::to_text(&aliases)));
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
