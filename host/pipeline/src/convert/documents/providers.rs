//! The document of a deployment's Secret `<deployment>.links`: the links that its jobs provide, with their properties.
//! Written when links are resolved, and read when the Secrets of links are made.

use super::foreign::foreign_error;
use crate::diagnostic::Diagnostic;
use crate::stage::Provider;
use crate::yaml::Document;
use boson_document::Tree;

/// The document of these links.
pub fn write(providers: &[Provider]) -> Tree {
    Tree::object().with("providers", providers.iter().map(provider).collect::<Vec<_>>())
}

/// Reads a document.
///
/// # Errors
/// It is not of this format.
pub fn read(document: &Document) -> Result<Vec<Provider>, Diagnostic> {
    let providers = document.tree.get("providers").and_then(Tree::as_array);
    let providers = providers.and_then(|providers| providers.iter().map(read_provider).collect());
    let what = "it does not have the structure of the links of a deployment";
    providers.ok_or_else(|| foreign_error(&document.name, what))
}

fn provider(provider: &Provider) -> Tree {
    Tree::object()
        .with("name", provider.name.as_str())
        .with("type", provider.kind.as_str())
        .with("group", provider.group.as_str())
        .with("job", provider.job.as_str())
        .with("properties", provider.properties.clone())
        .with("shared", provider.shared.clone())
}

fn read_provider(tree: &Tree) -> Option<Provider> {
    Some(Provider {
        name: tree.str("name")?.to_string(),
        kind: tree.str("type")?.to_string(),
        group: tree.str("group")?.to_string(),
        job: tree.str("job")?.to_string(),
        properties: tree.get("properties")?.clone(),
        shared: tree.get("shared").filter(|shared| !shared.is_null()).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::stored_documents;
    use boson_document::json;

    #[test]
    fn written_links_are_read_back_from_yaml() {
        let provider = |name: &str, properties: &str| Provider {
            name: name.into(),
            kind: "yes".into(),
            group: "g".into(),
            job: "1.50".into(),
            properties: json::parse(properties).unwrap(),
            shared: (name == "a").then(|| json::parse(r#"{"instances": [], "address": "x"}"#).unwrap()),
        };
        let providers = [
            provider("a", r#"{"b": {"port": 1.50, "none": null}, "list": ["x\ny", "0x1f"]}"#),
            provider("null", "{}"),
        ];
        let texts = stored_documents::providers(&providers);
        let stored = |text: &str| stored_documents::read("s", text.as_bytes()).unwrap();
        let read_back = read(&stored(&texts[stored_documents::PROVIDERS])).unwrap();
        assert_eq!(format!("{read_back:?}"), format!("{providers:?}"));
        for foreign in ["{}", "providers: [{name: a}]", "providers: 1"] {
            assert_eq!(read(&stored(foreign)).unwrap_err().code, "convert-foreign-document");
        }
    }
}
