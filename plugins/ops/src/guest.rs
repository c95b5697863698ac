//! The plugin: this stage behind the contract's world `ops`.

use crate::{Origin, codes};
use boson::ops::shapes;
use boson::types::types as wit;
use boson_document::contract::reject_required;
use boson_document::{Diagnostic, Tree, about_plugin, contract_types, json};
use exports::boson::ops::operations as world;
use exports::boson::types::about;

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/ops/1.0.0"],
    world: "boson:ops/ops@1.0.0",
    generate_all,
});

struct Plugin;
export!(Plugin);

about_plugin!(
    about,
    Plugin,
    "ops",
    r#"{"type":"object","additionalProperties":false}"#,
    codes::ALL
);

impl world::Guest for Plugin {
    fn apply(request: shapes::ApplyRequest, context: wit::Context) -> Result<shapes::Applied, Vec<wit::Diagnostic>> {
        known(&request.more, &context)?;
        let read = |file: shapes::OperationsFile| {
            Ok(crate::OperationsFile {
                operations: parse(&file.operations, &file.name)?,
                name: file.name,
            })
        };
        let files = request.files.into_iter().map(read);
        let files = files.collect::<Result<_, Vec<wit::Diagnostic>>>()?;
        let name = &request.document_name;
        let (applied, diagnostics) =
            crate::apply(parse(&request.document, name)?, name, files).map_err(|all| to_wire(all, name))?;
        let origin = |origin: Origin| shapes::Origin {
            pointer: origin.pointer,
            document: origin.document,
            source: origin.source,
        };
        let text = json::to_text(&applied.document);
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(applied.document);
        Ok(shapes::Applied {
            document: text,
            origins: applied.origins.into_iter().map(origin).collect(),
            diagnostics: to_wire(diagnostics, name),
            more: Vec::new(),
        })
    }

    fn find(request: shapes::FindRequest, context: wit::Context) -> Result<shapes::Found, Vec<wit::Diagnostic>> {
        known(&request.more, &context)?;
        let name = &request.document_name;
        let found = crate::find(&parse(&request.document, name)?, name, &request.path)
            .map_err(|diagnostic| to_wire(vec![diagnostic], name))?;
        Ok(shapes::Found {
            value: json::to_text(&found),
            more: Vec::new(),
        })
    }
}

/// Rejects a call with a member that this plugin must know.
fn known(more: &[wit::Member], context: &wit::Context) -> Result<(), Vec<wit::Diagnostic>> {
    reject_required(codes::REQUIRED_MEMBER, names(more).chain(names_of_context(context)))
        .map_err(|error| vec![error.into()])
}

fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    let malformed = |error: json::Error| Diagnostic::error(codes::MALFORMED_DOCUMENT, error.to_string());
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)], name))
}

contract_types!(wit);
