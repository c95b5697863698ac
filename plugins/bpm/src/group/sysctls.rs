//! Kernel parameters of pods: `quarks.run.sysctls` of all jobs of a group make one list.

use crate::codes;
use crate::object::object;
use boson_document::{Place, Report, Tree, go};
use boson_manifest::sysctl;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Sysctl {
    /// With dots between its parts.
    name: String,
    value: String,
    job: String,
    place: Place,
}

/// The parameters of a job. `place`: of `sysctls`, whose type is checked with the manifest.
pub fn read(run: &Tree, job: &str, place: &Place, report: &mut Report) -> Vec<Sysctl> {
    let given = run.get("sysctls").and_then(Tree::as_map).into_iter().flatten();
    given
        .filter_map(|(name, value)| one(name, value, job, &place.at(name), report))
        .collect()
}

fn one(given: &str, value: &Tree, job: &str, place: &Place, report: &mut Report) -> Option<Sysctl> {
    let name = sysctl::with_dots(given);
    if !sysctl::is_name(given) {
        let text = format!("'{given}' is not a valid name of a sysctl");
        report.error(codes::SYSCTL, place, text);
        return None;
    }
    if !sysctl::is_of_pod(&name) {
        let text = format!("A pod cannot set the sysctl '{given}': the node has one value for all of its pods");
        let help = "let an administrator set it on the nodes, in /etc/sysctl.d or in the configuration of the node pool, and remove it here";
        report.error(codes::SYSCTL, place, text).help(help);
        return None;
    }
    let value = match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) if number.is_integer() => go::text(value),
        _ => None,
    };
    if value.is_none() {
        let text = format!("The value of the sysctl '{given}' must be a string or an integer");
        report.error(codes::SYSCTL, place, text);
    }
    if !sysctl::is_safe(&name) {
        let text = format!("Pods with the sysctl '{given}' run only on nodes whose kubelet allows it");
        let help = "let an administrator allow it, with the kubelet's option --allowed-unsafe-sysctls or `allowedUnsafeSysctls` in its configuration";
        report.warning(codes::UNSAFE_SYSCTL, place, text).help(help);
    }
    Some(Sysctl {
        name,
        value: value?,
        job: job.into(),
        place: place.clone(),
    })
}

/// The parameters of all jobs as the pod has them, by name. Different values for one are an error at both places.
pub fn merge<'s>(sysctls: impl Iterator<Item = &'s Sysctl>, report: &mut Report) -> Vec<Tree> {
    let mut by_name: BTreeMap<&str, &Sysctl> = BTreeMap::new();
    for sysctl in sysctls {
        let first = *by_name.entry(&sysctl.name).or_insert(sysctl);
        if first.value == sysctl.value {
            continue;
        }
        let who = if first.job == sysctl.job {
            format!("Job '{}' sets", first.job)
        } else {
            format!("Jobs '{}' and '{}' of one pod set", first.job, sysctl.job)
        };
        for place in [&first.place, &sysctl.place] {
            let text = format!("{who} the sysctl '{}' to different values", sysctl.name);
            report.error(codes::SYSCTL, place, text);
        }
    }
    let all = by_name.into_values();
    all.map(|one| object! { "name" => one.name.as_str(), "value" => one.value.as_str() })
        .collect()
}
