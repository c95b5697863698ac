//! Extra disks: checks of what the user wrote.

use super::Volumes;
use super::claims::claim_templates;
use crate::codes;
use crate::group::Group;
use boson_document::{Report, Tree};
use boson_manifest::group::SETTINGS;
use std::collections::HashSet;

/// Checks that mounts of extra disks name a volume of the pod, and that no volume is given twice.
pub fn check(group: &Group, volumes: &Volumes, report: &mut Report) {
    let place = group.place.join(&SETTINGS).at("disks");
    let name = |tree: &Tree| tree.str("name").unwrap_or_default().to_string();
    let templates: Vec<Tree> = claim_templates(group)
        .into_iter()
        .filter_map(|claim| claim.get("metadata").cloned())
        .collect();
    let mut names = HashSet::new();
    for known in volumes.list(group).iter().chain(&templates).map(name) {
        if !names.insert(known.clone()) {
            let text = format!("The pod has two volumes with the name '{known}'");
            report.error(codes::SETTINGS, &place, text);
        }
    }
    for (index, disk) in group.settings.disks.iter().enumerate() {
        let Some(mount) = &disk.mount else { continue };
        let place = place.at(index).at("volumeMount");
        if !names.contains(&name(mount)) {
            let text = format!("The pod has no volume with the name '{}'", name(mount));
            report.error(codes::SETTINGS, &place, text);
        }
        if mount.str("mountPath").is_none() {
            let text = "The 'volumeMount' of a disk has no 'mountPath'";
            report.error(codes::SETTINGS, &place, text);
        }
    }
}
