//! The plugin: this stage behind the contract's world `ops`.

use crate::codes;
use boson::ops::shapes;
use boson::types::types as wit;
use boson_contract::bindings::{Reader, ToWit};
use boson_contract::call::{CallCodes, CallReader};
use boson_contract::{context_records, ops_records};
use boson_document::{about_plugin, contract_types};
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
contract_types!(wit);
context_records!(wit);
ops_records!(shapes);

const CODES: CallCodes = CallCodes {
    malformed: codes::MALFORMED_DOCUMENT,
    required_member: codes::REQUIRED_MEMBER,
};

impl world::Guest for Plugin {
    fn apply(request: shapes::ApplyRequest, context: wit::Context) -> Result<shapes::Applied, Vec<wit::Diagnostic>> {
        let name = &request.document_name;
        let apply = || {
            let (reader, _) = CallReader::of_call(name, &CODES, names(&request.more), context)?;
            let files = reader.read(request.files)?;
            crate::apply(reader.document("document", &request.document)?, name, files)
        };
        let (applied, diagnostics) = reply(apply(), name)?;
        let document = applied.document.to_wit();
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(applied.document);
        Ok(shapes::Applied {
            document,
            origins: applied.origins.to_wit(),
            diagnostics,
            more: Vec::new(),
        })
    }

    fn find(request: shapes::FindRequest, context: wit::Context) -> Result<shapes::Found, Vec<wit::Diagnostic>> {
        let name = &request.document_name;
        let find = || {
            let (reader, _) = CallReader::of_call(name, &CODES, names(&request.more), context)?;
            let document = reader.document("document", &request.document)?;
            let found = crate::find(&document, name, &request.path).map_err(|error| vec![error])?;
            Ok((found, Vec::new()))
        };
        let (found, _) = reply(find(), name)?;
        Ok(shapes::Found {
            value: found.to_wit(),
            more: Vec::new(),
        })
    }
}
