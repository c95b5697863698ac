//! Conversions between the contract's types and the pipeline's.

use crate::bindings::boson::bpm::shapes as wit_bpm;
use crate::bindings::boson::links::shapes as wit_links;
use crate::bindings::boson::ops::shapes as wit_ops;
use crate::bindings::boson::render::shapes as wit_render;
use crate::bindings::boson::resources::shapes as wit_resources;
use crate::bindings::boson::types::objects as wit_objects;
use crate::bindings::boson::types::types as wit;
use crate::bindings::boson::variables::shapes as wit_variables;
use crate::call::reply::Reading;
use crate::plugin::Plugin;
use boson_contract::bindings::{FromWit, Given, Reader, ToWit};
use boson_contract::types::{CallContext, DeploymentName, Named};
use boson_contract::{
    bpm_records, context_records, links_records, objects_records, ops_records, options_records, record, render_records,
    variables_records,
};
use boson_pipeline::stage::{DeploymentRequest, Edit, LinksRequest, ObjectReference, Reference, StageError, View};

context_records!(wit);
record!(
    ObjectReference,
    wit::ObjectReference {
        api_version,
        kind,
        name
    }
);
options_records!(wit);
ops_records!(wit_ops);
// An ops file is passed without a copy of its operations.
record!(to Named<'_>, wit_ops::OperationsFile { name; tree = operations });
variables_records!(wit_variables);
links_records!(wit_links);
render_records!(wit_render);
bpm_records!(wit_bpm);
objects_records!(wit_objects);

/// What this host supports beyond version 1.0.0 of the contract.
pub(crate) const FEATURES: &[&str] = &[];

/// The context of a call of `plugin` for a deployment with this name and namespace.
pub(crate) fn context(plugin: &Plugin, deployment: Option<(&str, &str)>) -> wit::Context {
    context_with(&plugin.settings, deployment)
}

/// The context of a call with these settings.
pub(crate) fn context_with(settings: &str, deployment: Option<(&str, &str)>) -> wit::Context {
    let name = |(name, namespace): (&str, &str)| DeploymentName {
        name: name.into(),
        namespace: namespace.into(),
    };
    let context = CallContext {
        deployment: deployment.map(name),
        settings: settings.into(),
        features: FEATURES.iter().map(|feature| (*feature).into()).collect(),
    };
    context.to_wit()
}

impl From<DeploymentRequest<'_>> for wit_bpm::DeploymentRequest {
    fn from(request: DeploymentRequest<'_>) -> Self {
        Self {
            options: request.deployment.to_wit(),
            document: request.manifest.tree.to_wit(),
            document_name: request.manifest.name.into(),
            variables: request.variables.to_wit(),
            more: Vec::new(),
        }
    }
}

impl From<LinksRequest<'_>> for wit_links::LinksRequest {
    fn from(request: LinksRequest<'_>) -> Self {
        let external = request.external;
        Self {
            document: request.manifest.tree.to_wit(),
            document_name: request.manifest.name.into(),
            options: request.deployment.to_wit(),
            jobs: request.jobs.to_wit(),
            native: external.native.to_wit(),
            deployments: external.deployments.to_wit(),
            more: Vec::new(),
        }
    }
}

impl From<View<'_>> for wit_objects::View {
    fn from(view: View<'_>) -> Self {
        Self {
            target: view.target.into(),
            manifest: view.manifest.tree.to_wit(),
            groups: view.groups.to_wit(),
            objects: view.objects.to_wit(),
            more: Vec::new(),
        }
    }
}

/// Names and places.
pub(crate) fn references(
    reading: &Reading<'_>,
    reply: Vec<wit_variables::Reference>,
) -> Result<Vec<Reference>, StageError> {
    let references: Vec<Reference> = reading.read("references", reply)?;
    for one in &references {
        reading.pointer("references", &one.pointer)?;
    }
    Ok(references)
}

impl FromWit<wit_resources::Edit> for Edit {
    fn from_wit<R: Reader>(wit: wit_resources::Edit, _: &'static str, reader: &R) -> Result<Self, R::Error> {
        let object = |object| ObjectReference::from_wit(object, "object", reader);
        Ok(match wit {
            wit_resources::Edit::JsonPatch(one) => {
                Self::JsonPatch(object(one.object)?, reader.document("patch", &one.patch)?)
            }
            wit_resources::Edit::MergePatch(one) => {
                Self::MergePatch(object(one.object)?, reader.document("patch", &one.patch)?)
            }
            wit_resources::Edit::Add(added) => Self::Add(reader.document("add", &added)?),
            wit_resources::Edit::Remove(removed) => Self::Remove(object(removed)?),
        })
    }

    fn from_json(_: Given<'_>, name: &str) -> Result<Self, String> {
        Err(format!("`{name}` is in no request"))
    }
}
