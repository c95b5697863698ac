//! What a shadow plugin would change: a report of limited size, without values.

use crate::changes::{Change, additions, changes};
use crate::diagnostic::Diagnostic;
use crate::difference::differences;
use boson_document::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Places of a report; more are counted.
pub const MAX_PLACES: usize = 20;
/// Codes and gains of a report.
const MAX_NAMES: usize = 10;
const MAX_PLACE_CHARS: usize = 160;
/// Code of calls that were not made: the plugin has used what it may use, or others hold the memory.
const CALL_NOT_MADE_CODE: &str = "conversion-out-of-fuel";
/// Codes of failures after which no further call is made.
const EXHAUSTED_CODES: [&str; 3] = ["plugin-deadline", "plugin-out-of-fuel", "plugin-over-memory"];

/// What a shadow plugin would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls whose reply is the same.
    pub same: u32,
    /// Calls whose reply differs.
    pub different: u32,
    /// Calls without a reply.
    pub failed: u32,
    /// Calls that were not made: the plugin had used up its fuel, time or memory, or others held the memory.
    pub skipped: u32,
    /// Places that differ: `ConfigMap/nats /data/a`, without values.
    pub places: BTreeSet<String>,
    /// Places that are not listed.
    pub more: u32,
    /// Kinds of objects and privileges of pods that only the shadow has.
    pub gained: BTreeSet<String>,
    /// Why calls failed: codes of errors, and how often.
    pub codes: BTreeMap<String, u32>,
    /// No further call is made.
    pub(super) exhausted: bool,
}

// === impl Report ===

impl Report {
    /// Whether all replies were the same.
    pub fn agrees(&self) -> bool {
        self.different == 0 && self.failed == 0 && self.skipped == 0
    }

    /// The report as a sentence.
    pub fn text(&self) -> String {
        let calls = self.same + self.different + self.failed + self.skipped;
        if self.agrees() {
            return format!("no difference in {calls} calls");
        }
        let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<String>>().join(", ");
        let mut parts = Vec::new();
        if self.different > 0 {
            let more = if self.more > 0 {
                format!(" and {} more", self.more)
            } else {
                String::new()
            };
            let places = list(&mut self.places.iter().cloned());
            parts.push(format!("{} of {calls} calls differ: {places}{more}", self.different));
        }
        if self.failed > 0 {
            let codes = list(&mut self.codes.iter().map(|(code, count)| format!("{code} ({count})")));
            parts.push(format!("{} of {calls} calls failed: {codes}", self.failed));
        }
        if self.skipped > 0 {
            parts.push(format!(
                "{} calls were not made, because it had used up its limits, or the operator has too little memory",
                self.skipped
            ));
        }
        if !self.gained.is_empty() {
            parts.push(format!("it gains {}", list(&mut self.gained.iter().cloned())));
        }
        parts.join("; ")
    }

    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// Counts a call with a reply, which `compare` compares.
    pub(super) fn compared(&mut self, compare: impl FnOnce(&mut Self)) {
        let mut one = Self::default();
        compare(&mut one);
        let differs = !one.places.is_empty() || one.more > 0;
        for place in one.places {
            self.place(&place);
        }
        self.more += one.more;
        for gain in one.gained {
            if self.gained.len() < MAX_NAMES {
                self.gained.insert(gain);
            }
        }
        if differs { self.different += 1 } else { self.same += 1 }
    }

    pub(super) fn failed(&mut self, diagnostics: &[Diagnostic]) {
        let error = diagnostics.iter().find(|one| one.is_error());
        let code = error.map_or("", |error| error.code.as_str());
        if code == CALL_NOT_MADE_CODE {
            self.exhausted = true;
            return self.skip();
        }
        self.failed += 1;
        self.exhausted |= EXHAUSTED_CODES.contains(&code);
        if self.codes.len() < MAX_NAMES || self.codes.contains_key(code) {
            *self.codes.entry(short(code)).or_default() += 1;
        }
    }

    pub(super) fn place(&mut self, place: &str) {
        let place = short(place);
        if self.places.contains(&place) {
            return;
        }
        if self.places.len() < MAX_PLACES {
            self.places.insert(place);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn documents(&mut self, name: &str, old: &Tree, new: &Tree) {
        for one in differences(old, new) {
            self.place(&format!("{name} {}", one.pointer));
        }
    }

    /// Compares two sets of objects.
    pub(super) fn objects(&mut self, old: &[Tree], new: &[Tree]) {
        for one in changes(old, new) {
            match one.change {
                Change::Added => self.place(&format!("{} added", one.object)),
                Change::Removed => self.place(&format!("{} removed", one.object)),
                Change::Fields(fields) => {
                    let place = |field| format!("{} {field}", one.object);
                    fields.iter().for_each(|field| self.place(&place(&field.pointer)));
                }
            }
        }
        self.gained
            .extend(additions(old, new).into_iter().take(MAX_NAMES).map(|gain| short(&gain)));
    }

    /// Compares what two checks find, by codes and places.
    pub(super) fn findings(&mut self, old: &[Diagnostic], new: &[Diagnostic]) {
        let key = |one: &Diagnostic| {
            let pointer = one.place.pointer.as_deref().unwrap_or_default();
            format!(
                "{} {}{pointer}",
                one.code,
                one.place.document.as_deref().unwrap_or_default()
            )
        };
        let (old, new): (BTreeSet<String>, BTreeSet<String>) =
            (old.iter().map(key).collect(), new.iter().map(key).collect());
        for found in new.difference(&old) {
            self.place(&format!("also reports {}", found.trim_end()));
        }
        for missing in old.difference(&new) {
            self.place(&format!("does not report {}", missing.trim_end()));
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_PLACE_CHARS).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn objects(texts: &[&str]) -> Vec<Tree> {
        texts.iter().map(|text| parse(text).unwrap()).collect()
    }

    #[test]
    fn a_report_has_places_and_gains_and_no_values() {
        let old = objects(&[r#"{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"secret"}}"#]);
        let new = objects(&[
            r#"{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"secrets"}}"#,
            r#"{"kind":"Service","metadata":{"name":"b"}}"#,
        ]);
        let mut report = Report::default();
        report.compared(|report| report.objects(&old, &new));
        report.compared(|report| report.objects(&old, &old));
        let wanted = "1 of 2 calls differ: ConfigMap/a /data/x, Service/b added; it gains objects of the kind Service";
        assert_eq!(report.text(), wanted);
        assert!(!report.agrees());
        let mut same = Report::default();
        same.compared(|report| report.documents("manifest", &old[0], &old[0]));
        assert!(same.agrees() && same.text() == "no difference in 1 calls");
    }

    #[test]
    fn a_report_is_bounded() {
        let many: Tree = (0..10_000).map(|nth| (format!("key{nth}"), Tree::Null)).collect();
        let mut report = Report::default();
        for _ in 0..3 {
            report.compared(|report| report.documents("manifest", &Tree::object(), &many));
            report.compared(|report| report.place(&"x".repeat(10_000)));
        }
        assert_eq!(report.places.len(), MAX_PLACES);
        assert!(report.more > 9_000 && report.text().len() < 5_000, "{}", report.text());
    }

    #[test]
    fn a_plugin_that_has_used_up_its_limits_is_not_called_again() {
        let mut report = Report::default();
        report.failed(&[Diagnostic::reported_error("plugin-trapped", "no")]);
        assert!(!report.exhausted);
        report.failed(&[Diagnostic::reported_error("plugin-deadline", "no")]);
        assert!(report.exhausted);
        report.skip();
        let wanted = "2 of 3 calls failed: plugin-deadline (1), plugin-trapped (1); 1 calls were not made, because it had used up its limits, or the operator has too little memory";
        assert_eq!(report.text(), wanted);
    }
}
