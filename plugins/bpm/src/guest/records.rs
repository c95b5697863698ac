//! Converts records of the contract to our types and back.

use super::boson::types::types;
use super::{tree, wit};
use crate::request;
use boson_document::contract_types;
use boson_manifest::dns::ALIAS_FILES_EXTENSION;
use boson_manifest::instances::Spread;

/// What the `monit` files of a group's jobs start: an object, name of the job -> program.
const START_PROGRAMS: &str = "start-programs";

contract_types!(types);

impl From<wit::Deployment> for request::Deployment {
    fn from(wit: wit::Deployment) -> Self {
        let wit::Deployment {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
            extensions,
        } = wit;
        Self {
            name,
            namespace,
            cluster_domain,
            operator_image,
            registry,
            spread: Spread::of(&extensions),
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
        let programs = wit
            .deployment
            .extensions
            .iter()
            .find(|(name, _)| name == START_PROGRAMS);
        let programs = programs.map(|(_, text)| tree(text)).unwrap_or_default();
        let files = wit
            .deployment
            .extensions
            .iter()
            .find(|(name, _)| name == ALIAS_FILES_EXTENSION);
        let alias_files = files.map(|(_, text)| tree(text)).unwrap_or_default();
        let job = |files: wit::JobFiles| request::JobFiles {
            start_program: programs.str(&files.job).map(String::from),
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
