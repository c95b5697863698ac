//! Instances of a group over its AZs: how many each has, and the index, id and address of each instance.
//!
//! `instances` is the total over the AZs, as in BOSH; the first AZs get what is left over. The index counts as if every
//! AZ had as many replicas as the fullest, so that a pod knows it from its zone and ordinal alone, and an index may be
//! unused.

use crate::names::{NameError, Names};
use crate::redacted;

/// Most instances of a group. Each has its own pod and Service, and Kubernetes is made for 3,000 pods in a namespace.
pub const MOST_OF_A_GROUP: u64 = 1_000;

/// What `instances` of a group means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All instances of the group, spread over its AZs: BOSH's meaning.
    #[default]
    Total,
    /// The instances in each AZ.
    PerZone,
}

/// The number of instances of a group, and their AZs.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The instance group.
    pub group: &'a str,
    /// Names of its AZs, in the order of the manifest; none: one zone without a name.
    pub azs: &'a [String],
    /// `instances` of the group.
    pub instances: u32,
    /// What that number means.
    pub spread: Spread,
}

/// One instance of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// `spec.index`.
    pub index: u32,
    /// Number of its AZ, from 1.
    pub az_index: u32,
    /// Its number in its AZ, from 0: the pod's ordinal.
    pub ordinal: u32,
    /// `spec.az`: name of the AZ; none where the group lists none.
    pub az: Option<String>,
    /// `spec.address`: full DNS name of the instance's Service.
    pub address: String,
    group: String,
}

// === impl Layout ===

impl Layout<'_> {
    /// How many AZs, the one without a name included.
    pub fn zones(&self) -> usize {
        self.azs.len().max(1)
    }

    /// How many instances.
    pub fn count(&self) -> u64 {
        match self.spread {
            Spread::Total => u64::from(self.instances),
            Spread::PerZone => u64::from(self.instances) * self.zones() as u64,
        }
    }

    /// The error if they are more than a group may have.
    pub fn excess(&self) -> Option<String> {
        let name = redacted::plain(self.group);
        (self.count() > MOST_OF_A_GROUP)
            .then(|| format!("Instance group '{name}' has more than {MOST_OF_A_GROUP} instances over its AZs"))
    }

    /// Replicas in each AZ, in the order of the AZs.
    pub fn replicas(&self) -> Vec<u32> {
        (0..self.zones()).map(|zone| self.in_zone(zone)).collect()
    }

    /// Replicas in the fullest AZ, which is the first: what the index is counted with.
    pub fn fullest(&self) -> u32 {
        self.in_zone(0)
    }

    /// Replicas in the AZ number `zone`, from 0.
    fn in_zone(&self, zone: usize) -> u32 {
        if self.spread == Spread::PerZone {
            return self.instances;
        }
        let zones = u32::try_from(self.zones()).unwrap_or(u32::MAX);
        let left_over = (self.instances % zones) as usize;
        self.instances / zones + u32::from(zone < left_over)
    }

    /// `spec.index` of the replica number `ordinal` (from 0) in the AZ number `az_index` (from 1).
    pub fn index(&self, az_index: u32, ordinal: u32) -> u32 {
        index(az_index, self.fullest(), ordinal)
    }

    /// Zone, from 0, and ordinal in it of every instance, in the order of `index`.
    pub fn pods(&self) -> impl Iterator<Item = (u32, u32)> {
        let zones = (0..).zip(0..self.zones());
        zones.flat_map(|(number, zone)| (0..self.in_zone(zone)).map(move |ordinal| (number, ordinal)))
    }

    /// All instances, in the order of `index`. As many as [`Layout::count`] says: check it first.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn instances(&self, names: &Names) -> Result<Vec<Instance>, NameError> {
        let pods = self.pods();
        pods.map(|(zone, ordinal)| self.instance(zone + 1, ordinal, names))
            .collect()
    }

    /// The first instance that a group without instances would have; `None` if it has some.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn hypothetical(&self, names: &Names) -> Result<Option<Instance>, NameError> {
        (self.count() == 0).then(|| self.instance(1, 0, names)).transpose()
    }

    fn instance(&self, az_index: u32, ordinal: u32, names: &Names) -> Result<Instance, NameError> {
        let index = self.index(az_index, ordinal);
        Ok(Instance {
            index,
            az_index,
            ordinal,
            az: self.azs.get(az_index as usize - 1).cloned(),
            address: names.instance_address(self.group, index)?,
            group: self.group.into(),
        })
    }
}

/// `spec.index` of the replica number `ordinal` (from 0) in the AZ number `az_index` (from 1), where the fullest AZ has
/// `replicas`.
pub fn index(az_index: u32, replicas: u32, ordinal: u32) -> u32 {
    az_index
        .saturating_sub(1)
        .saturating_mul(replicas)
        .saturating_add(ordinal)
}

// === impl Spread ===

impl Spread {
    /// As the extension and the command line spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::PerZone => "per-zone",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Total, Self::PerZone]
            .into_iter()
            .find(|spread| spread.name() == name)
    }
}

// === impl Instance ===

impl Instance {
    /// `spec.name`: the group's.
    pub fn name(&self) -> &str {
        &self.group
    }

    /// `spec.id`: one for all jobs of the instance.
    pub fn id(&self) -> String {
        format!("{}-{}", self.group, self.index)
    }

    /// `spec.bootstrap`: exactly one instance of a group has it.
    pub fn bootstrap(&self) -> bool {
        self.index == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(azs: &[String], instances: u32, spread: Spread) -> Layout<'_> {
        Layout {
            group: "web",
            azs,
            instances,
            spread,
        }
    }

    fn zones(count: usize) -> Vec<String> {
        (1..=count).map(|zone| format!("z{zone}")).collect()
    }

    /// Index, AZ and ordinal of each instance.
    fn laid_out(azs: usize, instances: u32, spread: Spread) -> Vec<(u32, Option<String>, u32)> {
        let (azs, names) = (zones(azs), Names::new("dep", "ns", "cluster.local").unwrap());
        let all = layout(&azs, instances, spread).instances(&names).unwrap();
        all.into_iter().map(|one| (one.index, one.az, one.ordinal)).collect()
    }

    /// An empty name is none.
    fn expected<const N: usize>(all: [(u32, &str, u32); N]) -> Vec<(u32, Option<String>, u32)> {
        let az = |name: &str| Some(name.to_string()).filter(|name| !name.is_empty());
        all.map(|(index, name, ordinal)| (index, az(name), ordinal)).into()
    }

    #[test]
    fn instances_are_the_total_and_the_first_zones_get_what_is_left_over() {
        let total = |azs, instances| laid_out(azs, instances, Spread::Total);
        assert_eq!(total(3, 1), expected([(0, "z1", 0)]));
        assert_eq!(total(2, 2), expected([(0, "z1", 0), (1, "z2", 0)]));
        // The fullest zone has two, so the second begins at 2 and the third at 4: 3 is unused.
        assert_eq!(
            total(3, 4),
            expected([(0, "z1", 0), (1, "z1", 1), (2, "z2", 0), (4, "z3", 0)])
        );
        assert_eq!(total(0, 2), expected([(0, "", 0), (1, "", 1)]));
        assert_eq!(total(1, 0), []);
    }

    #[test]
    fn instances_may_be_those_of_each_zone() {
        let per_zone = |azs, instances| laid_out(azs, instances, Spread::PerZone);
        let all = [(0, "z1", 0), (1, "z1", 1), (2, "z2", 0), (3, "z2", 1)];
        assert_eq!(per_zone(2, 2), expected(all));
        assert_eq!(per_zone(0, 2), expected([(0, "", 0), (1, "", 1)]));
    }

    #[test]
    fn whatever_the_numbers_zones_differ_by_one_at_most_and_no_index_is_used_twice() {
        for azs in 0..6 {
            for instances in 0..20 {
                let names = zones(azs);
                let layout = layout(&names, instances, Spread::Total);
                let replicas = layout.replicas();
                assert_eq!(replicas.iter().sum::<u32>(), instances);
                assert!(
                    replicas.iter().all(|count| layout.fullest() - count <= 1),
                    "{replicas:?}"
                );
                assert!(replicas.is_sorted_by(|one, next| one >= next), "{replicas:?}");
                let indexes: Vec<u32> = laid_out(azs, instances, Spread::Total)
                    .iter()
                    .map(|one| one.0)
                    .collect();
                assert!(indexes.is_sorted_by(|one, next| one < next), "{indexes:?}");
            }
        }
    }

    #[test]
    fn a_group_of_none_has_a_first_instance_that_would_be() {
        let (azs, names) = (zones(1), Names::new("dep", "ns", "cluster.local").unwrap());
        let first = |instances| {
            let layout = layout(&azs, instances, Spread::Total);
            layout.hypothetical(&names).unwrap().map(|one| (one.index, one.az))
        };
        assert_eq!(first(0), Some((0, Some("z1".to_string()))));
        assert_eq!(first(1), None);
    }

    #[test]
    fn an_instance_has_its_own_service_and_one_id_for_all_its_jobs() {
        let names = Names::new("dep", "ns", "cluster.local").unwrap();
        let layout = Layout {
            group: "web_app",
            ..layout(&[], 2, Spread::Total)
        };
        let all = layout.instances(&names).unwrap();
        assert_eq!(all[1].address, "dep-web-app-1.ns.svc.cluster.local");
        assert_eq!((all[1].name(), all[1].id()), ("web_app", "web_app-1".to_string()));
        assert!(all[0].bootstrap() && !all[1].bootstrap());
    }
}
