//! The plugin: this stage behind the contract's world `bpm`.
#![allow(unsafe_code, reason = "generated bindings")]

use crate::request::{DeploymentRequest, GroupRequest, Named, Reply, Variable};
use crate::{codes, convert};
use boson::bpm::shapes;
use boson::types::types as wit;
use boson_contract::bindings::{Reader, ToWit};
use boson_contract::call::{CallCodes, CallReader};
use boson_contract::{bpm_records, context_records, options_records};
use boson_document::{about_plugin, contract_types};
use exports::boson::bpm::conversion as world;
use exports::boson::types::about;

wit_bindgen::generate!({
    path: ["../../wit/types/1.0.0", "../../wit/bpm/1.0.0"],
    world: "boson:bpm/bpm@1.0.0",
    generate_all,
});

struct Plugin;

export!(Plugin);

about_plugin!(about, Plugin, "bpm", crate::SETTINGS_SCHEMA, codes::ALL);
contract_types!(wit);
context_records!(wit);
options_records!(wit);
bpm_records!(shapes);

const CODES: CallCodes = CallCodes {
    malformed: codes::MALFORMED,
    required_member: codes::REQUIRED_MEMBER,
};

impl world::Guest for Plugin {
    fn convert_deployment(
        request: shapes::DeploymentRequest,
        context: wit::Context,
    ) -> Result<shapes::Converted, Vec<wit::Diagnostic>> {
        let name = request.document_name;
        let convert = || {
            let (reader, context) = CallReader::of_call(&name, &CODES, names(&request.more), context)?;
            let variables: Vec<Variable> = reader.read(request.variables)?;
            convert::deployment(&DeploymentRequest {
                deployment: &reader.named(reader.read(request.options)?, context, codes::NO_DEPLOYMENT)?,
                manifest: Named::new(&name, &reader.document("document", &request.document)?),
                variables: &variables,
            })
        };
        converted(convert(), &name)
    }

    fn convert_group(
        request: shapes::GroupRequest,
        context: wit::Context,
    ) -> Result<shapes::Converted, Vec<wit::Diagnostic>> {
        let name = request.document_name.clone();
        let convert = || {
            let (reader, context) = CallReader::of_call(&name, &CODES, names(&request.more), context)?;
            let settings = reader.document("settings", &context.settings)?;
            let mut request: GroupRequest = reader.read(request)?;
            request.deployment = reader.named(request.deployment, context, codes::NO_DEPLOYMENT)?;
            convert::group(&request, &settings)
        };
        converted(convert(), &name)
    }
}

/// `name`: the manifest, which a diagnostic that names no document is about.
fn converted(objects: Reply, name: &str) -> Result<shapes::Converted, Vec<wit::Diagnostic>> {
    let (objects, diagnostics) = reply(objects, name)?;
    Ok(shapes::Converted {
        objects: objects.to_wit(),
        diagnostics,
        more: Vec::new(),
    })
}
