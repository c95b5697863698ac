//! Checks a document against a schema, keyword by keyword. Recursion follows both, and both have the depth limit of
//! documents.

use boson_document::{Map, Pointer, Tree, json};
use std::collections::BTreeSet;

/// Keywords that are only for people.
const ANNOTATIONS: [&str; 12] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];

/// Faults that are reported.
const FAULTS: usize = 100;
/// Values or keywords that a message lists.
pub const LISTED: usize = 20;
/// Keywords and values that are compared: the schema and the settings are foreign, and a thousand forms of the one may
/// be tried for each of a hundred thousand items of the other.
const MOST: usize = 2_000_000;

/// Collects the faults.
#[derive(Default)]
pub struct Checker {
    place: Pointer,
    /// Keywords and values that were compared.
    compared: usize,
    /// Each with its place in the settings.
    faults: Vec<(Pointer, String)>,
    /// Keywords that are not checked.
    pub unknown: BTreeSet<String>,
}

// === impl Checker ===

impl Checker {
    /// Checks the value against the schema.
    pub fn check(&mut self, value: &Tree, schema: &Tree) {
        if !self.spend(1) || self.faults.len() >= FAULTS {
            return;
        }
        match schema {
            Tree::Bool(false) => self.fault("no value is allowed here"),
            Tree::Object(keywords) => {
                // A value of the wrong type would fail everything else, too.
                if !keywords.get("type").is_none_or(|wanted| self.has_type(value, wanted)) {
                    return;
                }
                for (name, wanted) in keywords {
                    if self.spend(cost(wanted)) {
                        self.keyword(name, wanted, value, keywords);
                    }
                }
            }
            _ => {}
        }
    }

    /// The faults, each with its place in the settings.
    pub fn faults(self) -> Vec<(Pointer, String)> {
        match self.compared > MOST {
            true => vec![(
                Pointer::root(),
                "they need too much computation to be checked against its schema".into(),
            )],
            false => self.faults,
        }
    }

    /// Charges comparisons; false if there were too many.
    fn spend(&mut self, count: usize) -> bool {
        self.compared = self.compared.saturating_add(count);
        self.compared <= MOST
    }

    fn fault(&mut self, what: impl Into<String>) {
        self.faults.push((self.place.clone(), what.into()));
    }

    fn has_type(&mut self, value: &Tree, wanted: &Tree) -> bool {
        let names: Vec<&str> = match wanted {
            Tree::Array(names) => names.iter().filter_map(Tree::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let fits = names.iter().any(|name| is(value, name));
        if !fits {
            let wanted: Vec<&str> = names.into_iter().map(article).collect();
            self.fault(format!(
                "it should be {}, not {}",
                wanted.join(" or "),
                article(kind(value))
            ));
        }
        fits
    }

    fn keyword(&mut self, name: &str, wanted: &Tree, value: &Tree, keywords: &Map) {
        match (name, value) {
            ("type", _) => {}
            ("enum", _) => self.one_of(wanted.as_array().map_or(&[][..], Vec::as_slice), value),
            ("const", _) => self.one_of(std::slice::from_ref(wanted), value),
            ("properties", Tree::Object(members)) => self.properties(wanted, members),
            ("additionalProperties", Tree::Object(members)) => self.additional(wanted, members, keywords),
            ("required", Tree::Object(members)) => self.required(wanted, members),
            ("items", Tree::Array(items)) => {
                for (nth, item) in items.iter().enumerate() {
                    self.below(nth, item, wanted);
                }
            }
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Tree::Number(number)) => {
                self.range(name, wanted, number.as_f64());
            }
            ("minLength" | "maxLength", Tree::String(text)) if self.spend(text.len() / 64) => {
                self.size(name, wanted, text.chars().count(), "characters")
            }
            ("minItems" | "maxItems", Tree::Array(items)) => self.size(name, wanted, items.len(), "items"),
            ("minProperties" | "maxProperties", Tree::Object(members)) => {
                self.size(name, wanted, members.len(), "members");
            }
            ("allOf", _) => wanted
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|one| self.check(value, one)),
            ("anyOf" | "oneOf", _) => self.choice(name, wanted, value),
            ("not", _) if self.fits(value, wanted) => self.fault("it has a form that is not allowed here"),
            ("not", _) => {}
            (other, _) if ANNOTATIONS.contains(&other) || is_for_another_type(other) => {}
            (other, _) => drop(self.unknown.insert(other.to_string())),
        }
    }

    fn one_of(&mut self, possible: &[Tree], value: &Tree) {
        if !possible.contains(value) {
            let shown: Vec<String> = possible.iter().take(LISTED).map(json::to_text).collect();
            let more = if possible.len() > LISTED { ", ..." } else { "" };
            self.fault(format!("it should be one of {}{more}", shown.join(", ")));
        }
    }

    fn properties(&mut self, schemas: &Tree, members: &Map) {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            if let Some(value) = members.get(name) {
                self.below(name, value, schema);
            }
        }
    }

    fn additional(&mut self, schema: &Tree, members: &Map, keywords: &Map) {
        let known = keywords.get("properties").and_then(Tree::as_object);
        for (name, value) in members {
            if known.is_some_and(|known| known.contains_key(name)) {
                continue;
            }
            if schema == &Tree::Bool(false) {
                self.place.push(name);
                self.fault(format!("there is no setting '{}'", name.trim_start_matches('\0')));
                self.place.pop();
            } else {
                self.below(name, value, schema);
            }
        }
    }

    fn required(&mut self, names: &Tree, members: &Map) {
        for name in names.as_array().into_iter().flatten().filter_map(Tree::as_str) {
            if !members.contains_key(name) {
                self.fault(format!("'{name}' is missing"));
            }
        }
    }

    fn range(&mut self, keyword: &str, wanted: &Tree, value: f64) {
        let Tree::Number(bound) = wanted else { return };
        let (fits, words) = match keyword {
            "minimum" => (value >= bound.as_f64(), "at least"),
            "maximum" => (value <= bound.as_f64(), "at most"),
            "exclusiveMinimum" => (value > bound.as_f64(), "greater than"),
            _ => (value < bound.as_f64(), "less than"),
        };
        if !fits {
            self.fault(format!("it should be {words} {}", bound.text()));
        }
    }

    fn size(&mut self, keyword: &str, wanted: &Tree, size: usize, what: &str) {
        let Some(bound) = wanted.as_i64().and_then(|bound| usize::try_from(bound).ok()) else {
            return;
        };
        if keyword.starts_with("min") && size < bound {
            self.fault(format!("it should have at least {bound} {what}"));
        } else if keyword.starts_with("max") && size > bound {
            self.fault(format!("it should have at most {bound} {what}"));
        }
    }

    fn choice(&mut self, keyword: &str, schemas: &Tree, value: &Tree) {
        let schemas = schemas.as_array().into_iter().flatten();
        let mut fitting = 0;
        for schema in schemas {
            fitting += usize::from(self.fits(value, schema));
        }
        match (keyword, fitting) {
            (_, 0) => self.fault("it matches none of the allowed forms"),
            ("oneOf", 2..) => self.fault("it matches several forms that exclude each other"),
            _ => {}
        }
    }

    /// Whether the value fits, without reporting faults.
    fn fits(&mut self, value: &Tree, schema: &Tree) -> bool {
        let mut inner = Self {
            compared: self.compared,
            ..Self::default()
        };
        inner.check(value, schema);
        self.compared = inner.compared;
        self.unknown.append(&mut inner.unknown);
        inner.faults.is_empty()
    }

    fn below(&mut self, token: impl ToString, value: &Tree, schema: &Tree) {
        self.place.push(token);
        self.check(value, schema);
        self.place.pop();
    }
}

/// Values to compare with for a keyword: its members or items.
fn cost(wanted: &Tree) -> usize {
    match wanted {
        Tree::Array(items) => 1 + items.len(),
        Tree::Object(members) => 1 + members.len(),
        _ => 1,
    }
}

/// Known keywords that do not apply to a value of this type.
fn is_for_another_type(keyword: &str) -> bool {
    let sizes = ["Length", "Items", "Properties"];
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let members = ["properties", "additionalProperties", "required", "items"];
    let is_size = |name: &str| sizes.contains(&name);
    bounds.contains(&keyword)
        || members.contains(&keyword)
        || keyword.strip_prefix("min").is_some_and(is_size)
        || keyword.strip_prefix("max").is_some_and(is_size)
}

fn is(value: &Tree, name: &str) -> bool {
    match (name, value) {
        // 1.0 is an integer to JSON Schema.
        ("integer", Tree::Number(number)) => number.is_integer() || number.as_f64().fract() == 0.0,
        ("number", Tree::Number(_)) => true,
        _ => kind(value) == name,
    }
}

fn kind(value: &Tree) -> &'static str {
    match value {
        Tree::Null => "null",
        Tree::Bool(_) => "boolean",
        Tree::Number(_) => "number",
        Tree::String(_) => "string",
        Tree::Array(_) => "array",
        Tree::Object(_) if value.as_map().is_none() => "number",
        Tree::Object(_) => "object",
    }
}

fn article(kind: &str) -> &str {
    match kind {
        "null" => "null",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}
