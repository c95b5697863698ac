//! `chpst` of runit: changes the state of a process, then becomes a program. `ctl` scripts start servers with it as
//! another user.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::FlockOperation;
use rustix::process::{Gid, Resource, Rlimit, Uid, setrlimit};

use crate::output::say::say;
use crate::users;

const USAGE: &str = "usage: chpst [-vP012] [-u user[:group]] [-U user[:group]] [-b argv0] [-e dir] [-/ root] [-n inc] [-l|-L lock] [-m n] [-d n] [-o n] [-p n] [-f n] [-c n] prog";
/// runit's exit statuses for wrong arguments and for other errors.
const WRONG_ARGUMENTS_STATUS: u8 = 100;
const FAILED_STATUS: u8 = 111;

#[derive(Debug, Default)]
struct Options {
    user: Option<String>,
    variables: Option<String>,
    argument_zero: Option<String>,
    directory: Option<String>,
    root: Option<String>,
    nice: i32,
    lock: Option<(String, bool)>,
    limits: Vec<(Resource, u64)>,
    session: bool,
    close: Vec<u8>,
    program: Vec<String>,
}

/// Runs the command; returns only if that fails.
pub fn run(arguments: &[String]) -> u8 {
    let (code, text) = match Options::read(arguments) {
        Ok(options) => match options.apply() {
            Ok(never) => match never {},
            Err(text) => (FAILED_STATUS, text),
        },
        Err(text) => (WRONG_ARGUMENTS_STATUS, text),
    };
    say(&format!("chpst: {text}"));
    code
}

// === impl Options ===

impl Options {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter().peekable();
        while let Some(word) = rest.next_if(|word| word.starts_with('-') && word.len() > 1) {
            if word == "--" {
                break;
            }
            let mut letters = word[1..].chars();
            while let Some(letter) = letters.next() {
                if options.set_simple(letter) {
                    continue;
                }
                let attached = letters.as_str();
                let value = if attached.is_empty() {
                    rest.next().cloned()
                } else {
                    Some(attached.to_string())
                };
                options.set(letter, value.ok_or_else(|| USAGE.to_string())?)?;
                break;
            }
        }
        options.program = rest.cloned().collect();
        if options.program.is_empty() {
            Err(USAGE.to_string())
        } else {
            Ok(options)
        }
    }

    fn set_simple(&mut self, letter: char) -> bool {
        match letter {
            'v' => {}
            'P' => self.session = true,
            '0' => self.close.push(0),
            '1' => self.close.push(1),
            '2' => self.close.push(2),
            _ => return false,
        }
        true
    }

    fn set(&mut self, letter: char, value: String) -> Result<(), String> {
        let number = |value: &str| value.parse::<u64>().map_err(|_| USAGE.to_string());
        match letter {
            'u' => self.user = Some(value),
            'U' => self.variables = Some(value),
            'b' => self.argument_zero = Some(value),
            'e' => self.directory = Some(value),
            '/' => self.root = Some(value),
            'n' => self.nice = value.parse().map_err(|_| USAGE.to_string())?,
            'l' => self.lock = Some((value, true)),
            'L' => self.lock = Some((value, false)),
            // All of a process's memory, as runit understands it.
            'm' => {
                let bytes = number(&value)?;
                for resource in [Resource::Data, Resource::Stack, Resource::Memlock, Resource::As] {
                    self.limits.push((resource, bytes));
                }
            }
            'd' => self.limits.push((Resource::Data, number(&value)?)),
            'o' => self.limits.push((Resource::Nofile, number(&value)?)),
            'p' => self.limits.push((Resource::Nproc, number(&value)?)),
            'f' => self.limits.push((Resource::Fsize, number(&value)?)),
            'c' => self.limits.push((Resource::Core, number(&value)?)),
            's' => self.limits.push((Resource::Stack, number(&value)?)),
            'a' => self.limits.push((Resource::As, number(&value)?)),
            'r' => self.limits.push((Resource::Rss, number(&value)?)),
            't' => self.limits.push((Resource::Cpu, number(&value)?)),
            _ => return Err(USAGE.to_string()),
        }
        Ok(())
    }

    /// Applies the changes in runit's order, and starts the program.
    fn apply(&self) -> Result<std::convert::Infallible, String> {
        let (program, arguments) = self.program.split_first().ok_or_else(|| USAGE.to_string())?;
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(name) = &self.argument_zero {
            command.arg0(name);
        }
        if self.session {
            rustix::process::setsid().map_err(|error| format!("cannot make a session: {error}"))?;
        }
        if let Some(directory) = &self.directory {
            set_variables(&mut command, Path::new(directory))?;
        }
        if let Some(user) = &self.variables {
            let (user, groups) = ids(user)?;
            command.env("UID", user.to_string());
            command.env("GID", groups.first().copied().unwrap_or_default().to_string());
        }
        let user = self.user.as_deref().map(ids).transpose()?;
        if let Some(root) = &self.root {
            rustix::process::chroot(root)
                .and_then(|()| rustix::process::chdir("/"))
                .map_err(|error| format!("cannot change the root directory to {root}: {error}"))?;
        }
        for (resource, limit) in &self.limits {
            set_limit(*resource, *limit).map_err(|error| format!("cannot set a limit: {error}"))?;
        }
        if self.nice != 0 {
            rustix::process::nice(self.nice).map_err(|error| format!("cannot set the nice level: {error}"))?;
        }
        // Held until the program's end: it must be inherited.
        let _lock = self.lock.as_ref().map(|(path, wait)| lock(path, *wait)).transpose()?;
        if let Some((user, groups)) = user {
            change_user(user, &groups).map_err(|error| format!("cannot change the user: {error}"))?;
        }
        for number in &self.close {
            redirect(&mut command, *number);
        }
        let error = command.exec();
        Err(format!("cannot start {program}: {error}"))
    }
}

/// Each file of the directory is a variable: its name, and its first line; an empty file removes the variable.
fn set_variables(command: &mut Command, directory: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") || !entry.path().is_file() {
            continue;
        }
        let mut bytes = Vec::new();
        let file = File::open(entry.path()).map_err(failed)?;
        file.take(64 << 10).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.is_empty() {
            command.env_remove(&name);
            continue;
        }
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        // NUL represents a line break.
        let value: Vec<u8> = line.iter().map(|byte| if *byte == 0 { b'\n' } else { *byte }).collect();
        let value = value.trim_ascii_end().to_vec();
        command.env(name, <OsString as std::os::unix::ffi::OsStringExt>::from_vec(value));
    }
    Ok(())
}

/// `user`, `user:group:group`, or `:number:number`.
fn ids(text: &str) -> Result<(u32, Vec<u32>), String> {
    let numeric = text.strip_prefix(':');
    let mut names = numeric.unwrap_or(text).split(':');
    let user = names.next().unwrap_or_default();
    let (id, main) = match (numeric, user.parse()) {
        (Some(_), Ok(number)) => (number, number),
        (Some(_), Err(_)) => return Err(format!("unknown user '{text}'")),
        (None, _) => users::user_ids(user).map_err(|error| error.text)?,
    };
    let groups = names.map(|name| users::group_id(name).map_err(|error| error.text));
    let mut groups: Vec<u32> = groups.collect::<Result<_, _>>()?;
    if groups.is_empty() {
        groups.push(main);
    }
    Ok((id, groups))
}

fn change_user(user: u32, groups: &[u32]) -> rustix::io::Result<()> {
    let all: Vec<Gid> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let uid = Uid::from_raw(user);
    let main = Gid::from_raw(groups.first().copied().unwrap_or(user));
    rustix::thread::set_thread_groups(&all)?;
    rustix::thread::set_thread_res_gid(main, main, main)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}

/// The soft limit; never above the hard one.
fn set_limit(resource: Resource, limit: u64) -> rustix::io::Result<()> {
    let hard = rustix::process::getrlimit(resource).maximum;
    let current = hard.map_or(limit, |hard| hard.min(limit));
    setrlimit(
        resource,
        Rlimit {
            current: Some(current),
            maximum: hard,
        },
    )
}

fn lock(path: &str, wait: bool) -> Result<File, String> {
    let failed = |error: String| format!("cannot lock {path}: {error}");
    let options = File::options().append(true).create(true).open(path);
    let file = options.map_err(|error| failed(error.to_string()))?;
    let operation = if wait {
        FlockOperation::LockExclusive
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    rustix::fs::flock(&file, operation).map_err(|error| failed(error.to_string()))?;
    rustix::io::fcntl_setfd(file.as_fd(), rustix::io::FdFlags::empty()).map_err(|error| failed(error.to_string()))?;
    Ok(file)
}

fn redirect(command: &mut Command, number: u8) {
    let nothing = std::process::Stdio::null();
    match number {
        0 => command.stdin(nothing),
        1 => command.stdout(nothing),
        _ => command.stderr(nothing),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
        Options::read(&words)
    }

    #[test]
    fn options_are_read_as_by_runit() {
        let options = read(&["-v", "-u", "vcap:vcap", "-n5", "-o", "100", "-P", "server", "-u", "x"]).unwrap();
        assert_eq!(options.user.as_deref(), Some("vcap:vcap"));
        assert_eq!(options.nice, 5);
        assert!(options.session);
        assert_eq!(options.program, ["server", "-u", "x"]);
        assert!(read(&["-u"]).is_err() && read(&["-q", "x", "y"]).is_err() && read(&["-v"]).is_err());
    }

    #[test]
    fn users_are_names_and_numbers() {
        assert_eq!(ids("root").unwrap(), (0, vec![0]));
        assert_eq!(ids(":7:8:9").unwrap(), (7, vec![8, 9]));
        assert_eq!(ids("12").unwrap(), (12, vec![12]));
        assert!(ids(":root").is_err());
    }
}
