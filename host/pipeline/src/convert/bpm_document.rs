//! The document of a group's Secret `<deployment>.bpm.<group>`: what the bpm stage needs of the files of the group's
//! jobs, mainly their rendered bpm.yml, and the digests of all files of each instance. Written after templates are
//! rendered, and read when objects are created. The files are stored as text, so that later diagnostics can name their
//! lines.

use super::foreign;
use super::instance_files::InstanceDigests;
use crate::diagnostic::Diagnostic;
use crate::stage::{BpmCopy, JobFiles, ReleasePackage};
use crate::yaml::{self, Dialect, Document};
use boson_document::Tree;

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

/// The document of these jobs and instances.
pub fn write(jobs: &[JobFiles], instances: &InstanceDigests) -> Tree {
    let zone = |(zone, digests): (&String, &Vec<String>)| {
        Tree::object()
            .with("zone", zone.as_str())
            .with("digests", digests.clone())
    };
    Tree::object()
        .with("jobs", jobs.iter().map(job).collect::<Vec<_>>())
        .with("instances", instances.iter().map(zone).collect::<Vec<_>>())
}

/// Reads a document.
///
/// # Errors
/// A file is not YAML, or the document is not of this format.
pub fn read(document: &Document) -> Result<BpmDocument, Diagnostic> {
    let mut files = Vec::new();
    let jobs = document.tree.get("jobs").and_then(Tree::as_array);
    let jobs = jobs.ok_or_else(|| foreign(document))?;
    let jobs = jobs.iter().map(|job| read_job(job, document, &mut files));
    let jobs = jobs.collect::<Result<_, _>>()?;
    let zones = document.tree.get("instances").and_then(Tree::as_array);
    let read = |zones: &Vec<Tree>| zones.iter().map(read_zone).collect::<Option<_>>();
    let instances = zones.map(|zones| read(zones).ok_or_else(|| foreign(document)));
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

fn job(job: &JobFiles) -> Tree {
    let tree = Tree::object()
        .with("name", job.job.as_str())
        .with("release", job.release.as_str())
        .with("templates", job.templates.clone())
        .with("monitored", job.monitored)
        .with("bpm", job.bpm.iter().map(copy).collect::<Vec<_>>())
        .with_some("start_program", job.start_program.as_deref())
        .with_some("aliases", job.aliases.clone());
    let package = |package: &ReleasePackage| {
        Tree::object()
            .with("name", package.name.as_str())
            .with("release", package.release.as_str())
    };
    let packages: Vec<Tree> = job.packages.iter().map(package).collect();
    // Documents of deployments without them stay as they are.
    tree.with_some("packages", Some(packages).filter(|packages| !packages.is_empty()))
}

fn copy(copy: &BpmCopy) -> Tree {
    Tree::object()
        .with("document", copy.document_name.as_str())
        .with("instances", copy.instances.clone())
        .with("content", &*copy.text)
}

fn read_job(tree: &Tree, document: &Document, files: &mut Vec<Document>) -> Result<JobFiles, Diagnostic> {
    let bpm = tree.items("bpm").iter().map(|copy| read_copy(copy, document, files));
    let bpm = bpm.collect::<Result<_, _>>()?;
    let package = |package: &Tree| {
        Some(ReleasePackage {
            name: package.str("name")?.to_string(),
            release: package.str("release")?.to_string(),
        })
    };
    let whole = || {
        let templates = tree.items("templates").iter();
        Some(JobFiles {
            job: tree.str("name")?.to_string(),
            release: tree.str("release")?.to_string(),
            templates: templates
                .map(|path| path.as_str().map(str::to_string))
                .collect::<Option<_>>()?,
            monitored: tree.get("monitored")?.as_bool()?,
            start_program: tree.str("start_program").map(str::to_string),
            aliases: tree.get("aliases").cloned(),
            bpm,
            packages: tree.items("packages").iter().map(package).collect::<Option<_>>()?,
        })
    };
    whole().ok_or_else(|| foreign(document))
}

fn read_copy(tree: &Tree, document: &Document, files: &mut Vec<Document>) -> Result<BpmCopy, Diagnostic> {
    let instances = tree.items("instances").iter();
    let instances = instances.map(|index| u32::try_from(index.as_i64()?).ok());
    let (Some(instances), Some(name), Some(text)) = (
        instances.collect::<Option<_>>(),
        tree.str("document"),
        tree.str("content"),
    ) else {
        return Err(foreign(document));
    };
    let file = yaml::read_as(Dialect::Bpm, name, text)?;
    let copy = BpmCopy {
        document_name: name.to_string(),
        instances,
        bpm: file.tree.clone(),
        text: file.text.clone(),
    };
    files.push(file);
    Ok(copy)
}

fn foreign(document: &Document) -> Diagnostic {
    let what = "it does not have the structure of a rendered instance group";
    foreign::foreign(&document.name, what)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            text: file.text.clone(),
        };
        let jobs = [JobFiles {
            job: "j".into(),
            release: "r".into(),
            templates: vec!["config/bpm.yml".into()],
            monitored: true,
            start_program: Some("/bin/ctl start".into()),
            aliases: Some(Tree::object().with("a.b", vec!["q-s0.g.n.d.bosh"])),
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
        let kept = yaml::write_manifest(&[write(&jobs, &instances)]);
        let found = read(&yaml::read("s", &kept).unwrap()).unwrap();
        assert_eq!(format!("{:?}", found.jobs), format!("{jobs:?}"));
        assert_eq!(format!("{:?}", found.files[0]), format!("{file:?}"));
        assert_eq!(found.instances, Some(instances));
        let of_earlier = read(&yaml::read("s", "jobs: []").unwrap()).unwrap();
        assert_eq!(of_earlier.instances, None);
        let none = yaml::write_manifest(&[write(&jobs, &InstanceDigests::new())]);
        let none = read(&yaml::read("s", &none).unwrap()).unwrap();
        assert_eq!(none.instances, Some(InstanceDigests::new()));
        assert_eq!(
            read(&yaml::read("s", "{}").unwrap()).unwrap_err().code,
            "convert-foreign-document"
        );
    }
}
