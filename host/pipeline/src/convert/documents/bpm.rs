//! The document of a group's Secret `<deployment>.bpm.<group>`: what the bpm stage needs of the files of the group's
//! jobs, mainly their rendered bpm.yml, and the digests of all files of each instance. Written after templates are
//! rendered, and read when objects are created. The files are stored as text, so that later diagnostics can name their
//! lines.

use super::foreign::foreign_error;
use crate::convert::instance_files::InstanceDigests;
use crate::diagnostic::Diagnostic;
use crate::stage::JobFiles;
use crate::yaml::{self, Dialect, Document};
use boson_document::Tree;
use std::collections::BTreeMap;

/// The texts of rendered files, by their names.
pub type FileTexts<'a> = BTreeMap<&'a str, &'a str>;

/// What a document holds.
#[derive(Debug)]
pub struct BpmDocument {
    /// The jobs of the group.
    pub jobs: Vec<JobFiles>,
    /// Their rendered bpm.yml.
    pub files: Vec<Document>,
    /// The digests of the group's instances; none in a document of an earlier operator.
    pub instances: Option<InstanceDigests>,
}

/// The document of these jobs and instances. `texts`: the rendered files of the jobs, and maybe others.
pub fn write(jobs: &[JobFiles], texts: &FileTexts<'_>, instances: &InstanceDigests) -> Tree {
    let zone = |(zone, digests): (&String, &Vec<String>)| {
        Tree::object()
            .with("zone", zone.as_str())
            .with("digests", digests.clone())
    };
    Tree::object()
        .with("jobs", jobs.iter().map(|one| job(one, texts)).collect::<Vec<_>>())
        .with("instances", instances.iter().map(zone).collect::<Vec<_>>())
}

/// Reads a document.
///
/// # Errors
/// A file is not YAML, or the document is not of this format.
pub fn read(document: &Document) -> Result<BpmDocument, Diagnostic> {
    let mut files = Vec::new();
    let jobs = document.tree.get("jobs").and_then(Tree::as_array);
    let jobs = jobs.ok_or_else(|| structure_error(document))?;
    let jobs = jobs.iter().map(|job| read_job(job, document, &mut files));
    let jobs = jobs.collect::<Result<_, _>>()?;
    let zones = document.tree.get("instances").and_then(Tree::as_array);
    let read = |zones: &Vec<Tree>| zones.iter().map(read_zone).collect::<Option<_>>();
    let instances = zones.map(|zones| read(zones).ok_or_else(|| structure_error(document)));
    Ok(BpmDocument {
        jobs,
        files,
        instances: instances.transpose()?,
    })
}

fn read_zone(tree: &Tree) -> Option<(String, Vec<String>)> {
    let digests = tree.items("digests").iter();
    let digests = digests.map(|digest| digest.as_str().map(str::to_string));
    Some((tree.str("zone")?.to_string(), digests.collect::<Option<_>>()?))
}

fn job(job: &JobFiles, texts: &FileTexts<'_>) -> Tree {
    let tree = serde_json::to_value(job).and_then(serde_json::from_value::<Tree>);
    // Records of texts and numbers are always JSON.
    let mut tree = tree.unwrap_or_default();
    for (stored, copy) in tree.items_mut("bpm").iter_mut().zip(&job.bpm) {
        let text = texts.get(copy.document_name.as_str()).copied();
        stored.set("content", text.unwrap_or_default());
    }
    tree
}

fn read_job(tree: &Tree, document: &Document, files: &mut Vec<Document>) -> Result<JobFiles, Diagnostic> {
    let job = serde_json::to_value(tree).and_then(serde_json::from_value);
    let mut job: JobFiles = job.map_err(|_| structure_error(document))?;
    for (copy, stored) in job.bpm.iter_mut().zip(tree.items("bpm")) {
        let text = stored.str("content").ok_or_else(|| structure_error(document))?;
        let file = yaml::read_as(Dialect::Bpm, &copy.document_name, text)?;
        copy.bpm = file.tree.clone();
        files.push(file);
    }
    Ok(job)
}

fn structure_error(document: &Document) -> Diagnostic {
    let what = "it does not have the structure of a rendered instance group";
    foreign_error(&document.name, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{BpmCopy, ReleasePackage};

    #[test]
    fn a_written_document_is_read_back_from_yaml() {
        let text =
            "# rendered\nprocesses:\n- name: a\n  env: {PORT: \"1\", RATIO: 1.50}\t\n  args: [\"\\x00\", .nan]\r\n\n";
        let name = "b (rendered for g)";
        let file = yaml::read_as(Dialect::Bpm, name, text).unwrap();
        let copy = BpmCopy {
            document_name: name.into(),
            instances: vec![0, 3],
            bpm: file.tree.clone(),
        };
        let jobs = [JobFiles {
            job: "j".into(),
            release: "r".into(),
            templates: vec!["config/bpm.yml".into()],
            monitored: true,
            start_program: Some("/bin/ctl start".into()),
            dns_aliases: Some(Tree::object().with("a.b", vec!["q-s0.g.n.d.bosh"])),
            bpm: vec![copy],
            packages: vec![ReleasePackage {
                name: "p".into(),
                release: "s".into(),
            }],
        }];
        let instances = InstanceDigests::from([
            (String::new(), vec!["00".to_string(), "1e3".into()]),
            ("z1".into(), Vec::new()),
        ]);
        let texts = FileTexts::from([(name, &*file.text)]);
        let document = write(&jobs, &texts, &instances);
        // Another form would change the digest of every stored document, and restart its group.
        let content = serde_json::to_string(&*file.text).unwrap();
        let form = format!(
            r#"{{"jobs":[{{"name":"j","release":"r","templates":["config/bpm.yml"],"monitored":true,"bpm":[{{"document":"b (rendered for g)","instances":[0,3],"content":{content}}}],"start_program":"/bin/ctl start","aliases":{{"a.b":["q-s0.g.n.d.bosh"]}},"packages":[{{"name":"p","release":"s"}}]}}],"instances":[{{"zone":"","digests":["00","1e3"]}},{{"zone":"z1","digests":[]}}]}}"#
        );
        assert_eq!(serde_json::to_string(&document).unwrap(), form);
        let kept = yaml::write_manifest(&[document]);
        let found = read(&yaml::read("s", &kept).unwrap()).unwrap();
        assert_eq!(format!("{:?}", found.jobs), format!("{jobs:?}"));
        assert_eq!(format!("{:?}", found.files[0]), format!("{file:?}"));
        assert_eq!(found.instances, Some(instances));
        let of_earlier = read(&yaml::read("s", "jobs: []").unwrap()).unwrap();
        assert_eq!(of_earlier.instances, None);
        let none = yaml::write_manifest(&[write(&jobs, &texts, &InstanceDigests::new())]);
        let none = read(&yaml::read("s", &none).unwrap()).unwrap();
        assert_eq!(none.instances, Some(InstanceDigests::new()));
        assert_eq!(
            read(&yaml::read("s", "{}").unwrap()).unwrap_err().code,
            "convert-foreign-document"
        );
    }
}
