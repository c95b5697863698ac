//! Pre-render scripts of a job (`quarks.pre_render_scripts`): their kinds, and where a pod has them as files.

use boson_document::Tree;

/// Directory below that of the job sources with the scripts of each job.
pub const DIRECTORY: &str = "pre-render";

/// What a script is meant to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The template of bpm.yml.
    Bpm,
    /// `job.MF`.
    IgResolver,
    /// Any template.
    Jobs,
}

/// In the order in which they run, which is the predecessor's.
pub const KINDS: [Kind; 3] = [Kind::Bpm, Kind::IgResolver, Kind::Jobs];

// === impl Kind ===

impl Kind {
    /// The key of its list.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpm => "bpm",
            Self::IgResolver => "ig_resolver",
            Self::Jobs => "jobs",
        }
    }
}

/// The scripts of a job of a resolved group, in the order in which they run: names of files, which sort in this order,
/// and texts.
pub fn scripts(job: &Tree) -> Vec<(String, &str)> {
    let Some(given) = job.find(&["properties", "quarks", "pre_render_scripts"]) else {
        return Vec::new();
    };
    let all = KINDS.iter().flat_map(|kind| {
        let texts = given.texts(kind.name());
        texts.enumerate().map(|(nth, text)| (*kind, nth, text))
    });
    all.enumerate()
        .map(|(place, (kind, nth, text))| (format!("{place:04}-{}-{nth}", kind.name()), text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn scripts_are_in_the_order_in_which_they_run() {
        let job = r#"{"properties": {"quarks": {"pre_render_scripts": {"jobs": ["c", "d"], "ig_resolver": ["b"], "bpm": ["a"]}}}}"#;
        let job = json::parse(job).unwrap_or_default();
        let found = scripts(&job);
        let found: Vec<String> = found.iter().map(|(name, text)| format!("{name}={text}")).collect();
        assert_eq!(
            found,
            ["0000-bpm-0=a", "0001-ig_resolver-0=b", "0002-jobs-0=c", "0003-jobs-1=d"]
        );
        assert!(scripts(&Tree::object()).is_empty());
    }
}
