//! The WIT glue: converts records of the contract to our types and back.
#![allow(unsafe_code, reason = "generated bindings")]

use crate::{codes, convert, request};
use boson::bpm::shapes as wit;
use boson::types::types;
use boson_document::{Tree, about_plugin, json};
use exports::boson::bpm::conversion as world;
use exports::boson::types::about;
use records::to_wire;

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/bpm/1.0.0"],
    world: "boson:bpm/bpm@1.0.0",
    generate_all,
});

mod records;

struct Plugin;

export!(Plugin);

about_plugin!(about, Plugin, "bpm", crate::SETTINGS_SCHEMA, codes::ALL);

impl world::Guest for Plugin {
    fn convert_deployment(
        request: wit::DeploymentRequest,
        context: types::Context,
    ) -> Result<wit::Converted, Vec<types::Diagnostic>> {
        let name = request.document_name.clone();
        reply(records::convert_deployment(request, context)?, &name)
    }

    fn convert_group(
        request: wit::GroupRequest,
        context: types::Context,
    ) -> Result<wit::Converted, Vec<types::Diagnostic>> {
        let name = request.document_name.clone();
        let settings = tree(&context.settings);
        let request = records::group_request(request, context)?;
        reply(convert::group(&request, &settings), &name)
    }
}

/// The host sends JSON only; other text is read as null and fails as a missing key.
fn tree(text: &str) -> Tree {
    json::parse(text).unwrap_or_default()
}

/// `name`: the manifest, which a diagnostic that names no document is about.
fn reply(reply: request::Reply, name: &str) -> Result<wit::Converted, Vec<types::Diagnostic>> {
    let (objects, diagnostics) = reply.map_err(|all| to_wire(all, name))?;
    Ok(wit::Converted {
        objects: objects.iter().map(json::to_text).collect(),
        diagnostics: to_wire(diagnostics, name),
        more: Vec::new(),
    })
}
