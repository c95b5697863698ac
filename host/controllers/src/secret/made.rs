//! Test objects, as a cluster would return them.

use super::observe::Observed;
use super::plan::Step;
use super::plan::draft::{Draft, Value};
use super::position;
use super::stored::desired;
use super::value::generate::generated;
use super::value::image;
use boson_api::{QuarksSecret, QuarksSecretSpec};
use boson_credentials::System;
use k8s_openapi::api::core::v1::Secret;

/// A QuarksSecret `a` with this spec.
pub fn asked(spec: &str) -> QuarksSecret {
    let spec: QuarksSecretSpec = serde_json::from_str(spec).unwrap();
    let mut object = QuarksSecret::new("a", spec);
    object.metadata.namespace = Some("n".into());
    object.metadata.uid = Some("uid-a".into());
    object.metadata.generation = Some(1);
    object
}

/// The Secret after a step of a plan.
pub fn after(object: &QuarksSecret, observed: &Observed, step: &Step) -> Option<Secret> {
    match step {
        Step::Keep | Step::Prior(_) => observed.secret.clone(),
        Step::Mark(secret) | Step::Edit(secret) => Some((**secret).clone()),
        Step::Create(draft) | Step::Recreate(draft, _) => Some(stored(made(object, draft))),
        Step::Replace(draft, old) => Some(stored(
            desired::replaced_secret(object, old, made(object, draft), &draft.marks).unwrap(),
        )),
        Step::Begin(draft, old) => Some(stored(
            position::begin(object, old, &made(object, draft), &draft.marks).unwrap(),
        )),
    }
}

/// Adds what an API server adds.
fn stored(mut secret: Secret) -> Secret {
    secret.metadata.uid.get_or_insert("uid-s".into());
    secret.metadata.resource_version = Some("1".into());
    secret
}

fn made(object: &QuarksSecret, draft: &Draft) -> Secret {
    let value = match &draft.value {
        Value::Known(value) => value.clone(),
        Value::Generated(recipe) => generated(&System::new(), "a", recipe).unwrap(),
        Value::Image {
            asked,
            username,
            password,
        } => {
            let text = |given: &Option<String>| given.clone().unwrap_or_else(|| "generated".into());
            let file = image::file(asked, &text(username), &text(password)).unwrap();
            boson_document::Tree::object().with(image::FILE_KEY, file)
        }
    };
    desired::new_secret(object, &value, &draft.marks).unwrap()
}
