//! The change that waits while a deployment is paused: what `host diff` compares with, and what differs. Pure.

use boson_document::Tree;
use boson_pipeline::convert::stored_documents::{self, BEFORE_PAUSE, CHANGES, MANIFEST, Texts};
use boson_pipeline::deployment_diff::{self, Properties};
use k8s_openapi::api::core::v1::Secret;

/// A manifest that waits, and the one that runs.
#[derive(Debug)]
pub struct Waiting {
    /// The text of the manifest that runs.
    before: String,
    /// What differs, as `bosh deploy` shows it.
    changes: String,
}

// === impl Waiting ===

impl Waiting {
    /// None: nothing waits. `live`: the Secret with the manifest of the last reconcile; `manifest`: the present one.
    pub fn of(live: &Secret, manifest: &Tree) -> Option<Self> {
        let data = live.data.as_ref()?;
        let before = data.get(BEFORE_PAUSE).or_else(|| data.get(MANIFEST))?;
        // One that cannot be read is replaced, and nothing can be said of what it was.
        let before = stored_documents::read(MANIFEST, &before.0).ok()?.tree;
        let lines = deployment_diff::manifest(Some(&before), manifest, Properties::Redacted);
        let changes: String = lines.iter().map(|line| format!("{line}\n")).collect();
        (before != *manifest).then(|| Self {
            before: stored_documents::manifest(&before).remove(MANIFEST).unwrap_or_default(),
            changes,
        })
    }

    /// By their keys in the Secret with the manifest.
    pub fn texts(&self) -> Texts {
        let texts = [(BEFORE_PAUSE, &self.before), (CHANGES, &self.changes)];
        texts.map(|(key, text)| (key.to_string(), text.clone())).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;

    fn manifest(word: &str) -> Tree {
        Tree::object()
            .with("name", "d")
            .with("properties", Tree::object().with("word", word))
    }

    fn secret(texts: Texts) -> Secret {
        let data = texts
            .into_iter()
            .map(|(key, text)| (key, ByteString(text.into_bytes())));
        Secret {
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    #[test]
    fn the_manifest_that_runs_is_kept_over_several_changes_and_no_value_is_shown() {
        let running = stored_documents::manifest(&manifest("one"));
        assert!(Waiting::of(&secret(running.clone()), &manifest("one")).is_none());
        let first = Waiting::of(&secret(running.clone()), &manifest("two")).unwrap();
        assert_eq!(first.before, running[MANIFEST]);
        let expected = "  properties:\n-   word: \"<redacted>\"\n+   word: \"<redacted>\"\n";
        assert_eq!(first.changes, expected);
        let mut stored = stored_documents::manifest(&manifest("two"));
        stored.extend(first.texts());
        let second = Waiting::of(&secret(stored.clone()), &manifest("three")).unwrap();
        assert_eq!(second.before, running[MANIFEST]);
        assert!(
            Waiting::of(&secret(stored), &manifest("one")).is_none(),
            "the change was taken back"
        );
    }
}
