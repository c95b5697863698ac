//! What to write, by the Secrets that exist. Pure.

use super::draft::{Drafts, Variable};
use boson_in_pod::secrets::{TRANSITIONAL_PREFIX, is_json};
use boson_look::table::{Cell, Table};
use boson_manifest::labels;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use std::collections::BTreeMap;

const HEADER: [&str; 4] = ["Variable", "Type", "Secret", "State"];
/// A member that the operator adds to the values of certificates.
const IS_CA_KEY: &str = "is_ca";

/// What exists of an imported value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no Secret.
    New,
    /// The Secret has this value.
    Same,
    /// The Secret has another value.
    Differs,
    /// The manifest does not have the variable.
    Unused,
}

/// A variable in the table.
struct Row {
    variable: Variable,
    /// Its Secret; empty if it is not imported.
    secret: String,
    state: State,
}

#[derive(Default)]
pub struct Plan {
    rows: Vec<Row>,
    pub new: Vec<Secret>,
    /// Existing Secrets with the imported values.
    pub changed: Vec<Secret>,
}

// === impl State ===

impl State {
    fn cell(self) -> Cell {
        match self {
            Self::New => "new".into(),
            Self::Same => "same".into(),
            Self::Differs => Cell::state("differs", false),
            Self::Unused => "unused".into(),
        }
    }
}

// === impl Plan ===

impl Plan {
    /// `existing`: Secrets, by name.
    pub fn of(drafts: Drafts, existing: &BTreeMap<String, Secret>) -> Self {
        let mut plan = Self::default();
        for (name, draft) in drafts.secrets {
            let state = match existing.get(&name) {
                None => {
                    plan.new.push(draft.secret);
                    State::New
                }
                Some(old) if has_same_value(old, &draft.secret) => State::Same,
                Some(old) => {
                    plan.changed.push(with_value(old, draft.secret));
                    State::Differs
                }
            };
            plan.rows.extend(draft.variables.into_iter().map(|variable| Row {
                variable,
                secret: name.clone(),
                state,
            }));
        }
        plan.rows.sort_by(|a, b| a.variable.cmp(&b.variable));
        plan.rows.extend(drafts.unused.into_iter().map(|variable| Row {
            variable,
            secret: String::new(),
            state: State::Unused,
        }));
        plan
    }

    pub fn table(&self) -> Table {
        let row = |row: &Row| {
            let Variable { name, kind } = &row.variable;
            vec![
                name.as_str().into(),
                kind.as_str().into(),
                row.secret.as_str().into(),
                row.state.cell(),
            ]
        };
        Table::new("variables", &HEADER, self.rows.iter().map(row).collect())
    }
}

fn has_same_value(old: &Secret, new: &Secret) -> bool {
    is_json(old) == is_json(new) && value(old).eq(value(new))
}

fn value(secret: &Secret) -> impl Iterator<Item = (&String, &ByteString)> {
    let data = secret.data.iter().flatten();
    data.filter(|(key, _)| *key != IS_CA_KEY && !key.starts_with(TRANSITIONAL_PREFIX))
}

/// The same Secret with another value. Labels stay: they tell who manages it. So does what the operator has added.
fn with_value(old: &Secret, new: Secret) -> Secret {
    let mut secret = old.clone();
    let annotations = secret.metadata.annotations.get_or_insert_default();
    annotations.remove(labels::JSON_VALUE);
    annotations.extend(new.metadata.annotations.unwrap_or_default());
    let is_ca = old.data.iter().flatten().filter(|(key, _)| *key == IS_CA_KEY);
    let is_ca = is_ca.map(|(key, value)| (key.clone(), value.clone()));
    secret.data = Some(is_ca.chain(new.data.unwrap_or_default()).collect());
    secret
}

#[cfg(test)]
mod tests {
    use super::super::draft::drafts;
    use super::super::input;
    use super::*;
    use boson_manifest::names::Names;
    use boson_pipeline::yaml;
    use serde_json::json;

    fn drafted(store: &str) -> Drafts {
        let entries = input::of_vars_store(&yaml::read("s.yml", store).unwrap()).unwrap();
        drafts(&entries, None, &Names::new("d", "n", "").unwrap()).unwrap()
    }

    fn existing(name: &str, data: serde_json::Value) -> (String, Secret) {
        let labels = json!({"mine": "yes"});
        let secret = json!({"metadata": {"name": name, "labels": labels, "resourceVersion": "7"}, "data": data});
        (name.to_string(), serde_json::from_value(secret).unwrap())
    }

    #[test]
    fn secrets_are_new_or_have_the_same_or_another_value() {
        let existing = BTreeMap::from([
            existing("d.var-ca", json!({"certificate": "Yw==", "is_ca": "dHJ1ZQ=="})),
            existing("d.var-other", json!({"password": "eA=="})),
        ]);
        let mut wanted = drafted("ca: {certificate: c}\nother: v\nword: w\n");
        wanted.unused.push(Variable {
            name: "old".into(),
            kind: "password".into(),
        });
        let plan = Plan::of(wanted, &existing);
        let states: Vec<State> = plan.rows.iter().map(|row| row.state).collect();
        assert_eq!(states, [State::Same, State::Differs, State::New, State::Unused]);
        assert_eq!((plan.new.len(), plan.changed.len()), (1, 1));
        let metadata = &plan.changed[0].metadata;
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(metadata.labels.as_ref().unwrap().len(), 1);
        assert_eq!(plan.table().rows.len(), 4);
    }

    #[test]
    fn json_is_another_value_than_its_text() {
        let existing = BTreeMap::from([existing("d.var-implicit-port", json!({"value": "ODA="}))]);
        let plan = Plan::of(drafted("port: 80\n"), &existing);
        assert_eq!(plan.rows[0].state, State::Differs);
        let again = BTreeMap::from([("d.var-implicit-port".to_string(), plan.changed[0].clone())]);
        assert_eq!(Plan::of(drafted("port: 80\n"), &again).rows[0].state, State::Same);
    }
}
