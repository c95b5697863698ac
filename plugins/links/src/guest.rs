//! The plugin: this stage behind the contract's world `links`.

use crate::{External, Ids, LinksRequest, Named, codes};
use boson::links::shapes;
use boson::types::types as wit;
use boson_contract::bindings::{Reader, ToWit};
use boson_contract::call::{CallCodes, CallReader};
use boson_contract::links::{Consumed, JobSpec};
use boson_contract::{Reply, context_records, links_records, options_records};
use boson_document::{Tree, about_plugin, contract_types};
use exports::boson::links::resolution as world;
use exports::boson::types::about;

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/links/1.0.0"],
    world: "boson:links/links@1.0.0",
    generate_all,
});

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "links", crate::SETTINGS_SCHEMA, codes::ALL);
contract_types!(wit);
context_records!(wit);
options_records!(wit);
links_records!(shapes);

const CODES: CallCodes = CallCodes {
    malformed: codes::MALFORMED_DOCUMENT,
    required_member: codes::REQUIRED_MEMBER,
};

impl world::Guest for Plugin {
    fn resolve(request: shapes::LinksRequest, context: wit::Context) -> Result<shapes::Resolved, Vec<wit::Diagnostic>> {
        let resolve = |request: LinksRequest<'_>, settings: &Tree| crate::resolve(request, ids(settings));
        let (resolved, diagnostics) = call(request, context, resolve)?;
        Ok(shapes::Resolved {
            groups: resolved.groups.to_wit(),
            providers: resolved.providers.to_wit(),
            diagnostics,
            more: Vec::new(),
        })
    }

    fn addresses(
        request: shapes::LinksRequest,
        context: wit::Context,
    ) -> Result<shapes::ResolvedAddresses, Vec<wit::Diagnostic>> {
        let (variables, diagnostics) = call(request, context, |request, _| crate::addresses(request))?;
        let addresses = |(variable, consumed): (String, Consumed)| shapes::VariableAddresses {
            variable,
            alternative_names: consumed.alternative_names,
            common_name: consumed.common_name,
            more: Vec::new(),
        };
        Ok(shapes::ResolvedAddresses {
            variables: variables.into_iter().map(addresses).collect(),
            diagnostics,
            more: Vec::new(),
        })
    }
}

/// Makes a call with the settings.
fn call<T>(
    request: shapes::LinksRequest,
    context: wit::Context,
    function: impl FnOnce(LinksRequest<'_>, &Tree) -> Reply<T>,
) -> Result<(T, Vec<wit::Diagnostic>), Vec<wit::Diagnostic>> {
    let name = request.document_name;
    let call = || {
        let (reader, context) = CallReader::of_call(&name, &CODES, names(&request.more), context)?;
        let settings = reader.document("settings", &context.settings)?;
        let jobs: Vec<JobSpec<'_>> = reader.read(request.jobs)?;
        let external = External {
            native: reader.read(request.native)?,
            deployments: reader.read(request.deployments)?,
        };
        let document = reader.document("document", &request.document)?;
        let deployment = reader.named(reader.read(request.options)?, context, codes::NO_DEPLOYMENT)?;
        let called = LinksRequest {
            manifest: Named::new(&name, &document),
            deployment: &deployment,
            jobs: &jobs,
            external: &external,
        };
        function(called, &settings)
    };
    reply(call(), &name)
}

/// The setting for ids. The host has checked them against the schema.
fn ids(settings: &Tree) -> Ids {
    match settings.str("ids") {
        Some("job") => Ids::Job,
        _ => Ids::Instance,
    }
}
