//! What containers use, as the metrics server of a cluster reports it.

use crate::access::Access;
use crate::table::Cell;
use boson_cluster::client::ErrorKind;
use boson_pipeline::quantities::quantity;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// Said where CPU and memory are not known.
pub const NO_METRICS: &str = "CPU and memory are not known: the cluster has no metrics server (metrics.k8s.io/v1beta1)";
const BYTES_PER_MEBIBYTE: i128 = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu_millis: i128,
    pub memory_bytes: i128,
}

/// The usage of each container, by pod and container.
pub type Usages = BTreeMap<(String, String), Usage>;

// === impl Usage ===

impl Usage {
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_millis: self.cpu_millis + other.cpu_millis,
            memory_bytes: self.memory_bytes + other.memory_bytes,
        }
    }
}

/// None: the cluster has no metrics server, or it does not answer.
pub async fn usages(access: &Access, selector: &str) -> anyhow::Result<Option<Usages>> {
    let kind = GroupVersionKind::gvk("metrics.k8s.io", "v1beta1", "PodMetrics");
    let resource = ApiResource::from_gvk_with_plural(&kind, "pods");
    let found = access.cluster.list_any(&resource, &access.namespace, selector).await;
    match found {
        Ok(found) => Ok(Some(found.iter().flat_map(usages_of_pod).collect())),
        // The API server answers with 503 if the metrics server is registered and does not run.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Busy(_)) => Ok(None),
        Err(error) => Err(access.explain(error)),
    }
}

fn usages_of_pod(pod: &Value) -> Vec<((String, String), Usage)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let containers = pod["containers"].as_array().into_iter().flatten();
    let of_container = |container: &Value| {
        let usage = Usage {
            cpu_millis: cpu_millis(&text(&container["usage"]["cpu"])),
            memory_bytes: quantity(&text(&container["usage"]["memory"])).unwrap_or(0) / 1_000,
        };
        ((text(&pod["metadata"]["name"]), text(&container["name"])), usage)
    };
    containers.map(of_container).collect()
}

/// Thousandths of a CPU. Metrics have small units, which `quantity` does not know.
fn cpu_millis(text: &str) -> i128 {
    let small = [('n', 1_000_000), ('u', 1_000)];
    let small = small.into_iter().find_map(|(unit, per_milli)| {
        let number: i128 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number / per_milli)
    });
    small.or_else(|| quantity(text)).unwrap_or(0)
}

pub fn vitals(since: Option<Timestamp>, usage: Option<Usage>, now: Timestamp) -> [Cell; 3] {
    let uptime = since.map(|since| {
        let seconds = now.duration_since(since).as_secs().max(0);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        format!("{days}d {hours}h {minutes}m {}s", seconds % 60)
    });
    let cpu = usage.map(|usage| format!("{}m", usage.cpu_millis));
    let memory = usage.map(|usage| format!("{} MiB", usage.memory_bytes / BYTES_PER_MEBIBYTE));
    [uptime, cpu, memory].map(|text| text.unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metrics_are_read_in_all_units() {
        let container = json!({"name": "c", "usage": {"cpu": "1234567n", "memory": "2048Ki"}});
        let found = usages_of_pod(&json!({"metadata": {"name": "p"}, "containers": [container]}));
        let usage = Usage {
            cpu_millis: 1,
            memory_bytes: 2 << 20,
        };
        assert_eq!(found, [(("p".to_string(), "c".to_string()), usage)]);
        assert_eq!(["5m", "2", "3000u", "0", "?"].map(cpu_millis), [5, 2_000, 3, 0, 0]);
    }
}
