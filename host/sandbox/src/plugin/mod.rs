//! A plugin: a checked component, ready to be instantiated.

pub(crate) mod description;

use crate::error::{Error, ErrorKind};
use crate::limits::MAX_WRAPPERS;
use crate::limits::call_state::CallState;
use boson_document::{Tree, json};
use boson_oci::{Digest, short_digest};
use boson_pipeline::{Author, Installer, Stage};
use description::Description;
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::Span;
use wasmtime::component::InstancePre;

/// Origin of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ships with the host.
    BuiltIn(PathBuf),
    /// Named by the user.
    File(PathBuf),
    /// Handed over as bytes (a ConfigMap), with a name for messages.
    Bytes(String),
}

/// A plugin that can be called. Copies share the code.
#[derive(Clone)]
pub struct Plugin {
    pub stage: Stage,
    pub digest: Digest,
    /// Digest of the component with the answers to WASI, if it imports WASI: what runs.
    pub answered: Option<Digest>,
    pub source: Source,
    /// It calls the rule below it.
    pub wraps: bool,
    /// The instance groups that a wrapper is for; `None`: all.
    pub(crate) groups: Option<Arc<[String]>>,
    /// Settings for its calls, as JSON text.
    pub settings: String,
    /// Document that its settings come from, for diagnostics.
    pub(crate) settings_document: Option<String>,
    pub(crate) pre: InstancePre<CallState>,
    /// The rule that a wrapper calls.
    pub(crate) below: Option<Arc<Plugin>>,
    /// What `describe` has returned.
    pub(crate) description: Arc<OnceLock<Description>>,
    /// Its name in messages.
    pub(crate) name: String,
    /// Who installed it, if it does not ship with the host; `None`: the user of the command line.
    pub(crate) installer: Option<Installer>,
    /// The names by which permissions refer to it; empty: its name in messages.
    pub(crate) names: Vec<String>,
    /// How long its compilation took; `None` if its machine code existed.
    pub compiled: Option<Duration>,
}

// === impl Source ===

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(path) | Self::File(path) => path.display().fmt(f),
            Self::Bytes(name) => f.write_str(name),
        }
    }
}

// === impl Plugin ===

impl Plugin {
    /// Name for messages: the stage of a built-in, else the file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it does not ship with the host.
    pub fn is_foreign(&self) -> bool {
        !matches!(self.source, Source::BuiltIn(_))
    }

    /// Whether it, or what it wraps, does not ship with the host.
    pub(crate) fn is_any_foreign(&self) -> bool {
        self.chain().any(Self::is_foreign)
    }

    /// Its name in messages: its stage, or its name with the digest.
    pub fn called(&self) -> String {
        if self.is_foreign() {
            format!("plugin '{}', {}", self.name, short_digest(self.digest.as_ref()))
        } else {
            self.name.clone()
        }
    }

    /// The plugin, as permissions and messages name it.
    pub fn author(&self) -> Author {
        let installer = self.installer.clone().unwrap_or(Installer::CommandLine);
        let names = if self.names.is_empty() {
            vec![self.name.clone()]
        } else {
            self.names.clone()
        };
        Author {
            called: self.called(),
            names,
            installer: if self.is_foreign() {
                installer
            } else {
                Installer::BuiltIn
            },
        }
    }

    /// Under another name in messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// Sets the names by which permissions refer to it, instead of its name in messages.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Sets who installed it, if it does not ship with the host.
    #[must_use]
    pub fn with_installer(mut self, installer: Installer) -> Self {
        self.installer = Some(installer);
        self
    }

    /// Sets the settings for its calls, and the name of their document for diagnostics.
    #[must_use]
    pub fn with_settings(mut self, settings: &Tree, document: &str) -> Self {
        self.settings = json::to_text(settings);
        self.settings_document = Some(document.to_string());
        self
    }

    /// Restricts a wrapper of `render` or `bpm` to these instance groups.
    #[must_use]
    pub fn for_groups(mut self, groups: &[String]) -> Self {
        self.groups = Some(groups.into());
        self
    }

    /// The instance groups that a wrapper is for; `None`: all.
    pub fn groups(&self) -> Option<&[String]> {
        self.groups.as_deref()
    }

    /// This plugin without the wrappers that are for other instance groups. `group`: none for the deployment as a
    /// whole.
    pub(crate) fn serving(&self, group: Option<&str>) -> Cow<'_, Self> {
        let serves = |plugin: &&Self| {
            let has = |groups: &Arc<[String]>| group.is_some_and(|group| groups.iter().any(|one| one == group));
            plugin.groups.as_ref().is_none_or(has)
        };
        if self.chain().all(|plugin| serves(&plugin)) {
            return Cow::Borrowed(self);
        }
        let mut chain: Vec<&Self> = self.chain().filter(serves).collect();
        // A rule serves all groups, so only a wrapper without a rule has no plugin left.
        let Some(rule) = chain.pop() else {
            return Cow::Borrowed(self);
        };
        let wrap = |below: Self, wrapper: &Self| Self {
            below: Some(Arc::new(below)),
            ..wrapper.clone()
        };
        Cow::Owned(chain.into_iter().rev().fold(rule.clone(), wrap))
    }

    /// Puts a wrapper around a rule.
    ///
    /// # Errors
    /// There are too many wrappers around it.
    pub fn wrap(mut self, rule: Self) -> Result<Self, Error> {
        let wrappers = rule.chain().filter(|plugin| plugin.wraps).count();
        if wrappers >= MAX_WRAPPERS as usize {
            let message = format!("is one wrapper too many: a rule may have {MAX_WRAPPERS}");
            return Err(self.failure(ErrorKind::Refused, message));
        }
        self.below = Some(Arc::new(rule));
        Ok(self)
    }

    /// This plugin, the rule that it wraps, and so on.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |plugin| plugin.below.as_deref())
    }

    /// The span of a call. In the operator, it is within those of the stage and of the reconcile, which has the
    /// deployment.
    pub(crate) fn span(&self) -> Span {
        tracing::debug_span!("call", plugin = self.name(), digest = %short_digest(self.digest.as_ref()))
    }

    /// Bytes of its machine code.
    pub(crate) fn code_bytes(&self) -> u64 {
        let code = self.pre.component().image_range();
        (code.end as usize).saturating_sub(code.start as usize) as u64
    }

    /// A failure of this plugin, with its digest if it does not ship with the host.
    pub(crate) fn failure(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            digest: self.is_foreign().then(|| self.digest.clone()),
            ..Error::new(kind, &self.name, message)
        }
    }

    /// The failure of a reply that breaks the contract.
    pub(crate) fn malformed(&self, message: impl fmt::Display) -> Error {
        let message = format!("returned a reply that violates the contract: {message}");
        self.failure(ErrorKind::Malformed, message)
    }
}
