//! `plugins/lib/fields/src/fields.txt` has the fields of the types of Kubernetes, as the API server publishes them.
//! `BLESS=1` adds missing ones; fields of newer versions of Kubernetes stay, because a newer cluster accepts them.

use boson_tests::cluster::shared;
use boson_tests::root;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Fields that Kubernetes declares as required, and accepts without.
const LENIENT: [(&str, &str); 1] = [("core.v1.HTTPHeader", "value")];

/// By type, or kind of an object: its fields, each with a type.
type Table = BTreeMap<String, BTreeMap<String, String>>;

/// The types of the objects of these kinds, and the types of their fields.
fn published(definitions: &Map<String, Value>, kinds: &BTreeSet<String>) -> Table {
    let mut table = Table::new();
    let mut due: Vec<&str> = Vec::new();
    for (name, schema) in definitions {
        for one in schema["x-kubernetes-group-version-kind"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let [group, version, kind] = ["group", "version", "kind"].map(|key| one[key].as_str().unwrap_or_default());
            let slash = if group.is_empty() { "" } else { "/" };
            let line = format!("kind {group}{slash}{version}/{kind}");
            if kinds.contains(&line) {
                table.insert(line, BTreeMap::from([(short(name).into(), String::new())]));
                due.push(name.as_str());
            }
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = due.pop() {
        let Some((name, schema)) = definitions.get_key_value(name) else {
            continue;
        };
        if !seen.insert(name) {
            continue;
        }
        let Some(fields) = schema["properties"].as_object() else {
            continue;
        };
        table.insert(short(name).into(), fields_of(name, schema, definitions));
        for field in fields.values() {
            due.extend(
                [field, &field["items"], &field["additionalProperties"]]
                    .into_iter()
                    .filter_map(reference),
            );
        }
    }
    table
}

/// The name of the type that a schema refers to, as in the map of definitions.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn fields_of(name: &str, schema: &Value, definitions: &Map<String, Value>) -> BTreeMap<String, String> {
    let required = schema["required"].as_array().into_iter().flatten();
    let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let marked = |(field, schema): (&String, &Value)| {
        let lenient = LENIENT.contains(&(short(name), field.as_str()));
        let mark = if required.contains(field.as_str()) && !lenient {
            "!"
        } else {
            ""
        };
        (format!("{field}{mark}"), kind(schema, definitions))
    };
    fields.map(marked).collect()
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
    if let Some(name) = reference(schema) {
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
fn the_table_of_fields_has_those_that_the_api_server_publishes() {
    let published_schemas = shared().unwrap().kubectl(["get", "--raw", "/openapi/v2"]).unwrap();
    let schemas: Value = serde_json::from_str(&published_schemas).unwrap();
    let path = root().join("plugins/lib/fields/src/fields.txt");
    let text = fs::read_to_string(&path).unwrap();
    let mut table = read(&text);
    let kinds: BTreeSet<String> = table.keys().filter(|name| name.starts_with("kind ")).cloned().collect();
    let known = published(schemas["definitions"].as_object().unwrap(), &kinds);
    assert!(kinds.iter().all(|kind| known.contains_key(kind)), "{kinds:?}");
    for (name, fields) in known {
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
