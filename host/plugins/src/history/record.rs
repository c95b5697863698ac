//! The record of a plugin's versions, and which of them are kept. Pure.

use super::super::marks::with_suffix;
use boson_oci::Digest;
use serde::{Deserialize, Serialize};

/// Versions in a record; older ones are removed.
const MAX_VERSIONS: usize = 10;
/// Versions whose content is kept: the active one, and two before it.
const MAX_KEPT_VERSIONS: usize = 3;
/// Bytes of their packed components together: every API server stores them, too.
const MAX_KEPT_BYTES: usize = 8 << 20;
/// Characters of a message.
const MAX_MESSAGE_CHARS: usize = 600;
/// Digits of an identity in the names of copies.
const IDENTITY_DIGITS: usize = 16;

/// The versions of a plugin, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    pub revisions: Vec<Revision>,
}

/// A version of a plugin: its component, settings, selector and cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Its number. A version that is activated again gets a new one.
    pub revision: u64,
    pub state: RevisionState,
    /// Since when it has the state, or when it was rejected: RFC 3339.
    pub since: String,
    /// sha256 of its component, 64 hexadecimal digits, if its `plugin.yaml` can be read.
    #[serde(default)]
    pub digest: Option<String>,
    /// Digest of its content.
    pub identity: String,
    /// Number of ConfigMaps that are kept of it.
    #[serde(default)]
    pub copies: usize,
    /// Bytes of them.
    #[serde(default)]
    pub bytes: usize,
    /// Why it was rejected: the reason of the condition.
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevisionState {
    Active,
    Superseded,
    Rejected,
    Pending,
}

/// A version that the operator uses, has rejected, or lets wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'a> {
    pub identity: &'a str,
    pub digest: Option<&'a Digest>,
    /// Reason and message, if it is not used.
    pub problem: Option<(&'a str, &'a str)>,
    /// It is not rejected, but waits for an approval.
    pub is_pending: bool,
    /// Neither this version nor an earlier one is in use.
    pub is_unused: bool,
}

// === impl Version ===

impl Version<'_> {
    fn state(self) -> RevisionState {
        match self.problem {
            None => RevisionState::Active,
            Some(_) if self.is_pending => RevisionState::Pending,
            Some(_) => RevisionState::Rejected,
        }
    }
}

// === impl History ===

impl History {
    /// The record of a version. The content of an active one has to be kept before.
    #[must_use]
    pub(super) fn with(&self, version: Version<'_>, now: &str) -> Self {
        let mut history = self.clone();
        let state = version.state();
        let next = 1 + self.revisions.iter().map(|one| one.revision).max().unwrap_or(0);
        let was_used = |state| matches!(state, RevisionState::Active | RevisionState::Superseded);
        let same = |one: &Revision| {
            let is_same = one.identity == version.identity;
            // One that waited is now in use, or another change of it is rejected: it does not wait any more.
            is_same && (one.state == RevisionState::Pending || was_used(one.state) == was_used(state))
        };
        let old = history
            .revisions
            .iter()
            .position(same)
            .map(|at| history.revisions.remove(at));
        for one in &mut history.revisions {
            // Another version replaced it before it was approved.
            if one.state == RevisionState::Pending {
                one.state = RevisionState::Rejected;
            }
        }
        // A canary that was stopped, and a version whose approval was revoked, were in use until now.
        let ends =
            |one: &Revision| state == RevisionState::Active || version.is_unused && one.identity == version.identity;
        let active = history.revisions.iter_mut();
        let ended = active.filter(|one| one.state == RevisionState::Active && ends(one));
        ended.for_each(|one| {
            one.state = RevisionState::Superseded;
            one.since = now.to_string();
        });
        let (copies, bytes) = old.map_or((0, 0), |old| (old.copies, old.bytes));
        history.revisions.push(Revision {
            revision: next,
            state,
            since: now.to_string(),
            digest: version.digest.map(|digest| digest.digest().to_string()),
            identity: version.identity.to_string(),
            copies,
            bytes,
            reason: version.problem.map(|(reason, _)| reason.to_string()),
            message: version
                .problem
                .map(|(_, message)| message.chars().take(MAX_MESSAGE_CHARS).collect()),
        });
        history
    }

    /// Whether the newest record is about this version in this state.
    pub(super) fn has(&self, version: Version<'_>) -> bool {
        let wanted = version.state();
        let of_state = |one: &&Revision| one.state == wanted;
        let found = match version.problem {
            // An active version stays active while others are rejected.
            None => self.revisions.iter().find(of_state),
            Some(_) => self.revisions.last().filter(of_state),
        };
        found.is_some_and(|one| {
            one.identity == version.identity && one.reason.as_deref() == version.problem.map(|(reason, _)| reason)
        })
    }

    /// Removes old records, and returns the versions whose copies are no longer kept.
    pub(super) fn trim(&mut self) -> Vec<Revision> {
        let (mut versions, mut bytes) = (0, 0_usize);
        let mut dropped = Vec::new();
        for one in self.revisions.iter_mut().rev().filter(|one| one.copies > 0) {
            versions += 1;
            bytes = bytes.saturating_add(one.bytes);
            if versions > MAX_KEPT_VERSIONS || bytes > MAX_KEPT_BYTES {
                dropped.push(one.clone());
                (one.copies, one.bytes) = (0, 0);
            }
        }
        let more = self.revisions.len().saturating_sub(MAX_VERSIONS);
        let mut removed = 0;
        self.revisions.retain(|one| {
            let is_old = removed < more && one.copies == 0 && one.state != RevisionState::Active;
            removed += usize::from(is_old);
            !is_old
        });
        dropped
    }

    /// The version to go back to: the one with this number, or the newest one that was in use and differs from the
    /// present content.
    pub(super) fn target(&self, number: Option<u64>, present: &str) -> Option<&Revision> {
        let is_kept = |one: &&Revision| one.copies > 0;
        match number {
            Some(number) => self.revisions.iter().find(|one| one.revision == number),
            None => self
                .revisions
                .iter()
                .rev()
                .filter(is_kept)
                .find(|one| one.identity != present),
        }
    }
}

/// Whether a version of so many bytes is kept at all.
pub(super) fn fits(bytes: usize) -> bool {
    bytes <= MAX_KEPT_BYTES
}

pub(super) fn copy_name(plugin: &str, identity: &str, nth: usize) -> String {
    with_suffix(
        plugin,
        &format!(".{}-{nth}", identity.get(..IDENTITY_DIGITS).unwrap_or(identity)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::MAX_NAME_LENGTH;

    fn good(identity: &str) -> Version<'_> {
        Version {
            identity,
            digest: None,
            problem: None,
            is_pending: false,
            is_unused: false,
        }
    }

    fn bad(identity: &str) -> Version<'_> {
        Version {
            problem: Some(("PluginCaseFailed", "case 'a' failed")),
            ..good(identity)
        }
    }

    /// As [`super::super::keep`] does, with copies of this size.
    fn record(history: &History, version: Version<'_>, bytes: usize) -> (History, Vec<String>) {
        let mut history = history.with(version, "now");
        if version.problem.is_none() && fits(bytes) {
            let last = history.revisions.last_mut().unwrap();
            (last.copies, last.bytes) = (1, bytes);
        }
        let dropped = history.trim();
        (history, dropped.into_iter().map(|one| one.identity).collect())
    }

    fn shown(history: &History) -> Vec<String> {
        let line = |one: &Revision| format!("{} {} {:?} {}", one.revision, one.identity, one.state, one.copies);
        history.revisions.iter().map(line).collect()
    }

    #[test]
    fn a_version_that_is_activated_again_gets_a_new_number_and_a_rejected_one_supersedes_nothing() {
        let mut history = History::default();
        for version in [good("a"), good("b"), bad("c")] {
            assert!(!history.has(version));
            history = record(&history, version, 1).0;
            assert!(history.has(version));
        }
        assert!(history.has(good("b")), "it stays active");
        assert_eq!(shown(&history), ["1 a Superseded 1", "2 b Active 1", "3 c Rejected 0"]);
        assert_eq!(history.target(None, "c").unwrap().identity, "b", "the last good one");
        assert_eq!(history.target(None, "b").unwrap().identity, "a", "the one before");
        assert_eq!(history.target(Some(1), "b").unwrap().identity, "a");
        assert!(history.target(Some(9), "b").is_none());
        let history = record(&history, good("a"), 1).0;
        assert_eq!(shown(&history), ["2 b Superseded 1", "3 c Rejected 0", "4 a Active 1"]);
    }

    #[test]
    fn a_version_that_waited_for_its_approval_is_listed_once() {
        let waiting = |identity| Version {
            problem: Some(("PluginNotApproved", "it gains all namespaces")),
            is_pending: true,
            ..good(identity)
        };
        let mut history = History::default();
        for version in [good("a"), waiting("b")] {
            history = record(&history, version, 1).0;
            assert!(history.has(version));
        }
        assert_eq!(shown(&history), ["1 a Active 1", "2 b Pending 0"]);
        assert_eq!(history.target(None, "b").unwrap().identity, "a", "rollback");
        let approved = record(&history, good("b"), 1).0;
        assert_eq!(shown(&approved), ["1 a Superseded 1", "3 b Active 1"]);
        let replaced = record(&history, waiting("c"), 1).0;
        assert_eq!(shown(&replaced), ["1 a Active 1", "2 b Rejected 0", "3 c Pending 0"]);
    }

    #[test]
    fn a_version_that_is_no_longer_used_is_superseded() {
        let stopped = Version {
            is_unused: true,
            ..bad("a")
        };
        let history = record(&record(&History::default(), good("a"), 1).0, stopped, 0).0;
        assert_eq!(shown(&history), ["1 a Superseded 1", "2 a Rejected 0"]);
        assert!(history.has(stopped));
    }

    #[test]
    fn the_number_of_versions_and_the_bytes_of_their_copies_are_limited() {
        let (mut history, mut dropped) = (History::default(), Vec::new());
        let names: Vec<String> = (0..30).map(|nth| format!("v{nth}")).collect();
        for name in &names {
            (history, dropped) = record(&history, good(name), 1);
        }
        assert_eq!(history.revisions.len(), MAX_VERSIONS);
        assert_eq!(dropped, ["v26"]);
        assert_eq!(
            history.revisions.iter().filter(|one| one.copies > 0).count(),
            MAX_KEPT_VERSIONS
        );
        let (history, dropped) = record(&history, good("large"), MAX_KEPT_BYTES - 1);
        assert_eq!(dropped, ["v28", "v27"], "two are kept: {:?}", shown(&history));
        let (history, dropped) = record(&history, good("huge"), MAX_KEPT_BYTES + 1);
        assert!(dropped.is_empty(), "it is not kept");
        assert_eq!(history.target(None, "huge").unwrap().identity, "large");
    }

    #[test]
    fn a_record_has_the_digits_of_a_digest() {
        let digest = boson_oci::digest(b"component");
        let version = Version {
            digest: Some(&digest),
            ..good("a")
        };
        let history = History::default().with(version, "now");
        assert_eq!(history.revisions[0].digest.as_deref(), Some(digest.digest()));
    }

    #[test]
    fn names_of_copies_are_names_of_config_maps() {
        let identity = "0123456789abcdef0123";
        assert_eq!(copy_name("hook", identity, 2), "hook.0123456789abcdef-2");
        assert_eq!(copy_name(&"x".repeat(253), identity, 12).len(), MAX_NAME_LENGTH);
    }
}
