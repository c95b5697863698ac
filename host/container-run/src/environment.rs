//! The variables of processes and scripts. Of the container's own environment, only the named variables are passed on.

use std::env;
use std::ffi::OsString;

use crate::description::Process;
use crate::places::{Places, ROOT_VARIABLE};

/// Names and values.
pub type Environment = Vec<(String, OsString)>;

/// The environment of a process, as in BPM: its defaults, overridden by bpm.yml; both are overridden by the container's
/// variables of these names.
pub fn of_process(places: &Places, job: &str, process: &Process, passed: &[String]) -> Environment {
    let mut out = Environment::new();
    for (name, value) in &process.env {
        set(&mut out, name, value.into());
    }
    let data = places.vcap("data").join(job);
    let bin = places.vcap("jobs").join(job).join("bin");
    let path = format!(
        "{}:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.",
        bin.display()
    );
    let defaults: [(&str, OsString); 4] = [
        ("TMPDIR", data.join("tmp").into()),
        ("LANG", "en_US.UTF-8".into()),
        ("PATH", path.into()),
        ("HOME", data.into()),
    ];
    for (name, value) in defaults {
        if !out.iter().any(|(known, _)| known == name) {
            set(&mut out, name, value);
        }
    }
    pass(&mut out, passed);
    out
}

/// The environment of a script, as in the BOSH agent: a `TMPDIR` and this `PATH`, with container-run's own commands at
/// the end.
pub fn of_script(places: &Places, passed: &[String], more: &[(&str, String)]) -> Environment {
    let mut out = Environment::new();
    set(&mut out, "TMPDIR", places.vcap("data/tmp").into());
    pass(&mut out, passed);
    let path = format!("/usr/sbin:/usr/bin:/sbin:/bin:{}", places.bin().display());
    set(&mut out, "PATH", path.into());
    for (name, value) in more {
        set(&mut out, name, value.into());
    }
    // For `bpm`, where BOSH's directory is another.
    pass(&mut out, &[ROOT_VARIABLE.to_string()]);
    out
}

/// The environment of monit, which passes on almost no variables.
pub fn of_monit(places: &Places, passed: &[String]) -> Environment {
    let mut out = Environment::new();
    pass(&mut out, passed);
    let path = format!("/bin:/usr/bin:/sbin:/usr/sbin:{}", places.bin().display());
    set(&mut out, "PATH", path.into());
    pass(&mut out, &[ROOT_VARIABLE.to_string()]);
    out
}

fn pass(out: &mut Environment, names: &[String]) {
    for name in names {
        if let Some(value) = env::var_os(name) {
            set(out, name, value);
        }
    }
}

fn set(out: &mut Environment, name: &str, value: OsString) {
    match out.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => out.push((name.to_string(), value)),
    }
}
