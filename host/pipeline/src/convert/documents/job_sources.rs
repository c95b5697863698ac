//! The job sources of an instance group as one compressed document, which its pods mount: then they render their
//! templates without a container of a release image before it.
//!
//! `{"<release>": {"<job>/job.MF": {"text": "..."}, "<job>/templates/bin/ctl": {"text": "...", "executable": true}}}`

use crate::digest::sha256;
use crate::encoding::{self, UnpackError};
use crate::release::paths::clean;
use crate::release::{Entry, File, Files, Job, Naming, Release};
use boson_document::{Map, Tree, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Key of the document in the Secret with the group's rendered bpm.
pub const KEY: &str = "job-sources.json";
/// Key of the compressed document in a ConfigMap, and name of the mounted file.
pub const FILE: &str = "job-sources.json.gz";
/// Limit on the text of one group, in bytes. The jobs of the largest groups of cf-deployment have 1 MB.
const MAX_TEXT_BYTES: usize = 8 << 20;
/// Limit on the compressed document, in bytes: a ConfigMap has 1 MiB with its metadata.
const MAX_PACKED_BYTES: usize = 900 << 10;
/// Digits of a digest.
const DIGEST_DIGITS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Identifies the content. It does not depend on the compression, which another version of this program may do in
    /// another way.
    pub digest: String,
    pub bytes: Vec<u8>,
}

/// What the documents of one deployment may still use: a release with large templates can be in any number of groups.
#[derive(Clone, Copy, Debug)]
pub struct Remaining {
    /// Bytes of text.
    pub text: usize,
    /// Bytes of compressed documents.
    pub packed: usize,
}

// === impl Remaining ===

impl Default for Remaining {
    fn default() -> Self {
        Self {
            text: 64 << 20,
            packed: 16 << 20,
        }
    }
}

/// The sources of the jobs in a resolved document. `None`: they are too large, or not all of them are among `releases`.
pub fn text(document: &Tree, releases: &[Release], remaining: &mut Remaining) -> Option<String> {
    let mut all: BTreeMap<&str, BTreeMap<String, Tree>> = BTreeMap::new();
    let group = document.items("instance_groups").first()?;
    for job in group.items("jobs") {
        let (release, name) = (job.str("release")?, job.str("name")?);
        let found = releases.iter().find(|found| found.name == release)?.job(name)?;
        all.entry(release).or_default().extend(files(found)?);
    }
    let object = |files: BTreeMap<String, Tree>| Tree::Object(files.into_iter().collect::<Map>());
    let text: Tree = all.into_iter().map(|(name, files)| (name, object(files))).collect();
    let text = json::to_text(&text);
    remaining.text = remaining.text.checked_sub(text.len())?;
    (text.len() <= MAX_TEXT_BYTES).then_some(text)
}

/// What [`text`] returned, as a Secret has it: compressed or not. `None`: it is damaged, or too large for a ConfigMap
/// or for the deployment.
pub fn pack(stored: &[u8], remaining: &mut Remaining) -> Option<Packed> {
    let text = encoding::unpack(stored).ok()?;
    remaining.text = remaining.text.checked_sub(text.len())?;
    let bytes = match &text {
        Cow::Borrowed(text) => encoding::compress(text)?,
        Cow::Owned(_) => stored.to_vec(),
    };
    remaining.packed = remaining.packed.checked_sub(bytes.len())?;
    let digest = sha256(&text);
    (bytes.len() <= MAX_PACKED_BYTES).then(|| Packed {
        digest: digest.chars().take(DIGEST_DIGITS).collect(),
        bytes,
    })
}

/// What is read of a job. `None`: a path has `..`, which only the files of the whole release can resolve.
fn files(job: &Job) -> Option<Vec<(String, Tree)>> {
    let file = |text: &str, executable: bool| {
        Tree::object()
            .with("text", text)
            .with_some("executable", executable.then_some(true))
    };
    let mut files = vec![(format!("{}/job.MF", job.name), file(&job.spec.text, false))];
    if let Some(monit) = &job.monit {
        files.push((format!("{}/monit", job.name), file(monit, false)));
    }
    for template in &job.templates {
        let path = clean(&format!("{}/templates/{}", job.name, template.source)).ok()?;
        files.push((path, file(&template.text, template.executable)));
    }
    Some(files)
}

/// The files of each release in a document of [`pack`], below `jobs-src/<release>`. `directory`: where they are in
/// messages.
///
/// # Errors
/// It is damaged.
pub fn read(bytes: &[u8], directory: &str) -> Result<BTreeMap<String, Files>, UnpackError> {
    let text = encoding::unpack(bytes)?;
    let text = std::str::from_utf8(&text).map_err(|_| UnpackError)?;
    let document = json::parse(text).map_err(|_| UnpackError)?;
    let mut all = BTreeMap::new();
    for (release, tree) in document.as_object().ok_or(UnpackError)? {
        let mut files = Files::new(Naming::Directory(directory.into()));
        for (path, file) in tree.as_object().ok_or(UnpackError)? {
            let path = clean(path).map_err(|_| UnpackError)?;
            let file = File {
                bytes: file.str("text").ok_or(UnpackError)?.into(),
                executable: file.get("executable") == Some(&Tree::Bool(true)),
            };
            files.insert(format!("{}/{path}", root(release)), Entry::File(file));
        }
        all.insert(release.to_string(), files);
    }
    Ok(all)
}

/// Path of the jobs of a release.
pub fn root(release: &str) -> String {
    format!("jobs-src/{release}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{TemplateFile, image};
    use crate::report::Sources;
    use crate::yaml;

    fn job(name: &str, source: &str, text: &str) -> Job {
        let spec = format!("name: {name}\ntemplates: {{{source}: bin/ctl}}\n");
        Job {
            name: name.into(),
            spec: yaml::read("spec", &spec).unwrap(),
            templates: vec![TemplateFile {
                source: source.into(),
                destination: "bin/ctl".into(),
                text: text.into(),
                document_name: "d".into(),
                executable: true,
            }],
            monit: Some("check process a".into()),
            monit_document: String::new(),
            properties_schema: None,
        }
    }

    fn release(jobs: Vec<Job>) -> Release {
        Release {
            name: "r".into(),
            version: None,
            jobs,
            source: String::new(),
            warnings: Vec::new(),
        }
    }

    fn document(jobs: &str) -> Tree {
        json::parse(&format!(r#"{{"instance_groups": [{{"jobs": [{jobs}]}}]}}"#)).unwrap()
    }

    const ONE: &str = r#"{"name": "a", "release": "r"}"#;

    fn packed(jobs: &str, release: Release, remaining: &mut Remaining) -> Option<Packed> {
        pack(
            text(&document(jobs), &[release], &mut Remaining::default())?.as_bytes(),
            remaining,
        )
    }

    #[test]
    fn what_is_packed_is_read_as_the_same_jobs() {
        let release = release(vec![job("a", "ctl.erb", "<%= 1 %>"), job("b", "x", "unused")]);
        let packed = packed(ONE, release.clone(), &mut Remaining::default()).unwrap();
        let files = read(&packed.bytes, "/all").unwrap();
        let mut sources = Sources::default();
        let read = image::read(&files["r"], &root("r"), Some("r"), None, &mut sources).unwrap();
        let [found] = read[0].jobs.as_slice() else {
            panic!("only the jobs of the group: {read:?}")
        };
        let wanted = &release.jobs[0];
        assert_eq!((&found.name, &found.monit), (&wanted.name, &wanted.monit));
        let [template] = found.templates.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((template.text.as_str(), template.executable), ("<%= 1 %>", true));
        assert_eq!(template.document_name, "/all/jobs-src/r/a/templates/ctl.erb");
    }

    #[test]
    fn what_a_secret_has_compressed_has_the_same_digest() {
        let text = text(
            &document(ONE),
            &[release(vec![job("a", "ctl.erb", "x")])],
            &mut Remaining::default(),
        );
        let text = text.unwrap().into_bytes();
        let compressed = encoding::compress(&text).unwrap();
        let packed = pack(&text, &mut Remaining::default());
        assert!(packed.is_some() && packed == pack(&compressed, &mut Remaining::default()));
        assert!(pack(&compressed[..compressed.len() / 2], &mut Remaining::default()).is_none());
    }

    #[test]
    fn the_digest_is_that_of_the_content() {
        let of = |text: &str| {
            let release = release(vec![job("a", "ctl.erb", text)]);
            packed(ONE, release, &mut Remaining::default()).unwrap().digest
        };
        assert_eq!(of("x"), of("x"));
        assert_ne!(of("x"), of("y"));
        assert_eq!(of("x").len(), DIGEST_DIGITS);
    }

    #[test]
    fn jobs_that_are_too_large_missing_or_elsewhere_are_not_packed() {
        let mut state = 1_u64;
        let noise: String = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 33) as u8 % 90)
        })
        .take(2 << 20)
        .collect();
        for (name, one, jobs) in [
            ("incompressible", job("a", "ctl.erb", &noise), ONE),
            ("large", job("a", "ctl.erb", &"x".repeat(MAX_TEXT_BYTES)), ONE),
            ("outside", job("a", "../../shared", "x"), ONE),
            ("missing", job("b", "ctl.erb", "x"), ONE),
            (
                "other release",
                job("a", "ctl.erb", "x"),
                r#"{"name": "a", "release": "s"}"#,
            ),
        ] {
            let packed = packed(jobs, release(vec![one]), &mut Remaining::default());
            assert!(packed.is_none(), "{name}");
        }
        let mut remaining = Remaining {
            text: 300,
            packed: 1000,
        };
        let mut one = || packed(ONE, release(vec![job("a", "ctl.erb", "x")]), &mut remaining);
        assert!(one().is_some());
        assert!(one().is_none(), "nothing remains");
        let releases = [release(vec![job("a", "ctl.erb", "x")])];
        assert!(
            text(&document(ONE), &releases, &mut remaining).is_none(),
            "nothing remains"
        );
    }

    #[test]
    fn a_document_that_is_damaged_or_leads_out_is_refused() {
        for text in [
            "",
            "[]",
            r#"{"r": []}"#,
            r#"{"r": {"a": {}}}"#,
            r#"{"r": {"../a": {"text": ""}}}"#,
            r#"{"r": {"/a": {"text": ""}}}"#,
        ] {
            assert!(read(text.as_bytes(), "d").is_err(), "{text}");
        }
    }
}
