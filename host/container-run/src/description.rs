//! `processes/<job>.json`: the processes of a job as BPM reads them, written in the pod after its templates were
//! rendered.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result};
use crate::places::Places;

/// The format that this program reads.
const FORMAT_VERSION: u32 = 1;
/// Far more than any bpm.yml; a wrong mount must not fill the container's memory.
const MAX_DESCRIPTION_BYTES: u64 = 4 << 20;

/// A job's file.
#[derive(Debug, Deserialize)]
pub struct Description {
    version: u32,
    pub job: String,
    /// Processes in the order of bpm.yml.
    pub processes: Vec<Process>,
    /// By process and kind: `readiness`, `liveness`, `startup`.
    #[serde(default)]
    probes: HashMap<String, HashMap<String, Probe>>,
    /// The command that must succeed before post-start.
    pub condition: Option<Vec<String>>,
}

/// A health check of a process.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    Exec(Vec<String>),
    /// An HTTP request that is answered with success.
    Http(Request),
}

#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The host; the pod if empty.
    pub host: String,
    /// The path; `/` if empty.
    pub path: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Process {
    pub name: String,
    /// The program; empty for a process that only has monit's start program.
    #[serde(default)]
    pub executable: String,
    /// What it is called with.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its variables, without BPM's defaults.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Working directory; the job's directory if absent or empty.
    pub workdir: Option<String>,
    /// Runs before each start, as root.
    pub pre_start: Option<String>,
    /// `TERM` or `INT`.
    pub shutdown_signal: Option<String>,
    /// Capabilities without `CAP_`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub limits: Limits,
    /// Whether `/var/vcap/data/<job>` is its own.
    #[serde(default)]
    pub ephemeral_disk: bool,
    /// Whether `/var/vcap/store/<job>` is its own.
    #[serde(default)]
    pub persistent_disk: bool,
    /// Whether it stays root.
    #[serde(default)]
    pub privileged: bool,
    /// Directories that it asks for.
    #[serde(default)]
    pub volumes: Vec<Volume>,
    /// How monit starts and stops it, where it does not run by BPM.
    pub monit: Option<Monit>,
    /// Its name for monit's command line, where that is not the process's.
    pub check: Option<String>,
}

/// What a process may use.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Limits {
    /// Maximum number of file descriptors.
    pub open_files: Option<u64>,
    /// Maximum number of processes and threads.
    pub processes: Option<u64>,
    /// Maximum size of a core file.
    pub core_file_size: Option<Size>,
}

/// A number of bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Size {
    Bytes(u64),
    Unlimited(Unlimited),
}

/// The word for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    Unlimited,
}

/// A directory of a process.
#[derive(Clone, Debug, Deserialize)]
pub struct Volume {
    pub path: String,
    /// Whether BPM leaves creating it to others.
    #[serde(default)]
    pub mount_only: bool,
}

/// A `check process` of a monit file.
#[derive(Clone, Debug, Deserialize)]
pub struct Monit {
    /// The start program and its arguments.
    pub start: Vec<String>,
    /// The stop program and its arguments; empty without a stop program.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The file that names the process to follow.
    pub pidfile: String,
    /// Seconds until the pid file must name a process.
    #[serde(default = "default_timeout_seconds")]
    pub start_timeout: u64,
    /// Seconds that the process has to end.
    #[serde(default = "default_timeout_seconds")]
    pub stop_timeout: u64,
    /// The names of the checks that it depends on.
    #[serde(default)]
    pub depends: Vec<String>,
    /// The user of the programs, if not root.
    pub uid: Option<String>,
    pub gid: Option<String>,
}

fn default_timeout_seconds() -> u64 {
    30
}

/// The jobs that have a description, in the order of their names.
pub fn jobs(places: &Places) -> Vec<String> {
    let entries = fs::read_dir(places.all_processes()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix(".json").map(str::to_string)
    });
    let mut jobs: Vec<String> = names.collect();
    jobs.sort();
    jobs
}

// === impl Description ===

impl Description {
    /// Reads the file of a job.
    pub fn read(places: &Places, job: &str) -> Result<Self> {
        if job.is_empty() || job.contains('/') || job.starts_with('.') {
            return Err(Error::usage(format!("'{job}' is not the name of a job")));
        }
        let path = places.processes(job);
        let file = File::open(&path);
        let text = file.and_then(|file| io::read_to_string(file.take(MAX_DESCRIPTION_BYTES)));
        let text = text.path_context("reading", &path)?;
        let place = path.display();
        let description: Self = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Error::new(format!(
                "{place}:{line}:{column}: not a description of processes ({})",
                shape(&error)
            ))
        })?;
        if description.version != FORMAT_VERSION {
            return Err(Error::new(format!(
                "{place}: format {}, this program reads format {FORMAT_VERSION}: the operator and the pod are of different versions",
                description.version
            )));
        }
        Ok(description)
    }

    /// The health check of this kind of a process.
    pub fn probe(&self, process: &str, kind: &str) -> Result<&Probe> {
        let probes = self.probes.get(process);
        probes
            .and_then(|probes| probes.get(kind))
            .ok_or_else(|| Error::new(format!("process '{process}' of job '{}' has no {kind} probe", self.job)))
    }

    /// The process of this name.
    pub fn process(&self, name: &str) -> Result<&Process> {
        self.processes
            .iter()
            .find(|process| process.name == name)
            .ok_or_else(|| {
                let names: Vec<&str> = self.processes.iter().map(|process| process.name.as_str()).collect();
                let has = match names.as_slice() {
                    [] => "it has no processes".to_string(),
                    names => format!("it has: {}", names.join(", ")),
                };
                Error::new(format!("job '{}' has no process '{name}'; {has}", self.job))
            })
    }
}

/// The kind of a mistake; the library's own words quote values, which may be secret.
fn shape(error: &serde_json::Error) -> &'static str {
    use serde_json::error::Category;
    match error.classify() {
        Category::Io => "unreadable",
        Category::Syntax => "wrong JSON",
        Category::Data => "a member is missing or has the wrong type",
        Category::Eof => "the file ends early",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_all_members_is_read() {
        let text = r#"{"version":1,"job":"nats","instance":{"id":"a"},"processes":[{"name":"nats","executable":"/bin/a","args":["-c"],
            "env":[["K","V"]],"workdir":null,"pre_start":null,"shutdown_signal":"INT","capabilities":["NET_BIND_SERVICE"],
            "limits":{"open_files":10,"core_file_size":"unlimited"},"ephemeral_disk":true,"persistent_disk":false,"privileged":false,
            "volumes":[{"path":"/a","writable":true,"mount_only":false}],
            "monit":{"start":["/a","start"],"stop":[],"pidfile":"/a.pid","start_timeout":60,"stop_timeout":30,"uid":null,"gid":null}}]}"#;
        let description: Description = serde_json::from_str(text).unwrap();
        let process = description.process("nats").unwrap();
        assert_eq!(process.env, [("K".to_string(), "V".to_string())]);
        assert_eq!(process.monit.as_ref().unwrap().start_timeout, 60);
        assert!(matches!(process.limits.core_file_size, Some(Size::Unlimited(_))));
        assert!(description.process("other").unwrap_err().text.contains("it has: nats"));
    }
}
