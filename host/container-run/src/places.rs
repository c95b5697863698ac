//! Where everything is: BOSH's directories, and those of the volume that holds this program.

use std::env;
use std::path::{Path, PathBuf};

/// Mount path of the volume with this program.
const DEFAULT_HOME: &str = "/container-run";
/// Where the operator's image has this program. Containers of that image run it before, or without, installing it.
const DIRECTORY_IN_IMAGE: &str = "/usr/bin";
/// BOSH's directory, unless BPM's variable names another.
const DEFAULT_ROOT: &str = "/var/vcap";
/// BPM's variable for it.
pub const ROOT_VARIABLE: &str = "BPM_BOSH_ROOT";

/// The paths that this program reads and writes.
#[derive(Clone, Debug)]
pub struct Places {
    root: PathBuf,
    own: PathBuf,
}

// === impl Places ===

impl Places {
    /// By where this program lies, and BPM's variable.
    pub fn new() -> Self {
        Self::of(&program())
    }

    /// An installed program is `<volume>/bin/container-run`.
    fn of(program: &Path) -> Self {
        let own = program.parent().and_then(|bin| match bin.file_name() {
            Some(name) if name == "bin" && bin != Path::new(DIRECTORY_IN_IMAGE) => bin.parent().map(Path::to_path_buf),
            _ => None,
        });
        Self {
            root: env::var_os(ROOT_VARIABLE).map_or_else(|| PathBuf::from(DEFAULT_ROOT), PathBuf::from),
            own: own.unwrap_or_else(|| PathBuf::from(DEFAULT_HOME)),
        }
    }

    /// A path below `/var/vcap`.
    pub fn vcap(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The root of the file system in which BOSH's directory is `/var/vcap`.
    pub fn file_system(&self) -> Option<&Path> {
        self.root.ancestors().nth(2).filter(|_| self.root.ends_with("var/vcap"))
    }

    pub fn script(&self, job: &str, name: &str) -> PathBuf {
        self.root.join("jobs").join(job).join("bin").join(name)
    }

    /// `sys/log/<job>`.
    pub fn logs(&self, job: &str) -> PathBuf {
        self.root.join("sys/log").join(job)
    }

    /// `sys/run/bpm/<job>`.
    pub fn pid_directory(&self, job: &str) -> PathBuf {
        self.root.join("sys/run/bpm").join(job)
    }

    /// `sys/run/bpm/<job>/<process>.pid`.
    pub fn pid_file(&self, job: &str, process: &str) -> PathBuf {
        self.pid_directory(job).join(format!("{process}.pid"))
    }

    /// The description of a job's processes.
    pub fn processes(&self, job: &str) -> PathBuf {
        self.all_processes().join(format!("{job}.json"))
    }

    /// The descriptions of all jobs.
    pub fn all_processes(&self) -> PathBuf {
        self.own.join("processes")
    }

    /// Directory in which the containers of a pod share their state.
    pub fn instance(&self) -> PathBuf {
        self.own.join("instance")
    }

    /// The state of the container that sends log files. Only that container may write there.
    pub fn log_state(&self) -> PathBuf {
        self.own.join("logs")
    }

    /// Directory of `bpm`, `monit` and `chpst` for scripts.
    pub fn bin(&self) -> PathBuf {
        self.own.join("bin")
    }
}

/// Path of this program, to start it again.
pub fn program() -> PathBuf {
    let called = || {
        env::args_os()
            .next()
            .map_or_else(|| PathBuf::from(DEFAULT_HOME), PathBuf::from)
    };
    env::current_exe().unwrap_or_else(|_| called())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_the_image_uses_the_volume_too() {
        for program in [
            "/usr/bin/container-run",
            "/container-run/bin/container-run",
            "container-run",
        ] {
            assert_eq!(
                Places::of(Path::new(program)).log_state(),
                Path::new("/container-run/logs")
            );
        }
        let elsewhere = Places::of(Path::new("/tmp/pod/bin/container-run"));
        assert_eq!(elsewhere.log_state(), Path::new("/tmp/pod/logs"));
    }
}
