//! Takes values of variables out of messages. A template's exception is shown as it is, and may quote what it was given.

use crate::diagnostic::Diagnostic;
use boson_document::Tree;

/// Shorter values are left alone: `8080` or `true` would make holes in every message, and are no secrets.
const SHORTEST: usize = 6;

/// What stands in a message instead.
const INSTEAD: &str = "<redacted>";

/// The texts that must not be shown.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

// === impl Secrets ===

impl Secrets {
    /// All texts in the values of variables, and each line of those that have several.
    pub fn of(values: &Tree) -> Self {
        let mut texts = Vec::new();
        collect(values, &mut texts);
        // The longest first, so that a value that contains another goes whole.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self(texts)
    }

    /// The diagnostics without them.
    pub fn scrub(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let clean = |mut diagnostic: Diagnostic| {
            diagnostic.message = self.clean(diagnostic.message);
            diagnostic.help = diagnostic.help.map(|help| self.clean(help));
            diagnostic
        };
        diagnostics.into_iter().map(clean).collect()
    }

    fn clean(&self, mut text: String) -> String {
        for secret in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, INSTEAD);
            }
        }
        text
    }
}

fn collect(tree: &Tree, texts: &mut Vec<String>) {
    match tree {
        Tree::String(text) => {
            // A domain is no secret, and messages are full of it.
            if is_domain(text) {
                return;
            }
            let lines = text
                .lines()
                .filter(|line| line.len() >= SHORTEST && !line.starts_with("-----"));
            texts.extend(lines.map(str::to_string));
            if text.len() >= SHORTEST {
                texts.push(text.clone());
            }
        }
        Tree::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Tree::Object(map) => map.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

fn is_domain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    text.len() < 64 && text.contains('.') && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn values_do_not_reach_messages() {
        let values =
            parse(r#"{"pw":"s3cret-s3cret","key":{"private_key":"-----BEGIN\nabcdefgh\n-----END\n"},"port":"80","domain":"example.com"}"#)
                .unwrap();
        let said = vec![
            Diagnostic::error("x", "bad password s3cret-s3cret on 80: abcdefgh, example.com").help("not s3cret-s3cret"),
        ];
        let clean = Secrets::of(&values).scrub(said);
        assert_eq!(
            clean[0].message,
            "bad password <redacted> on 80: <redacted>, example.com"
        );
        assert_eq!(clean[0].help.as_deref(), Some("not <redacted>"));
    }
}
