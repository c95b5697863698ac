//! Shadow plugins: they get the same calls as the plugins in use, and only the difference of their replies is reported.
//!
//! # Guarantees
//! The reply of a call is always that of the plugin in use, whatever a shadow does. A shadow is called after it, and
//! not if it failed. Reports have names and places, no values, and a limited size.

mod edited;
mod report;

pub use report::{MAX_PLACES, Report};

use crate::diagnostic::Diagnostic;
use crate::schema::SettingsError;
use crate::stage::{Answer, Call, PluginInfo, PluginRef, Reply, SharedStages, Stage, StageError, Stages};
use boson_document::Tree;
use edited::Edited;
use parking_lot::Mutex;
use std::sync::Arc;

/// A plugin that runs beside those in use.
pub struct Shadow {
    pub stage: Stage,
    pub name: String,
    /// sha256 of its component.
    pub digest: String,
    /// `resources` and `checks`: the plugin in use that it would replace; none: it would be the last.
    pub nth: Option<usize>,
    /// Its stage, with limits of its own. Of `resources` and `checks`, it is the only plugin.
    pub stages: SharedStages,
    report: Mutex<Report>,
}

/// Stages with plugins that run beside those in use.
pub struct Shadowed {
    inner: SharedStages,
    shadows: Arc<[Shadow]>,
}

// === impl Shadow ===

impl Shadow {
    /// A plugin that has not been called yet.
    pub fn new(stage: Stage, name: &str, digest: &str, nth: Option<usize>, stages: SharedStages) -> Self {
        Self {
            stage,
            name: name.to_string(),
            digest: digest.to_string(),
            nth,
            stages,
            report: Mutex::default(),
        }
    }

    /// The differences so far.
    pub fn report(&self) -> Report {
        self.report.lock().clone()
    }

    /// Makes the call, too, and compares the answers.
    fn call(&self, call: Call<'_>, old: &Compared<'_>) {
        let mut report = self.report.lock();
        if report.exhausted {
            return report.skip();
        }
        // Calls of other threads must not wait for this one.
        drop(report);
        let reply = self.stages.call(call.of_only());
        let new = Compared::of(call, &reply);
        report = self.report.lock();
        match new {
            Ok(new) => report.compared(|report| old.compare(&new, call, report)),
            Err(error) => report.failed(&Vec::from(error)),
        }
    }
}

/// What of a reply is compared.
enum Compared<'r> {
    Answer(&'r Answer),
    /// The objects that edits change.
    Edited(Edited),
    /// What a check reports is its reply, also if it is an error.
    Reported(&'r [Diagnostic]),
}

// === impl Compared ===

impl<'r> Compared<'r> {
    /// # Errors
    /// The plugin failed, or its edits do not apply.
    fn of(call: Call<'_>, reply: &'r Reply<Answer>) -> Result<Self, StageError> {
        match (call, reply) {
            (Call::Check(_), Ok((_, reported)) | Err(StageError::Input(reported))) => Ok(Self::Reported(reported)),
            (Call::Transform(hook), Ok((Answer::Edits(edits), _))) => {
                let edited = edited::edited(hook.view.objects, edits.clone());
                edited.map(Self::Edited).map_err(|error| StageError::Input(vec![error]))
            }
            (_, Ok((answer, _))) => Ok(Self::Answer(answer)),
            (_, Err(error)) => Err(error.clone()),
        }
    }

    fn compare(&self, new: &Self, call: Call<'_>, report: &mut Report) {
        match (self, new) {
            (Self::Answer(old), Self::Answer(new)) => compare(old, new, report),
            (Self::Edited(old), Self::Edited(new)) => {
                let objects = call.view().map_or(&[][..], |view| view.objects);
                let (old, new) = edited::both(objects, old, new);
                report.objects(&old, &new);
            }
            (Self::Reported(old), Self::Reported(new)) => report.findings(old, new),
            _ => {}
        }
    }
}

fn compare(old: &Answer, new: &Answer, report: &mut Report) {
    match (old, new) {
        (Answer::Applied(old), Answer::Applied(new)) => report.documents("manifest", &old.document, &new.document),
        (Answer::Interpolated(old), Answer::Interpolated(new)) => {
            report.documents("manifest", &old.document, &new.document);
        }
        (Answer::Resolved(old), Answer::Resolved(new)) => {
            // The host has checked that both have the groups of the manifest.
            for (old, new) in old.groups.iter().zip(&new.groups) {
                let group = format!("instance group '{}'", old.name);
                report.documents(&group, &old.document, &new.document);
            }
        }
        (Answer::Rendered(old), Answer::Rendered(new)) => {
            let both = old.iter().zip(new);
            both.filter(|(old, new)| old.content != new.content)
                .for_each(|(old, _)| report.place(&format!("template '{}'", old.name)));
        }
        (Answer::Objects(old), Answer::Objects(new)) => report.objects(old, new),
        _ => {}
    }
}

// === impl Shadowed ===

impl Shadowed {
    /// These stages, with plugins that run beside them.
    pub fn new(inner: SharedStages, shadows: Arc<[Shadow]>) -> Self {
        Self { inner, shadows }
    }

    /// Those that get this call, too. Those that replace no plugin run after the last one.
    fn shadows_of(&self, call: Call<'_>) -> Vec<&Shadow> {
        let nth = match call {
            Call::Find { .. } | Call::Plan { .. } | Call::Addresses(_) => return Vec::new(),
            Call::Transform(hook) | Call::Check(hook) => Some(hook.nth),
            _ => None,
        };
        let is_beside = |shadow: &&Shadow| {
            shadow.stage == call.stage()
                && (nth.is_none() || shadow.nth == nth.filter(|_| self.inner.info(call.plugin()).is_some()))
        };
        self.shadows.iter().filter(is_beside).collect()
    }
}

impl Stages for Shadowed {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        let reply = self.inner.call(call);
        let shadows = self.shadows_of(call);
        if !shadows.is_empty()
            && let Ok(old) = Compared::of(call, &reply)
        {
            shadows.into_iter().for_each(|shadow| shadow.call(call, &old));
        }
        reply
    }

    fn info(&self, plugin: PluginRef<'_>) -> Option<PluginInfo> {
        let stage = plugin.stage();
        let is_new = |shadow: &Shadow| shadow.stage == stage && shadow.nth.is_none();
        let is_additional = || plugin == self.inner.end(stage) && self.shadows.iter().any(is_new);
        let info = self.inner.info(plugin);
        info.or_else(|| is_additional().then(|| PluginInfo::built_in(stage)))
    }

    fn spent_here(&self) -> u64 {
        self.inner.spent_here()
    }

    fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String> {
        self.inner.check_properties(schema, properties)
    }
}
