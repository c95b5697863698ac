//! Capabilities as BPM gives them: it puts `CAP_` before each name, and runc ignores what it does not know. Container
//! runtimes of Kubernetes would take `net_raw` for `NET_RAW`.

use crate::{Finding, Findings, Kind, Process};
use boson_document::closest;

/// Those of Linux.
const KNOWN: [&str; 41] = [
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// The process with the capabilities that it would have under BPM, and a finding for each other one.
pub fn known(mut process: Process, findings: &mut Findings) -> Process {
    let given = std::mem::take(&mut process.capabilities);
    for (index, name) in given.into_iter().enumerate() {
        if KNOWN.contains(&name.as_str()) {
            process.capabilities.push(name);
            continue;
        }
        let message = "This capability has no effect: BPM's runtime knows no capability of this name";
        let plain = name.to_ascii_uppercase();
        let plain = plain.strip_prefix("CAP_").unwrap_or(&plain);
        let same = KNOWN.into_iter().find(|known| *known == plain);
        findings.0.push(Finding {
            kind: Kind::Ignored,
            place: process.place.at("capabilities").at(index),
            message: message.into(),
            near: same.or_else(|| closest(plain, KNOWN)),
        });
    }
    process
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        let given = ["NET_RAW", "net_raw", "CAP_SYS_TIME", "ALL", "SYS_TIME"];
        let process = Process {
            capabilities: given.map(String::from).into(),
            ..Process::default()
        };
        let mut findings = Findings::default();
        assert_eq!(known(process, &mut findings).capabilities, ["NET_RAW", "SYS_TIME"]);
        let near: Vec<_> = findings.0.iter().map(|one| one.near).collect();
        assert_eq!(near, [Some("NET_RAW"), Some("SYS_TIME"), None]);
        assert!(findings.0.iter().all(|one| !one.kind.is_error()));
    }
}
