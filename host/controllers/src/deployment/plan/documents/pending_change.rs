//! The change that waits while a deployment is paused: the manifest from before the pause, with which `host diff`
//! compares, and what differs. Pure.

use boson_document::Tree;
use boson_pipeline::convert::stored_documents::{self, BEFORE_PAUSE, CHANGES, MANIFEST, Texts};
use boson_pipeline::deployment_diff::{self, Properties};
use k8s_openapi::api::core::v1::Secret;

/// Pairs of items of lists that are compared at most: each list of one manifest is compared with one of the other.
const MAX_COMPARED_PAIRS: usize = 100_000_000;

#[derive(Debug)]
pub struct PendingChange {
    /// The text of the manifest from before the pause; empty if it is not known any more.
    before: String,
    /// What differs, as `bosh deploy` shows it; none if this takes too long, or has no place.
    changes: Option<String>,
}

// === impl PendingChange ===

impl PendingChange {
    /// None: nothing waits. `live`: the Secret with the manifest of the last reconcile; `manifest`: the present one.
    pub fn of(live: &Secret, manifest: &Tree) -> Option<Self> {
        let data = live.data.as_ref()?;
        let before = data.get(BEFORE_PAUSE).or_else(|| data.get(MANIFEST))?;
        if before.0.is_empty() {
            return Some(Self::unknown());
        }
        // One that cannot be read is replaced, and nothing can be said of what it was.
        let before = stored_documents::read(MANIFEST, &before.0).ok()?.tree;
        if before == *manifest {
            return None;
        }
        let is_quick = items(&before).saturating_mul(items(manifest)) <= MAX_COMPARED_PAIRS;
        let changes = is_quick.then(|| {
            let lines = deployment_diff::manifest(Some(&before), manifest, Properties::Redacted);
            lines.iter().map(|line| format!("{line}\n")).collect()
        });
        Some(Self {
            before: stored_documents::manifest(&before).remove(MANIFEST).unwrap_or_default(),
            changes,
        })
    }

    /// The same, with less and less in it.
    pub fn shorter(self) -> [Self; 2] {
        let without_changes = Self { changes: None, ..self };
        [without_changes, Self::unknown()]
    }

    fn unknown() -> Self {
        Self {
            before: String::new(),
            changes: None,
        }
    }

    /// By their keys in the Secret with the manifest.
    pub fn texts(&self) -> Texts {
        let changes = self.changes.iter().map(|changes| (CHANGES, changes));
        let texts = [(BEFORE_PAUSE, &self.before)].into_iter().chain(changes);
        texts.map(|(key, text)| (key.to_string(), text.clone())).collect()
    }
}

/// The items of all lists.
fn items(tree: &Tree) -> usize {
    match tree {
        Tree::Array(all) => all.len() + all.iter().map(items).sum::<usize>(),
        Tree::Object(all) => all.values().map(items).sum(),
        _ => 0,
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
    fn long_lists_are_not_compared_and_a_manifest_without_a_place_is_unknown_until_the_pause_ends() {
        let list = |word: &str| Tree::object().with("list", Tree::Array(vec![word.into(); 20_000]));
        let running = secret(stored_documents::manifest(&list("one")));
        let pending = PendingChange::of(&running, &list("two")).unwrap();
        assert!(pending.changes.is_none() && pending.before.contains("one"));
        let [_, unknown] = pending.shorter();
        let mut stored = stored_documents::manifest(&list("two"));
        stored.extend(unknown.texts());
        let next = PendingChange::of(&secret(stored), &list("three")).unwrap();
        assert_eq!((next.before.as_str(), next.changes), ("", None));
    }

    #[test]
    fn the_manifest_from_before_the_pause_is_kept_over_several_changes_and_no_value_is_shown() {
        let running = stored_documents::manifest(&manifest("one"));
        assert!(PendingChange::of(&secret(running.clone()), &manifest("one")).is_none());
        let first = PendingChange::of(&secret(running.clone()), &manifest("two")).unwrap();
        assert_eq!(first.before, running[MANIFEST]);
        let expected = "  properties:\n-   word: \"<redacted>\"\n+   word: \"<redacted>\"\n";
        assert_eq!(first.changes.as_deref(), Some(expected));
        let mut stored = stored_documents::manifest(&manifest("two"));
        stored.extend(first.texts());
        let second = PendingChange::of(&secret(stored.clone()), &manifest("three")).unwrap();
        assert_eq!(second.before, running[MANIFEST]);
        assert!(
            PendingChange::of(&secret(stored), &manifest("one")).is_none(),
            "the change was taken back"
        );
    }
}
