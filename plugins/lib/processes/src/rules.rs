//! BPM's own checks of a process, in its words and order, and checks of what containers do not support.

use crate::{Findings, Kind, POD_IP, Process, Volume};
use crate::{bytes, cpu};
use boson_document::Place;

/// BPM's checks. All errors of a process are reported; BPM stops at the first.
pub fn check(process: &Process, job: &str, place: &Place, findings: &mut Findings) {
    let limits = place.at("limits");
    let mut report_error = |place: &Place, text: &str| {
        findings.add(Kind::Schema, place, text);
    };
    let mut refused = |place: &Place, text: &str| {
        report_error(place, &format!("failed to parse job configuration: {text}"));
    };
    if process.name.is_empty() {
        refused(place, "invalid config: name");
    }
    if process.executable.is_empty() {
        refused(place, "invalid config: executable");
    }
    for (index, volume) in process.additional_volumes.iter().enumerate() {
        if let Some(text) = bad_volume(volume, job) {
            refused(&place.at("additional_volumes").at(index).at("path"), &text);
        }
    }
    if !matches!(process.shutdown_signal.as_str(), "" | "TERM" | "INT") {
        let text = "shutdown signal should either be 'TERM' or 'INT' (or left unspecified), but got";
        let message = format!("{text} '{}'", process.shutdown_signal);
        refused(&place.at("shutdown_signal"), &message);
    }
    if process
        .limits
        .memory
        .as_deref()
        .is_some_and(|memory| bytes::parse(memory).is_none())
    {
        report_error(&limits.at("memory"), bytes::BAD_AMOUNT);
    }
    if process.pre_start.as_deref() == Some("") {
        report_error(&place.at("hooks"), "prestart hook failed: exec: no command");
    }
    if process.limits.cpu.as_deref().is_some_and(|cpu| !cpu::is_cpu(cpu)) {
        let message = "'limits.cpu' is a number of CPUs, or thousandths of them: 500m";
        report_error(&limits.at("cpu"), message);
    }
    for (name, _) in process.env.iter().filter(|(name, _)| !is_env_name(name)) {
        let message = "This cannot be the name of an environment variable";
        report_error(&place.at("env").at(name), message);
    }
    pod_ip(process, place, findings);
}

fn bad_volume(volume: &Volume, job: &str) -> Option<String> {
    let path = volume.path.as_str();
    let clean = clean(path);
    if clean != path {
        return Some(format!(
            "volume path must be canonical, expected {clean} but got {path}"
        ));
    }
    if path == format!("/var/vcap/data/{job}") || path == format!("/var/vcap/store/{job}") {
        return Some(format!(
            "invalid volume path: {path} cannot conflict with default job data or store directories"
        ));
    }
    (!path.starts_with("/var/vcap/")).then(|| format!("invalid volume path: {path} must be within /var/vcap"))
}

/// The shortest spelling of a path, by its text alone.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    if rooted {
        format!("/{joined}")
    } else if joined.is_empty() {
        ".".into()
    } else {
        joined
    }
}

/// Fields that shape the pod are needed before it has an address; all others are read again in the pod.
fn pod_ip(process: &Process, place: &Place, findings: &mut Findings) {
    let volumes = process.additional_volumes.iter().chain(&process.unrestricted_volumes);
    let volumes = volumes.map(|volume| ("volumes", volume.path.as_str()));
    for (field, text) in [("name", process.name.as_str())].into_iter().chain(volumes) {
        if text.contains(POD_IP) {
            let text = format!("'spec.ip' cannot be used in {field}: the address of a pod is known only once it runs");
            findings.add(Kind::PodIp, place, text);
        }
    }
}

/// Printable characters but `=`: what Kubernetes takes as the name of an environment variable.
pub fn is_env_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, expected) in [
            ("/var/vcap/data/", "/var/vcap/data"),
            ("//a//b", "/a/b"),
            ("/a/../b", "/b"),
            ("/..", "/"),
            ("", "."),
            ("a/./b/..", "a"),
            ("../a", "../a"),
        ] {
            assert_eq!(clean(path), expected, "{path:?}");
        }
    }

    #[test]
    fn volumes_are_refused_in_bpms_words() {
        let bad = |path: &str| {
            bad_volume(
                &Volume {
                    path: path.into(),
                    ..Volume::default()
                },
                "api",
            )
        };
        assert_eq!(bad("/var/vcap/data/other"), None);
        assert_eq!(bad("/var/vcap/sys/run/api"), None);
        let text = "volume path must be canonical, expected /var/vcap/x but got /var/vcap/x/";
        assert_eq!(bad("/var/vcap/x/").as_deref(), Some(text));
        let text = "invalid volume path: /var/vcap/data/api cannot conflict with default job data or store directories";
        assert_eq!(bad("/var/vcap/data/api").as_deref(), Some(text));
        assert_eq!(
            bad("/var/vcap").as_deref(),
            Some("invalid volume path: /var/vcap must be within /var/vcap")
        );
        assert_eq!(
            bad("/etc").as_deref(),
            Some("invalid volume path: /etc must be within /var/vcap")
        );
    }
}
