//! `container-run exec-as`: sets limits, user and capabilities of itself, then becomes a program.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getgid, getrlimit, getuid, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use crate::description::Size;
use crate::error::{Context, Error, Result};

/// BPM's wrapper script raises the limit to this for all processes without `limits.open_files`.
const DEFAULT_OPEN_FILES: u64 = 524_288;

/// The differences between a program's attributes and those of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// User and group; supplementary groups are dropped.
    pub user: Option<(u32, u32)>,
    /// Capabilities that it has in spite of being no root.
    pub capabilities: Vec<String>,
    /// Whether it can never have more than that.
    pub no_new_privileges: bool,
    /// `RLIMIT_NOFILE`, which must be possible.
    pub open_files: Option<u64>,
    /// BPM's `RLIMIT_NOFILE`, or as much as is possible.
    pub usual_open_files: bool,
    /// `RLIMIT_CORE`.
    pub core: Option<Size>,
    /// How much nicer it is.
    pub nice: i32,
}

// === impl Changes ===

impl Changes {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The changes as an argument of `exec-as`.
    pub fn argument(&self) -> String {
        // Numbers and texts can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Applies the changes. The order matters: limits and the bounding set need root.
    fn apply(&self) -> Result<()> {
        self.set_limits()?;
        if self.nice != 0 {
            // The program runs even if its nice level cannot be set.
            let _ = rustix::process::nice(self.nice);
        }
        let wanted = capabilities(&self.capabilities)?;
        let user = self.user.filter(|ids| *ids != (getuid().as_raw(), getgid().as_raw()));
        if let Some((user, group)) = user {
            restrict_bounding_set(wanted);
            change_user(user, group)?;
        }
        if !wanted.is_empty() || user.is_some() {
            set_capabilities(wanted)?;
        }
        if self.no_new_privileges {
            rustix::thread::set_no_new_privs(true).context("setting no_new_privs")?;
        }
        Ok(())
    }

    fn set_limits(&self) -> Result<()> {
        if let Some(number) = self.open_files {
            set_limit(Resource::Nofile, Some(number)).map_err(|error| {
                let hard = getrlimit(Resource::Nofile).maximum;
                let hard = hard.map_or_else(|| "unlimited".to_string(), |hard| hard.to_string());
                Error::new(format!(
                    "limits.open_files {number} cannot be set here ({error}): the container's hard limit is {hard}; raise it in the container runtime"
                ))
            })?;
        } else if self.usual_open_files {
            let hard = getrlimit(Resource::Nofile).maximum;
            let number = hard.map_or(DEFAULT_OPEN_FILES, |hard| hard.min(DEFAULT_OPEN_FILES));
            let _ = set_limit(Resource::Nofile, Some(number));
        }
        if let Some(size) = self.core {
            let size = match size {
                Size::Bytes(bytes) => Some(bytes),
                Size::Unlimited(_) => None,
            };
            set_limit(Resource::Core, size).map_err(|error| {
                Error::new(format!(
                    "limits.core_file_size cannot be set here: {error}: raise it in the container runtime"
                ))
            })?;
        }
        Ok(())
    }
}

/// Runs the subcommand: `exec-as <changes> <directory> <program> <arguments>`. The directory may be empty.
pub fn run(arguments: &[String]) -> Error {
    match prepare(arguments) {
        Ok(mut command) => {
            let error = command.exec();
            let program = command.get_program().to_string_lossy().into_owned();
            Error::of_exec(&error, format!("cannot start {program}: {error}"))
        }
        Err(error) => error,
    }
}

fn prepare(arguments: &[String]) -> Result<Command> {
    let [changes, directory, program, rest @ ..] = arguments else {
        return Err(Error::usage("exec-as: changes, a directory and a program are needed"));
    };
    let changes: Changes = serde_json::from_str(changes).context("exec-as")?;
    changes.apply()?;
    // As the program's user, who may not be allowed to enter it.
    if !directory.is_empty() {
        std::env::set_current_dir(directory).path_context("entering", std::path::Path::new(directory))?;
    }
    let mut command = Command::new(program);
    command.args(rest);
    Ok(command)
}

/// The soft limit and the hard one; nothing: no limit.
fn set_limit(resource: Resource, limit: Option<u64>) -> rustix::io::Result<()> {
    let limits = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(resource, limits)
}

/// The set of these names, with or without `CAP_`, in any case.
pub fn capabilities(names: &[String]) -> Result<CapabilitySet> {
    let mut set = CapabilitySet::empty();
    for name in names {
        let plain = name.to_ascii_uppercase();
        let plain = plain.strip_prefix("CAP_").unwrap_or(&plain);
        set |= CapabilitySet::from_name(plain)
            .ok_or_else(|| Error::new(format!("'{name}' is not the name of a capability")))?;
    }
    Ok(set)
}

/// Restricts the bounding set. Without permission for this, that of the container remains, which is harmless under
/// no_new_privs.
fn restrict_bounding_set(wanted: CapabilitySet) {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !wanted.contains(one) && rustix::thread::capability_is_in_bounding_set(one).unwrap_or(false) {
            let _ = rustix::thread::remove_capability_from_bounding_set(one);
        }
    }
}

fn change_user(user: u32, group: u32) -> Result<()> {
    let uid = rustix::process::Uid::from_raw(user);
    let gid = rustix::process::Gid::from_raw(group);
    rustix::thread::set_keep_capabilities(true).context("keeping capabilities")?;
    rustix::thread::set_thread_groups(&[]).context("dropping groups, which needs the capability SETGID")?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)
        .context("changing the group, which needs the capability SETGID")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).context("changing the user, which needs the capability SETUID")
}

/// Permitted, effective, inheritable and ambient are exactly these.
fn set_capabilities(wanted: CapabilitySet) -> Result<()> {
    let sets = CapabilitySets {
        effective: wanted,
        permitted: wanted,
        inheritable: wanted,
    };
    rustix::thread::set_capabilities(None, sets).map_err(|error| missing_capabilities(wanted, &error.into()))?;
    for one in wanted.iter() {
        rustix::thread::configure_capability_in_ambient_set(one, true)
            .map_err(|error| missing_capabilities(wanted, &error.into()))?;
    }
    Ok(())
}

fn missing_capabilities(wanted: CapabilitySet, error: &io::Error) -> Error {
    let names: Vec<&str> = wanted.iter_names().map(|(name, _)| name).collect();
    Error::new(format!(
        "the container lacks the capabilities {} of bpm.yml ({error}): it must start as root, with them",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Unlimited;

    #[test]
    fn changes_survive_the_way_through_an_argument() {
        let changes = Changes {
            user: Some((1000, 1000)),
            capabilities: vec!["NET_ADMIN".to_string(), "KILL".to_string()],
            no_new_privileges: true,
            open_files: Some(10),
            usual_open_files: true,
            core: Some(Size::Unlimited(Unlimited::Unlimited)),
            nice: 5,
        };
        let read: Changes = serde_json::from_str(&changes.argument()).unwrap();
        assert_eq!(read, changes);
        assert!(Changes::default().is_none());
    }

    #[test]
    fn capabilities_are_known_by_name() {
        let names = ["NET_BIND_SERVICE", "cap_sys_time"].map(String::from);
        assert_eq!(
            capabilities(&names).unwrap(),
            CapabilitySet::NET_BIND_SERVICE | CapabilitySet::SYS_TIME
        );
        assert!(capabilities(&["FLY".to_string()]).unwrap_err().text.contains("'FLY'"));
    }
}
