//! `plugins/fields/src/fields.txt` has the fields of the types of Kubernetes that k8s-openapi knows. `BLESS=1` adds
//! missing ones; fields of newer versions of Kubernetes stay, because a newer cluster accepts them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Fields that Kubernetes declares as required, and accepts without.
const LENIENT: [(&str, &str); 1] = [("core.v1.HTTPHeader", "value")];

/// By type: its fields, each with a type.
type Table = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Default)]
struct Types {
    generator: SchemaGenerator,
    table: Table,
}

impl Types {
    fn add<K: Resource + JsonSchema>(mut self) -> Self {
        let schema = self.generator.subschema_for::<K>();
        let of = kind(schema.as_value(), &Map::new());
        let line = format!("kind {}/{}", K::API_VERSION, K::KIND);
        self.table.insert(line, BTreeMap::from([(of, String::new())]));
        self
    }

    fn finished(mut self) -> Table {
        let all = self.generator.take_definitions(true);
        for (name, schema) in &all {
            let Some(fields) = schema["properties"].as_object() else {
                continue;
            };
            let required: BTreeSet<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let fields = fields.iter().map(|(field, schema)| {
                let lenient = LENIENT.contains(&(short(name), field));
                let mark = if required.contains(field.as_str()) && !lenient {
                    "!"
                } else {
                    ""
                };
                (format!("{field}{mark}"), kind(schema, &all))
            });
            self.table.insert(short(name).into(), fields.collect());
        }
        self.table
    }
}

/// `io.k8s.api.core.v1.Probe` -> `core.v1.Probe`.
fn short(name: &str) -> &str {
    let cut = [
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.",
        "io.k8s.api.",
    ];
    cut.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// The type of a field, as the table writes it.
fn kind(schema: &Value, all: &Map<String, Value>) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return match short(name) {
            "api.resource.Quantity" => "quantity".into(),
            "util.intstr.IntOrString" => "int-or-string".into(),
            other => match all.get(name) {
                Some(schema) if schema["properties"].is_null() => kind(schema, all),
                _ => other.into(),
            },
        };
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("array"), _) => format!("[{}]", kind(&schema["items"], all)),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{{}}}", kind(&schema["additionalProperties"], all))
        }
        (Some("integer"), format) => format.unwrap_or("int64").into(),
        (Some(scalar @ ("string" | "boolean" | "number")), _) => scalar.into(),
        _ => "any".into(),
    }
}

fn known() -> Table {
    Types::default()
        .add::<StatefulSet>()
        .add::<Deployment>()
        .add::<HorizontalPodAutoscaler>()
        .add::<CronJob>()
        .add::<Job>()
        .add::<ConfigMap>()
        .add::<PersistentVolumeClaim>()
        .add::<Secret>()
        .add::<Service>()
        .add::<ServiceAccount>()
        .add::<Ingress>()
        .add::<NetworkPolicy>()
        .add::<PodDisruptionBudget>()
        .add::<Role>()
        .add::<RoleBinding>()
        .finished()
}

fn read(text: &str) -> Table {
    let line = |line: &str| {
        let (name, fields) = match line.strip_prefix("kind ") {
            Some(rest) => {
                let (of, fields) = rest.split_once(' ').unwrap();
                (format!("kind {of}"), fields)
            }
            None => {
                let (name, fields) = line.split_once(' ').unwrap();
                (name.to_string(), fields)
            }
        };
        let field = |field: &str| {
            let (name, kind) = field.split_once(':').unwrap_or((field, ""));
            (name.to_string(), kind.to_string())
        };
        (
            name,
            fields.split(' ').filter(|field| !field.is_empty()).map(field).collect(),
        )
    };
    text.lines().map(line).collect()
}

fn write(table: &Table) -> String {
    let line = |(name, fields): (&String, &BTreeMap<String, String>)| {
        let field = |(name, kind): (&String, &String)| match kind.as_str() {
            "" => name.clone(),
            kind => format!("{name}:{kind}"),
        };
        format!("{name} {}\n", fields.iter().map(field).collect::<Vec<_>>().join(" "))
    };
    let mut lines: Vec<String> = table.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

#[test]
fn the_table_has_every_field_of_every_kind_that_a_conversion_may_create() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../plugins/fields/src/fields.txt");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let mut table = read(&text);
    for (name, fields) in known() {
        let of_type = table.entry(name).or_default();
        let is_there = |field: &str| of_type.contains_key(field) || of_type.contains_key(&format!("{field}!"));
        let missing: Vec<_> = fields
            .into_iter()
            .filter(|(field, _)| !is_there(field.trim_end_matches('!')))
            .collect();
        of_type.extend(missing);
    }
    let expected = write(&table);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(text == expected, "out of date: BLESS=1 adds what is missing");
    }
}
