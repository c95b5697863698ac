//! Instances of a group over AZs and replicas: index, id, address.
//!
//! Every AZ of a group has as many replicas as the group has `instances`. The index counts them AZ by AZ, so that an instance keeps
//! its index as long as the number of replicas stays.

use crate::names::{NameError, Names};

/// What tells how many instances a group has, and where.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The instance group.
    pub group: &'a str,
    /// Names of its AZs, in the order of the manifest; none: one zone without a name.
    pub azs: &'a [String],
    /// `instances` of the group: replicas in each AZ.
    pub replicas: u32,
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
    /// `spec.az`: name of the AZ, or its number where the group lists none.
    pub az: String,
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
        u64::from(self.replicas) * self.zones() as u64
    }

    /// `spec.index` of the replica number `ordinal` (from 0) in the AZ number `az_index` (from 1).
    pub fn index(&self, az_index: u32, ordinal: u32) -> u32 {
        az_index
            .saturating_sub(1)
            .saturating_mul(self.replicas)
            .saturating_add(ordinal)
    }

    /// All instances, in the order of `index`. As many as [`Layout::count`] says: check it first.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn instances(&self, names: &Names) -> Result<Vec<Instance>, NameError> {
        let zone = |zone: usize| {
            let az_index = u32::try_from(zone).unwrap_or(u32::MAX).saturating_add(1);
            (0..self.replicas).map(move |ordinal| self.instance(az_index, ordinal, names))
        };
        (0..self.zones()).flat_map(zone).collect()
    }

    /// The first instance that a group without any would have; none where it has some.
    ///
    /// # Errors
    /// No Service can have the group's name.
    pub fn hypothetical(&self, names: &Names) -> Result<Option<Instance>, NameError> {
        (self.count() == 0).then(|| self.instance(1, 0, names)).transpose()
    }

    fn instance(&self, az_index: u32, ordinal: u32, names: &Names) -> Result<Instance, NameError> {
        let index = self.index(az_index, ordinal);
        let listed = self.azs.get(az_index as usize - 1).cloned();
        Ok(Instance {
            index,
            az_index,
            ordinal,
            az: listed.unwrap_or_else(|| az_index.to_string()),
            address: names.instance_address(self.group, index)?,
            group: self.group.into(),
        })
    }
}

// === impl Instance ===

impl Instance {
    /// `spec.name` for a job.
    pub fn name(&self, job: &str) -> String {
        format!("{}-{job}", self.group)
    }

    /// `spec.id` for a job.
    pub fn id(&self, job: &str) -> String {
        format!("{}-{}-{job}", self.group, self.index)
    }

    /// `spec.bootstrap`: exactly one instance of a group has it.
    pub fn bootstrap(&self) -> bool {
        self.index == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances(azs: &[&str], replicas: u32) -> Vec<(u32, u32, u32, String)> {
        let azs: Vec<String> = azs.iter().map(|az| az.to_string()).collect();
        let names = Names::new("dep", "ns", "cluster.local").unwrap();
        let all = Layout {
            group: "web",
            azs: &azs,
            replicas,
        }
        .instances(&names)
        .unwrap();
        all.into_iter()
            .map(|i| (i.index, i.az_index, i.ordinal, i.az))
            .collect()
    }

    #[test]
    fn indexes_count_replicas_zone_by_zone() {
        let expected: Vec<_> = [(0, 1, 0, "z1"), (1, 1, 1, "z1"), (2, 2, 0, "z2"), (3, 2, 1, "z2")]
            .map(|(i, z, o, n)| (i, z, o, n.into()))
            .into();
        assert_eq!(instances(&["z1", "z2"], 2), expected);
        assert_eq!(
            instances(&[], 2),
            [(0, 1, 0, "1".to_string()), (1, 1, 1, "1".to_string())]
        );
        assert_eq!(instances(&["z1"], 0), []);
    }

    #[test]
    fn a_group_of_none_has_a_first_instance_that_would_be() {
        let (azs, names) = (["z1".to_string()], Names::new("dep", "ns", "cluster.local").unwrap());
        let first = |replicas| {
            let (group, azs) = ("web", &azs[..]);
            let layout = Layout { group, azs, replicas };
            layout.hypothetical(&names).unwrap().map(|one| (one.index, one.az))
        };
        assert_eq!(first(0), Some((0, "z1".to_string())));
        assert_eq!(first(1), None);
    }

    #[test]
    fn an_instance_has_its_own_service_and_a_name_for_each_job() {
        let names = Names::new("dep", "ns", "cluster.local").unwrap();
        let all = Layout {
            group: "web_app",
            azs: &[],
            replicas: 2,
        }
        .instances(&names)
        .unwrap();
        assert_eq!(all[1].address, "dep-web-app-1.ns.svc.cluster.local");
        assert_eq!(
            (all[1].name("nginx"), all[1].id("nginx")),
            ("web_app-nginx".into(), "web_app-1-nginx".into())
        );
        assert!(all[0].bootstrap() && !all[1].bootstrap());
    }
}
