//! Bills of materials: their format, and how many components they list. SPDX and CycloneDX in JSON, and SPDX as lines;
//! of other documents only the type is known.

use serde_json::Value;

/// The longest format and version that are shown, in characters.
const MAX_TEXT_CHARS: usize = 64;

/// A bill of materials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sbom {
    /// Format and version, or the type of the document.
    pub format: String,
    /// Components or packages.
    pub components: Option<u64>,
}

// === impl Sbom ===

impl Sbom {
    /// Reads a document of this type.
    pub fn read(media_type: &str, bytes: &[u8]) -> Self {
        let read = match serde_json::from_slice(bytes) {
            Ok(value) => Self::of(&value),
            Err(_) => std::str::from_utf8(bytes).ok().and_then(Self::of_lines),
        };
        read.unwrap_or_else(|| Self {
            format: short(media_type),
            components: None,
        })
    }

    /// Reads a document, or a text with one, as cosign puts it into a statement. `None`: it is something else.
    pub fn of(value: &Value) -> Option<Self> {
        if let Some(text) = value.as_str().or_else(|| value.get("Data")?.as_str()) {
            let inner: Option<Value> = serde_json::from_str(text).ok();
            return match inner {
                Some(Value::Object(inner)) => Self::of_document(&Value::Object(inner)),
                _ => Self::of_lines(text),
            };
        }
        Self::of_document(value)
    }

    fn of_document(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let list = |name: &str| value.get(name).and_then(Value::as_array);
        let count = |name: &str| Some(list(name).map_or(0, Vec::len) as u64);
        if let Some(version) = text("spdxVersion") {
            return Some(Self {
                format: short(&version.replacen('-', " ", 1)),
                components: count("packages"),
            });
        }
        if text("bomFormat") == Some("CycloneDX") {
            let version = text("specVersion").unwrap_or_default();
            return Some(Self {
                format: short(format!("CycloneDX {version}").trim_end()),
                components: count("components"),
            });
        }
        let graph = list("@graph").filter(|_| text("@context").is_some_and(|context| context.contains("spdx")))?;
        let is_package = |one: &&Value| one.get("type").and_then(Value::as_str) == Some("software_Package");
        Some(Self {
            format: "SPDX 3".to_string(),
            components: Some(graph.iter().filter(is_package).count() as u64),
        })
    }

    fn of_lines(text: &str) -> Option<Self> {
        let version = text.lines().find_map(|line| line.strip_prefix("SPDXVersion:"))?;
        let packages = text.lines().filter(|line| line.starts_with("PackageName:"));
        Some(Self {
            format: short(&version.trim().replacen('-', " ", 1)),
            components: Some(packages.count() as u64),
        })
    }
}

/// A text that the author of the document chooses.
fn short(text: &str) -> String {
    boson_pipeline::report::clean::line(text)
        .chars()
        .take(MAX_TEXT_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn components_are_counted_in_each_format() {
        let sbom = |format: &str, components: u64| Sbom {
            format: format.into(),
            components: Some(components),
        };
        let spdx = json!({"spdxVersion": "SPDX-2.3", "packages": [{"name": "a"}, {"name": "b"}]});
        let cyclone = json!({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"name": "a"}]});
        let graph = json!({"@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
            "@graph": [{"type": "software_Package"}, {"type": "CreationInfo"}]});
        let lines = "SPDXVersion: SPDX-2.2\nPackageName: a\nPackageName: b\nPackageName: c\n";
        for (document, wanted) in [
            (spdx.to_string(), sbom("SPDX 2.3", 2)),
            (cyclone.to_string(), sbom("CycloneDX 1.6", 1)),
            (graph.to_string(), sbom("SPDX 3", 1)),
            (lines.to_string(), sbom("SPDX 2.2", 3)),
        ] {
            assert_eq!(Sbom::read("text/spdx", document.as_bytes()), wanted, "{document}");
        }
        // In statements.
        for predicate in [json!(lines), json!({"Data": lines})] {
            assert_eq!(Sbom::of(&predicate), Some(sbom("SPDX 2.2", 3)));
        }
        assert_eq!(Sbom::of(&json!(cyclone.to_string())), Some(sbom("CycloneDX 1.6", 1)));
        assert_eq!(Sbom::of(&json!({"builder": {}})), None);
        for unknown in ["", "<bom/>", "{}", "[]", "\"\""] {
            let read = Sbom::read("application/vnd.cyclonedx+xml", unknown.as_bytes());
            assert_eq!(
                (read.format.as_str(), read.components),
                ("application/vnd.cyclonedx+xml", None)
            );
        }
    }

    #[test]
    fn nothing_of_a_document_controls_the_terminal() {
        let evil = json!({"spdxVersion": format!("SPDX-\u{1b}[2J{}", "9".repeat(1000))});
        let format = Sbom::of(&evil).unwrap().format;
        assert!(format.starts_with("SPDX ␛[2J999"), "{format}");
        assert_eq!(format.chars().count(), MAX_TEXT_CHARS);
    }
}
