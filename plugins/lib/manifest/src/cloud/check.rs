//! Checks a cloud config, and the references of instance groups to it, with BOSH's messages.

use super::{CloudConfig, KEY, LISTS, OF_AZ, OF_DISK, OF_VM};
use crate::types::{self, Type};
use boson_document::{Code, Diagnostic, Map, Place, Pointer, Report, Tree, ruby};
use std::collections::HashSet;

/// The codes under which a stage reports.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// An error in the cloud config or in a reference to it.
    pub invalid: &'static Code,
    /// A warning: a setting has no effect.
    pub no_effect: &'static Code,
}

/// Reports errors in the cloud config of a manifest, and in its instance groups' references. Of unused definitions,
/// only the shape is checked: cloud configs are shared, and other deployments may use them. `place`: the manifest.
pub fn check(manifest: &Tree, codes: &'static Codes, place: &Place, report: &mut Report) {
    let Some(config) = CloudConfig::of(manifest) else {
        return;
    };
    let mut check = Check {
        config,
        seen: HashSet::new(),
        codes,
        place,
        report,
    };
    check.definitions();
    for (index, group) in manifest.items("instance_groups").iter().enumerate() {
        check.group(group, &Pointer::root().at("instance_groups").at(index));
    }
}

struct Check<'a> {
    config: CloudConfig<'a>,
    /// Definitions whose cloud properties were checked: list and name.
    seen: HashSet<(&'static str, String)>,
    codes: &'static Codes,
    place: &'a Place,
    report: &'a mut Report,
}

// === impl Check ===

impl Check<'_> {
    fn error(&mut self, pointer: Pointer, message: String) {
        self.report.error(self.codes.invalid, self.place.with(pointer), message);
    }

    /// A name that none of the entries of `key` has.
    fn unknown(&mut self, key: &'static str, name: &str, pointer: Pointer, message: String) {
        let defined = self.config.entries(key).filter_map(|entry| entry.str("name"));
        self.report
            .error(self.codes.invalid, self.place.with(pointer), message)
            .help("Define it in a cloud config, or name one that is defined there.")
            .suggest(name, defined);
    }

    fn no_effect(&mut self, pointer: Pointer, message: String) -> &mut Diagnostic {
        self.report
            .warning(self.codes.no_effect, self.place.with(pointer), message)
    }

    fn definitions(&mut self) {
        let root = Pointer::root().at(KEY);
        let known = || LISTS.into_iter().chain(["compilation"]);
        let members = self.config.0.as_object().into_iter().flatten();
        for (key, _) in members.filter(|(key, _)| known().all(|known| known != *key)) {
            let message = format!("Key '{key}' of a cloud config is not known and has no effect");
            self.no_effect(root.at(key), message).suggest(key, known());
        }
        for (key, what) in [
            ("azs", "az"),
            ("vm_types", "vm type"),
            ("vm_extensions", "vm extension"),
            ("disk_types", "disk type"),
            ("networks", "network"),
        ] {
            let mut names = HashSet::new();
            for (entry, at) in self.config.placed(key) {
                let Some(name) = self.name(entry, &at) else { continue };
                if !names.insert(name.clone()) {
                    let message = match key {
                        "networks" => format!("Invalid network name '{name}', canonical name already taken"),
                        _ => format!("Duplicate {what} name '{name}'"),
                    };
                    self.error(at.at("name"), message);
                }
                self.shape(entry, &at);
                if key == "disk_types" {
                    self.disk_size(entry, &name, &at);
                }
            }
        }
    }

    fn name(&mut self, entry: &Tree, at: &Pointer) -> Option<String> {
        let Some(map) = entry.as_object() else {
            self.error(at.clone(), types::not_a_hash(entry));
            return None;
        };
        match map.get("name") {
            Some(name) => name.as_str().map(String::from).or_else(|| {
                self.error(at.at("name"), Type::String.mismatch("name", name));
                None
            }),
            None => {
                self.error(at.clone(), types::missing("name", map));
                None
            }
        }
    }

    fn shape(&mut self, entry: &Tree, at: &Pointer) {
        let given = entry.get("cloud_properties");
        if let Some(given) = given.filter(|given| given.as_object().is_none()) {
            let message = Type::Hash.mismatch("cloud_properties", given);
            self.error(at.at("cloud_properties"), message);
        }
    }

    fn disk_size(&mut self, entry: &Tree, name: &str, at: &Pointer) {
        let Some(map) = entry.as_object() else { return };
        match map.get("disk_size") {
            None => self.error(at.clone(), types::missing("disk_size", map)),
            Some(size) => match size.as_i64() {
                None => self.error(at.at("disk_size"), Type::Integer.mismatch("disk_size", size)),
                Some(size) if size < 0 => {
                    let message = format!("Disk types '{name}' references an invalid persistent disk size '{size}'");
                    self.error(at.at("disk_size"), message);
                }
                Some(_) => {}
            },
        }
    }

    fn group(&mut self, group: &Tree, at: &Pointer) {
        let name = group.str("name").unwrap_or_default().to_string();
        self.networks(group, &name, at);
        self.azs(group, &name, at);
        let both = group.get("vm_type").is_some() && group.get("vm_resources").is_some();
        if both {
            let message = format!("Instance group '{name}' can only specify 'vm_type' or 'vm_resources' keys.");
            self.error(at.at("vm_type"), message);
        }
        if let Some(wanted) = group.str("vm_type") {
            let message = || format!("Instance group '{name}' references an unknown vm type '{wanted}'");
            self.reference("vm_types", wanted, at.at("vm_type"), &message);
        }
        for (index, extension) in group.items("vm_extensions").iter().enumerate() {
            // BOSH finds no number either: names of extensions are strings.
            let wanted = &ruby::string(extension).unwrap_or_default();
            let message = || format!("The vm_extension '{wanted}' has not been configured in cloud-config.");
            let place = at.at("vm_extensions").at(index);
            match extension.as_str() {
                Some(wanted) => self.reference("vm_extensions", wanted, place, &message),
                None => self.unknown("vm_extensions", wanted, place, message()),
            }
        }
        self.disks(group, &name, at);
    }

    fn disks(&mut self, group: &Tree, name: &str, at: &Pointer) {
        let given = ["persistent_disk", "persistent_disk_type", "persistent_disks"];
        if given.iter().filter(|key| group.get(key).is_some()).count() > 1 {
            let message = format!(
                "Instance group '{name}' specifies more than one of the following keys: 'persistent_disk', \
                 'persistent_disk_type', and 'persistent_disks'. Choose one."
            );
            self.error(at.at("persistent_disk_type"), message);
        }
        if let Some(wanted) = group.str("persistent_disk_type") {
            let message = || format!("Instance group '{name}' references an unknown disk type '{wanted}'");
            self.reference("disk_types", wanted, at.at("persistent_disk_type"), &message);
        }
    }

    fn azs(&mut self, group: &Tree, name: &str, at: &Pointer) {
        for (index, az) in group.items("azs").iter().enumerate() {
            let Some(wanted) = az.as_str() else { continue };
            let message = || format!("Instance group '{name}' references unknown availability zone '{wanted}'");
            self.reference("azs", wanted, at.at("azs").at(index), &message);
        }
    }

    /// Networks are checked only if the cloud config defines some: one for Kubernetes only needs none.
    fn networks(&mut self, group: &Tree, name: &str, at: &Pointer) {
        if !self.config.has("networks") {
            return;
        }
        for (index, network) in group.items("networks").iter().enumerate() {
            let Some(wanted) = network.str("name") else { continue };
            let place = at.at("networks").at(index).at("name");
            match self.config.entry("networks", wanted) {
                None => {
                    let message = format!("Instance group '{name}' references an unknown network '{wanted}'");
                    self.unknown("networks", wanted, place, message);
                }
                Some(definition) if !covers(definition, group) => {
                    let message = format!(
                        "Instance group '{name}' must specify availability zone that matches availability zones of network '{wanted}'"
                    );
                    self.error(place, message);
                }
                Some(_) => {}
            }
        }
    }

    fn reference(&mut self, key: &'static str, name: &str, at: Pointer, message: &dyn Fn() -> String) {
        if self.config.entry(key, name).is_none() {
            self.unknown(key, name, at, message());
        } else if self.seen.insert((key, name.to_string())) {
            self.used(key, name);
        }
    }

    /// Cloud properties of a definition that some group uses.
    fn used(&mut self, key: &'static str, name: &str) {
        let Some((entry, at)) = self
            .config
            .placed(key)
            .find(|(entry, _)| entry.str("name") == Some(name))
        else {
            return;
        };
        let (what, known): (_, &[&str]) = match key {
            "azs" => ("AZ", &OF_AZ),
            "disk_types" => ("disk type", &OF_DISK),
            "vm_types" => ("VM type", &OF_VM),
            _ => ("VM extension", &OF_VM),
        };
        let sized = |key: &str| super::properties(entry).is_some_and(|properties| properties.contains_key(key));
        if key == "vm_types" && !sized("cpu") && !sized("ram") {
            let message = format!("VM type '{name}' has neither 'cpu' nor 'ram': its containers get no limits from it");
            self.no_effect(at.clone(), message);
        }
        let at = at.at("cloud_properties");
        for (property, value) in super::properties(entry).into_iter().flatten() {
            if !known.contains(&property.as_str()) {
                let message = format!("Cloud property '{property}' of {what} '{name}' has no effect in Kubernetes");
                self.no_effect(at.at(property), message)
                    .suggest(property, known.iter().copied());
            } else if let Some(message) = self::property(property, value) {
                self.error(at.at(property), message);
            }
        }
    }
}

// === impl CloudConfig ===

impl<'a> CloudConfig<'a> {
    /// Entries of a list, each with its place in the manifest.
    pub fn placed(&self, key: &'static str) -> impl Iterator<Item = (&'a Tree, Pointer)> + use<'a> {
        let at = Pointer::root().at(KEY).at(key);
        let outer = self.0.items(key).iter().enumerate();
        outer.flat_map(move |(index, entry)| {
            let at = at.at(index);
            let inner: Vec<(&'a Tree, Pointer)> = match entry {
                Tree::Array(inner) => (0..).zip(inner).map(|(n, one): (usize, _)| (one, at.at(n))).collect(),
                entry => vec![(entry, at)],
            };
            inner
        })
    }
}

/// The error in the value of a cloud property.
fn property(name: &str, value: &Tree) -> Option<String> {
    let texts = |map: &Map| map.values().all(|value| value.as_str().is_some());
    match name {
        "cpu" | "ram" | "ephemeral_disk_size" => match value.as_i64() {
            None => Some(Type::Integer.mismatch(name, value)),
            Some(size) if size <= 0 => Some(format!("'{name}' value ({size}) should be greater than 0")),
            Some(_) => None,
        },
        "labels" | "node_selector" => match value.as_object() {
            None => Some(Type::Hash.mismatch(name, value)),
            Some(map) if !texts(map) => Some(format!("Values of '{name}' are strings: quote numbers and booleans")),
            Some(_) => None,
        },
        "tolerations" => match value.as_array() {
            None => Some(Type::Array.mismatch(name, value)),
            Some(items) if items.iter().any(|item| item.as_object().is_none()) => {
                Some("An entry of 'tolerations' is an object, as Kubernetes has it".to_string())
            }
            Some(_) => None,
        },
        _ => (value.as_str().is_none_or(str::is_empty)).then(|| Type::String.mismatch(name, value)),
    }
}

/// Whether the network covers the AZs of a group, by the director's rule: all of them, or none on both sides.
fn covers(network: &Tree, group: &Tree) -> bool {
    if network.str("type") == Some("vip") {
        return true;
    }
    let mut known: HashSet<&str> = HashSet::new();
    for subnet in network.items("subnets").iter().chain([network]) {
        known.extend(subnet.str("az"));
        known.extend(subnet.texts("azs"));
    }
    match group.items("azs") {
        [] => known.is_empty(),
        azs => azs.iter().filter_map(Tree::as_str).all(|az| known.contains(az)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    const CODES: &Codes = &Codes {
        invalid: &Code::new("invalid", "", ""),
        no_effect: &Code::new("no-effect", "", ""),
    };

    fn found(config: &str, group: &str) -> Vec<(String, String, bool)> {
        let manifest = format!(r#"{{"cloud_config": {config}, "instance_groups": [{group}]}}"#);
        let mut report = Report::default();
        check(&json::parse(&manifest).unwrap(), CODES, &Place::default(), &mut report);
        let diagnostics = report.into_diagnostics().into_iter();
        diagnostics
            .map(|one| {
                (
                    one.message,
                    one.pointer.map(|at| at.to_string()).unwrap_or_default(),
                    one.code == CODES.no_effect,
                )
            })
            .collect()
    }

    #[test]
    fn unknown_references_are_errors_in_boshs_words() {
        let group = r#"{"name": "web", "azs": ["z9"], "vm_type": "huge", "vm_extensions": ["lb"], "persistent_disk_type": "1TB", "networks": [{"name": "n"}]}"#;
        let at = |tail: &str| format!("/instance_groups/0/{tail}");
        let expected = [
            (
                "Instance group 'web' references an unknown network 'n'",
                at("networks/0/name"),
            ),
            (
                "Instance group 'web' references unknown availability zone 'z9'",
                at("azs/0"),
            ),
            (
                "Instance group 'web' references an unknown vm type 'huge'",
                at("vm_type"),
            ),
            (
                "The vm_extension 'lb' has not been configured in cloud-config.",
                at("vm_extensions/0"),
            ),
            (
                "Instance group 'web' references an unknown disk type '1TB'",
                at("persistent_disk_type"),
            ),
        ];
        let expected = expected.map(|(message, pointer)| (message.to_string(), pointer, false));
        assert_eq!(found(r#"{"networks": []}"#, group), expected);
    }

    #[test]
    fn a_network_has_to_reach_the_azs_of_a_group() {
        let config =
            r#"{"azs": [{"name": "z1"}, {"name": "z2"}], "networks": [{"name": "n", "subnets": [{"az": "z1"}]}]}"#;
        let group = |azs: &str| format!(r#"{{"name": "web", {azs} "networks": [{{"name": "n"}}]}}"#);
        assert_eq!(found(config, &group(r#""azs": ["z1"],"#)), []);
        for azs in [r#""azs": ["z1", "z2"],"#, ""] {
            let message =
                "Instance group 'web' must specify availability zone that matches availability zones of network 'n'";
            let errors = found(config, &group(azs));
            assert_eq!(errors.len(), 1);
            assert_eq!(errors[0].0, message);
        }
    }

    #[test]
    fn cloud_properties_are_checked_where_a_group_uses_them() {
        let config = r#"{"vm_types": [{"name": "a", "cloud_properties": {"ram": "1G", "instance_type": "m5"}}, {"name": "b", "cloud_properties": {"ram": "x"}}]}"#;
        let expected = [
            (
                "Property 'ram' value (...) did not match the required type 'Integer'".to_string(),
                "/cloud_config/vm_types/0/cloud_properties/ram".to_string(),
                false,
            ),
            (
                "Cloud property 'instance_type' of VM type 'a' has no effect in Kubernetes".to_string(),
                "/cloud_config/vm_types/0/cloud_properties/instance_type".to_string(),
                true,
            ),
        ];
        assert_eq!(found(config, r#"{"name": "g", "vm_type": "a"}"#), expected);
        assert_eq!(found(config, r#"{"name": "g"}"#), []);
    }

    #[test]
    fn definitions_have_names_once() {
        let config = r#"{"azs": [{"name": "z"}, {"name": "z"}], "disk_types": [{"name": "d"}, {}], "vm_typos": []}"#;
        let messages: Vec<String> = found(config, "{}").into_iter().map(|one| one.0).collect();
        let expected = [
            "Duplicate az name 'z'",
            "Required property 'disk_size' was not specified in object ({\"name\" => \"d\"})",
            "Required property 'name' was not specified in object ({})",
            "Key 'vm_typos' of a cloud config is not known and has no effect",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_group_says_one_thing_of_its_disk_and_one_of_its_size() {
        let config = r#"{"vm_types": [{"name": "a", "cloud_properties": {"cpu": 1}}], "disk_types": [{"name": "d", "disk_size": 1}]}"#;
        let group =
            r#"{"name": "g", "vm_type": "a", "vm_resources": {}, "persistent_disk": 1, "persistent_disk_type": "d"}"#;
        let messages: Vec<String> = found(config, group).into_iter().map(|one| one.0).collect();
        let expected = [
            "Instance group 'g' can only specify 'vm_type' or 'vm_resources' keys.",
            "Instance group 'g' specifies more than one of the following keys: 'persistent_disk', 'persistent_disk_type', and 'persistent_disks'. Choose one.",
        ];
        assert_eq!(messages, expected);
    }
}
