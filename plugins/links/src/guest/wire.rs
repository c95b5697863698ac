//! Converts this stage's types to those of the contract, and back.

use super::{boson::types::types as wit, world};
use crate::{Deployment, GroupDocument, Ids, JobSpec, Provided, VariableAddresses, codes};
use boson_document::contract::reject_required;
use boson_document::{Diagnostic, Pointer, Tree, contract_types, json};
use boson_manifest::instances::Spread;

/// A document that came as text.
pub fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    let malformed =
        |error: json::Error| Diagnostic::error(codes::MALFORMED_DOCUMENT, error.to_string()).at(Pointer::root());
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)], name))
}

/// The jobs, if the plugin knows all members that it must know.
pub fn jobs(
    jobs: Vec<world::JobSpec>,
    deployment: &wit::Deployment,
    name: &str,
) -> Result<Vec<JobSpec>, Vec<wit::Diagnostic>> {
    let members = jobs.iter().flat_map(|job| &job.more).chain(&deployment.more);
    reject_required(codes::REQUIRED_MEMBER, members.map(|member| member.name.as_str()))
        .map_err(|error| to_wire(vec![error], name))?;
    jobs.into_iter().map(job).collect()
}

/// A job of a release.
fn job(job: world::JobSpec) -> Result<JobSpec, Vec<wit::Diagnostic>> {
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

/// Diagnostics, about this document unless they name another.
pub fn to_wire(diagnostics: Vec<Diagnostic>, name: &str) -> Vec<wit::Diagnostic> {
    let named = |mut diagnostic: Diagnostic| {
        diagnostic.document.get_or_insert_with(|| name.into());
        diagnostic.into()
    };
    diagnostics.into_iter().map(named).collect()
}

contract_types!(wit);

impl From<wit::Deployment> for Deployment {
    fn from(deployment: wit::Deployment) -> Self {
        Self {
            name: deployment.name,
            namespace: deployment.namespace,
            cluster_domain: deployment.cluster_domain,
            spread: match deployment.spread {
                wit::Spread::Total => Spread::Total,
                wit::Spread::PerZone => Spread::PerZone,
            },
        }
    }
}

impl From<GroupDocument> for world::ResolvedGroup {
    fn from(group: GroupDocument) -> Self {
        Self {
            name: group.name,
            document: json::to_text(&group.document),
            more: Vec::new(),
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
            more: Vec::new(),
        }
    }
}

impl From<VariableAddresses> for world::VariableAddresses {
    fn from(addresses: VariableAddresses) -> Self {
        Self {
            variable: addresses.variable,
            alternative_names: addresses.alternative_names,
            common_name: addresses.common_name,
            more: Vec::new(),
        }
    }
}
