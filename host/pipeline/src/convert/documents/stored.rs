//! The results that one step of a conversion stores for the next: texts by key, each the data of a Secret. Both the
//! operator and its pods write and read them here, so it does not matter which of them did a step.

use super::foreign::foreign_error;
use super::job_sources::{self, Remaining};
use crate::convert::instance_files::{InstanceDigests, digests};
use crate::convert::render::{Origin, RenderError, render};
use crate::convert::{bpm_document, providers_document};
use crate::diagnostic::Diagnostic;
use crate::plain::resolved;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{External, JobFiles, Provider, ResolvedGroup, Stages};
use crate::{encoding, external, yaml};
use boson_document::Tree;
use std::collections::BTreeMap;
use std::slice;

/// Key of a manifest.
pub const MANIFEST: &str = "manifest.yaml";
/// Key of the manifest from before a pause, beside one that waits for its end.
pub const BEFORE_PAUSE: &str = "manifest-before-pause.yaml";
/// Key of what differs between the two, as `bosh deploy` shows it.
pub const CHANGES: &str = "changes";
/// Key of a group's resolved document.
pub const RESOLVED: &str = resolved::KEY;
/// Key of the links that a deployment provides.
pub const PROVIDERS: &str = "providers.yaml";
/// Key of the links from outside of a deployment.
pub const EXTERNAL: &str = "external-links.yaml";
/// Key of a group's rendered bpm.
pub const BPM: &str = "bpm.yaml";

/// Texts by key.
pub type Texts = BTreeMap<String, String>;

/// A manifest, with its ops applied or with its values.
pub fn manifest(document: &Tree) -> Texts {
    [(MANIFEST.to_string(), text(document))].into()
}

/// A group's resolved document.
pub fn resolved(group: &ResolvedGroup) -> Texts {
    resolved::entries(group).into_iter().collect()
}

/// The links that a deployment provides.
pub fn providers(providers: &[Provider]) -> Texts {
    let document = providers_document::write(providers);
    [(PROVIDERS.to_string(), text(&document))].into()
}

/// The links from outside of a deployment.
pub fn external(external: &External) -> Texts {
    [(EXTERNAL.to_string(), text(&external::write(external)))].into()
}

/// A group's rendered bpm with the digests of its instances, and its job sources if they fit into the same Secret.
fn bpm(
    jobs: &[JobFiles],
    files: &bpm_document::FileTexts<'_>,
    instances: &InstanceDigests,
    sources: Option<String>,
) -> Texts {
    let bpm = text(&bpm_document::write(jobs, files, instances));
    let sources = sources.filter(|sources| {
        let mut values = [bpm.clone().into_bytes(), sources.clone().into_bytes()];
        encoding::pack(&mut values).is_ok()
    });
    let sources = sources.map(|sources| (job_sources::KEY.to_string(), sources));
    sources.into_iter().chain([(BPM.to_string(), bpm)]).collect()
}

/// As [`render()`], each group as the next step reads it. A group that cannot be rendered does not affect the others.
///
/// # Errors
/// As [`render()`]; or no group can be rendered: the errors of all.
pub fn rendered(
    stages: &dyn Stages,
    manifest: Origin<'_>,
    groups: &[ResolvedGroup],
    releases: &[Release],
    filter: Filter<'_>,
    threads: usize,
    reported: &mut Vec<Diagnostic>,
) -> Result<Vec<Result<Texts, Vec<Diagnostic>>>, Vec<Diagnostic>> {
    let rendering = render(stages, manifest, groups, releases, filter, threads, reported)?;
    let files = rendering
        .documents
        .iter()
        .map(|file| (&*file.name, &*file.text))
        .collect();
    let mut remaining = Remaining::default();
    let each = groups.iter().zip(rendering.groups);
    let texts = each.map(|(group, rendered)| {
        let rendered = rendered.map_err(RenderError::into_diagnostics)?;
        let sources = job_sources::text(&group.document, releases, &mut remaining);
        Ok(bpm(&rendered.jobs, &files, &digests(&rendered.instances), sources))
    });
    let texts: Vec<Result<Texts, Vec<Diagnostic>>> = texts.collect();
    if !texts.is_empty() && texts.iter().all(Result::is_err) {
        return Err(texts.into_iter().filter_map(Result::err).flatten().collect());
    }
    Ok(texts)
}

/// Reads a document back. `name`: its name in diagnostics; `bytes`: content of the Secret or of a mounted file,
/// compressed or not.
///
/// # Errors
/// It is not YAML, or damaged.
pub fn read(name: &str, bytes: &[u8]) -> Result<yaml::Document, Diagnostic> {
    let damaged = |_| foreign_error(name, "its compressed text is damaged");
    yaml::read_bytes(name, &encoding::unpack(bytes).map_err(damaged)?)
}

fn text(document: &Tree) -> String {
    yaml::write_manifest(slice::from_ref(document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;
    use proptest::prelude::*;

    fn scalars() -> impl Strategy<Value = Tree> {
        let numbers = ["0", "-1", "1.50", "1e3", "-9223372036854775808", "-0.0"];
        let words = [
            "yes",
            "null",
            "~",
            "1.5",
            "0x1f",
            "2020-01-02",
            "- a",
            "a: b",
            " x ",
            "a\r\nb\n\n",
            "\u{85}",
            "é\u{1F600}",
            "#",
            "=",
            "<<",
            "((x))",
            "line\n  indented\n",
            "\u{0}\u{1b}",
        ];
        prop_oneof![
            Just(Tree::Null),
            any::<bool>().prop_map(Tree::from),
            any::<i64>().prop_map(Tree::from),
            proptest::sample::select(numbers.to_vec()).prop_map(|text| json::parse(text).unwrap()),
            proptest::sample::select(words.to_vec()).prop_map(Tree::from),
            "\\PC{0,12}".prop_map(Tree::from),
        ]
    }

    fn trees() -> impl Strategy<Value = Tree> {
        scalars().prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Tree::from),
                proptest::collection::vec(("[a-z_./-]{1,8}", inner), 0..6)
                    .prop_map(|members| members.into_iter().collect::<Tree>()),
            ]
        })
    }

    proptest! {
        // Both modes continue with the document that was read. Numbers that YAML spells in another way (`1e3`) get that
        // spelling when they are first written; after that nothing changes: order, numbers, kinds of scalars, bytes.
        // Integers of more than 64 bits are excluded: only JSON values have them, and the reader takes them as floats,
        // as yaml.v2 does.
        #[test]
        fn a_document_that_was_read_is_written_to_the_same_bytes_and_read_back_unchanged(tree in trees()) {
            let texts = manifest(&Tree::object().with("instance_groups", tree));
            let first = read("m", texts[MANIFEST].as_bytes()).unwrap().tree;
            prop_assert_eq!(&manifest(&first), &texts);
            let second = read("m", manifest(&first)[MANIFEST].as_bytes()).unwrap().tree;
            prop_assert_eq!(json::to_text(&second), json::to_text(&first));
        }
    }

    #[test]
    fn job_sources_that_do_not_fit_beside_the_bpm_are_left_out() {
        let stored = |sources| bpm(&[], &BTreeMap::new(), &InstanceDigests::new(), Some(sources));
        assert_eq!(stored("{}".to_string())[job_sources::KEY], "{}");
        let large = "x".repeat(encoding::MAX_UNPACKED_BYTES + 1);
        assert!(!stored(large).contains_key(job_sources::KEY));
    }

    #[test]
    fn values_that_json_lacks_are_read_back_too() {
        let text = "{1: one, 1.5: x, true: y, ~: z, nan: .nan, inf: -.inf, big: 0x7fffffffffffffff, date: 2020-01-02}";
        let tree = yaml::read("m", text).unwrap().tree;
        let again = read("m", manifest(&tree)[MANIFEST].as_bytes()).unwrap().tree;
        assert_eq!(json::to_text(&again), json::to_text(&tree));
    }
}
