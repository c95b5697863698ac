//! The plugin: this stage behind the contract's world `links`.

mod wire;

use crate::codes;
use boson::links::shapes;
use boson::types::types as wit;
use boson_document::about_plugin;
use exports::boson::links::resolution as world;
use exports::boson::types::about;
use wire::{ids, jobs, parse, to_wire};

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/links/1.0.0"],
    world: "boson:links/links@1.0.0",
    generate_all,
});

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "links", crate::SETTINGS_SCHEMA, codes::ALL);

impl world::Guest for Plugin {
    fn resolve(request: shapes::LinksRequest, context: wit::Context) -> Result<shapes::Resolved, Vec<wit::Diagnostic>> {
        let ids = ids(&parse(&context.settings, "settings")?);
        let (document, deployment, specs) = wire::read(&request, context)?;
        let (name, jobs) = (&request.document_name, jobs(&request.jobs, &specs));
        let resolved = crate::resolve(&document, &deployment, &jobs, ids);
        let (resolved, diagnostics) = resolved.map_err(|all| to_wire(all, name))?;
        Ok(shapes::Resolved {
            groups: resolved.groups.into_iter().map(Into::into).collect(),
            providers: resolved.providers.into_iter().map(Into::into).collect(),
            diagnostics: to_wire(diagnostics, name),
            more: Vec::new(),
        })
    }

    fn addresses(
        request: shapes::LinksRequest,
        context: wit::Context,
    ) -> Result<shapes::ResolvedAddresses, Vec<wit::Diagnostic>> {
        let (document, deployment, specs) = wire::read(&request, context)?;
        let (name, jobs) = (&request.document_name, jobs(&request.jobs, &specs));
        let (variables, diagnostics) =
            crate::addresses(&document, &deployment, &jobs).map_err(|all| to_wire(all, name))?;
        Ok(shapes::ResolvedAddresses {
            variables: variables.into_iter().map(Into::into).collect(),
            diagnostics: to_wire(diagnostics, name),
            more: Vec::new(),
        })
    }
}
