//! Conversions between the contract's types and the pipeline's.

use crate::bindings::boson::bpm::shapes as wit_bpm;
use crate::bindings::boson::links::shapes as wit_links;
use crate::bindings::boson::resources::shapes as wit_resources;
use crate::bindings::boson::types::objects as wit_objects;
use crate::bindings::boson::types::types as wit;
use crate::bindings::boson::variables::shapes as wit_variables;
use crate::plugin::Plugin;
use crate::reply::Reading;
use boson_document::json;
use boson_pipeline::stage::{
    ConsumedLink, Deployment, DeploymentRequest, Edit, ExternalLink, GroupRequest, GroupSummary, JobFiles, JobSpec,
    JobSummary, LinksRequest, ObjectReference, OtherDeployment, Reference, Spread, StageError, Variable, VariableRules,
    View,
};

/// What this host supports beyond version 1.0.0 of the contract.
pub(crate) const FEATURES: &[&str] = &[];

/// The context of a call of `plugin` for a deployment with this name and namespace.
pub(crate) fn context(plugin: &Plugin, deployment: Option<(&str, &str)>) -> wit::Context {
    context_with(&plugin.settings, deployment)
}

/// The context of a call with these settings.
pub(crate) fn context_with(settings: &str, deployment: Option<(&str, &str)>) -> wit::Context {
    wit::Context {
        deployment: deployment.map(|(name, namespace)| wit::Deployment {
            name: name.into(),
            namespace: namespace.into(),
            more: Vec::new(),
        }),
        settings: settings.into(),
        features: FEATURES.iter().map(|feature| (*feature).into()).collect(),
        more: Vec::new(),
    }
}

impl From<&Deployment> for wit::ConversionOptions {
    fn from(deployment: &Deployment) -> Self {
        Self {
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
        let packages = job.packages.iter().map(|package| wit_bpm::ReleasePackage {
            name: package.name.clone(),
            release: package.release.clone(),
        });
        Self {
            job: job.job.clone(),
            release: job.release.clone(),
            templates: job.templates.clone(),
            monitored: job.monitored,
            start_program: job.start_program.clone(),
            dns_aliases: job.dns_aliases.as_ref().map(json::to_text),
            bpm: copies.collect(),
            packages: packages.collect(),
            more: Vec::new(),
        }
    }
}

impl From<DeploymentRequest<'_>> for wit_bpm::DeploymentRequest {
    fn from(request: DeploymentRequest<'_>) -> Self {
        Self {
            options: request.deployment.into(),
            document: json::to_text(request.manifest.tree),
            document_name: request.manifest.name.into(),
            variables: request.variables.iter().map(Into::into).collect(),
            more: Vec::new(),
        }
    }
}

impl From<&GroupRequest> for wit_bpm::GroupRequest {
    fn from(request: &GroupRequest) -> Self {
        Self {
            options: (&request.deployment).into(),
            group: json::to_text(&request.group),
            document_name: request.document_name.clone(),
            pointer: request.pointer.clone(),
            jobs: request.jobs.iter().map(Into::into).collect(),
            resolved_secret: request.resolved_secret.clone(),
            more: Vec::new(),
        }
    }
}

impl From<LinksRequest<'_>> for wit_links::LinksRequest {
    fn from(request: LinksRequest<'_>) -> Self {
        let external = request.external;
        Self {
            document: json::to_text(request.manifest.tree),
            document_name: request.manifest.name.into(),
            options: request.deployment.into(),
            jobs: request.jobs.iter().map(Into::into).collect(),
            native: external.native.iter().map(Into::into).collect(),
            deployments: external.deployments.iter().map(Into::into).collect(),
            more: Vec::new(),
        }
    }
}

impl From<&ExternalLink> for wit_links::ExternalLink {
    fn from(link: &ExternalLink) -> Self {
        Self {
            name: link.name.clone(),
            type_: link.kind.clone(),
            origin: link.origin.clone(),
            link: json::to_text(&link.content),
            more: Vec::new(),
        }
    }
}

impl From<&OtherDeployment> for wit_links::OtherDeployment {
    fn from(deployment: &OtherDeployment) -> Self {
        Self {
            name: deployment.name.clone(),
            links: deployment.links.iter().map(Into::into).collect(),
            more: Vec::new(),
        }
    }
}

impl From<&JobSpec<'_>> for wit_links::JobSpec {
    fn from(job: &JobSpec<'_>) -> Self {
        Self {
            release: job.release.into(),
            job: job.job.into(),
            spec: json::to_text(job.spec),
            document_name: job.document_name.into(),
            more: Vec::new(),
        }
    }
}

impl From<View<'_>> for wit_objects::View {
    fn from(view: View<'_>) -> Self {
        Self {
            target: view.target.into(),
            manifest: json::to_text(view.manifest.tree),
            groups: view.groups.iter().map(Into::into).collect(),
            objects: view.objects.iter().map(json::to_text).collect(),
            more: Vec::new(),
        }
    }
}

impl From<&GroupSummary> for wit_objects::Group {
    fn from(group: &GroupSummary) -> Self {
        Self {
            name: group.name.clone(),
            instances: group.instances,
            jobs: group.jobs.iter().map(Into::into).collect(),
            more: Vec::new(),
        }
    }
}

impl From<&JobSummary> for wit_objects::Job {
    fn from(job: &JobSummary) -> Self {
        let link = |link: &ConsumedLink| wit_objects::ConsumedLink {
            name: link.name.clone(),
            provider_group: link.provider_group.clone(),
            more: Vec::new(),
        };
        Self {
            name: job.name.clone(),
            release: job.release.clone(),
            consumes: job.consumes.iter().map(link).collect(),
            more: Vec::new(),
        }
    }
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

/// An edit of the reply.
pub(crate) fn edit(reading: &Reading<'_>, reply: wit_resources::Edit) -> Result<Edit, StageError> {
    Ok(match reply {
        wit_resources::Edit::JsonPatch(one) => {
            Edit::JsonPatch(object_reference(one.object), reading.document("patch", &one.patch)?)
        }
        wit_resources::Edit::MergePatch(one) => {
            Edit::MergePatch(object_reference(one.object), reading.document("patch", &one.patch)?)
        }
        wit_resources::Edit::Add(object) => Edit::Add(reading.document("add", &object)?),
        wit_resources::Edit::Remove(object) => Edit::Remove(object_reference(object)),
    })
}

/// The name of an object.
fn object_reference(reply: wit::ObjectReference) -> ObjectReference {
    ObjectReference {
        api_version: reply.api_version,
        kind: reply.kind,
        name: reply.name,
    }
}
