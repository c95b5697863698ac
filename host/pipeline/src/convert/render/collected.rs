//! All errors of rendering as one text, nested as BOSH's director prints it.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::Job;

/// Errors of the templates of one job.
pub struct JobErrors<'a> {
    pub job: &'a Job,
    /// Result of [`super::filling::fill`].
    pub errors: Vec<&'a Diagnostic>,
}

/// The errors of a deployment, from the texts of its [groups](group).
pub fn note_of_deployment(groups: &[String]) -> Diagnostic {
    let groups = groups.iter().cloned();
    note(list("Unable to render instance groups for deployment.", groups))
}

/// The errors of one group, from its [text](group).
pub fn note_of_group(text: &str) -> Diagnostic {
    note(text.to_string())
}

pub fn of_job(failed: &JobErrors<'_>) -> Diagnostic {
    note(job(failed))
}

/// Creates a note, because each error has its own diagnostic.
fn note(text: String) -> Diagnostic {
    Diagnostic::info(codes::RENDER_FAILED, text.strip_prefix("- ").unwrap_or(&text))
}

/// The errors of the group of this name, as one entry of the director's list.
pub fn group(name: &str, failed: &[JobErrors<'_>]) -> String {
    let header = format!("- Unable to render jobs for instance group '{name}'.");
    list(&header, failed.iter().map(job))
}

/// BOSH lists `monit` not among the templates of its job but on the level of the jobs.
fn job(failed: &JobErrors<'_>) -> String {
    let document = Some(&failed.job.monit_document);
    let (monit, others): (Vec<&Diagnostic>, Vec<_>) = failed
        .errors
        .iter()
        .partition(|reported| reported.place.document.as_ref() == document);
    let mut texts: Vec<String> = monit.iter().map(|reported| reported.message.clone()).collect();
    if !others.is_empty() {
        let header = format!("- Unable to render templates for job '{}'.", failed.job.name);
        texts.push(list(
            &header,
            others.iter().map(|reported| format!("- {}", reported.message)),
        ));
    }
    texts.join("\n")
}

/// A header with everything below it indented.
fn list(header: &str, entries: impl Iterator<Item = String>) -> String {
    let mut text = format!("{header} Errors are:");
    for line in entries.collect::<Vec<_>>().join("\n").lines() {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn job_named(name: &str) -> Job {
        Job {
            name: name.into(),
            spec: yaml::read("spec", "name: x").unwrap(),
            templates: Vec::new(),
            monit: None,
            monit_document: format!("{name}/monit"),
            properties_schema: None,
        }
    }

    #[test]
    fn errors_nest_as_the_director_prints_them() {
        let (app, queue) = (job_named("app"), job_named("queue"));
        let filling = |text: &str, document: &str| Diagnostic::reported_error("x", text).in_document(document);
        let errors = [
            filling(
                "Error filling in template 'app.yml.erb' (line 7: Can't find property '[\"app.port\"]')",
                "app.yml.erb",
            ),
            filling(
                "Error filling in template 'bpm.yml.erb' (line (unknown): two\nlines)",
                "bpm.yml.erb",
            ),
            filling("Error filling in template 'monit' (line 1: no)", "queue/monit"),
        ];
        let failed = [
            JobErrors {
                job: &app,
                errors: vec![&errors[0], &errors[1]],
            },
            JobErrors {
                job: &queue,
                errors: vec![&errors[2]],
            },
            JobErrors {
                job: &app,
                errors: vec![&errors[0]],
            },
        ];
        let text = note_of_deployment(&[group("web", &failed[..2]), group("other", &failed[2..])]).message;
        assert_eq!(
            text,
            "Unable to render instance groups for deployment. Errors are:
  - Unable to render jobs for instance group 'web'. Errors are:
    - Unable to render templates for job 'app'. Errors are:
      - Error filling in template 'app.yml.erb' (line 7: Can't find property '[\"app.port\"]')
      - Error filling in template 'bpm.yml.erb' (line (unknown): two
      lines)
    Error filling in template 'monit' (line 1: no)
  - Unable to render jobs for instance group 'other'. Errors are:
    - Unable to render templates for job 'app'. Errors are:
      - Error filling in template 'app.yml.erb' (line 7: Can't find property '[\"app.port\"]')"
        );
        assert!(
            note_of_group(&group("web", &failed[..1]))
                .message
                .starts_with("Unable to render jobs for instance group 'web'.")
        );
        assert!(
            of_job(&failed[0])
                .message
                .starts_with("Unable to render templates for job 'app'.")
        );
    }
}
