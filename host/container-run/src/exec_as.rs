//! `container-run exec-as`: sets limits, user and capabilities of itself, then becomes a program.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getgid, getrlimit, getuid, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::description::Size;
use crate::error::{Doing, Error, Result, code_of_exec};

/// BPM's wrapper script raises the limit to this for all processes without `limits.open_files`.
const DEFAULT_OPEN_FILES: u64 = 524_288;

/// The differences between a program's attributes and those of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// `RLIMIT_CORE`; nothing: no limit.
    pub core: Option<Option<u64>>,
    /// How much nicer it is.
    pub nice: i32,
}

// === impl Changes ===

impl Changes {
    /// Whether there are no changes.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The size of core files, as bpm.yml gives it.
    pub fn core(mut self, size: Option<Size>) -> Self {
        self.core = size.map(|size| match size {
            Size::Bytes(bytes) => Some(bytes),
            Size::Unlimited(_) => None,
        });
        self
    }

    /// The settings as arguments of `exec-as`.
    pub fn arguments(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some((user, group)) = self.user {
            out.push(format!("--user={user}:{group}"));
        }
        out.extend(self.capabilities.iter().map(|name| format!("--capability={name}")));
        if self.no_new_privileges {
            out.push("--no-new-privileges".to_string());
        }
        out.extend(self.open_files.map(|number| format!("--open-files={number}")));
        if self.usual_open_files {
            out.push("--usual-open-files".to_string());
        }
        let word = |size: Option<u64>| size.map_or_else(|| "unlimited".to_string(), |size| size.to_string());
        out.extend(self.core.map(|size| format!("--core={}", word(size))));
        if self.nice != 0 {
            out.push(format!("--nice={}", self.nice));
        }
        out
    }

    /// Reads one argument; whether it is one of these.
    fn take(&mut self, argument: &str) -> Option<()> {
        let (flag, value) = argument.split_once('=').unwrap_or((argument, ""));
        match flag {
            "--user" => {
                let (user, group) = value.split_once(':')?;
                self.user = Some((user.parse().ok()?, group.parse().ok()?));
            }
            "--capability" => self.capabilities.push(value.to_string()),
            "--no-new-privileges" => self.no_new_privileges = true,
            "--open-files" => self.open_files = Some(value.parse().ok()?),
            "--usual-open-files" => self.usual_open_files = true,
            "--core" if value == "unlimited" => self.core = Some(None),
            "--core" => self.core = Some(Some(value.parse().ok()?)),
            "--nice" => self.nice = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// Applies the changes. The order matters: limits and the bounding set need root.
    fn make(&self) -> Result<()> {
        self.limit()?;
        if self.nice != 0 {
            // The program runs even if its nice level cannot be set.
            let _ = rustix::process::nice(self.nice);
        }
        let wanted = capabilities(&self.capabilities)?;
        let user = self.user.filter(|ids| *ids != (getuid().as_raw(), getgid().as_raw()));
        if user.is_some() {
            bound(wanted);
        }
        if let Some((user, group)) = user {
            change_user(user, group)?;
        }
        if !wanted.is_empty() || user.is_some() {
            hold(wanted)?;
        }
        if self.no_new_privileges {
            rustix::thread::set_no_new_privs(true).while_("setting no_new_privs")?;
        }
        Ok(())
    }

    fn limit(&self) -> Result<()> {
        if let Some(number) = self.open_files {
            let limits = Rlimit {
                current: Some(number),
                maximum: Some(number),
            };
            setrlimit(Resource::Nofile, limits).map_err(|error| {
                let hard = getrlimit(Resource::Nofile).maximum;
                let hard = hard.map_or_else(|| "unlimited".to_string(), |hard| hard.to_string());
                Error::new(format!(
                    "limits.open_files {number} cannot be set here ({error}): the container's hard limit is {hard}; raise it in the container runtime"
                ))
            })?;
        } else if self.usual_open_files {
            let hard = getrlimit(Resource::Nofile).maximum;
            let number = hard.map_or(DEFAULT_OPEN_FILES, |hard| hard.min(DEFAULT_OPEN_FILES));
            let limits = Rlimit {
                current: Some(number),
                maximum: Some(number),
            };
            let _ = setrlimit(Resource::Nofile, limits);
        }
        if let Some(size) = self.core {
            let limits = Rlimit {
                current: size,
                maximum: size,
            };
            setrlimit(Resource::Core, limits).map_err(|error| {
                Error::new(format!(
                    "limits.core_file_size cannot be set here: {error}: raise it in the container runtime"
                ))
            })?;
        }
        Ok(())
    }
}

/// Runs the subcommand: `exec-as [changes] [--directory DIR] -- <program> <arguments>`.
pub fn run(arguments: &[String]) -> Error {
    match prepare(arguments) {
        Ok(mut command) => {
            let error = command.exec();
            let program = command.get_program().to_string_lossy().into_owned();
            Error {
                code: code_of_exec(&error),
                text: format!("cannot start {program}: {error}"),
            }
        }
        Err(failure) => failure,
    }
}

fn prepare(arguments: &[String]) -> Result<Command> {
    let mut changes = Changes::default();
    let mut directory = None;
    let mut rest = arguments.iter();
    loop {
        let argument = rest
            .next()
            .ok_or_else(|| Error::usage("exec-as: -- and a program are needed"))?;
        match argument.as_str() {
            "--" => break,
            "--directory" => directory = rest.next(),
            _ => changes
                .take(argument)
                .ok_or_else(|| Error::usage(format!("exec-as: unknown argument {argument}")))?,
        }
    }
    let program = rest
        .next()
        .ok_or_else(|| Error::usage("exec-as: a program is needed"))?;
    changes.make()?;
    // As the program's user, who may not be allowed to enter it.
    if let Some(directory) = directory {
        std::env::set_current_dir(directory).doing("entering", std::path::Path::new(directory))?;
    }
    let mut command = Command::new(program);
    command.args(rest);
    Ok(command)
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
fn bound(wanted: CapabilitySet) {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !wanted.contains(one) && rustix::thread::capability_is_in_bounding_set(one).unwrap_or(false) {
            let _ = rustix::thread::remove_capability_from_bounding_set(one);
        }
    }
}

fn change_user(user: u32, group: u32) -> Result<()> {
    let (uid, gid) = (
        rustix::process::Uid::from_raw(user),
        rustix::process::Gid::from_raw(group),
    );
    rustix::thread::set_keep_capabilities(true).while_("keeping capabilities")?;
    rustix::thread::set_thread_groups(&[]).while_("dropping groups, which needs the capability SETGID")?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)
        .while_("changing the group, which needs the capability SETGID")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).while_("changing the user, which needs the capability SETUID")
}

/// Permitted, effective, inheritable and ambient are exactly these.
fn hold(wanted: CapabilitySet) -> Result<()> {
    let sets = CapabilitySets {
        effective: wanted,
        permitted: wanted,
        inheritable: wanted,
    };
    rustix::thread::set_capabilities(None, sets).map_err(|error| missing(wanted, &error.into()))?;
    for one in wanted.iter() {
        rustix::thread::configure_capability_in_ambient_set(one, true)
            .map_err(|error| missing(wanted, &error.into()))?;
    }
    Ok(())
}

fn missing(wanted: CapabilitySet, error: &io::Error) -> Error {
    let names: Vec<&str> = wanted.iter_names().map(|(name, _)| name).collect();
    Error::new(format!(
        "the container lacks the capabilities {} of bpm.yml ({error}): it must start as root, with them",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_survive_the_way_through_arguments() {
        let changes = Changes {
            user: Some((1000, 1000)),
            capabilities: vec!["NET_ADMIN".to_string(), "KILL".to_string()],
            no_new_privileges: true,
            open_files: Some(10),
            usual_open_files: true,
            core: Some(None),
            nice: 5,
        };
        let mut read = Changes::default();
        for argument in changes.arguments() {
            assert_eq!(read.take(&argument), Some(()), "{argument}");
        }
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
