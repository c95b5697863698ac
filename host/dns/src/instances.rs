//! The pods of a deployment and their health, from the EndpointSlices of the instances' Services.

use crate::zone::Zone;
use std::collections::HashMap;
use std::net::IpAddr;

/// Most addresses of one instance: pods of several versions, in two families.
const MAX_INSTANCE_ADDRESSES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub ip: IpAddr,
    /// Its pod is ready.
    pub is_running: bool,
    /// Its pod is being deleted.
    pub is_ending: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The Service that it is for.
    pub service: String,
    pub endpoints: Vec<Endpoint>,
}

/// All pods of a deployment at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Addresses by the number of the instance in the zone.
    of_instance: HashMap<usize, Vec<Endpoint>>,
    /// Number of the instance by address.
    by_address: HashMap<IpAddr, usize>,
}

// === impl Snapshot ===

impl Snapshot {
    /// Reads the instances from slices. Ignores slices of Services that are not in the zone.
    pub fn of<'s>(zone: &Zone, slices: impl IntoIterator<Item = &'s Slice>) -> Self {
        let mut of_instance: HashMap<usize, Vec<Endpoint>> = HashMap::new();
        for slice in slices {
            let Some(instance) = zone.by_service.get(&slice.service) else {
                continue;
            };
            let known = of_instance.entry(*instance).or_default();
            for endpoint in &slice.endpoints {
                if known.len() < MAX_INSTANCE_ADDRESSES && known.iter().all(|one| one.ip != endpoint.ip) {
                    known.push(*endpoint);
                }
            }
        }
        for endpoints in of_instance.values_mut() {
            // While a pod is replaced there are two: the one that is not being deleted counts.
            if endpoints.iter().any(|one| !one.is_ending) {
                endpoints.retain(|one| !one.is_ending);
            }
        }
        let by_address = of_instance
            .iter()
            .flat_map(|(instance, endpoints)| endpoints.iter().map(|endpoint| (endpoint.ip, *instance)));
        Self {
            by_address: by_address.collect(),
            of_instance,
        }
    }

    pub fn addresses(&self, instance: usize) -> &[Endpoint] {
        self.of_instance.get(&instance).map_or(&[], Vec::as_slice)
    }

    pub fn instance_at(&self, ip: IpAddr) -> Option<usize> {
        self.by_address.get(&ip).copied()
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// A pod that is being deleted gets no new requests.
    pub fn is_healthy(&self) -> bool {
        self.is_running && !self.is_ending
    }
}
