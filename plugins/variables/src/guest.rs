//! The plugin: this stage behind the contract's world `variables`.

mod wire;

use crate::codes;
use boson::types::types as wit;
use boson::variables::shapes;
use boson_document::{about_plugin, json};
use exports::boson::types::about;
use exports::boson::variables::interpolation as world;
use wire::{WireResult, definition, known, members, parse, reference, to_wire};

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/variables/1.0.0"],
    world: "boson:variables/variables@1.0.0",
    generate_all,
});

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "variables", crate::SETTINGS_SCHEMA, codes::ALL);

impl world::Guest for Plugin {
    fn plan(request: shapes::PlanRequest, context: wit::Context) -> WireResult<shapes::VariablesPlan> {
        let name = &request.document_name;
        known(&request.more, &context, name)?;
        let plan = crate::plan(&parse(&request.document, name)?, request.rules.into());
        let (plan, diagnostics) = plan.map_err(|all| to_wire(all, name))?;
        Ok(shapes::VariablesPlan {
            definitions: plan.definitions.into_iter().map(definition).collect(),
            references: plan.references.into_iter().map(reference).collect(),
            diagnostics: to_wire(diagnostics, name),
            more: Vec::new(),
        })
    }

    fn interpolate(request: shapes::InterpolateRequest, context: wit::Context) -> WireResult<shapes::Interpolated> {
        let name = &request.document_name;
        known(&request.more, &context, name)?;
        let values = members(parse(&request.values, name)?, name)?;
        let done = crate::interpolate(parse(&request.document, name)?, &values, request.rules.into());
        let (done, diagnostics) = done.map_err(|all| to_wire(all, name))?;
        let text = json::to_text(&done.document);
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(done.document);
        Ok(shapes::Interpolated {
            document: text,
            missing: done.missing.into_iter().map(reference).collect(),
            used: done.used,
            diagnostics: to_wire(diagnostics, name),
            more: Vec::new(),
        })
    }
}
