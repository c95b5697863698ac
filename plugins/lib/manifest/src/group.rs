//! Instance groups of a manifest, and the one of a resolved document.

use crate::members::{self, Members};
use crate::redacted::plain;
use crate::types::Type;
use boson_document::{Code, Map, Place, Pointer, Report, Tree, ruby};
use std::collections::HashSet;

/// The codes under which a stage reports errors.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// Types and required keys.
    pub members: &'static members::Codes,
    /// A number of instances that cannot be.
    pub instances: &'static Code,
    /// An error in the list of AZs.
    pub zones: &'static Code,
}

/// Codes for a reader that reports nothing.
const UNREPORTED: &Codes = &Codes {
    members: members::UNREPORTED,
    instances: members::UNREPORTED.wrong_type,
    zones: members::UNREPORTED.wrong_type,
};

/// What runs a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    Service,
    /// On request.
    Errand,
    AutoErrand,
}

#[derive(Clone, Debug)]
pub struct InstanceGroup<'a> {
    pub tree: &'a Tree,
    pub place: Place,
    pub name: String,
    /// `service` by default.
    pub lifecycle: String,
    members: Members<'a>,
    codes: &'static Codes,
}

/// A network of an instance group.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    pub name: &'a str,
    /// What the instances use it for: `dns`, `gateway`, `addressable`.
    pub default_for: Vec<&'a str>,
}

/// What the only network of a group is used for.
const DEFAULT_FOR: [&str; 2] = ["dns", "gateway"];

// === impl Lifecycle ===

impl Lifecycle {
    /// The lifecycle of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "service" => Some(Self::Service),
            "errand" => Some(Self::Errand),
            "auto-errand" => Some(Self::AutoErrand),
            _ => None,
        }
    }
}

// === impl InstanceGroup ===

impl<'a> InstanceGroup<'a> {
    /// Reads a group. Its other keys are checked when they are asked for.
    pub fn read(tree: &'a Tree, place: impl Into<Place>, codes: &'static Codes, report: &mut Report) -> Option<Self> {
        let members = Members::of(tree, place, codes.members, report)?;
        let name = members.required_string("name", report)?;
        let lifecycle = members.string("lifecycle", report);
        Some(Self {
            tree,
            place: members.place.clone(),
            name,
            lifecycle: lifecycle.unwrap_or_else(|| "service".into()),
            members,
            codes,
        })
    }

    /// The groups of a manifest that can be read. The links stage reports the others.
    pub fn all(manifest: &'a Tree) -> impl Iterator<Item = Self> {
        let listed = manifest.items("instance_groups").iter().enumerate();
        let place = Pointer::root().at("instance_groups");
        listed
            .filter_map(move |(index, tree)| Self::read(tree, place.at(index), UNREPORTED, &mut members::unreported()))
    }

    /// Whether it runs permanently.
    pub fn is_service(&self) -> bool {
        Lifecycle::named(&self.lifecycle) == Some(Lifecycle::Service)
    }

    /// `instances`; `None` after an error.
    pub fn instances(&self, report: &mut Report) -> Option<u32> {
        let stated = self.members.required_integer("instances", report)?;
        if stated < 0 {
            let message = format!("'instances' value ({stated}) should be greater than 0");
            report.error(self.codes.instances, self.place.at("instances"), message);
            return None;
        }
        // A larger number is over every limit.
        Some(u32::try_from(stated).unwrap_or(u32::MAX))
    }

    pub fn azs(&self, report: &mut Report) -> Vec<String> {
        let Some(value) = self.members.get("azs") else {
            return Vec::new();
        };
        let Some(items) = value.as_array() else {
            self.members.report_mismatch("azs", value, Type::Array, report);
            return Vec::new();
        };
        let (place, name) = (self.place.at("azs"), &self.name);
        if items.is_empty() {
            let message = format!("Instance group '{name}' has empty availability zones");
            report.error(self.codes.zones, place, message);
            return Vec::new();
        }
        let (mut azs, mut seen) = (Vec::new(), HashSet::new());
        for (index, item) in items.iter().enumerate() {
            let message = match item {
                Tree::String(az) if seen.insert(az) => {
                    azs.push(az.clone());
                    continue;
                }
                Tree::String(az) => {
                    format!(
                        "Instance group '{name}' lists the availability zone '{}' twice",
                        plain(az)
                    )
                }
                other => {
                    let shown = ruby::string(other).unwrap_or_else(|| "...".into());
                    format!("Instance group '{name}' has invalid availability zone '{shown}', string expected")
                }
            };
            report.error(self.codes.zones, place.at(index), message);
        }
        azs
    }

    /// Its jobs, each with its place.
    pub fn jobs(&self, report: &mut Report) -> impl Iterator<Item = (Place, &'a Tree)> + use<'a> {
        let is_missing = self.members.get("jobs").is_none_or(Tree::is_null);
        if is_missing {
            let message = format!("Instance group '{}' does not specify jobs key", plain(&self.name));
            report.error(self.codes.members.missing_key, &self.place, message);
        }
        let listed = (!is_missing).then(|| self.members.items("jobs", report));
        listed.into_iter().flatten()
    }

    /// The members of an object in it.
    pub fn object(&self, key: &str, report: &mut Report) -> Option<&'a Map> {
        self.members.object(key, report)
    }

    /// Names of the networks that it lists.
    pub fn network_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        names(self.tree, "networks")
    }

    /// Its networks: those that it lists, or else one named `default`.
    pub fn networks(&self) -> Vec<Network<'a>> {
        let listed = self.tree.items("networks");
        let required = || DEFAULT_FOR.to_vec();
        if self.network_names().next().is_none() {
            let (name, default_for) = ("default", required());
            return vec![Network { name, default_for }];
        }
        let read = |network: &'a Tree| {
            let name = network.str("name")?;
            let default_for = if listed.len() == 1 {
                required()
            } else {
                network.texts("default").collect()
            };
            Some(Network { name, default_for })
        };
        listed.iter().filter_map(read).collect()
    }

    /// The network whose address is that of an instance.
    pub fn default_network(&self) -> &'a str {
        let networks = self.networks();
        let is_for = |what: &str| networks.iter().find(|network| network.default_for.contains(&what));
        let default = is_for("addressable").or_else(|| is_for("gateway")).or(networks.first());
        default.map_or("default", |network| network.name)
    }

    /// Names of its `persistent_disks`.
    pub fn persistent_disks(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        names(self.tree, "persistent_disks")
    }

    /// The alias of its stemcell.
    pub fn stemcell(&self) -> Option<&'a str> {
        self.tree.str("stemcell")
    }

    /// `env.bosh.agent.settings`.
    pub fn settings(&self) -> Option<&'a Tree> {
        settings(self.tree)
    }
}

/// Where an instance group has its settings for Kubernetes.
pub const SETTINGS: [&str; 4] = ["env", "bosh", "agent", "settings"];

/// `env.bosh.agent.settings` of an instance group.
pub fn settings(group: &Tree) -> Option<&Tree> {
    group.find(&SETTINGS)
}

fn names<'a>(group: &'a Tree, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    group.items(key).iter().filter_map(|item| item.str("name"))
}
