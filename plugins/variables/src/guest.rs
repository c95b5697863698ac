//! The plugin: this stage behind the contract's world `variables`.

use crate::codes;
use boson::types::types as wit;
use boson::variables::shapes;
use boson_contract::bindings::{Reader, ToWit};
use boson_contract::call::{CallCodes, CallReader};
use boson_contract::{context_records, variables_records};
use boson_document::{Diagnostic, Map, Pointer, Tree, about_plugin, contract_types};
use exports::boson::types::about;
use exports::boson::variables::interpolation as world;

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/variables/1.0.0"],
    world: "boson:variables/variables@1.0.0",
    generate_all,
});

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "variables", crate::SETTINGS_SCHEMA, codes::ALL);
contract_types!(wit);
context_records!(wit);
variables_records!(shapes);

const CODES: CallCodes = CallCodes {
    malformed: codes::MALFORMED_DOCUMENT,
    required_member: codes::REQUIRED_MEMBER,
};

impl world::Guest for Plugin {
    fn plan(
        request: shapes::PlanRequest,
        context: wit::Context,
    ) -> Result<shapes::VariablesPlan, Vec<wit::Diagnostic>> {
        let name = &request.document_name;
        let plan = || {
            let (reader, _) = CallReader::of_call(name, &CODES, names(&request.more), context)?;
            let document = reader.document("document", &request.document)?;
            crate::plan(&document, reader.read(request.rules)?)
        };
        let (plan, diagnostics) = reply(plan(), name)?;
        Ok(shapes::VariablesPlan {
            definitions: plan.definitions.to_wit(),
            references: plan.references.to_wit(),
            diagnostics,
            more: Vec::new(),
        })
    }

    fn interpolate(
        request: shapes::InterpolateRequest,
        context: wit::Context,
    ) -> Result<shapes::Interpolated, Vec<wit::Diagnostic>> {
        let name = &request.document_name;
        let interpolate = || {
            let (reader, _) = CallReader::of_call(name, &CODES, names(&request.more), context)?;
            let values = members(reader.document("values", &request.values)?)?;
            let document = reader.document("document", &request.document)?;
            crate::interpolate(document, &values, reader.read(request.rules)?)
        };
        let (done, diagnostics) = reply(interpolate(), name)?;
        let document = done.document.to_wit();
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(done.document);
        Ok(shapes::Interpolated {
            document,
            missing: done.missing.to_wit(),
            used: done.used,
            diagnostics,
            more: Vec::new(),
        })
    }
}

fn members(values: Tree) -> Result<Map, Vec<Diagnostic>> {
    let wrong = || Diagnostic::error(codes::MALFORMED_DOCUMENT, "the values are no object").at(Pointer::root());
    if let Tree::Object(map) = values {
        Ok(map)
    } else {
        Err(vec![wrong()])
    }
}
