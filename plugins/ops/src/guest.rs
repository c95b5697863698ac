//! The plugin: this stage behind the contract's world `ops`.

use crate::{Origin, codes};
use boson::types::types as wit;
use boson_document::{Diagnostic, Tree, about_plugin, contract_types, json};
use exports::boson::ops::operations as world;
use exports::boson::types::about;

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/ops"], world: "boson:ops/ops@1.0.0", generate_all });

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
    fn apply(
        document: String,
        name: String,
        files: Vec<world::OperationsFile>,
        _: String,
    ) -> Result<world::Applied, Vec<wit::Diagnostic>> {
        let read = |file: world::OperationsFile| {
            Ok(crate::OperationsFile {
                operations: parse(&file.operations, &file.name)?,
                name: file.name,
            })
        };
        let files = files
            .into_iter()
            .map(read)
            .collect::<Result<_, Vec<wit::Diagnostic>>>()?;
        let applied = crate::apply(parse(&document, &name)?, &name, files).map_err(to_wire)?;
        let origin = |Origin {
                          pointer,
                          document,
                          source,
                      }| world::Origin {
            pointer,
            document,
            source,
        };
        let text = json::to_text(&applied.document);
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(applied.document);
        Ok(world::Applied {
            document: text,
            origins: applied.origins.into_iter().map(origin).collect(),
            diagnostics: to_wire(applied.diagnostics),
            more: Vec::new(),
        })
    }

    fn find(document: String, name: String, path: String, _: String) -> Result<String, Vec<wit::Diagnostic>> {
        let found =
            crate::find(&parse(&document, &name)?, &name, &path).map_err(|diagnostic| to_wire(vec![diagnostic]))?;
        Ok(json::to_text(&found))
    }
}

fn parse(text: &str, name: &str) -> Result<Tree, Vec<wit::Diagnostic>> {
    let malformed =
        |error: json::Error| Diagnostic::error(codes::MALFORMED_DOCUMENT, error.to_string()).in_document(name);
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)]))
}

fn to_wire(diagnostics: Vec<Diagnostic>) -> Vec<wit::Diagnostic> {
    diagnostics.into_iter().map(Into::into).collect()
}

contract_types!(wit);
