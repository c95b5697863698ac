//! The JSON Schemas of the resolved document (`wit/links`) and of the spec of templates (`wit/render`): the documents
//! of the golden cases fit, and a conversion of `tests/schemas` has every member that the schemas name.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Pointer, Tree, json};
use boson_pipeline::convert::{context, stored_documents};
use boson_pipeline::resolved_document::jobs;
use boson_pipeline::settings::Schema;
use boson_pipeline::yaml::Document;
use boson_tests::golden::cases;
use boson_tests::{host, root};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Address of the pod in specs.
const IP: &str = "10.0.0.1";
/// The property `quarks` of jobs in the schema of the resolved document.
const QUARKS: &str =
    "/properties/instance_groups/items/properties/jobs/items/properties/properties/properties/quarks/properties";

/// A schema of the contract, by its path in `wit`.
fn schema(path: &str) -> Tree {
    let file = root().join("wit").join(format!("{path}.schema.json"));
    json::parse(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The schemas of the resolved document and of the spec.
fn schemas() -> [Tree; 2] {
    ["links/1.0.0/resolved-group", "render/1.0.0/spec"].map(schema)
}

/// The resolved documents among the objects of a conversion.
fn resolved(case: &str, objects: &str) -> Vec<Document> {
    let objects = serde_yaml::Deserializer::from_str(objects).map(|object| Value::deserialize(object).unwrap());
    let mut documents = Vec::new();
    for object in objects.filter(|object| object["kind"] == "Secret") {
        let name = object["metadata"]["name"].as_str().unwrap();
        if name.contains(".ig-resolved.") {
            let content = object["data"][stored_documents::RESOLVED].as_str().unwrap();
            let content = STANDARD.decode(content).unwrap();
            documents.push(stored_documents::read(&format!("{case}: {name}"), &content).unwrap());
        }
    }
    documents
}

/// The resolved documents of the conversion of `tests/schemas`.
fn converted() -> Vec<Document> {
    let scratch = tempfile::tempdir().unwrap();
    let place = root().join("tests/schemas");
    let [manifest, release, cloud_config, native] = ["manifest.yml", "release", "cloud-config.yml", "native.yml"]
        .map(|name| place.join(name).display().to_string());
    let arguments = [
        "convert",
        &manifest,
        "--release",
        &release,
        "--cloud-config",
        &cloud_config,
        "--native",
        &native,
    ];
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    resolved("tests/schemas", &ran.stdout)
}

/// The specs of all jobs of a resolved document on all instances, as pods get them.
fn specs(resolved: &Document) -> Vec<Document> {
    let mut specs = Vec::new();
    for job in jobs(&resolved.tree) {
        let instances = (0..context::instances(job)).filter_map(|nth| context::context(job, nth, IP));
        let all = instances.chain(context::hypothetical(job, IP));
        specs.extend(all.map(|tree| with(resolved, tree)));
    }
    specs
}

/// The document with other content.
fn with(document: &Document, tree: Tree) -> Document {
    Document {
        tree,
        ..document.clone()
    }
}

/// What is wrong with a document.
fn faults(document: &Document, schema: &Schema) -> Vec<String> {
    let found = schema.errors(&document.tree).into_iter();
    found
        .map(|one| format!("{}#{}: {}", document.name, one.place, one.kind))
        .collect()
}

fn compiled() -> [Schema; 2] {
    schemas().map(|schema| Schema::new(&schema).unwrap())
}

/// The schemas directly below a schema, each with its step in a path: `/<member>`, `/[]` for the items of a list, `/*`
/// for the other members, and nothing for a form of the same value.
fn parts(schema: &Tree) -> Vec<(String, &Tree)> {
    let members = schema.get("properties").and_then(Tree::as_object).into_iter().flatten();
    let others = schema
        .get("additionalProperties")
        .filter(|part| part.as_object().is_some());
    let items = schema.get("items").map(|part| ("/[]".to_string(), part));
    let forms = schema.items("anyOf").iter().map(|part| (String::new(), part));
    members
        .map(|(name, part)| (format!("/{name}"), part))
        .chain(items)
        .chain(others.map(|part| ("/*".to_string(), part)))
        .chain(forms)
        .collect()
}

/// All schemas below a schema but for forms, each with its path.
fn all_parts(schema: &Tree) -> Vec<(String, &Tree)> {
    let (mut all, mut open) = (Vec::new(), vec![(String::new(), schema)]);
    while let Some((path, schema)) = open.pop() {
        for (step, part) in parts(schema) {
            let path = format!("{path}{step}");
            if !step.is_empty() {
                all.push((path.clone(), part));
            }
            open.push((path, part));
        }
    }
    all
}

/// The paths of a schema at which the document has values.
fn present(schema: &Tree, document: &Tree) -> BTreeSet<String> {
    let (mut present, mut open) = (BTreeSet::new(), vec![(String::new(), schema, document)]);
    while let Some((path, schema, value)) = open.pop() {
        for (step, part) in parts(schema) {
            let path = format!("{path}{step}");
            let values: Vec<&Tree> = match step.as_str() {
                "" => vec![value],
                "/[]" => value.as_array().into_iter().flatten().collect(),
                "/*" => value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(_, value)| value)
                    .collect(),
                member => value.get(member.trim_start_matches('/')).into_iter().collect(),
            };
            for value in values {
                present.insert(path.clone());
                open.push((path.clone(), part, value));
            }
        }
    }
    present
}

fn find<'t>(tree: &'t Tree, pointer: &str) -> &'t Tree {
    Pointer::parse(pointer).unwrap().find(tree).unwrap()
}

#[test]
fn the_schemas_are_well_formed_and_describe_every_member() {
    for schema in schemas() {
        assert_eq!(
            schema.str("$schema"),
            Some("https://json-schema.org/draft/2020-12/schema")
        );
        let parts = all_parts(&schema);
        assert!(parts.len() > 40, "only {} parts were found", parts.len());
        for (path, part) in parts {
            let is_member = !path.ends_with("/[]") && !path.ends_with("/*");
            assert!(
                !is_member || part.str("description").is_some(),
                "{path} has no description"
            );
        }
    }
}

#[test]
fn an_instance_and_a_link_have_the_same_form_in_both_schemas() {
    let [resolved, spec] = schemas();
    let (quarks, spec) = (find(&resolved, QUARKS), find(&spec, "/properties"));
    let instance = find(quarks, "/instances/items/properties");
    assert_eq!(instance, find(quarks, "/hypothetical/properties"));
    for (name, part) in instance.as_object().unwrap() {
        // Only pods know their address.
        if name != "ip" {
            assert_eq!(Some(part), spec.get(name), "{name}");
        }
    }
    assert_eq!(quarks.get("release"), spec.get("release"));
    let link = "/additionalProperties";
    assert_eq!(find(find(quarks, "/consumes"), link), find(find(spec, "/links"), link));
}

#[test]
fn every_document_fits_its_schema() {
    let mut documents = converted();
    let mut names = BTreeSet::from(["tests/schemas".to_string()]);
    for case in cases().unwrap() {
        let objects = fs::read_to_string(case.folder.join("expected.yml")).unwrap_or_default();
        if objects.contains(".ig-resolved.") {
            let found = resolved(&case.name, &objects);
            names.extend((!found.is_empty()).then(|| case.name.clone()));
            documents.extend(found);
        }
    }
    let specs: Vec<Document> = documents.iter().flat_map(specs).collect();
    assert!(documents.len() > 10, "only {} documents were found", documents.len());
    assert!(names.len() > 3, "only these cases have documents: {names:?}");
    assert!(specs.len() > documents.len(), "only {} specs were found", specs.len());
    let [of_resolved, of_spec] = compiled();
    let mut wrong: Vec<String> = documents.iter().flat_map(|one| faults(one, &of_resolved)).collect();
    wrong.extend(specs.iter().flat_map(|one| faults(one, &of_spec)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_member_of_a_schema_is_in_a_document() {
    let documents = converted();
    let specs = documents.iter().flat_map(specs).collect();
    for (schema, documents) in schemas().iter().zip([documents, specs]) {
        let mut missing: BTreeSet<String> = all_parts(schema).into_iter().map(|(path, _)| path).collect();
        for document in &documents {
            let present = present(schema, &document.tree);
            missing.retain(|path| !present.contains(path));
        }
        assert!(
            missing.is_empty(),
            "give tests/schemas/manifest.yml these: {missing:#?}"
        );
    }
}

#[test]
fn a_document_of_another_form_is_refused() {
    let [of_resolved, of_spec] = compiled();
    let documents = converted();
    let document = documents
        .iter()
        .find(|one| one.name.contains(".ig-resolved.web"))
        .unwrap();
    let spec = specs(document).swap_remove(0);
    let quarks = "/instance_groups/0/jobs/0/properties/quarks";
    for (schema, document, place, value) in [
        (&of_resolved, document, "/name".to_string(), json!(7)),
        (&of_resolved, document, "/instance_groups".to_string(), json!([])),
        (
            &of_resolved,
            document,
            "/releases/0/credentials".to_string(),
            json!({"username": "u"}),
        ),
        (&of_resolved, document, "/dns/version".to_string(), json!(2)),
        (
            &of_resolved,
            document,
            "/instance_groups/0/jobs/0/properties".to_string(),
            json!({}),
        ),
        (
            &of_resolved,
            document,
            format!("{quarks}/instances/0/index"),
            json!("0"),
        ),
        // A group without instances has a hypothetical one.
        (&of_resolved, document, format!("{quarks}/instances"), json!([])),
        (
            &of_resolved,
            document,
            format!("{quarks}/consumes/database/instances"),
            json!(null),
        ),
        (
            &of_resolved,
            document,
            format!("{quarks}/consumes/cache"),
            json!({"address": "a"}),
        ),
        (&of_spec, &spec, "/bootstrap".to_string(), json!("yes")),
        (&of_spec, &spec, "/networks".to_string(), json!({})),
        (&of_spec, &spec, "/properties".to_string(), json!(null)),
        (&of_spec, &spec, "/links".to_string(), json!([])),
    ] {
        assert_eq!(faults(document, schema), [""; 0]);
        let mut changed: Value = serde_json::from_str(&json::to_text(&document.tree)).unwrap();
        *changed.pointer_mut(&place).unwrap() = value;
        let changed = with(document, json::parse(&changed.to_string()).unwrap());
        assert_eq!(faults(&changed, schema).len(), 1, "{place}");
    }
}
