//! Reports diagnostics from the containers of a conversion job in the termination message, which the kubelet cuts. Each
//! is one line of JSON, so that a cut loses only the last one. The operator adds positions as for its own diagnostics.

use boson_pipeline::diagnostic::Related;
use boson_pipeline::{Diagnostic, Place, Severity};
use serde::{Deserialize, Serialize};

/// Maximum size of one message in bytes, for pods with any number of containers.
pub const MAX_MESSAGE_BYTES: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Errors first.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more did not fit.
    pub more: usize,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warning: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(flatten)]
    place: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
}

/// The message with these errors and warnings, of at most `limit` bytes.
pub fn to_message(diagnostics: &[Diagnostic], limit: usize) -> String {
    let mut all: Vec<&Diagnostic> = diagnostics
        .iter()
        .filter(|one| one.severity != Severity::Info)
        .collect();
    all.sort_by_key(|one| one.severity);
    let limit = limit.min(MAX_MESSAGE_BYTES);
    // For the line that counts the others.
    let available = limit.saturating_sub(r#"{"more":100000}"#.len() + 1);
    let (mut text, mut written) = (String::new(), 0);
    for one in &all {
        let line = json(&Line::from(*one));
        if text.len() + line.len() + 1 > available {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        written += 1;
    }
    if written == 0
        && let Some(first) = all.first()
    {
        text = shortened(first, available);
        written = 1;
    }
    if written < all.len() {
        text.push_str(&json(&Line {
            more: Some(all.len() - written),
            ..Line::default()
        }));
    }
    text
}

/// The report in a message; none if it has another format.
pub fn from_message(text: &str) -> Option<Report> {
    let mut report = Report::default();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str::<Line>(line) {
            Ok(Line { more: Some(more), .. }) => report.more += more,
            Ok(line @ Line { code: Some(_), .. }) => report.diagnostics.push(line.into()),
            // Cut in the middle.
            _ => report.more += 1,
        }
    }
    (!report.diagnostics.is_empty()).then_some(report)
}

/// The diagnostic without its help and related places, and as much of its message as fits.
fn shortened(one: &Diagnostic, available: usize) -> String {
    let mut one = one.clone();
    one.help = None;
    one.related = Vec::new();
    let mut keep = one.message.chars().count();
    loop {
        let text = json(&Line::from(&one)) + "\n";
        if text.len() <= available || keep == 0 {
            return text;
        }
        keep /= 2;
        one.message = one.message.chars().take(keep).chain(['…']).collect();
    }
}

fn json(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_default()
}

// === impl Line ===

impl From<&Diagnostic> for Line {
    fn from(one: &Diagnostic) -> Self {
        Self {
            code: Some(one.code.clone()),
            warning: !one.is_error(),
            message: one.message.clone(),
            place: one.place.clone(),
            help: one.help.clone(),
            plugin: one.plugin.clone(),
            related: one.related.clone(),
            more: None,
        }
    }
}

// === impl Diagnostic ===

impl From<Line> for Diagnostic {
    fn from(line: Line) -> Self {
        let code = line.code.unwrap_or_default();
        let mut one = if line.warning {
            Self::reported_warning(code, line.message)
        } else {
            Self::reported_error(code, line.message)
        };
        one.place = line.place;
        one.help = line.help;
        one.plugin = line.plugin;
        one.related = line.related;
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported() -> Vec<Diagnostic> {
        let related = Related {
            place: Place {
                document: Some("t.erb".into()),
                line: Some(2),
                ..Place::default()
            },
            message: "here, too".into(),
        };
        let info = Diagnostic {
            severity: Severity::Info,
            ..Diagnostic::reported_error("render-failed", "all once more")
        };
        [
            Diagnostic::reported_warning("a-b", "odd").in_document("m").at("/x"),
            info,
            Diagnostic::reported_error("c-d", "wrong\n\"so\"")
                .in_document("t.erb")
                .on_line(7, Some(2))
                .help("fix it"),
        ]
        .map(|one| Diagnostic {
            related: vec![related.clone()],
            ..one
        })
        .to_vec()
    }

    #[test]
    fn diagnostics_are_reported_with_their_position_errors_first() {
        let report = from_message(&to_message(&reported(), MAX_MESSAGE_BYTES)).unwrap();
        assert_eq!(report.diagnostics, [reported()[2].clone(), reported()[0].clone()]);
        assert_eq!(report.more, 0);
        assert_eq!(from_message("cp: no such file"), None);
        assert_eq!(to_message(&[], MAX_MESSAGE_BYTES), "");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let many: Vec<Diagnostic> = (0..100)
            .map(|nth| Diagnostic::reported_error("e-x", format!("number {nth} {}", "é".repeat(30))))
            .collect();
        for limit in [300, 1000, 9000] {
            let text = to_message(&many, limit);
            assert!(text.len() <= limit.min(MAX_MESSAGE_BYTES), "{}", text.len());
            let report = from_message(&text).unwrap();
            assert_eq!(report.diagnostics.len() + report.more, 100, "{limit}");
        }
        let long = [Diagnostic::reported_error("e-x", "ä".repeat(9000)).help("h".repeat(9000))];
        let text = to_message(&long, 400);
        assert!(text.len() <= 400);
        let report = from_message(&text).unwrap();
        assert!(report.diagnostics[0].message.starts_with("ää") && report.diagnostics[0].message.ends_with('…'));
    }

    #[test]
    fn a_cut_costs_the_last_line_only() {
        let text = to_message(&reported(), MAX_MESSAGE_BYTES);
        let report = from_message(&text[..text.len() - 10]).unwrap();
        assert_eq!((report.diagnostics.len(), report.more), (1, 1));
    }
}
