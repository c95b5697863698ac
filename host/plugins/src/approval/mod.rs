//! Approval of updates: with [`PluginUpdates::Approve`], a version of a plugin is used only if an approved one covers
//! it.
//!
//! The approvals are PluginApprovals, not data of the plugin's ConfigMap: who may write ConfigMaps must not be able to
//! approve. The operator only reads them.
//!
//! ```text
//! watch of PluginApprovals -> approved -> review (in the worker): gains (pure) -> pending, or in use
//! plugin.yaml -> version (pure) -> approve (with the user's permissions) -> PluginApproval
//! ```

mod approve;
mod approved;
mod gains;
mod review;
mod version;

#[cfg(test)]
mod tests;

pub use approve::{Approval, ApprovalError, Approving, approve};
pub(super) use approved::Approved;
pub(super) use review::Reviewer;
pub(super) use version::version;

use clap::ValueEnum;

/// What happens with new versions of plugins from ConfigMaps. The comments are the help of its option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PluginUpdates {
    /// They are used as soon as they are loaded
    #[default]
    Automatic,
    /// A version that gains something is used when a PluginApproval covers it: see the command `plugin approve`
    Approve,
}
