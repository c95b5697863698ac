//! Places in the operator's objects, as places in the plain objects that are made of them: users of the plain target
//! see no others.

use super::{FIRST_VERSION, job, stateful_set};
use crate::Diagnostic;
use crate::diagnostic::Place;
use crate::object::name;
use boson_document::Tree;
use boson_manifest::labels;

/// Where a QuarksStatefulSet and a QuarksJob have the object that is made of them.
const TEMPLATE_POINTER: &str = "/spec/template";

/// Changes places in these objects.
pub fn in_plain(diagnostics: &mut [Diagnostic], objects: &[Tree]) {
    for one in diagnostics {
        let related = one.related.iter_mut().map(|related| &mut related.place);
        for place in related.chain([&mut one.place]) {
            if let Some(plain) = plain(place, objects) {
                *place = plain;
            }
        }
    }
}

/// `None`: it is in no object of the operator. Of several StatefulSets, it is in the first.
fn plain(place: &Place, objects: &[Tree]) -> Option<Place> {
    let (kind, called) = place.document.as_deref()?.split_once('/')?;
    let is_it = |object: &&Tree| {
        object.str("apiVersion") == Some(labels::API_VERSION)
            && object.str("kind") == Some(kind)
            && name(object) == called
    };
    let object = objects.iter().find(is_it)?;
    let made = match kind {
        "QuarksStatefulSet" => stateful_set::stateful_sets(object, FIRST_VERSION)
            .ok()?
            .into_iter()
            .next()?,
        "QuarksJob" => job::job(object, called, job::Run::Later),
        "QuarksSecret" => {
            // The Secret with the value. Its content has no place.
            let secret = object.get("spec").and_then(|spec| spec.str("secretName"));
            return Some(Place {
                document: Some(format!("Secret/{}", secret.unwrap_or(called))),
                ..Place::default()
            });
        }
        _ => return None,
    };
    let pointer = place.pointer.as_deref().and_then(|pointer| {
        let below = pointer.strip_prefix(TEMPLATE_POINTER);
        below.or_else(|| pointer.starts_with("/metadata").then_some(pointer))
    });
    Some(Place {
        document: Some(format!("{}/{}", made.str("kind")?, name(&made))),
        pointer: pointer.map(str::to_string),
        ..Place::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Related;
    use boson_document::json::parse;

    fn shown(document: &str, pointer: &str, objects: &[Tree]) -> (Option<String>, Option<String>) {
        let place = Place::new(document, pointer);
        let mut one = Diagnostic::reported_error("a-b", "x");
        one.related = vec![Related {
            place: place.clone(),
            message: String::new(),
        }];
        one.place = place;
        let mut all = [one];
        in_plain(&mut all, objects);
        let [one] = all;
        assert_eq!(one.related[0].place, one.place);
        (one.place.document, one.place.pointer)
    }

    #[test]
    fn places_are_those_of_the_objects_that_the_user_gets() {
        let object = |kind: &str, spec: &str| {
            let text = format!(
                r#"{{"apiVersion":"quarks.cloudfoundry.org/v1alpha1","kind":"{kind}","metadata":{{"name":"nats-a"}},"spec":{spec}}}"#
            );
            parse(&text).unwrap_or_default()
        };
        let template = r#"{"zones":["z1","z2"],"template":{"spec":{"template":{"spec":{}}}}}"#;
        let objects = [object("QuarksStatefulSet", template), object("QuarksJob", template)];
        let place = |document: &str, pointer: &str| (Some(document.to_string()), Some(pointer.to_string()));
        for (given, wanted) in [
            (
                ("QuarksStatefulSet/nats-a", "/spec/template/spec/replicas"),
                place("StatefulSet/nats-a-z0-v1", "/spec/replicas"),
            ),
            (
                ("QuarksStatefulSet/nats-a", "/metadata/labels"),
                place("StatefulSet/nats-a-z0-v1", "/metadata/labels"),
            ),
            (
                ("QuarksJob/nats-a", "/spec/template/spec"),
                place("Job/nats-a", "/spec"),
            ),
            (("Service/nats-a", "/spec/type"), place("Service/nats-a", "/spec/type")),
            (("QuarksJob/other", "/spec"), place("QuarksJob/other", "/spec")),
            (("manifest.yml", "/name"), place("manifest.yml", "/name")),
        ] {
            assert_eq!(shown(given.0, given.1, &objects), wanted, "{given:?}");
        }
        let secrets = [
            object("QuarksSecret", r#"{"secretName":"nats.var-a"}"#),
            object("QuarksSecret", "{}"),
        ];
        for (secret, wanted) in secrets.iter().zip(["Secret/nats.var-a", "Secret/nats-a"]) {
            let (document, pointer) = shown("QuarksSecret/nats-a", "/spec/type", std::slice::from_ref(secret));
            assert_eq!((document.as_deref(), pointer), (Some(wanted), None));
        }
        let (document, pointer) = shown("QuarksStatefulSet/nats-a", "/spec/zones/0", &objects);
        assert_eq!(
            (document.as_deref(), pointer),
            (Some("StatefulSet/nats-a-z0-v1"), None),
            "the plain object has no such field"
        );
    }
}
