//! The cloud config: the definitions of names in a manifest (AZs, VM types, VM extensions, disk types, networks).
//!
//! The host merges the cloud configs of a deployment and adds the result to the manifest under [`KEY`]. The links stage
//! copies what an instance group refers to into its resolved document, under the same key and in the same format, so
//! that a group changes only when its own definitions do. The bpm stage reads both.

mod check;

pub use check::{Codes, check};

use boson_document::{Map, Tree};

/// Key of the manifest that holds the merged cloud config.
pub const KEY: &str = "cloud_config";

/// Its lists of named entries.
pub const LISTS: [&str; 5] = ["azs", "vm_types", "vm_extensions", "disk_types", "networks"];

/// Cloud properties of an AZ that have an effect.
pub const OF_AZ: [&str; 1] = ["zone"];
/// Cloud properties of VM types and VM extensions that have an effect.
pub const OF_VM: [&str; 7] = [
    "cpu",
    "ram",
    "ephemeral_disk_size",
    "requests",
    "labels",
    "tolerations",
    "node_selector",
];
/// Cloud properties of disk types that have an effect.
pub const OF_DISK: [&str; 1] = ["storage_class"];

/// A merged cloud config.
#[derive(Clone, Copy, Debug)]
pub struct CloudConfig<'a>(&'a Tree);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// MiB; 0 is no disk.
    pub size: i64,
    /// StorageClass; `None`: the cluster's default.
    pub class: Option<String>,
}

// === impl CloudConfig ===

impl<'a> CloudConfig<'a> {
    /// The cloud config that a manifest or a resolved document holds.
    pub fn of(document: &'a Tree) -> Option<Self> {
        document
            .get(KEY)
            .filter(|config| config.as_object().is_some())
            .map(Self)
    }

    /// Entries of a list such as `vm_types`. One that was given as a single variable is a list in the list, which BOSH
    /// flattens.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = &'a Tree> + use<'a> {
        self.0.items(key).iter().flat_map(|entry| match entry {
            Tree::Array(inner) => inner.as_slice(),
            entry => std::slice::from_ref(entry),
        })
    }

    /// The entry of this name.
    pub fn entry(&self, key: &str, name: &str) -> Option<&'a Tree> {
        self.entries(key).find(|entry| entry.str("name") == Some(name))
    }

    /// Does any of the cloud configs have this list?
    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// Value of a node's zone label for this AZ; an AZ without `cloud_properties.zone` is used as it is.
    pub fn zone(&self, az: &str) -> Option<&'a str> {
        properties(self.entry("azs", az)?)?.get("zone")?.as_str()
    }

    /// Cloud properties of a group's VMs, merged as BOSH merges them: an extension's over those before it and over the
    /// type's.
    pub fn vm(&self, group: &Tree) -> Tree {
        let mut merged = Map::new();
        let kind = group.str("vm_type").and_then(|name| self.entry("vm_types", name));
        let extensions = group.texts("vm_extensions");
        let extensions = extensions.filter_map(|name| self.entry("vm_extensions", name));
        for entry in kind.into_iter().chain(extensions) {
            let known = properties(entry).into_iter().flatten();
            let known = known.filter(|(key, _)| OF_VM.contains(&key.as_str()));
            merged.extend(known.map(|(key, value)| (key.clone(), value.clone())));
        }
        Tree::Object(merged)
    }

    /// The disk type of a group.
    pub fn disk(&self, group: &Tree) -> Option<Disk> {
        let entry = self.entry("disk_types", group.str("persistent_disk_type")?)?;
        let class = properties(entry).and_then(|properties| properties.get("storage_class"));
        Some(Disk {
            size: entry.get("disk_size")?.as_i64()?,
            class: class.and_then(Tree::as_str).map(String::from),
        })
    }

    /// The definitions that a group refers to, with the properties that have an effect.
    pub fn part(&self, group: &Tree) -> Tree {
        let reduced = |key: &str, known: &[&str], wanted: &mut dyn Iterator<Item = &str>| -> Vec<Tree> {
            let found = wanted.filter_map(|name| self.entry(key, name));
            found.map(|entry| without_others(entry, known)).collect()
        };
        let single = |key: &str| group.str(key).into_iter();
        Tree::object()
            .with("azs", reduced("azs", &OF_AZ, &mut group.texts("azs")))
            .with("vm_types", reduced("vm_types", &OF_VM, &mut single("vm_type")))
            .with(
                "vm_extensions",
                reduced("vm_extensions", &OF_VM, &mut group.texts("vm_extensions")),
            )
            .with(
                "disk_types",
                reduced("disk_types", &OF_DISK, &mut single("persistent_disk_type")),
            )
    }
}

/// `cloud_properties` of an entry.
pub fn properties(entry: &Tree) -> Option<&Map> {
    entry.members("cloud_properties")
}

/// The entry with only the cloud properties that have an effect: others must not change a group's document.
fn without_others(entry: &Tree, known: &[&str]) -> Tree {
    let all = properties(entry).into_iter().flatten();
    let kept: Map = all
        .filter(|(key, _)| known.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Tree::object()
        .with_some("name", entry.get("name").cloned())
        .with_some("disk_size", entry.get("disk_size").cloned())
        .with("cloud_properties", kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    const CONFIG: &str = r#"{"cloud_config": {
        "azs": [{"name": "z1", "cloud_properties": {"zone": "eu-1a", "datacenters": []}}, {"name": "z2"}],
        "vm_types": [[{"name": "small", "cloud_properties": {"cpu": 1, "ram": 512, "instance_type": "m5", "labels": {"a": "1"}}}]],
        "vm_extensions": [{"name": "big", "cloud_properties": {"ram": 4096, "labels": {"b": "2"}}}, {"name": "bare"}],
        "disk_types": [{"name": "10GB", "disk_size": 10240, "cloud_properties": {"storage_class": "fast", "type": "ssd"}},
                       {"name": "plain", "disk_size": 5}]}}"#;

    fn parsed(text: &str) -> Tree {
        json::parse(text).unwrap()
    }

    #[test]
    fn an_extension_replaces_whole_properties_of_the_type() {
        let document = parsed(CONFIG);
        let config = CloudConfig::of(&document).unwrap();
        let group = parsed(r#"{"vm_type": "small", "vm_extensions": ["big", "bare"], "persistent_disk_type": "10GB"}"#);
        let vm = json::to_text(&config.vm(&group));
        assert_eq!(vm, r#"{"cpu":1,"ram":4096,"labels":{"b":"2"}}"#);
        let class = Some("fast".to_string());
        assert_eq!(config.disk(&group), Some(Disk { size: 10240, class }));
        assert_eq!((config.zone("z1"), config.zone("z2")), (Some("eu-1a"), None));
    }

    #[test]
    fn the_part_of_a_group_answers_as_the_whole_and_holds_nothing_else() {
        let document = parsed(CONFIG);
        let whole = CloudConfig::of(&document).unwrap();
        let group = parsed(r#"{"azs": ["z1"], "vm_type": "small", "vm_extensions": ["big"]}"#);
        let part = Tree::object().with(KEY, whole.part(&group));
        let text = json::to_text(&part);
        assert!(
            !text.contains("m5") && !text.contains("10GB") && !text.contains("z2"),
            "{text}"
        );
        let part = CloudConfig::of(&part).unwrap();
        assert_eq!(part.vm(&group), whole.vm(&group));
        assert_eq!(part.zone("z1"), whole.zone("z1"));
    }
}
