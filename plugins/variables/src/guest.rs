//! The plugin: this stage behind the contract's world `variables`.

mod wire;

use crate::codes;
use boson::types::types as wit;
use boson_document::{about_plugin, json};
use exports::boson::types::about;
use exports::boson::variables::interpolation as world;
use wire::{WireResult, definition, members, parse, reference, to_wire};

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/variables"], world: "boson:variables/variables@1.0.0", generate_all });

struct Plugin;
export!(Plugin);

about_plugin!(about, Plugin, "variables", crate::SETTINGS_SCHEMA, codes::ALL);

impl world::Guest for Plugin {
    fn plan(document: String, name: String, rules: world::Rules, _: String) -> WireResult<world::VariablesPlan> {
        let plan = crate::plan(&parse(&document, &name)?, rules.into()).map_err(|all| to_wire(all, &name))?;
        Ok(world::VariablesPlan {
            definitions: plan.definitions.into_iter().map(definition).collect(),
            references: plan.references.into_iter().map(reference).collect(),
            diagnostics: to_wire(plan.diagnostics, &name),
            more: Vec::new(),
        })
    }

    fn interpolate(
        document: String,
        name: String,
        values: String,
        rules: world::Rules,
        _: String,
    ) -> WireResult<world::Interpolated> {
        let values = members(parse(&values, &name)?, &name)?;
        let done =
            crate::interpolate(parse(&document, &name)?, &values, rules.into()).map_err(|all| to_wire(all, &name))?;
        let text = json::to_text(&done.document);
        // The instance ends with this call: freeing a large tree piece by piece would take a tenth of the call without
        // need.
        std::mem::forget(done.document);
        Ok(world::Interpolated {
            document: text,
            missing: done.missing.into_iter().map(reference).collect(),
            used: done.used,
            diagnostics: to_wire(done.diagnostics, &name),
            more: Vec::new(),
        })
    }
}
