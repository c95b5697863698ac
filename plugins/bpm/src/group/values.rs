//! Values of a group's keys, checked in BOSH's words.

use super::{Disks, Lifecycle, MOST_INSTANCES};
use crate::cloud::Cloud;
use crate::codes;
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::instances::{Layout, Spread};
use boson_manifest::redacted;

/// What runs the group.
pub fn lifecycle(tree: &Tree, name: &str, place: &Place, report: &mut Report) -> Lifecycle {
    match tree.str("lifecycle") {
        None | Some("service") => Lifecycle::Service,
        Some("errand") => Lifecycle::Errand,
        Some("auto-errand") => Lifecycle::AutoErrand,
        Some(other) => {
            let text = format!(
                "Invalid lifecycle '{other}' for '{name}', valid lifecycle profiles are: service, errand, auto-errand"
            );
            report.error(codes::BAD_VALUE, place.at("lifecycle"), text);
            Lifecycle::Service
        }
    }
}

/// Names of its zones.
pub fn zones(tree: &Tree, name: &str, place: &Place, report: &mut Report) -> Vec<String> {
    let Some(azs) = tree.get("azs").and_then(Tree::as_array) else {
        return Vec::new();
    };
    let place = place.at("azs");
    if azs.is_empty() {
        report.error(
            codes::BAD_VALUE,
            &place,
            format!("Instance group '{name}' has empty availability zones"),
        );
    }
    let mut zones = Vec::new();
    for (index, az) in azs.iter().enumerate() {
        let at = place.at(index);
        match az.as_str() {
            None => {
                let text = format!(
                    "Instance group '{name}' has invalid availability zone '{}', string expected",
                    redacted::name(az)
                );
                report.error(codes::BAD_VALUE, &at, text);
            }
            Some(az) if az.is_empty() || !crate::metadata::is_label_value(az) => {
                let text = format!("Availability zone '{az}' cannot be the value of a node's label");
                report.error(codes::METADATA, &at, text);
            }
            Some(az) if zones.iter().any(|zone| zone == az) => {
                report.error(
                    codes::DUPLICATE,
                    &at,
                    format!("Availability zone '{az}' of instance group '{name}' is given twice"),
                );
            }
            Some(az) => zones.push(az.to_string()),
        }
    }
    zones
}

/// Instances in each zone of this layout, whose own number of instances is not set yet; empty after an error, which is in the report.
pub fn replicas(
    tree: &Tree,
    layout: &Layout<'_>,
    lifecycle: Lifecycle,
    place: &Place,
    report: &mut Report,
) -> Vec<u32> {
    let Some(value) = tree
        .get("instances")
        .filter(|value| matches!(value, Tree::Number(number) if number.is_integer()))
    else {
        return Vec::new();
    };
    let place = place.at("instances");
    let laid_out = |instances| Layout { instances, ..*layout };
    let shown = || redacted::member("instances", value);
    let count = value.as_i64().and_then(|count| u32::try_from(count).ok());
    let fits = |count: &u32| laid_out(*count).count() <= u64::from(MOST_INSTANCES);
    let text = match count.filter(fits) {
        Some(count) if lifecycle != Lifecycle::Service && count != 1 => {
            let text = format!("Instance group '{}' is an errand: 'instances' must be 1", layout.group);
            report.error(codes::ERRAND, &place, text);
            return Vec::new();
        }
        Some(count) => return laid_out(count).replicas(),
        None if shown().starts_with('-') => {
            format!("'instances' value ({}) should be greater than -1", shown())
        }
        None => {
            let most = match layout.spread {
                Spread::Total => MOST_INSTANCES,
                Spread::PerZone => MOST_INSTANCES / u32::try_from(layout.zones()).unwrap_or(MOST_INSTANCES),
            };
            format!("'instances' value ({}) should be less than {most}", shown())
        }
    };
    report.error(codes::BAD_VALUE, &place, text);
    Vec::new()
}

const CLASS_HELP: &str = "'persistent_disk' is the size in MiB, 'persistent_disk_type' the name of a StorageClass; without it the cluster's default is taken.";

/// Its disks.
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
    let size = tree.get("persistent_disk").and_then(Tree::as_i64);
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
        } else if !crate::metadata::is_subdomain(class) {
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
