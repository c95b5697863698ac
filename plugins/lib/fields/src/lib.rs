//! Kubernetes' own types: which fields objects of its kinds have, and of which types. An API server refuses other
//! fields only when the objects are applied, and names no line of a manifest.
//!
//! A test with a cluster compares `fields.txt` with what the API server publishes. Each line has the name of a type, or
//! `kind` and the apiVersion and kind of an object, and then `field:type` for each field; `!` follows a required one.
//! `[type]` is a list, `{type}` a map with any keys.
//!
//! # Caveats
//! Rules beyond types (ranges, formats of names, fields that exclude each other) are the API server's.

use boson_document::{Pointer, Tree};
use std::sync::LazyLock;

const TABLE: &str = include_str!("fields.txt");

/// Errors of one value that are reported: a value of the wrong shape has one for each of its members.
const MAX_ERRORS: usize = 20;

/// A part of a value that Kubernetes does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where, below the checked value.
    pub pointer: Pointer,
    /// Why. Contains names of fields, no values.
    pub why: String,
    /// A field that does not exist, and those that do.
    pub unknown: Option<UnknownField>,
}

/// A field that its type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    pub name: String,
    /// The fields that the type has.
    pub known: Vec<&'static str>,
}

/// Whether absent fields are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    /// A field that Kubernetes requires must be there.
    Checked,
    /// Fields may be absent: the API server sets defaults, or reports them.
    Ignored,
}

/// Checks a value of a type: `core.v1.Probe`, `[core.v1.Toleration]`.
pub fn check(kind: &str, value: &Tree, required: Required) -> Vec<FieldError> {
    let mut walk = Walk {
        required,
        errors: Vec::new(),
    };
    walk.value(kind, value, &Pointer::root());
    walk.errors
}

/// Checks an object by its apiVersion and kind; an object of an unknown kind has no errors.
pub fn check_object(object: &Tree) -> Vec<FieldError> {
    let kind = |key: &str| object.str(key).unwrap_or_default();
    let key = format!("kind {}/{} ", kind("apiVersion"), kind("kind"));
    match find(&key) {
        Some(kind) => check(kind, object, Required::Ignored),
        None => Vec::new(),
    }
}

/// What follows this beginning of a line.
fn find(key: &str) -> Option<&'static str> {
    static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| TABLE.lines().collect());
    let at = LINES.partition_point(|line| *line < key);
    LINES.get(at).and_then(|line| line.strip_prefix(key))
}

struct Walk {
    required: Required,
    errors: Vec<FieldError>,
}

/// A field of a type.
struct Field {
    name: &'static str,
    kind: &'static str,
    required: bool,
}

// === impl Field ===

impl Field {
    fn of(text: &'static str) -> Option<Self> {
        let (name, kind) = text.split_once(':')?;
        Some(Self {
            name: name.trim_end_matches('!'),
            kind,
            required: name.ends_with('!'),
        })
    }
}

// === impl Walk ===

impl Walk {
    fn error(&mut self, pointer: &Pointer, why: String, unknown: Option<UnknownField>) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(FieldError {
                pointer: pointer.clone(),
                why,
                unknown,
            });
        }
    }

    /// Null is as good as absent.
    fn value(&mut self, kind: &str, value: &Tree, at: &Pointer) {
        if value.is_null() || self.errors.len() >= MAX_ERRORS {
            return;
        }
        if let Some(items) = within(kind, '[', ']') {
            match value {
                Tree::Array(list) => {
                    for (index, item) in list.iter().enumerate() {
                        self.value(items, item, &at.at(index));
                    }
                }
                other => self.mismatch(at, "a list", other),
            }
        } else if let Some(members) = within(kind, '{', '}') {
            match value {
                Tree::Object(map) if value.as_map().is_some() => {
                    for (key, member) in map {
                        self.value(members, member, &at.at(key));
                    }
                }
                other => self.mismatch(at, "a map", other),
            }
        } else if let Some(wanted) = scalar(kind, value) {
            if let Err(wanted) = wanted {
                self.mismatch(at, wanted, value);
            }
        } else if let Some(fields) = find(&format!("{kind} ")) {
            self.object(fields, value, at);
        }
    }

    fn object(&mut self, fields: &'static str, value: &Tree, at: &Pointer) {
        let Some(map) = value.as_map() else {
            return self.mismatch(at, "a map", value);
        };
        let fields = || fields.split(' ').filter_map(Field::of);
        for (name, member) in map {
            match fields().find(|field| field.name == name) {
                Some(field) => self.value(field.kind, member, &at.at(name)),
                None => {
                    let unknown = UnknownField {
                        name: name.clone(),
                        known: fields().map(|field| field.name).collect(),
                    };
                    let why = format!("Kubernetes has no field '{name}' here");
                    self.error(&at.at(name), why, Some(unknown));
                }
            }
        }
        if self.required == Required::Checked {
            let is_absent = |field: &Field| field.required && map.get(field.name).is_none_or(Tree::is_null);
            for field in fields().filter(is_absent) {
                let why = format!("Kubernetes requires a field '{}' here", field.name);
                self.error(at, why, None);
            }
        }
    }

    fn mismatch(&mut self, at: &Pointer, wanted: &str, found: &Tree) {
        let field = at.tokens().iter().rev().find(|token| token.parse::<usize>().is_err());
        let subject = match field {
            Some(field) => format!("'{field}'"),
            None => "the value".into(),
        };
        let why = format!("{subject} must be {wanted}, not {}", described(found));
        self.error(at, why, None);
    }
}

fn within(kind: &str, open: char, close: char) -> Option<&str> {
    kind.strip_prefix(open)?.strip_suffix(close)
}

/// Whether a value is of a scalar type, or what it should be; `None` for a type that is no scalar.
fn scalar(kind: &str, value: &Tree) -> Option<Result<(), &'static str>> {
    let is_int = |bits: u32| match value {
        Tree::Number(number) if number.is_integer() => number.as_i64().is_some_and(|int| {
            let most = i64::MAX >> (64 - bits);
            (-most - 1..=most).contains(&int)
        }),
        _ => false,
    };
    let is_text = matches!(value, Tree::String(_));
    let is_number = matches!(value, Tree::Number(_));
    let (is_of_kind, wanted) = match kind {
        "any" => (true, ""),
        "string" => (is_text, "a string"),
        "boolean" => (matches!(value, Tree::Bool(_)), "true or false"),
        "int32" => (is_int(32), "an integer of 32 bits"),
        "int64" => (is_int(64), "an integer"),
        "number" => (is_number, "a number"),
        "int-or-string" => (is_text || is_int(32), "an integer or a string"),
        "quantity" => (is_text || is_number, "a quantity"),
        _ => return None,
    };
    Some(if is_of_kind { Ok(()) } else { Err(wanted) })
}

fn described(value: &Tree) -> &'static str {
    match value {
        Tree::Null => "null",
        Tree::Bool(_) => "a boolean",
        Tree::Number(number) if number.is_integer() => "an integer",
        Tree::Number(_) => "a number",
        Tree::String(_) => "a string",
        Tree::Array(_) => "a list",
        Tree::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn errors(kind: &str, text: &str) -> Vec<String> {
        let errors = check(kind, &json::parse(text).unwrap(), Required::Checked);
        errors
            .iter()
            .map(|error| format!("{}: {}", error.pointer, error.why))
            .collect()
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_found_at_their_places() {
        let context =
            r#"{"runAsNonroot": true, "runAsUser": "0", "privileged": null, "capabilities": {"add": ["A", 1]}}"#;
        let expected = [
            "/runAsNonroot: Kubernetes has no field 'runAsNonroot' here",
            "/runAsUser: 'runAsUser' must be an integer, not a string",
            "/capabilities/add/1: 'add' must be a string, not an integer",
        ];
        assert_eq!(errors("core.v1.SecurityContext", context), expected);
    }

    #[test]
    fn absent_fields_and_wrong_shapes_are_found() {
        let probe = r#"{"httpGet": {"path": "/", "port": 80.5, "httpHeaders": {}}, "tcpSocket": {}, "periodSeconds": 4294967296, "exec": 1}"#;
        let expected = [
            "/httpGet/port: 'port' must be an integer or a string, not a number",
            "/httpGet/httpHeaders: 'httpHeaders' must be a list, not a map",
            "/tcpSocket: Kubernetes requires a field 'port' here",
            "/periodSeconds: 'periodSeconds' must be an integer of 32 bits, not an integer",
            "/exec: 'exec' must be a map, not an integer",
        ];
        assert_eq!(errors("core.v1.Probe", probe), expected);
        assert_eq!(
            errors("[core.v1.Toleration]", "{}"),
            [": the value must be a list, not a map"]
        );
    }

    #[test]
    fn an_object_is_checked_by_its_kind_and_may_leave_fields_out() {
        let object = r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "labels": {"b": 1}},
            "spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": 0.5}}, "imag": ""}]}}}}"#;
        let errors = check_object(&json::parse(object).unwrap());
        let places: Vec<String> = errors.iter().map(|error| error.pointer.to_string()).collect();
        assert_eq!(places, ["/metadata/labels/b", "/spec/template/spec/containers/0/imag"]);
        assert_eq!(errors[1].unknown.as_ref().unwrap().name, "imag");
        assert!(check_object(&json::parse(r#"{"apiVersion": "a.io/v1", "kind": "X", "y": 1}"#).unwrap()).is_empty());
    }

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        let lines: Vec<&str> = TABLE.lines().collect();
        assert!(lines.is_sorted(), "not sorted");
        assert!(lines.len() > 100);
    }
}
