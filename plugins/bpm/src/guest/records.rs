//! Converts records of the contract to our types and back.

use super::boson::types::types;
use super::{tree, wit};
use crate::{codes, request};
use boson_document::contract::reject_required;
use boson_document::contract_types;
use boson_manifest::instances::Spread;

contract_types!(types);

/// Rejects a request with a member that this plugin must know, in its records or that of the deployment.
pub fn known<'a>(
    deployment: &'a wit::Deployment,
    members: impl Iterator<Item = &'a types::Member>,
) -> Result<(), Vec<wit::Diagnostic>> {
    let names = members.chain(&deployment.more).map(|member| member.name.as_str());
    reject_required(codes::REQUIRED_MEMBER, names).map_err(|error| vec![error.into()])
}

/// The additional members of a request.
pub fn of_deployment(request: &wit::DeploymentRequest) -> impl Iterator<Item = &types::Member> {
    let variables = request.variables.iter().flat_map(|variable| &variable.more);
    request.more.iter().chain(variables)
}

/// The additional members of a request.
pub fn of_group(request: &wit::GroupRequest) -> impl Iterator<Item = &types::Member> {
    let jobs = request.jobs.iter().flat_map(|job| &job.more);
    request.more.iter().chain(jobs)
}

impl From<wit::Deployment> for request::Deployment {
    fn from(wit: wit::Deployment) -> Self {
        let wit::Deployment {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
            spread,
            more: _,
        } = wit;
        Self {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
            spread: match spread {
                types::Spread::Total => Spread::Total,
                types::Spread::PerZone => Spread::PerZone,
            },
        }
    }
}

impl From<wit::GroupRequest> for request::GroupRequest {
    fn from(wit: wit::GroupRequest) -> Self {
        let copy = |copy: wit::BpmCopy| request::BpmCopy {
            document_name: copy.document_name,
            instances: copy.instances,
            bpm: tree(&copy.bpm),
        };
        let alias_files = wit
            .jobs
            .iter()
            .filter_map(|files| Some((files.job.as_str(), tree(files.dns_aliases.as_ref()?))))
            .collect();
        let job = |files: wit::JobFiles| request::JobFiles {
            start_program: files.start_program,
            job: files.job,
            release: files.release,
            templates: files.templates,
            monitored: files.monitored,
            bpm: files.bpm.into_iter().map(copy).collect(),
        };
        Self {
            deployment: wit.deployment.into(),
            group: tree(&wit.group),
            document_name: wit.document_name,
            pointer: wit.pointer,
            jobs: wit.jobs.into_iter().map(job).collect(),
            alias_files,
            resolved_secret: wit.resolved_secret,
        }
    }
}

impl From<wit::DeploymentRequest> for request::DeploymentRequest {
    fn from(wit: wit::DeploymentRequest) -> Self {
        let variable = |variable: wit::Variable| request::Variable {
            name: variable.name,
            kind: variable.kind,
            options: tree(&variable.options),
            update_mode: variable.update_mode,
            pointer: variable.pointer,
        };
        Self {
            deployment: wit.deployment.into(),
            document: tree(&wit.document),
            document_name: wit.document_name,
            variables: wit.variables.into_iter().map(variable).collect(),
        }
    }
}
