//! Values of a group's keys, and which of them Kubernetes does not take.

use crate::codes;
use crate::group::cloud::Cloud;
use crate::group::{Disks, Lifecycle};
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::group::InstanceGroup;
use boson_manifest::instances::Layout;
use boson_manifest::syntax::{is_label_value, is_subdomain};

/// What runs the group.
pub fn lifecycle(group: &InstanceGroup<'_>, report: &mut Report) -> Lifecycle {
    Lifecycle::named(&group.lifecycle).unwrap_or_else(|| {
        let text = format!(
            "Invalid lifecycle '{}' for '{}', valid lifecycle profiles are: service, errand, auto-errand",
            group.lifecycle, group.name
        );
        report.error(codes::BAD_VALUE, group.place.at("lifecycle"), text);
        Lifecycle::Service
    })
}

/// Names of its zones, which are values of a label of nodes.
pub fn zones(group: &InstanceGroup<'_>, report: &mut Report) -> Vec<String> {
    for (index, az) in group.tree.items("azs").iter().enumerate() {
        let Some(az) = az.as_str().filter(|az| az.is_empty() || !is_label_value(az)) else {
            continue;
        };
        let text = format!("Availability zone '{az}' cannot be the value of a node's label");
        report.error(codes::METADATA, group.place.at("azs").at(index), text);
    }
    group.azs(report)
}

/// `instances`; 0 after an error, which is in the report.
pub fn instances(layout: &Layout<'_>, lifecycle: Lifecycle, place: &Place, report: &mut Report) -> u32 {
    let place = place.at("instances");
    if lifecycle != Lifecycle::Service && layout.instances != 1 {
        let text = format!("Instance group '{}' is an errand: 'instances' must be 1", layout.group);
        report.error(codes::ERRAND, &place, text);
        return 0;
    }
    // Operations on the resolved document can change the number that the links stage has checked.
    if let Some(text) = layout.limit_error() {
        report.error(codes::BAD_VALUE, &place, text);
        return 0;
    }
    layout.instances
}

const CLASS_HELP: &str = "'persistent_disk' is the size in MiB, 'persistent_disk_type' the name of a StorageClass; without it, the cluster's default is used.";

pub fn disks(tree: &Tree, name: &str, cloud: &Cloud, place: &Place, report: &mut Report) -> Disks {
    let ephemeral = resource(tree, "ephemeral_disk_size", place, report).or(cloud.ephemeral);
    if cloud.given && tree.get("persistent_disk_type").is_some() {
        // The disk type sets size and class. An undefined one is reported with the cloud config.
        let disk = cloud.disk.as_ref();
        return Disks {
            persistent: disk
                .and_then(|disk| u64::try_from(disk.size).ok())
                .filter(|size| *size > 0),
            class: disk.and_then(|disk| disk.class.clone()),
            ephemeral,
        };
    }
    let size = tree.i64("persistent_disk");
    if size.is_some_and(|size| size < 0) {
        let text = format!(
            "Instance group '{name}' references an invalid persistent disk size '{}'",
            size.unwrap_or_default()
        );
        report.error(codes::BAD_VALUE, place.at("persistent_disk"), text);
    }
    let persistent = size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0);
    let class = ruby::member(tree, "persistent_disk_type");
    if let Some(class) = &class {
        if persistent.is_none() {
            let text = format!(
                "Instance group '{name}' has a 'persistent_disk_type' without a size: set 'persistent_disk', in MiB"
            );
            report
                .error(codes::REFUSED_KEY, place.at("persistent_disk_type"), text)
                .help(CLASS_HELP);
        } else if !is_subdomain(class) {
            let text = format!("'{class}' cannot be the name of a StorageClass");
            report
                .error(codes::BAD_VALUE, place.at("persistent_disk_type"), text)
                .help(CLASS_HELP);
        }
    }
    Disks {
        persistent,
        class,
        ephemeral,
    }
}

/// A size of `vm_resources`.
pub fn resource(tree: &Tree, key: &str, place: &Place, report: &mut Report) -> Option<u64> {
    let size = tree.get("vm_resources")?.get(key)?.as_i64()?;
    if size <= 0 {
        let text = format!("'{key}' value ({size}) should be greater than 0");
        report.error(codes::BAD_VALUE, place.at("vm_resources").at(key), text);
    }
    u64::try_from(size).ok()
}
