//! The flags of all subcommands: one table of names, so that a flag means the same everywhere.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::output::logfile::Rotation;

/// Kubernetes' own default.
const DEFAULT_GRACE_PERIOD: Duration = Duration::from_secs(30);
const MIN_PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// 68 years.
const MAX_SECONDS: u64 = i32::MAX as u64;
/// Size of a log file before rotation, as in BOSH's logrotate: 50 MiB.
const DEFAULT_LOG_BYTES: u64 = 50 << 20;
const DEFAULT_LOG_FILES: u32 = 7;

/// Port of monit's HTTP interface in BOSH.
const MONIT_PORT: u16 = 2822;

/// A process of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub job: String,
    pub process: String,
}

/// The values of the flags.
#[derive(Debug, Default)]
pub struct Flags {
    pub job: String,
    pub process: String,
    /// `--name`: the script, or the kind of the probe.
    pub name: String,
    /// `--env`, repeated: variables of the container that are passed on.
    pub env: Vec<String>,
    /// `--members`: all processes of the pod.
    pub members: Vec<Member>,
    /// `--scripts`: all jobs that have a sidecar for their scripts.
    pub scripts: Vec<String>,
    /// `--pre-starts`: all processes of the pod in whose containers the pre-start script of their job runs.
    pub pre_starts: Vec<Member>,
    /// `--grace`: the pod's termination grace period.
    pub grace: Duration,
    /// `--persistent-disk-mb`: for drain scripts.
    pub persistent_disk: u64,
    /// `--valid`: how long a request to skip drain scripts is valid; 0 ends it.
    pub valid: Duration,
    /// `--condition described`: a command in the description of the job must succeed before post-start.
    pub condition: bool,
    /// `--post-deploy`: a file whose content changes when the whole deployment is ready.
    pub post_deploy: String,
    /// `--jobs`: the directory in which `bpm/bin/bpm` is linked.
    pub jobs: String,
    /// `--sources`: the volume of the job sources and of the scripts that change them.
    pub sources: String,
    /// `--bosh`: the directory in which `bin/monit` is linked.
    pub bosh: String,
    /// `--after-stop end`: container-run ends after `bpm stop`, as for a process that a script started. The default,
    /// `stay`, keeps a container for `bpm start`.
    pub ends: bool,
    /// `--wait-after-failure`: how long a failed script keeps its container.
    pub wait: Duration,
    /// `--log-size`, `--log-files`: when log files are rotated, and how many are retained.
    pub rotation: Rotation,
    /// `--port`: where monit or an active/passive probe answers, or where a probe asks.
    pub port: u16,
    /// `--word`, repeated: the command of an active/passive probe.
    pub command: Vec<String>,
    /// `--delay`: before the first run of it.
    pub delay: Duration,
    /// `--period`: between the beginnings of two runs of it.
    pub period: Duration,
    /// `--timeout`: how long one may take.
    pub timeout: Duration,
    /// `--successes`: after how many in a row the pod is active.
    pub successes: u64,
    /// `--failures`: after how many in a row it is no longer.
    pub failures: u64,
}

// === impl Flags ===

impl Flags {
    /// Reads the flags. `needed`: the flags that the subcommand requires.
    pub fn read(arguments: &[String], needed: &[&str]) -> Result<Self> {
        let mut flags = Self {
            grace: DEFAULT_GRACE_PERIOD,
            rotation: Rotation {
                size: DEFAULT_LOG_BYTES,
                files: DEFAULT_LOG_FILES,
            },
            port: MONIT_PORT,
            period: MIN_PROBE_INTERVAL,
            timeout: MIN_PROBE_INTERVAL,
            successes: 1,
            failures: 1,
            ..Self::default()
        };
        let mut seen = Vec::new();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let (flag, value) = match flag.split_once('=') {
                Some((flag, value)) => (flag, value),
                None => {
                    let value = rest.next();
                    let missing = || Error::usage(format!("{flag} needs a value"));
                    (flag.as_str(), value.ok_or_else(missing)?.as_str())
                }
            };
            flags.set(flag, value)?;
            seen.push(flag);
        }
        match needed.iter().find(|flag| !seen.contains(flag)) {
            Some(flag) => Err(Error::usage(format!("{flag} is needed"))),
            None => Ok(flags),
        }
    }

    /// The content of the file of `--post-deploy`, reduced to characters that a file name may have.
    pub fn post_deploy_value(&self) -> Option<String> {
        let file = File::open(&self.post_deploy).ok()?;
        let text = io::read_to_string(file.take(128)).ok()?;
        let value: String = text
            .trim()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(64)
            .collect();
        (!value.is_empty()).then_some(value)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<()> {
        match flag {
            "--job" => self.job = name(flag, value)?,
            "--process" => self.process = name(flag, value)?,
            "--name" => self.name = name(flag, value)?,
            "--env" => self.env.push(value.to_string()),
            "--members" => self.members = list(value).map(|item| member(flag, item)).collect::<Result<_>>()?,
            "--pre-starts" => self.pre_starts = list(value).map(|item| member(flag, item)).collect::<Result<_>>()?,
            "--scripts" => self.scripts = list(value).map(|item| name(flag, item)).collect::<Result<_>>()?,
            "--grace" => self.grace = seconds(flag, value)?,
            "--persistent-disk-mb" => self.persistent_disk = number(flag, value)?,
            "--valid" => self.valid = seconds(flag, value)?,
            "--condition" if value == "described" => self.condition = true,
            "--condition" => return Err(Error::usage("--condition needs described")),
            "--post-deploy" => self.post_deploy = value.to_string(),
            "--sources" => self.sources = value.to_string(),
            "--jobs" => self.jobs = value.to_string(),
            "--bosh" => self.bosh = value.to_string(),
            "--after-stop" if value == "end" || value == "stay" => self.ends = value == "end",
            "--after-stop" => return Err(Error::usage("--after-stop needs end or stay")),
            "--wait-after-failure" => self.wait = seconds(flag, value)?,
            "--log-size" => self.rotation.size = number(flag, value)?.max(1),
            "--log-files" => self.rotation.files = u32::try_from(number(flag, value)?).unwrap_or(DEFAULT_LOG_FILES),
            "--word" => self.command.push(value.to_string()),
            "--delay" => self.delay = seconds(flag, value)?,
            "--period" => self.period = seconds(flag, value)?.max(MIN_PROBE_INTERVAL),
            "--timeout" => self.timeout = seconds(flag, value)?.max(MIN_PROBE_INTERVAL),
            "--successes" => self.successes = number(flag, value)?.max(1),
            "--failures" => self.failures = number(flag, value)?.max(1),
            "--port" => {
                let port = u16::try_from(number(flag, value)?);
                self.port = port.map_err(|_| Error::usage("--port needs a number up to 65535"))?;
            }
            _ => return Err(Error::usage(format!("unknown flag {flag}"))),
        }
        Ok(())
    }
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').filter(|item| !item.is_empty())
}

fn member(flag: &str, item: &str) -> Result<Member> {
    let (job, process) = item
        .split_once('/')
        .ok_or_else(|| Error::usage(format!("{flag} needs <job>/<process>, not '{item}'")))?;
    Ok(Member {
        job: name(flag, job)?,
        process: name(flag, &process.replace("%2C", ",").replace("%25", "%"))?,
    })
}

/// A name becomes part of a path.
fn name(flag: &str, value: &str) -> Result<String> {
    if value.is_empty() || value == "." || value == ".." || value.contains(['/', '\0']) {
        return Err(Error::usage(format!("{flag}: '{value}' is not a name")));
    }
    Ok(value.to_string())
}

/// Within what a point in time can be moved by.
fn seconds(flag: &str, value: &str) -> Result<Duration> {
    Ok(Duration::from_secs(number(flag, value)?.min(MAX_SECONDS)))
}

fn number(flag: &str, value: &str) -> Result<u64> {
    value
        .parse()
        .map_err(|_| Error::usage(format!("{flag} needs a whole number, not '{value}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Flags> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_string()).collect();
        Flags::read(&arguments, &["--job"])
    }

    #[test]
    fn flags_are_read_with_a_blank_and_with_a_sign() {
        let flags = read(&[
            "--job",
            "a",
            "--members=a/b,a/c%2C%25d",
            "--env",
            "A",
            "--env",
            "B",
            "--grace",
            "60",
        ])
        .unwrap();
        assert_eq!(flags.job, "a");
        assert_eq!(flags.members.len(), 2);
        assert_eq!(flags.members[1].process, "c,%d");
        assert_eq!(flags.env, ["A", "B"]);
        assert_eq!(flags.grace, Duration::from_secs(60));
        let endless = read(&["--job", "a", "--delay", "18446744073709551615"]).unwrap();
        assert!(std::time::Instant::now().checked_add(endless.delay).is_some());
    }

    #[test]
    fn mistakes_are_named() {
        for (arguments, text) in [
            (&["--job"][..], "--job needs a value"),
            (&[], "--job is needed"),
            (&["--job", "a/b"], "--job: 'a/b' is not a name"),
            (&["--job", "a", "--grace", "x"], "--grace needs a whole number, not 'x'"),
            (
                &["--job", "a", "--members", "b"],
                "--members needs <job>/<process>, not 'b'",
            ),
            (&["--job", "a", "--what", "b"], "unknown flag --what"),
            (&["--job", "a", "--condition", "b"], "--condition needs described"),
        ] {
            let error = read(arguments).unwrap_err();
            assert_eq!((error.code, error.text.as_str()), (2, text));
        }
    }
}
