//! The WIT glue: converts records of the contract to our types and back.
#![allow(unsafe_code, missing_docs, reason = "generated bindings")]

use crate::{codes, convert, request};
use boson_document::{Diagnostic, Tree, about_plugin, json};
use exports::boson::bpm::conversion as wit;
use exports::boson::types::about;

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/bpm"], world: "boson:bpm/bpm@1.0.0", generate_all });

mod records;

struct Plugin;

export!(Plugin);

about_plugin!(about, Plugin, "bpm", crate::SETTINGS_SCHEMA, codes::ALL);

impl wit::Guest for Plugin {
    fn convert_deployment(
        request: wit::DeploymentRequest,
        settings: String,
    ) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
        records::known(&request.deployment, records::of_deployment(&request))?;
        reply(convert::deployment(&request.into(), &tree(&settings)))
    }

    fn convert_group(request: wit::GroupRequest, settings: String) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
        records::known(&request.deployment, records::of_group(&request))?;
        reply(convert::group(&request.into(), &tree(&settings)))
    }
}

/// The host sends JSON only; other text is read as null and fails as a missing key.
fn tree(text: &str) -> Tree {
    json::parse(text).unwrap_or_default()
}

fn reply(reply: request::Reply) -> Result<wit::Converted, Vec<wit::Diagnostic>> {
    let all = |diagnostics: Vec<Diagnostic>| diagnostics.into_iter().map(Into::into).collect::<Vec<_>>();
    match reply {
        Ok(converted) => Ok(wit::Converted {
            objects: converted.objects.iter().map(json::to_text).collect(),
            diagnostics: all(converted.diagnostics),
            more: Vec::new(),
        }),
        Err(diagnostics) => Err(all(diagnostics)),
    }
}
