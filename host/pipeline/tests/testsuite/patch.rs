//! Our JSON Patch against a library's, on random documents and patches.

use boson_document::{Tree, json};
use boson_pipeline::bundle::patch::{self, Budget};
use proptest::prelude::*;
use serde_json::{Value, json};

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        "[ab/~]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[ab0~/]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Mostly paths that exist or nearly do.
fn pointer() -> impl Strategy<Value = String> {
    let token = prop_oneof!["[ab0]{0,2}", "~0|~1|a~1|-|01|[0-3]"];
    prop::collection::vec(token, 0..4).prop_map(|tokens| tokens.iter().map(|token| format!("/{token}")).collect())
}

fn operation() -> impl Strategy<Value = Value> {
    let op = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]);
    (op, pointer(), pointer(), document())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn both_give_the_same(before in document(), operations in prop::collection::vec(operation(), 1..5)) {
        let skip = operations.iter().any(|operation| operation["op"] == "remove" && operation["path"] == "");
        prop_assume!(!skip);
        let mut theirs = before.clone();
        let library: json_patch::Patch = serde_json::from_value(Value::from(operations.clone())).unwrap();
        // Not `patch`: it panics while it undoes some of its changes.
        let accepted = json_patch::patch_unsafe(&mut theirs, &library);
        let mut ours: Tree = serde_json::from_value(before).unwrap();
        let answer = patch::apply(&mut ours, &serde_json::from_value(Value::from(operations)).unwrap(), &mut Budget::default());
        prop_assert_eq!(answer.is_ok(), accepted.is_ok(), "ours {:?}, theirs {:?}", answer, accepted);
        if answer.is_ok() {
            let ours: Value = serde_json::from_str(&json::to_text(&ours)).unwrap();
            prop_assert_eq!(ours, theirs);
        }
    }
}
