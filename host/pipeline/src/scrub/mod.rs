//! Takes values of variables out of messages. A template's exception is shown as it is, and may quote what it was given.

use crate::diagnostic::Diagnostic;
use boson_document::Tree;

/// Shorter values are left alone: `8080` or `true` would make holes in every message, and are no secrets.
const SHORTEST: usize = 6;

/// Longer words are not taken for words: generated passwords have twenty letters and digits.
const LONGEST_WORD: usize = 16;

/// What stands in a message instead.
const INSTEAD: &str = "<redacted>";

/// The texts that must not be shown.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

// === impl Secrets ===

impl Secrets {
    /// All texts in the values of variables, and each line of those that have several.
    pub fn of(values: &Tree) -> Self {
        Self::among(values, |_| true)
    }

    /// The texts among properties that may be secret, where nobody knows any more which were: not words, names and paths, of which messages consist.
    pub fn suspected(properties: &Tree) -> Self {
        Self::among(properties, |text| !is_plain(text))
    }

    fn among(values: &Tree, hidden: impl Fn(&str) -> bool) -> Self {
        let mut texts = Vec::new();
        collect(values, &mut texts);
        texts.retain(|text| hidden(text));
        let quoted: Vec<String> = texts.iter().filter_map(|text| quoted(text)).collect();
        texts.extend(quoted);
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
        Tree::Number(number) => {
            let text = number.text().to_string();
            if text.bytes().filter(u8::is_ascii_digit).count() >= SHORTEST {
                texts.push(text);
            }
        }
        Tree::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Tree::Object(map) => map.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// As Ruby and JSON write it between quotes, where that is different.
fn quoted(text: &str) -> Option<String> {
    let quoted = serde_json::to_string(text).ok()?;
    let quoted = quoted.strip_prefix('"')?.strip_suffix('"')?;
    (quoted != text).then(|| quoted.to_string())
}

/// A path, or a short word.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.:/".contains(c);
    text.chars().all(plain) && (text.starts_with('/') || text.len() < LONGEST_WORD)
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
    fn quoted_values_and_long_numbers_do_not_reach_messages() {
        let values = parse(r#"{"pw":"a\"b\\c\nd-and-more","pin":12345678,"port":8080}"#).unwrap();
        let said = vec![Diagnostic::error("x", r#"bad "a\"b\\c\nd-and-more", 12345678, 8080"#)];
        let clean = Secrets::of(&values).scrub(said);
        assert_eq!(clean[0].message, r#"bad "<redacted>", <redacted>, 8080"#);
    }

    #[test]
    fn among_properties_words_and_paths_stay() {
        let properties =
            parse(r#"{"a":"s3cr3t0s3cr3t0s3cr3t","b":"broker","c":"/var/vcap/packages/nats/bin","d":"Passw0rd"}"#)
                .unwrap();
        let said = vec![Diagnostic::error(
            "x",
            "broker in /var/vcap/packages/nats/bin: s3cr3t0s3cr3t0s3cr3t Passw0rd",
        )];
        let clean = Secrets::suspected(&properties).scrub(said);
        assert_eq!(
            clean[0].message,
            "broker in /var/vcap/packages/nats/bin: <redacted> <redacted>"
        );
    }

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
