//! An instance group's settings from the cloud config: zones of nodes, sizes, disks, and which nodes its pods run on.

use crate::codes;
use crate::group::settings::Settings;
use crate::metadata::{Use, user_map};
use crate::rules::fields;
use crate::rules::kubernetes_rules;
use boson_document::{Map, Place, Pointer, Report, Tree};
use boson_manifest::cloud::{self, CloudConfig, Disk};
use boson_manifest::syntax::{is_label_value, is_qualified, is_subdomain};
use std::collections::HashMap;

const CODES: &cloud::Codes = &cloud::Codes {
    invalid: codes::CLOUD_CONFIG,
    no_effect: codes::CLOUD_PROPERTY,
};

/// The settings for one group; all absent without a cloud config.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    /// Whether there is a cloud config.
    pub given: bool,
    zones: HashMap<String, String>,
    pub cpu: Option<u64>,
    /// Memory in MiB.
    pub ram: Option<u64>,
    /// Ephemeral disk in MiB.
    pub ephemeral: Option<u64>,
    /// What its containers request of these sizes.
    pub requests: Requests,
    pub disk: Option<Disk>,
    labels: Map,
    tolerations: Vec<Tree>,
    node_selector: Map,
}

/// How much of their part of the VM's size containers request; limits do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requests {
    /// All of it, as a VM has it for itself.
    #[default]
    Full,
    Fraction,
    None,
}

// === impl Requests ===

impl Requests {
    fn named(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "fraction" => Some(Self::Fraction),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

// === impl Cloud ===

impl Cloud {
    /// Settings of a group, from the resolved document that contains it. [`check`] reports errors in the cloud config.
    pub fn of_group(document: &Tree, group: &Tree) -> Self {
        let Some(config) = CloudConfig::of(document) else {
            return Self::default();
        };
        let vm = config.vm(group);
        let size = |key: &str| {
            let size = vm.i64(key).and_then(|size| u64::try_from(size).ok());
            size.filter(|size| *size > 0)
        };
        let map = |key: &str| vm.members(key).cloned().unwrap_or_default();
        let zones = group.texts("azs");
        Self {
            given: true,
            zones: zones
                .filter_map(|az| Some((az.to_string(), config.zone(az)?.to_string())))
                .collect(),
            cpu: size("cpu"),
            ram: size("ram"),
            ephemeral: size("ephemeral_disk_size"),
            requests: vm.str("requests").and_then(Requests::named).unwrap_or_default(),
            disk: config.disk(group),
            labels: map("labels"),
            tolerations: vm.items("tolerations").to_vec(),
            node_selector: map("node_selector"),
        }
    }

    /// Value of the nodes' zone label for an AZ.
    pub fn zone(&self, az: &str) -> String {
        self.zones.get(az).map_or(az, String::as_str).to_string()
    }

    /// `zoneValues` of a QuarksStatefulSet: only AZs with another zone name.
    pub fn zone_values(&self, azs: &[String]) -> Map {
        let others = azs.iter().filter_map(|az| Some((az, self.zones.get(az)?)));
        others
            .filter(|(az, zone)| az != zone)
            .map(|(az, zone)| (az.clone(), zone.as_str().into()))
            .collect()
    }

    /// Merges the group's own settings over those of its VM type and extensions: labels by name, tolerations as one
    /// list.
    pub fn merge(&self, mut settings: Settings) -> Settings {
        let mut labels = self.labels.clone();
        labels.extend(settings.labels);
        settings.labels = labels;
        if !self.tolerations.is_empty() {
            let own = settings.pod.get("tolerations").and_then(Tree::as_array);
            let all: Vec<Tree> = self
                .tolerations
                .iter()
                .chain(own.into_iter().flatten())
                .cloned()
                .collect();
            settings.pod.insert("tolerations".into(), all.into());
        }
        if !self.node_selector.is_empty() {
            settings
                .pod
                .insert("nodeSelector".into(), self.node_selector.clone().into());
        }
        settings
    }
}

/// Reports errors in the cloud config of a manifest and in the references to it.
pub fn check(document: &Tree, place: &Place, report: &mut Report) {
    cloud::check(document, CODES, place, report);
    for (property, value, at) in used(document) {
        property_value(property, value, &place.with(at), report);
    }
}

/// Values that Kubernetes would refuse only once the objects are applied.
fn property_value(property: &str, value: &Tree, at: &Place, report: &mut Report) {
    match (property, value.as_str()) {
        ("labels", _) => drop(user_map(Some(value), Use::Labels, at, report)),
        ("node_selector", _) => {
            for (label, value) in value.as_object().into_iter().flatten() {
                if !is_qualified(label) || !value.as_str().is_none_or(is_label_value) {
                    let text = format!("'{label}' is not a valid label of nodes");
                    report.error(codes::CLOUD_CONFIG, at.at(label), text);
                }
            }
        }
        ("tolerations", _) => {
            fields::check("[core.v1.Toleration]", value, at, report);
            kubernetes_rules::tolerations(value, at, report);
        }
        ("requests", name) if name.and_then(Requests::named).is_none() => {
            let text = "'requests' must be 'full', 'fraction' or 'none'";
            report.error(codes::CLOUD_CONFIG, at, text);
        }
        ("zone", Some(zone)) if !is_label_value(zone) => {
            let text = format!("Zone '{zone}' cannot be the value of a node's label");
            report.error(codes::CLOUD_CONFIG, at, text);
        }
        ("storage_class", Some(class)) if !is_subdomain(class) => {
            let text = format!("'{class}' cannot be the name of a StorageClass");
            report.error(codes::CLOUD_CONFIG, at, text);
        }
        _ => {}
    }
}

/// Cloud properties of the definitions that groups use, with their places.
fn used(document: &Tree) -> Vec<(&str, &Tree, Pointer)> {
    let Some(config) = CloudConfig::of(document) else {
        return Vec::new();
    };
    let groups = document.items("instance_groups");
    let mut found = Vec::new();
    for list in ["azs", "vm_types", "vm_extensions", "disk_types"] {
        for (entry, at) in config.placed(list) {
            let name = entry.get("name");
            let refers = |group: &Tree| match list {
                "vm_types" => group.get("vm_type") == name,
                "disk_types" => group.get("persistent_disk_type") == name,
                list => group.items(list).iter().any(|one| Some(one) == name),
            };
            if groups.iter().any(refers) {
                let properties = cloud::properties(entry).into_iter().flatten();
                let at = at.at("cloud_properties");
                found.extend(properties.map(|(key, value)| (key.as_str(), value, at.at(key))));
            }
        }
    }
    found
}
