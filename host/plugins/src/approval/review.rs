//! Decides which loaded versions may be used. Pure.

use super::super::problem::PluginProblem;
use super::super::registry::{Entry, Good, Key, Pending, Registry, State};
use super::approved::Approved;
use super::version::digest;
use super::{PluginUpdates, gains};
use crate::codes;
use boson_api::ApprovedVersion;
use boson_pipeline::bundle::Permissions;
use boson_pipeline::{Author, Diagnostic, Installer};
use parking_lot::Mutex;

#[derive(Clone, Copy)]
pub struct Reviewer<'a> {
    pub updates: PluginUpdates,
    pub approved: &'a Mutex<Approved>,
    /// What the administrator allows plugins.
    pub permissions: &'a Permissions,
    pub operator_namespace: &'a str,
}

/// What a review of all plugins has changed.
#[derive(Debug, Default)]
pub struct Reviewed {
    /// The state of a plugin is another one.
    pub is_changed: bool,
    /// Plugins that are approved now, and must be loaded again.
    pub approved: Vec<Key>,
}

// === impl Reviewer ===

impl Reviewer<'_> {
    pub fn is_required(&self) -> bool {
        self.updates == PluginUpdates::Approve
    }

    pub fn is_ready(&self, watches: usize) -> bool {
        !self.is_required() || self.approved.lock().is_complete(watches)
    }

    /// Why a loaded version must not be used yet; none: it may.
    pub fn pending(&self, key: &Key, good: &Good) -> Option<Pending> {
        // A shadow has no effect.
        let is_free = !self.is_required() || good.document.is_shadow;
        if is_free || self.covers(key, &good.version) {
            None
        } else {
            Some(self.wait(key, &good.version))
        }
    }

    /// Applies the present approvals to all plugins. A version whose approval was revoked is no longer used, and one
    /// that waited is loaded again: nothing of it was kept.
    pub fn review(&self, registry: &mut Registry) -> Reviewed {
        let mut reviewed = Reviewed::default();
        if !self.is_required() {
            return reviewed;
        }
        for (key, entry) in &mut registry.entries {
            reviewed.is_changed |= self.revoke(key, entry);
            let State::Pending(pending) = &entry.state else {
                continue;
            };
            if self.covers(key, &pending.version) {
                reviewed.approved.push(key.clone());
                continue;
            }
            let now = self.wait(key, &pending.version);
            if now.problem != pending.problem {
                entry.state = State::Pending(Box::new(now));
                reviewed.is_changed = true;
            }
        }
        reviewed
    }

    /// Stops the use of a version that is no longer approved. True if it did.
    fn revoke(&self, key: &Key, entry: &mut Entry) -> bool {
        let pending = entry.good.as_ref().and_then(|good| self.pending(key, good));
        let Some(pending) = pending else { return false };
        tracing::warn!(plugin = %key, "the version in use is no longer approved");
        entry.good = None;
        if matches!(entry.state, State::Fine) {
            entry.state = State::Pending(Box::new(pending));
        }
        true
    }

    fn covers(&self, key: &Key, version: &ApprovedVersion) -> bool {
        gains::is_covered(self.approved.lock().of(key), version)
    }

    /// The state of a version that is not approved.
    fn wait(&self, key: &Key, version: &ApprovedVersion) -> Pending {
        let mut gains = gains::gains_over_closest(self.approved.lock().of(key), version).join("; ");
        let allowed = self.permissions.listed(&self.author(key, version));
        if !allowed.is_empty() {
            gains = format!("{gains}; it may use what is allowed to it: {}", allowed.join(", "));
        }
        let what = format!("this version waits for an approval; it gains {gains}");
        let approve = format!(
            "`host plugin approve {} --namespace {} --digest {}` approves it, with a permission for PluginApprovals",
            key.name,
            key.namespace,
            digest(version)
        );
        let error = Diagnostic::error(codes::PLUGIN_NOT_APPROVED, what).help(approve);
        let component = boson_oci::short_digest(&version.component);
        let name = format!("plugin '{}', {component} (ConfigMap '{key}')", version.name);
        Pending {
            problem: PluginProblem::one(&name, &error),
            version: version.clone(),
        }
    }

    fn author(&self, key: &Key, version: &ApprovedVersion) -> Author {
        Author {
            called: version.name.clone(),
            names: vec![version.name.clone()],
            installer: Installer::Namespace {
                name: key.namespace.clone(),
                is_of_operator: key.namespace == self.operator_namespace,
            },
        }
    }
}
