//! Converts this stage's types to those of the contract, and back.

use super::{shapes, wit};
use crate::{Ids, codes};
use boson_contract::links::{
    Consumed, External, ExternalLink, JobSpec, LinksRequest, OtherDeployment, Provider, ResolvedGroup,
};
use boson_contract::types::Named;
use boson_contract::{Reply, deployment_type};
use boson_document::contract::reject_required;
use boson_document::{Diagnostic, Pointer, Tree, contract_types, json};

/// A document that came as text.
pub fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    let malformed =
        |error: json::Error| Diagnostic::error(codes::MALFORMED_DOCUMENT, error.to_string()).at(Pointer::root());
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)], name))
}

/// Makes a call, if the plugin knows all members that it must know.
pub fn call<T>(
    request: &shapes::LinksRequest,
    context: wit::Context,
    function: impl FnOnce(LinksRequest<'_>) -> Reply<T>,
) -> Result<(T, Vec<wit::Diagnostic>), Vec<wit::Diagnostic>> {
    let failed = |error| to_wire(vec![error], &request.document_name);
    let members = request.jobs.iter().flat_map(|job| names(&job.more));
    let shared = request.deployments.iter().flat_map(|other| &other.links);
    let external = request.native.iter().chain(shared);
    let members = members.chain(external.flat_map(|link| names(&link.more)));
    let members = members.chain(request.deployments.iter().flat_map(|other| names(&other.more)));
    let members = members.chain(names(&request.more)).chain(names(&request.options.more));
    reject_required(codes::REQUIRED_MEMBER, members.chain(names_of_context(&context))).map_err(failed)?;
    let deployment = context.deployment.ok_or_else(|| {
        let missing = "The call names no deployment";
        failed(Diagnostic::error(codes::NO_DEPLOYMENT, missing))
    })?;
    let specs = request.jobs.iter().map(|job| parse(&job.spec, &job.document_name));
    let specs = specs.collect::<Result<Vec<Tree>, _>>()?;
    let document = parse(&request.document, &request.document_name)?;
    let external = External {
        native: links(&request.native)?,
        deployments: request.deployments.iter().map(other).collect::<Result<_, _>>()?,
    };
    let called = LinksRequest {
        manifest: Named::new(&request.document_name, &document),
        deployment: &self::deployment(deployment, &request.options),
        jobs: &jobs(&request.jobs, &specs),
        external: &external,
    };
    let name = &request.document_name;
    let (value, diagnostics) = function(called).map_err(|all| to_wire(all, name))?;
    Ok((value, to_wire(diagnostics, name)))
}

fn other(deployment: &shapes::OtherDeployment) -> Result<OtherDeployment, Vec<wit::Diagnostic>> {
    Ok(OtherDeployment {
        name: deployment.name.clone(),
        links: links(&deployment.links)?,
    })
}

fn links(links: &[shapes::ExternalLink]) -> Result<Vec<ExternalLink>, Vec<wit::Diagnostic>> {
    let link = |link: &shapes::ExternalLink| {
        Ok(ExternalLink {
            content: parse(&link.link, &link.origin)?,
            name: link.name.clone(),
            kind: link.type_.clone(),
            origin: link.origin.clone(),
        })
    };
    links.iter().map(link).collect()
}

/// The jobs of a call, with their specs.
fn jobs<'r>(jobs: &'r [shapes::JobSpec], specs: &'r [Tree]) -> Vec<JobSpec<'r>> {
    let job = |(job, spec): (&'r shapes::JobSpec, &'r Tree)| JobSpec {
        release: &job.release,
        job: &job.job,
        spec,
        document_name: &job.document_name,
    };
    jobs.iter().zip(specs).map(job).collect()
}

/// The setting for ids. The host has checked them against the schema.
pub fn ids(settings: &Tree) -> Ids {
    match settings.str("ids") {
        Some("job") => Ids::Job,
        _ => Ids::Instance,
    }
}

contract_types!(wit);
deployment_type!(wit);

impl From<ResolvedGroup> for shapes::ResolvedGroup {
    fn from(group: ResolvedGroup) -> Self {
        Self {
            name: group.name,
            document: json::to_text(&group.document),
            more: Vec::new(),
        }
    }
}

impl From<Provider> for shapes::Provider {
    fn from(provider: Provider) -> Self {
        Self {
            name: provider.name,
            type_: provider.kind,
            group: provider.group,
            job: provider.job,
            properties: json::to_text(&provider.properties),
            shared: provider.shared.as_ref().map(json::to_text),
            more: Vec::new(),
        }
    }
}

impl From<(String, Consumed)> for shapes::VariableAddresses {
    fn from((variable, addresses): (String, Consumed)) -> Self {
        Self {
            variable,
            alternative_names: addresses.alternative_names,
            common_name: addresses.common_name,
            more: Vec::new(),
        }
    }
}
