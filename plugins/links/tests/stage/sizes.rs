//! Large and hostile input: bounded, refused with words, never a panic.

use crate::deployment::{Case, group};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

#[test]
fn too_many_instances_are_refused() {
    for instances in [1_001, u64::MAX] {
        let web = json!({"name": "web", "instances": instances, "jobs": [{"name": "j", "release": "r"}]});
        let errors = Case::new(json!([web])).job("j", json!({})).errors();
        assert_eq!(
            errors,
            [(
                "/instance_groups/0/instances".to_string(),
                "Instance group 'web' has more than 1000 instances over its AZs".to_string()
            )]
        );
    }
    let errors = Case::new(json!([{"name": "web", "instances": -1, "jobs": []}])).errors();
    assert_eq!(errors.len(), 1);
}

#[test]
fn a_deployment_has_no_more_instances_than_a_namespace_is_made_for() {
    let groups: Vec<Value> = (0..4)
        .map(|n| json!({"name": format!("g{n}"), "instances": 1000, "jobs": []}))
        .collect();
    Case::new(groups[..3].to_vec().into()).resolved();
    let errors = Case::new(groups.into()).errors();
    assert_eq!(
        errors,
        [(
            "/instance_groups/3/instances".to_string(),
            "The instance groups up to 'g3' have more than 3000 instances".to_string()
        )]
    );
}

#[test]
fn links_cannot_multiply_instances_without_bounds() {
    let mut groups = vec![json!({"name": "many", "instances": 1000, "jobs": [{"name": "p", "release": "r"}]})];
    groups.extend((0..100).map(|n| group(&format!("g{n}"), json!([{"name": "c", "release": "r"}]))));
    let case = Case::new(groups.into())
        .job("p", json!({"provides": [{"name": "l", "type": "t"}]}))
        .job("c", json!({"consumes": [{"name": "l", "type": "t"}]}));
    let errors = case.errors();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].1, "The instances of all jobs and links are more than 50000");
}

#[test]
fn addons_cannot_multiply_jobs_without_bounds() {
    let groups: Vec<Value> = (0..200).map(|n| group(&format!("g{n}"), json!([]))).collect();
    let jobs: Vec<Value> = (0..200)
        .map(|n| json!({"name": format!("j{n}"), "release": "r"}))
        .collect();
    let case = (0..200).fold(Case::new(groups.into()), |case, n| {
        case.job(&format!("j{n}"), json!({}))
    });
    let errors = case.key("addons", json!([{"name": "a", "jobs": jobs}])).errors();
    assert_eq!(
        errors[0].1,
        "The instance groups have more than 20000 jobs, those of addons included"
    );
}

#[test]
fn the_number_of_diagnostics_is_bounded() {
    let jobs: Vec<Value> = (0..1000)
        .map(|n| json!({"name": format!("j{n}"), "release": "x"}))
        .collect();
    let errors = Case::new(json!([group("g", jobs.into())])).errors();
    assert_eq!(errors.len(), 501);
    assert_eq!(errors[500].1, "500 more errors are left out");
}

#[test]
fn a_document_that_gets_too_deep_is_refused() {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let jobs = json!([{"name": "j", "release": "r", "properties": {"a": deep}}]);
    let spec = json!({"properties": {"a": {}}, "provides": [{"name": "l", "type": "t", "properties": ["a"]}], "consumes": [{"name": "l", "type": "t"}]});
    let errors = Case::new(json!([group("g", jobs)])).job("j", spec).errors();
    assert_eq!(
        errors,
        [(
            "/instance_groups/0".to_string(),
            "The resolved document of the instance group 'g' is nested too deep".to_string()
        )]
    );
    let name = vec!["a"; 100_000].join(".");
    let errors = Case::new(json!([group("g", json!([{"name": "j", "release": "r"}]))]))
        .job("j", json!({"properties": {name: {}}}))
        .errors();
    assert_eq!(errors.len(), 1);
}

#[test]
fn documents_of_no_shape_are_reported_and_nothing_else() {
    for top in [
        json!({}),
        json!({"releases": {}}),
        json!({"releases": [1, null, {}], "instance_groups": [1, [], null]}),
    ] {
        let case = ["releases", "instance_groups"]
            .iter()
            .fold(Case::new(json!([])), |case, key| {
                case.key(key, top.get(*key).cloned().unwrap_or(json!(7)))
            });
        assert!(!case.errors().is_empty(), "{top}");
    }
}

// --- any input at all ---

const WORDS: [&str; 24] = [
    "name",
    "release",
    "releases",
    "version",
    "instance_groups",
    "instances",
    "azs",
    "jobs",
    "properties",
    "consumes",
    "provides",
    "from",
    "as",
    "addons",
    "include",
    "exclude",
    "quarks",
    "custom_provider_definitions",
    "nil",
    "type",
    "a.b",
    "variables",
    "stemcell",
    "",
];

/// A document of words that mean something, in places where they do or do not.
fn document() -> impl Strategy<Value = Value> {
    let word = || select(&WORDS[..]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((word(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_string(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(groups in document(), addons in document(), job in document(), spec in document(), variables in document()) {
        let sound = group("g", json!([{"name": "j", "release": "r", "properties": job, "consumes": job, "provides": job, "custom_provider_definitions": [job]}]));
        let spec = if spec.is_object() { spec } else { json!({"properties": spec, "provides": [spec], "consumes": [spec]}) };
        let case = Case::new(json!([sound, groups])).key("addons", addons).key("variables", variables).job("j", spec.clone());
        let _ = (case.resolve(), case.addresses());
        let _ = Case::new(groups).job("j", spec).resolve();
    }
}
