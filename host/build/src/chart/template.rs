//! Turns the text of a manifest into a template: the namespaces become Helm's, and a condition encloses the objects.

use anyhow::{Result, ensure};

use super::deploy::Part;

/// The operator's namespace in `deploy/`, and the one that it serves.
const SYSTEM: &str = "boson-system";
const SERVED: &str = "  namespace: default";

/// The template of a manifest.
pub(super) fn of(text: &str, part: &Part) -> Result<String> {
    let mut out = String::new();
    for line in text.lines() {
        if !line.trim_start().starts_with('#') {
            out.push_str(&renamed(line, part.each)?);
        } else {
            ensure!(!line.contains("{{"), "a comment would be a template: {line}");
            out.push_str(line);
        }
        out.push('\n');
    }
    if part.each {
        out = format!("{{{{- range .Values.namespaces }}}}\n---\n{out}{{{{- end }}}}\n");
    }
    if !part.when.is_empty() {
        out = format!("{{{{- if {} }}}}\n{out}{{{{- end }}}}\n", part.when);
    }
    Ok(out)
}

/// A line with the namespaces of the release and of the value. Names of namespaces may be numbers, so they are quoted.
fn renamed(line: &str, each: bool) -> Result<String> {
    let line = line
        .replace(&format!("boson.{SYSTEM}"), "boson.{{ $.Release.Namespace }}")
        .replace(SYSTEM, "{{ $.Release.Namespace | quote }}");
    if line != SERVED {
        return Ok(line);
    }
    ensure!(
        each,
        "an object of a namespace that is served, outside of deploy/namespace"
    );
    Ok("  namespace: {{ . | quote }}".into())
}
