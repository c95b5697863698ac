//! Test objects, as a cluster would return them.

use super::desired;
use super::draft::{Draft, Value};
use super::observe::Observed;
use super::plan::Step;
use boson_api::{QuarksSecret, QuarksSecretSpec};
use boson_credentials::{KeptKey, Request, System, generate};
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
        Step::Mark(secret) => Some((**secret).clone()),
        Step::Create(draft) | Step::Recreate(draft, _) => Some(stored(made(object, draft))),
        Step::Replace(draft, old) => {
            let mut next = desired::marked(object, &desired::unmarked((**old).clone()), &draft.marks).unwrap();
            next.data = made(object, draft).data;
            Some(stored(next))
        }
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
        Value::Generated(recipe) => {
            let request = Request {
                name: "a",
                kind: recipe.kind,
                options: &recipe.options,
                signer: recipe.signer.as_ref(),
            };
            match &recipe.kept_key {
                Some(key) => generate(&request, &KeptKey::new(key, System::new()).unwrap()).unwrap(),
                None => generate(&request, &System::new()).unwrap(),
            }
        }
        Value::Image {
            asked,
            username,
            password,
        } => {
            let text = |given: &Option<String>| given.clone().unwrap_or_else(|| "generated".into());
            let file = super::image::file(asked, &text(username), &text(password)).unwrap();
            boson_document::Tree::object().with(super::image::KEY, file)
        }
    };
    desired::filled(object, &value, &draft.marks).unwrap()
}
