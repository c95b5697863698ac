//! Which logs are shown.

use crate::containers;
use boson_pipeline::glob::Pattern;
use k8s_openapi::api::core::v1::Container;

/// Jobs and patterns of file names; without any, all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub jobs: Vec<String>,
    pub only: Vec<Pattern>,
}

// === impl Filter ===

impl Filter {
    /// Whether a file is shown. `path`: below `/var/vcap/sys/log`.
    pub fn has_file(&self, path: &str) -> bool {
        let job = path.split_once('/').map(|(job, _)| job);
        self.has_job(job) && (self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(path)))
    }

    fn has_job(&self, job: Option<&str>) -> bool {
        self.jobs.is_empty() || job.is_some_and(|job| self.jobs.iter().any(|one| one == job))
    }

    /// Whether the archive has the log of this container.
    pub fn has_container(&self, container: &Container) -> bool {
        self.only.is_empty() && self.has_job(containers::job(container))
    }

    /// Whether lines of this container are shown: container-run writes them to files, too.
    pub fn has_lines(&self, container: &Container) -> bool {
        let files = containers::files(container);
        self.has_job(containers::job(container))
            && (self.only.is_empty() || files.iter().any(|file| self.has_file(file)))
    }

    /// The folder that has all files that are shown, below `/var/vcap/sys/log`: the others need not be read.
    pub fn folder(&self) -> Option<&str> {
        if let [job] = self.jobs.as_slice() {
            return Some(job);
        }
        let [pattern] = self.only.as_slice() else { return None };
        pattern.directory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(jobs: &[&str], only: &[&str]) -> Filter {
        Filter {
            jobs: jobs.iter().map(ToString::to_string).collect(),
            only: only.iter().filter_map(|text| Pattern::read(text)).collect(),
        }
    }

    #[test]
    fn files_are_filtered_by_job_and_pattern() {
        let (file, other) = ("nats/nats.stdout.log", "agent/agent.log");
        for (filter, wanted) in [
            (filter(&[], &[]), [true, true]),
            (filter(&["nats"], &[]), [true, false]),
            (filter(&[], &["*/agent.log", "x"]), [false, true]),
            (filter(&["nats"], &["*/agent.log"]), [false, false]),
        ] {
            assert_eq!([file, other].map(|path| filter.has_file(path)), wanted, "{filter:?}");
        }
    }

    #[test]
    fn a_process_has_the_names_of_its_files() {
        let command = [
            "/container-run/bin/container-run",
            "process",
            "--job",
            "nats",
            "--process",
            "nats",
        ];
        let process: Container = serde_json::from_value(json!({"name": "nats-nats", "command": command})).unwrap();
        let logs: Container = serde_json::from_value(json!({"name": "logs"})).unwrap();
        let only = filter(&[], &["nats/*.stderr.log"]);
        assert!(only.has_lines(&process) && !only.has_container(&process));
        assert!(!filter(&[], &["nats/other.log"]).has_lines(&process));
        assert!(!filter(&["agent"], &[]).has_container(&process));
        assert!(!filter(&["nats"], &[]).has_container(&logs) && filter(&[], &[]).has_container(&logs));
    }

    #[test]
    fn one_folder_is_read_if_no_other_matches() {
        assert_eq!(filter(&["nats"], &["**/*.log"]).folder(), Some("nats"));
        assert_eq!(filter(&[], &["nats/*.log"]).folder(), Some("nats"));
        for all in [filter(&["a", "b"], &[]), filter(&[], &["*/a"]), filter(&[], &["a"])] {
            assert_eq!(all.folder(), None, "{all:?}");
        }
    }
}
