//! Instances of a group over its AZs: how many each has, and the index, id and address of each instance.
//!
//! `instances` is the total over the AZs, as in BOSH; the first AZs get what is left over. Indexes go round the AZs, so
//! that scaling keeps the index, and with it the id and address, of every instance that stays.

use crate::names::{NameError, Names};
use crate::redacted;
pub use boson_contract::types::{Deployment, Spread};

/// Most instances of a group. Each has its own pod and Service, and Kubernetes is made for 3,000 pods in a namespace.
pub const MAX_INSTANCES_PER_GROUP: u64 = 1_000;

/// The number of instances of a group, and their AZs.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    pub group: &'a str,
    /// Names of its AZs, in the order of the manifest; none: one zone without a name.
    pub azs: &'a [String],
    /// `instances` of the group.
    pub instances: u32,
    /// What that number means.
    pub spread: Spread,
}

/// The pod of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `spec.index` of the instance.
    pub index: u32,
    /// Number of its AZ, from 0.
    pub zone: u32,
    /// Its number in its AZ, from 0.
    pub ordinal: u32,
}

/// One instance of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// `spec.index`.
    pub index: u32,
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

    pub fn count(&self) -> u64 {
        match self.spread {
            Spread::Total => u64::from(self.instances),
            Spread::PerZone => u64::from(self.instances) * self.zones() as u64,
        }
    }

    /// The error if they are more than a group may have.
    pub fn limit_error(&self) -> Option<String> {
        let name = redacted::plain(self.group);
        (self.count() > MAX_INSTANCES_PER_GROUP)
            .then(|| format!("Instance group '{name}' has more than {MAX_INSTANCES_PER_GROUP} instances over its AZs"))
    }

    /// Replicas in each AZ, in the order of the AZs.
    pub fn replicas(&self) -> Vec<u32> {
        (0..self.zones()).map(|zone| self.in_zone(zone)).collect()
    }

    /// Replicas in the largest AZ, which is the first.
    pub fn max_replicas(&self) -> u32 {
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

    /// The pods of all instances, in the order of `index`. As many as [`Layout::count`] says.
    pub fn pods(&self) -> impl Iterator<Item = Pod> {
        let count = u32::try_from(self.count()).unwrap_or(u32::MAX);
        (0..count).map(|index| self.pod(index))
    }

    /// The pod of the instance with this index.
    fn pod(&self, index: u32) -> Pod {
        let zones = u32::try_from(self.zones()).unwrap_or(u32::MAX);
        let each = self.instances.max(1);
        let (zone, ordinal) = match self.spread {
            Spread::Total => (index % zones, index / zones),
            // As the predecessor counts: all instances of an AZ before those of the next.
            Spread::PerZone => (index / each, index % each),
        };
        Pod { index, zone, ordinal }
    }

    /// All instances, in the order of `index`. As many as [`Layout::count`] says: check it first.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn instances(&self, names: &Names) -> Result<Vec<Instance>, NameError> {
        self.pods().map(|pod| self.instance(pod, names)).collect()
    }

    /// The first instance that a group without instances would have; `None` if it has some.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn hypothetical(&self, names: &Names) -> Result<Option<Instance>, NameError> {
        (self.count() == 0)
            .then(|| self.instance(self.pod(0), names))
            .transpose()
    }

    fn instance(&self, pod: Pod, names: &Names) -> Result<Instance, NameError> {
        Ok(Instance {
            index: pod.index,
            az: self.azs.get(pod.zone as usize).cloned(),
            address: names.instance_address(self.group, pod.index)?,
            group: self.group.into(),
        })
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
    use proptest::prelude::*;

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
        let layout = layout(&azs, instances, spread);
        let all = layout.instances(&names).unwrap().into_iter().zip(layout.pods());
        all.map(|(one, pod)| (one.index, one.az, pod.ordinal)).collect()
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
        assert_eq!(
            total(3, 4),
            expected([(0, "z1", 0), (1, "z2", 0), (2, "z3", 0), (3, "z1", 1)])
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
        assert_eq!(per_zone(2, 0), []);
    }

    proptest! {
        #[test]
        fn indexes_have_no_gaps_and_begin_in_the_first_zone(azs in 0..9_usize, instances in 0..60_u32, total: bool) {
            let (names, spread) = (zones(azs), if total { Spread::Total } else { Spread::PerZone });
            let layout = layout(&names, instances, spread);
            let pods: Vec<Pod> = layout.pods().collect();
            let indexes: Vec<u32> = pods.iter().map(|pod| pod.index).collect();
            prop_assert_eq!(indexes, (0..u32::try_from(layout.count()).unwrap()).collect::<Vec<_>>());
            prop_assert!(pods.first().is_none_or(|first| (first.zone, first.ordinal) == (0, 0)));
            // The StatefulSet of each zone has exactly these pods.
            let replicas = layout.replicas();
            for (zone, count) in (0..).zip(&replicas) {
                let ordinals: Vec<u32> = pods.iter().filter(|pod| pod.zone == zone).map(|pod| pod.ordinal).collect();
                prop_assert_eq!(ordinals, (0..*count).collect::<Vec<_>>());
            }
            prop_assert!(replicas.is_sorted_by(|one, next| one >= next));
            prop_assert!(layout.max_replicas() - replicas.last().unwrap() <= 1);
        }

        #[test]
        fn scaling_keeps_the_index_of_every_pod(azs in 0..9_usize, instances in 0..60_u32, more in 0..20_u32) {
            let names = zones(azs);
            let pods = |instances| layout(&names, instances, Spread::Total).pods().collect::<Vec<Pod>>();
            prop_assert!(pods(instances + more).starts_with(&pods(instances)));
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
