//! The values in a vars store, and in what `credhub export` writes. Pure.

use crate::codes;
use boson_document::{Map, Pointer, Tree};
use boson_pipeline::Diagnostic;
use boson_pipeline::diagnostic::all;
use boson_pipeline::variables::Store;
use boson_pipeline::yaml::Document;

/// A value, and where it is.
#[derive(Clone)]
pub struct Entry {
    /// Name of the variable, as the manifest of the deployment has it.
    pub name: String,
    /// Type, if the file has it.
    pub kind: Option<String>,
    pub value: Tree,
    pub document: String,
    pub pointer: String,
}

// === impl Entry ===

impl Entry {
    /// An error about this value. The text must not quote it.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        let error = Diagnostic::error(codes::IMPORT_VALUE, message);
        error.in_document(&self.document).at(&self.pointer)
    }
}

/// The values in a vars store.
///
/// # Errors
/// It is not a map.
pub fn of_vars_store(document: &Document) -> Result<Vec<Entry>, Vec<Diagnostic>> {
    let store = Store::read(document)?;
    let entry = |name: &str| {
        Some(Entry {
            name: name.to_string(),
            kind: None,
            value: store.get(name)?.clone(),
            document: document.name.clone(),
            pointer: Pointer::root().at(name).to_string(),
        })
    };
    Ok(store.names().filter_map(entry).collect())
}

/// The values in an export. Names are those in the manifest of this deployment.
///
/// # Errors
/// It has another form.
pub fn of_credhub_export(document: &Document, deployment: &str) -> Result<Vec<Entry>, Vec<Diagnostic>> {
    let wrong = |message: &str, pointer: &Pointer| {
        let error = Diagnostic::error(codes::IMPORT_MALFORMED_FILE, message)
            .in_document(&document.name)
            .at(pointer);
        error.help("give the output of `credhub export`; for a vars store, use --vars-store")
    };
    let root = Pointer::root();
    let Some((key, list)) = document.tree.as_map().and_then(|map| member(map, "credentials")) else {
        return Err(vec![wrong("The file has no list 'credentials'", &root)]);
    };
    let list_place = root.at(key);
    let Some(list) = list.as_array() else {
        return Err(vec![wrong("'credentials' is not a list", &list_place)]);
    };
    all(list.iter().enumerate().map(|(index, item)| {
        let place = list_place.at(index);
        let map = item.as_map();
        let text = |key: &str| map.and_then(|map| member(map, key)?.1.as_str());
        let value = map.and_then(|map| member(map, "value"));
        let (Some(name), Some(kind), Some((key, value))) = (text("name"), text("type"), value) else {
            let message = "A credential needs the texts 'name' and 'type', and a 'value'";
            return Err(wrong(message, &place));
        };
        Ok(Entry {
            name: own_name(name, deployment).to_string(),
            kind: Some(kind.to_string()),
            value: value.clone(),
            document: document.name.clone(),
            pointer: place.at(key).to_string(),
        })
    }))
}

/// A member whose key may begin with a capital letter: versions of the CredHub CLI differ in their JSON.
fn member<'m>(map: &'m Map, key: &str) -> Option<(&'m str, &'m Tree)> {
    let found = map.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(name, value)| (name.as_str(), value))
}

/// `/director/deployment/name` is `name` in that deployment; other paths are absolute names.
fn own_name<'n>(path: &'n str, deployment: &str) -> &'n str {
    let below = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let name = below.and_then(|(_, rest)| rest.strip_prefix(deployment)?.strip_prefix('/'));
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::yaml;

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn a_vars_store_maps_names_to_values() {
        let document = yaml::read("s.yml", "b: word\n/a: {certificate: c}\n").unwrap();
        let entries = of_vars_store(&document).unwrap();
        assert_eq!(names(&entries), ["b", "/a"]);
        assert_eq!(
            (entries[1].kind.as_deref(), entries[1].pointer.as_str()),
            (None, "/~1a")
        );
        assert_eq!(
            of_vars_store(&yaml::read("s.yml", "[]").unwrap()).err().unwrap().len(),
            1
        );
    }

    #[test]
    fn only_paths_of_the_deployment_lose_their_folders() {
        for (path, name) in [
            ("/director/nats/word", "word"),
            ("/director/nats/word/part", "word/part"),
            ("/director/other/word", "/director/other/word"),
            ("/director/nats-2/word", "/director/nats-2/word"),
            ("/director/nats/", "/director/nats/"),
            ("/dns_ca", "/dns_ca"),
        ] {
            assert_eq!(own_name(path, "nats"), name);
        }
    }

    #[test]
    fn exports_are_yaml_or_json() {
        for text in [
            "credentials:\n- name: /d/nats/word\n  type: password\n  value: x\n",
            r#"{"Credentials": [{"Name": "/d/nats/word", "Type": "password", "Value": "x"}]}"#,
        ] {
            let entries = of_credhub_export(&yaml::read("e", text).unwrap(), "nats").unwrap();
            assert_eq!(names(&entries), ["word"]);
            assert_eq!(entries[0].kind.as_deref(), Some("password"));
            assert_eq!(entries[0].value, Tree::from("x"));
        }
    }

    #[test]
    fn errors_name_the_place_and_no_value() {
        for (text, place) in [
            ("word: CANARY", ""),
            ("credentials: CANARY", "/credentials"),
            ("credentials: [{name: a, value: CANARY}]", "/credentials/0"),
            ("credentials: [CANARY]", "/credentials/0"),
        ] {
            let errors = of_credhub_export(&yaml::read("e", text).unwrap(), "nats")
                .err()
                .unwrap();
            assert_eq!(errors[0].place.pointer.as_deref(), Some(place));
            assert!(!errors[0].message.contains("CANARY"));
        }
    }
}
