//! What was found in a description of processes, as diagnostics.

use crate::codes;
use boson_document::{Diagnostic, Report, did_you_mean};
use boson_processes::{Findings, Kind};

/// Adds findings to a report.
pub fn add(findings: Findings, report: &mut Report) {
    for one in findings.0 {
        let mut diagnostic = match one.kind {
            Kind::Schema => Diagnostic::error(codes::SCHEMA, one.message),
            Kind::PodIp => Diagnostic::error(codes::POD_IP, one.message),
            Kind::Ignored => Diagnostic::warning(codes::UNKNOWN_BPM_KEY, one.message),
            Kind::Monit => Diagnostic::error(codes::MONIT, one.message),
            Kind::MonitIgnored => Diagnostic::warning(codes::MONIT, one.message),
        };
        if let Some(near) = one.near {
            diagnostic.help(did_you_mean(near, ""));
        }
        report.push(diagnostic.at(one.place));
    }
}
