//! The plugin: this stage behind the contract's world `links`.

mod wire;

use crate::codes;
use boson::types::types as wit;
use boson_document::about_plugin;
use exports::boson::links::resolution as world;
use exports::boson::types::about;
use wire::{ids, parse, to_wire};

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/links"], world: "boson:links/links@1.0.0", generate_all });

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "links", crate::SETTINGS_SCHEMA, codes::ALL);

impl world::Guest for Plugin {
    fn resolve(
        document: String,
        name: String,
        deployment: wit::Deployment,
        jobs: Vec<world::JobSpec>,
        settings: String,
    ) -> Result<world::Resolved, Vec<wit::Diagnostic>> {
        let jobs = wire::jobs(jobs, &deployment, &name)?;
        let (document, deployment) = (parse(&document, &name)?, deployment.into());
        let ids = ids(&parse(&settings, "settings")?);
        let resolved = crate::resolve(&document, &deployment, &jobs, ids).map_err(|all| to_wire(all, &name))?;
        Ok(world::Resolved {
            groups: resolved.groups.into_iter().map(Into::into).collect(),
            providers: resolved.providers.into_iter().map(Into::into).collect(),
            diagnostics: to_wire(resolved.diagnostics, &name),
            more: Vec::new(),
        })
    }

    fn addresses(
        document: String,
        name: String,
        deployment: wit::Deployment,
        jobs: Vec<world::JobSpec>,
        _: String,
    ) -> Result<world::ResolvedAddresses, Vec<wit::Diagnostic>> {
        let jobs = wire::jobs(jobs, &deployment, &name)?;
        let document = parse(&document, &name)?;
        let (variables, diagnostics) =
            crate::addresses(&document, &deployment.into(), &jobs).map_err(|all| to_wire(all, &name))?;
        Ok(world::ResolvedAddresses {
            variables: variables.into_iter().map(Into::into).collect(),
            diagnostics: to_wire(diagnostics, &name),
            more: Vec::new(),
        })
    }
}
