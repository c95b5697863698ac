//! How much memory releases use, and the limits: for one while it is read, and for all of a deployment together.

use super::Release;
use crate::diagnostic::Diagnostic;
use crate::listing::first_of;
use crate::quantities::MIB;
use crate::release::codes;
use crate::yaml;

/// Limit on the memory of one release, in bytes.
pub(super) const MAX_RELEASE_BYTES: u64 = 96 * MIB;
/// Number of releases that an error names.
const MAX_NAMED_RELEASES: usize = 5;

// === impl Release ===

impl Release {
    /// Upper estimate of its memory in bytes.
    pub fn weight(&self) -> u64 {
        let jobs = self.jobs.iter().map(|job| {
            let texts = job.templates.iter().map(|file| file.text.len());
            let texts = texts.sum::<usize>() + job.monit.as_ref().map_or(0, String::len);
            of_text(texts) + yaml::weight(job.spec.text.as_bytes())
        });
        jobs.sum()
    }
}

/// Memory of a template, in bytes: stored twice, for rendering and for messages.
pub(super) fn of_text(bytes: usize) -> u64 {
    2 * bytes as u64
}

/// Refuses releases that use more than `most` bytes of memory together.
///
/// # Errors
/// `release-total-too-large`, with the largest of them.
pub fn check_all(releases: &[Release], most: u64) -> Result<(), Diagnostic> {
    let mut weights: Vec<(u64, &str)> = releases.iter().map(|one| (one.weight(), one.name.as_str())).collect();
    let sum: u64 = weights.iter().map(|(weight, _)| weight).sum();
    if sum <= most {
        return Ok(());
    }
    weights.sort_by(|a, b| b.cmp(a));
    let named = |(weight, name): &(u64, &str)| format!("'{name}' {} MiB", weight.div_ceil(MIB));
    let named: Vec<String> = weights.iter().map(named).collect();
    let message = format!(
        "The jobs of the releases take {} MiB of memory, and may take {} MiB: {}",
        sum.div_ceil(MIB),
        most / MIB,
        first_of(&named, MAX_NAMED_RELEASES, ", ")
    );
    Err(Diagnostic::error(codes::RELEASE_TOTAL_TOO_LARGE, message).help("move large files from jobs into packages"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Job, TemplateFile};

    fn release(name: &str, bytes: usize) -> Release {
        let template = TemplateFile {
            source: "a".into(),
            destination: "a".into(),
            text: "x".repeat(bytes),
            document_name: "a".into(),
            executable: false,
        };
        Release {
            name: name.into(),
            version: None,
            jobs: vec![Job {
                name: "job".into(),
                spec: yaml::read("spec", "name: job\n").unwrap(),
                templates: vec![template],
                monit: None,
                monit_document: String::new(),
                properties_schema: None,
            }],
            source: String::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn releases_that_use_too_much_memory_together_are_named_the_largest_first() {
        let releases = [
            release("small", 10),
            release("large", 3 << 20),
            release("middle", 1 << 20),
        ];
        assert_eq!(check_all(&releases, 16 * MIB), Ok(()));
        let error = check_all(&releases, 4 * MIB).unwrap_err();
        assert_eq!(error.code, "release-total-too-large");
        let (large, middle) = (
            error.message.find("'large' 7 MiB"),
            error.message.find("'middle' 3 MiB"),
        );
        assert!(large.is_some() && large < middle, "{}", error.message);
    }
}
