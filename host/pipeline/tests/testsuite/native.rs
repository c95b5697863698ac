//! Links of native objects: properties of their flow that hold for every input.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Pointer, Tree, json};
use boson_pipeline::Severity;
use boson_pipeline::external::{Native, Object, native, read, write};
use boson_pipeline::stage::{External, ExternalLink, OtherDeployment};
use proptest::prelude::*;
use serde_json::{Value, json};

const GROUP: &str = "quarks.cloudfoundry.org";

fn annotations(name: &str, kind: &str) -> Value {
    let provides = json!({"name": name, "type": kind}).to_string();
    json!({format!("{GROUP}/deployment-name"): "d", format!("{GROUP}/provides"): provides})
}

fn secret(name: &str, data: &[(String, String)]) -> Value {
    let data: Value = data
        .iter()
        .map(|(key, text)| (key.clone(), Value::from(STANDARD.encode(text))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({"kind": "Secret", "metadata": {"name": name, "annotations": annotations("l", "t")}, "data": data})
}

fn service(name: &str) -> Value {
    json!({"kind": "Service", "metadata": {"name": name, "annotations": annotations("l", "t")}, "spec": {"selector": {"a": "b"}}})
}

/// An EndpointSlice of the Service `s` with these pods: their numbers.
fn slice(pods: &[u16]) -> Value {
    let endpoint = |pod: &u16| {
        let [high, low] = pod.to_be_bytes();
        json!({"addresses": [format!("10.0.{high}.{low}")], "targetRef": {"kind": "Pod", "name": format!("p-{pod}"), "uid": format!("u{pod}")}})
    };
    let endpoints: Vec<Value> = pods.iter().map(endpoint).collect();
    json!({"kind": "EndpointSlice", "metadata": {"labels": {"kubernetes.io/service-name": "s"}}, "addressType": "IPv4", "endpoints": endpoints})
}

fn links(objects: &[Value]) -> Native {
    let trees: Vec<Tree> = objects
        .iter()
        .map(|object| json::parse(&object.to_string()).unwrap())
        .collect();
    let object = |tree| Object {
        document: "objects",
        pointer: Pointer::root(),
        tree,
    };
    native(&trees.iter().map(object).collect::<Vec<_>>(), "d")
}

fn codes(native: &Native) -> Vec<&str> {
    let errors = native.diagnostics.iter().filter(|one| one.severity == Severity::Error);
    errors.map(|one| one.code.as_str()).collect()
}

/// The text of each leaf, by its path.
fn leaves(tree: &Tree, path: &str, into: &mut Vec<(String, String)>) {
    match tree {
        Tree::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                leaves(value, &path, into);
            }
        }
        other => into.push((path.to_string(), other.as_str().unwrap().to_string())),
    }
}

proptest! {
    // No value is lost, moved or merged: each key is found at its path, or the keys are an error.
    #[test]
    fn every_key_is_a_property_or_an_error(data in proptest::collection::btree_map("[ab]{1,2}(\\.[ab]{1,2}){0,2}", "\\PC{0,8}", 1..6)) {
        let data: Vec<(String, String)> = data.into_iter().collect();
        let found = links(&[secret("s", &data)]);
        let collides = data.iter().any(|(key, _)| data.iter().any(|(other, _)| other.starts_with(&format!("{key}."))));
        if collides {
            prop_assert!(codes(&found).iter().all(|code| *code == "native-link-key") && !codes(&found).is_empty());
        } else {
            prop_assert_eq!(codes(&found), Vec::<&str>::new());
            let mut all = Vec::new();
            leaves(found.links[0].content.get("properties").unwrap(), "", &mut all);
            all.sort();
            prop_assert_eq!(all, data);
        }
    }

    // However pods are spread over slices, and in whatever order they come, the link is the same.
    #[test]
    fn the_order_of_instances_is_that_of_their_names(pods in proptest::collection::vec(any::<u16>(), 1..12), at in any::<proptest::sample::Index>()) {
        let (one, other) = pods.split_at(at.index(pods.len()));
        let mut sorted = pods.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let mut reversed = pods.clone();
        reversed.reverse();
        let split = links(&[service("s"), slice(one), slice(other), slice(one)]);
        let whole = links(&[slice(&reversed), service("s")]);
        prop_assert_eq!(&split.links, &whole.links);
        let instances = whole.links[0].content.items("instances");
        let names: Vec<String> = instances.iter().map(|one| one.str("name").unwrap().to_string()).collect();
        prop_assert_eq!(names, sorted.iter().map(|pod| format!("p-{pod}")).collect::<Vec<_>>());
        let bootstrap = instances.iter().map(|one| one.get("bootstrap").unwrap().as_bool().unwrap());
        prop_assert_eq!(bootstrap.collect::<Vec<_>>(), (0..sorted.len()).map(|nth| nth == 0).collect::<Vec<_>>());
    }

    // Never a wrong link: two of a kind give no link.
    #[test]
    fn several_providers_of_one_link_are_an_error_that_names_them(secrets in 0_usize..4, services in 0_usize..4) {
        let data = [("k".to_string(), "v".to_string())];
        let mut objects: Vec<Value> = (0..secrets).map(|nth| secret(&format!("secret-{nth}"), &data)).collect();
        objects.extend((0..services).map(|nth| service(&format!("service-{nth}"))));
        let found = links(&objects);
        let wrong = [secrets, services].iter().filter(|count| **count > 1).count();
        prop_assert_eq!(codes(&found), vec!["native-link-ambiguous"; wrong]);
        prop_assert_eq!(found.links.len(), usize::from(wrong == 0 && secrets + services > 0));
        let messages: String = found.diagnostics.iter().map(|one| one.message.clone()).collect();
        let named = |kind: &str, count: usize| count < 2 || (0..count).all(|nth| messages.contains(&format!("'{kind}-{nth}'")));
        prop_assert!(named("secret", secrets) && named("service", services), "{}", messages);
    }
}

#[test]
fn limits_are_errors() {
    let data = [("k".to_string(), "v".to_string())];
    let many: Vec<Value> = (0..257).map(|nth| secret(&format!("s{nth}"), &data)).collect();
    assert_eq!(codes(&links(&many)), ["native-link-limit"]);
    let large = [("k".to_string(), "x".repeat(2 << 20))];
    assert_eq!(codes(&links(&[secret("s", &large)])), ["native-link-limit"]);
    let pods: Vec<u16> = (0..2_001).collect();
    assert_eq!(codes(&links(&[service("s"), slice(&pods)])), ["native-link-limit"]);
}

#[test]
fn the_document_of_pods_is_read_back() {
    let link = |name: &str| ExternalLink {
        name: name.into(),
        kind: "1.50".into(),
        origin: "Secret 'yes'".into(),
        content: json::parse(r#"{"instances":[],"properties":{"a":{"b":"null"},"c":1.50},"address":null}"#).unwrap(),
    };
    let external = External {
        native: vec![link("a"), link("null")],
        deployments: vec![OtherDeployment {
            name: "other".into(),
            links: vec![link("b")],
        }],
    };
    assert_eq!(read(&write(&external)), external);
    assert_eq!(read(&Tree::Null), External::default());
}
