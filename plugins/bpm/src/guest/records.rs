//! Converts records of the contract to our types and back.

use super::{tree, types, wit};
use crate::{codes, convert, request};
use boson_contract::deployment_type;
use boson_document::contract::reject_required;
use boson_document::{Diagnostic, contract_types};

contract_types!(types);
deployment_type!(types);

/// Rejects a call with a member that this plugin must know, and one without a deployment.
fn checked<'a>(
    members: impl Iterator<Item = &'a types::Member>,
    options: &types::ConversionOptions,
    context: types::Context,
) -> Result<request::Deployment, Vec<types::Diagnostic>> {
    let members = members.map(|member| member.name.as_str()).chain(names(&options.more));
    let known = reject_required(codes::REQUIRED_MEMBER, members.chain(names_of_context(&context)));
    known.map_err(|error| vec![error.into()])?;
    let deployment = context.deployment.ok_or_else(|| {
        let missing = "The call names no deployment";
        vec![Diagnostic::error(codes::NO_DEPLOYMENT, missing).into()]
    })?;
    Ok(self::deployment(deployment, options))
}

/// A request of `convert-group`.
///
/// # Errors
/// The plugin does not know a member that it must know, or there is no deployment.
pub fn group_request(
    wit: wit::GroupRequest,
    context: types::Context,
) -> Result<request::GroupRequest, Vec<types::Diagnostic>> {
    let members = wit.jobs.iter().flat_map(|job| &job.more).chain(&wit.more);
    let deployment = checked(members, &wit.options, context)?;
    let copy = |copy: wit::BpmCopy| request::BpmCopy {
        document_name: copy.document_name,
        instances: copy.instances,
        bpm: tree(&copy.bpm),
    };
    let package = |package: wit::ReleasePackage| request::ReleasePackage {
        name: package.name,
        release: package.release,
    };
    let job = |files: wit::JobFiles| request::JobFiles {
        job: files.job,
        release: files.release,
        templates: files.templates,
        monitored: files.monitored,
        start_program: files.start_program,
        dns_aliases: files.dns_aliases.as_deref().map(tree),
        bpm: files.bpm.into_iter().map(copy).collect(),
        packages: files.packages.into_iter().map(package).collect(),
    };
    Ok(request::GroupRequest {
        deployment,
        group: tree(&wit.group),
        document_name: wit.document_name,
        pointer: wit.pointer,
        jobs: wit.jobs.into_iter().map(job).collect(),
        resolved_secret: wit.resolved_secret,
    })
}

/// Makes a call of `convert-deployment`.
///
/// # Errors
/// As [`group_request`].
pub fn convert_deployment(
    wit: wit::DeploymentRequest,
    context: types::Context,
) -> Result<request::Reply, Vec<types::Diagnostic>> {
    let members = wit.variables.iter().flat_map(|variable| &variable.more);
    let deployment = checked(members.chain(&wit.more), &wit.options, context)?;
    let variable = |variable: wit::Variable| request::Variable {
        name: variable.name,
        kind: variable.kind,
        options: tree(&variable.options),
        update_mode: variable.update_mode,
        pointer: variable.pointer,
    };
    let variables: Vec<request::Variable> = wit.variables.into_iter().map(variable).collect();
    Ok(convert::deployment(&request::DeploymentRequest {
        deployment: &deployment,
        manifest: request::Named::new(&wit.document_name, &tree(&wit.document)),
        variables: &variables,
    }))
}
