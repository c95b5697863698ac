//! Checks of a job's `spec` (or `job.MF`) that a director performs when a release is uploaded, in its words; all of
//! them at once.

use super::error_at;
use crate::diagnostic::Diagnostic;
use crate::release::codes;
use boson_document::ruby::given;
use boson_document::{Code, Pointer, Tree};
use boson_manifest::spec::links;
use std::collections::HashSet;

pub fn check(job: &str, spec: &Tree, document: &str) -> Vec<Diagnostic> {
    let mut check = Check {
        job,
        document,
        found: Vec::new(),
    };
    if spec.as_object().is_none() {
        let message = format!("Job '{job}' has invalid spec format: expected a map");
        check.add_error(codes::RELEASE_JOB_SPEC, Pointer::root(), message);
        return check.found;
    }
    check.kinds(spec);
    check.links(spec, "provides");
    check.links(spec, "consumes");
    check.found
}

/// The text of a string, number or boolean as Ruby's `to_s` gives it.
pub fn text(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) => Some(number.text().to_owned()),
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Null | Tree::Array(_) | Tree::Object(_) => None,
    }
}

struct Check<'a> {
    job: &'a str,
    document: &'a str,
    found: Vec<Diagnostic>,
}

// === impl Check ===

impl Check<'_> {
    fn add_error(&mut self, code: &Code, at: Pointer, message: String) {
        self.found.push(error_at(code, self.document, &at, message));
    }

    fn kinds(&mut self, spec: &Tree) {
        let job = self.job;
        for (key, word) in [
            ("templates", "templates"),
            ("logs", "logs"),
            ("properties", "properties"),
            ("packages", "package"),
        ] {
            let fits = |value: &Tree| {
                if key == "packages" {
                    value.as_array().is_some()
                } else {
                    value.as_object().is_some()
                }
            };
            if given(spec, key).is_some_and(|value| !fits(value)) {
                let message = format!("Job '{job}' has invalid {word} spec format");
                self.add_error(codes::RELEASE_JOB_SPEC, Pointer::root().at(key), message);
            }
        }
    }

    fn links(&mut self, spec: &Tree, section: &str) {
        let job = self.job;
        let mut names = HashSet::new();
        for (at, link) in links(job, spec, section) {
            match link {
                Ok(link) => {
                    let member = |key: &str| link.get(key).and_then(text).unwrap_or_default();
                    let (name, kind) = (member("name"), member("type"));
                    if section == "provides" && link.contains_key("optional") {
                        let message = format!(
                            "Link '{name}' of type '{kind}' is a provides link, not allowed to have 'optional' key"
                        );
                        self.add_error(codes::RELEASE_JOB_LINK, at.at("optional"), message);
                    }
                    let message = format!("Job '{job}' specifies duplicate {section} link with name '{name}'");
                    if !names.insert(name) {
                        self.add_error(codes::RELEASE_JOB_LINK, at.at("name"), message);
                    }
                }
                Err(why) => self.add_error(codes::RELEASE_JOB_LINK, at, why),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn messages(spec: &str) -> Vec<(String, String)> {
        let found = check("j", &parse(spec).unwrap(), "r/jobs/j/spec");
        assert!(
            found
                .iter()
                .all(|d| d.place.document.as_deref() == Some("r/jobs/j/spec"))
        );
        found
            .into_iter()
            .map(|d| (d.place.pointer.unwrap_or_default(), d.message))
            .collect()
    }

    #[test]
    fn a_good_spec_passes() {
        for spec in [
            "{}",
            r#"{"templates":null,"logs":false,"properties":null,"packages":null,"provides":null,"consumes":[]}"#,
            r#"{"templates":{"a":"b"},"properties":{"a.b":{}},"packages":["p"],"provides":[{"name":"a","type":"b"}],
                "consumes":[{"name":"a","type":"b","optional":true}],"typo":1}"#,
        ] {
            assert_eq!(messages(spec), [], "{spec}");
        }
    }

    #[test]
    fn errors_are_in_the_director_s_words() {
        let table = [
            ("[]", "", "Job 'j' has invalid spec format: expected a map"),
            (r#"{"logs":[]}"#, "/logs", "Job 'j' has invalid logs spec format"),
            (
                r#"{"properties":[]}"#,
                "/properties",
                "Job 'j' has invalid properties spec format",
            ),
            (
                r#"{"packages":{}}"#,
                "/packages",
                "Job 'j' has invalid package spec format",
            ),
            (
                r#"{"templates":[]}"#,
                "/templates",
                "Job 'j' has invalid templates spec format",
            ),
            (
                r#"{"provides":{}}"#,
                "/provides",
                "Job 'j' has invalid spec format: 'provides' must be an array of hashes with name and type",
            ),
            (
                r#"{"consumes":"x"}"#,
                "/consumes",
                "Job 'j' has invalid spec format: 'consumes' must be an array of hashes with name and type",
            ),
            (
                r#"{"provides":["x"]}"#,
                "/provides/0",
                "Provides section in the release spec must be a list of hashes",
            ),
            (
                r#"{"consumes":[1]}"#,
                "/consumes/0",
                "Consumes section in the release spec must be a list of hashes",
            ),
            (
                r#"{"provides":[{"name":"a"}]}"#,
                "/provides/0",
                "Each provides item in the provides section of the release spec must contain 'name' and 'type'",
            ),
            (
                r#"{"consumes":[{"type":"a"}]}"#,
                "/consumes/0",
                "Each consumes item in the consumes section of the release spec must contain 'name' and 'type'",
            ),
            (
                r#"{"provides":[{"name":"a","type":"t","optional":false}]}"#,
                "/provides/0/optional",
                "Link 'a' of type 't' is a provides link, not allowed to have 'optional' key",
            ),
            (
                r#"{"provides":[{"name":"a","type":"t"},{"name":"a","type":"u"}]}"#,
                "/provides/1/name",
                "Job 'j' specifies duplicate provides link with name 'a'",
            ),
            (
                r#"{"consumes":[{"name":"a","type":"t"},{"name":"a","type":"u"}]}"#,
                "/consumes/1/name",
                "Job 'j' specifies duplicate consumes link with name 'a'",
            ),
        ];
        for (spec, pointer, message) in table {
            assert_eq!(messages(spec), [(pointer.to_owned(), message.to_owned())], "{spec}");
        }
    }

    #[test]
    fn all_errors_come_at_once() {
        assert_eq!(
            messages(r#"{"logs":1,"packages":1,"provides":[1,2],"consumes":1}"#).len(),
            5
        );
    }
}
