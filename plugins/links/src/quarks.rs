//! The job property `quarks` with what only Kubernetes knows, as far as this stage reads it.

use crate::codes;
use crate::job::Job;
use boson_document::{Report, Tree};
use boson_manifest::job::{self, QUARKS};
use boson_manifest::members::Members;

/// What the manifest has under `quarks`, over what it has under the older name.
pub fn quarks(job: &Job<'_>) -> Tree {
    let maps = QUARKS
        .iter()
        .rev()
        .filter_map(|name| job.properties.get(*name)?.as_map());
    let members = maps.flatten().filter(|(key, _)| !COMPUTED.contains(&key.as_str()));
    members.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Members of `quarks` that this stage sets.
pub const COMPUTED: [&str; 5] = ["instances", "consumes", "release", "declared", "hypothetical"];

/// Checks the job's property `quarks` as far as this stage reads it.
pub fn check(job: &Job<'_>, report: &mut Report) {
    let place = &job.properties.place;
    for (name, given) in job::quarks(&job.properties) {
        let Some(members) = Members::of(given, place.at(name), codes::MEMBERS, report) else {
            continue;
        };
        for key in ["instances", "release", "declared", "hypothetical"]
            .into_iter()
            .filter(|key| members.get(key).is_some())
        {
            let message = format!(
                "The key '{key}' of the property '{name}' of job '{}' has no effect: it is computed",
                job.name
            );
            report
                .warning(codes::GIVEN_DATA, members.place.at(key), message)
                .help("take it out");
        }
        members.object("consumes", report);
    }
    if QUARKS.iter().all(|name| job.properties.contains_key(*name)) {
        let message = format!(
            "Job '{}' has both the properties '{}' and '{}'",
            job.name, QUARKS[0], QUARKS[1]
        );
        let help = "move everything to `quarks`, which overrides the older name";
        report
            .warning(codes::GIVEN_DATA, place.at(QUARKS[1]), message)
            .help(help);
    }
}
