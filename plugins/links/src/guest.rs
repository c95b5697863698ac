//! The plugin: this stage behind the contract's world `links`.

mod wire;

use crate::codes;
use boson::links::shapes;
use boson::types::types as wit;
use boson_document::about_plugin;
use exports::boson::links::resolution as world;
use exports::boson::types::about;
use wire::{ids, parse};

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
        let (resolved, diagnostics) = wire::call(&request, context, |request| crate::resolve(request, ids))?;
        Ok(shapes::Resolved {
            groups: resolved.groups.into_iter().map(Into::into).collect(),
            providers: resolved.providers.into_iter().map(Into::into).collect(),
            diagnostics,
            more: Vec::new(),
        })
    }

    fn addresses(
        request: shapes::LinksRequest,
        context: wit::Context,
    ) -> Result<shapes::ResolvedAddresses, Vec<wit::Diagnostic>> {
        let (variables, diagnostics) = wire::call(&request, context, crate::addresses)?;
        Ok(shapes::ResolvedAddresses {
            variables: variables.into_iter().map(Into::into).collect(),
            diagnostics,
            more: Vec::new(),
        })
    }
}
