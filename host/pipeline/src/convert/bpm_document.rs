//! The document of a group's Secret `<deployment>.bpm.<group>`: what the bpm stage has to know of the files of the group's jobs, their rendered
//! bpm.yml above all. It is written where templates are rendered, and read where objects are made.

use crate::stage::{BpmCopy, JobFiles};
use boson_document::Tree;

/// The document of these jobs.
pub fn write(jobs: &[JobFiles]) -> Tree {
    Tree::object().with("jobs", jobs.iter().map(job).collect::<Vec<_>>())
}

/// The jobs of a document; none where it is not one of ours.
pub fn read(document: &Tree) -> Option<Vec<JobFiles>> {
    document.get("jobs")?.as_array()?.iter().map(read_job).collect()
}

fn job(job: &JobFiles) -> Tree {
    let templates = job.templates.iter().map(|path| Tree::from(path.as_str()));
    Tree::object()
        .with("name", job.job.as_str())
        .with("release", job.release.as_str())
        .with("templates", templates.collect::<Vec<_>>())
        .with("monitored", job.monitored)
        .with("bpm", job.bpm.iter().map(copy).collect::<Vec<_>>())
}

fn copy(copy: &BpmCopy) -> Tree {
    let instances = copy.instances.iter().map(|index| Tree::from(i64::from(*index)));
    Tree::object()
        .with("document", copy.document_name.as_str())
        .with("instances", instances.collect::<Vec<_>>())
        .with("content", copy.bpm.clone())
}

fn read_job(tree: &Tree) -> Option<JobFiles> {
    let templates = tree.items("templates").iter();
    Some(JobFiles {
        job: tree.str("name")?.to_string(),
        release: tree.str("release")?.to_string(),
        templates: templates
            .map(|path| path.as_str().map(str::to_string))
            .collect::<Option<_>>()?,
        monitored: tree.get("monitored")?.as_bool()?,
        bpm: tree.items("bpm").iter().map(read_copy).collect::<Option<_>>()?,
    })
}

fn read_copy(tree: &Tree) -> Option<BpmCopy> {
    let instances = tree.items("instances").iter();
    let instances = instances.map(|index| u32::try_from(index.as_i64()?).ok());
    Some(BpmCopy {
        document_name: tree.str("document")?.to_string(),
        instances: instances.collect::<Option<_>>()?,
        bpm: tree.get("content")?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn what_is_written_is_read_through_yaml() {
        let bpm = yaml::read("b", "processes:\n- name: a\n  env: {PORT: \"1\", RATIO: 1.50}\n")
            .unwrap()
            .tree;
        let copy = BpmCopy {
            document_name: "b (rendered for g)".into(),
            instances: vec![0, 3],
            bpm,
        };
        let jobs = [JobFiles {
            job: "j".into(),
            release: "r".into(),
            templates: vec!["config/bpm.yml".into()],
            monitored: true,
            bpm: vec![copy],
        }];
        let text = yaml::write_manifest(&[write(&jobs)]);
        let read = read(&yaml::read("s", &text).unwrap().tree).unwrap();
        assert_eq!(format!("{read:?}"), format!("{jobs:?}"));
        assert!(super::read(&Tree::object()).is_none());
    }
}
