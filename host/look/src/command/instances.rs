//! `host instances`: the instances of deployments, each with its pod.

use crate::access::{Access, PlaceArguments};
use crate::instances::{self, Instance, label};
use crate::state::State;
use crate::table::{Cell, Table, TableArguments};
use crate::time;
use crate::usage::{NO_METRICS, Usage, Usages, usages, vitals};
use boson_api::{BoshDeployment, BoshDeploymentSpec, QuarksStatefulSet};
use boson_cluster::pods::{claims, main_statuses};
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_manifest::labels;
use clap::Args;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

const EXAMPLES: &str = "\
An instance is named GROUP/INDEX, as in `host diff`; its ID is GROUP-INDEX, `spec.id` of templates. While a change is rolled out, an instance of a \
group without disks may have two pods: of the old and of the new version. An instance without a pod is stopped.

Process State is `running` (the pod is ready), `starting`, `failing` (a container has crashed or cannot start, or no node can run the pod) or \
`stopped` (there is no pod, or it runs on no node, or is being deleted). State is the desired one, of `host stop`; Ignore that of `host ignore`. Disk CIDs are PersistentVolumeClaims, Version is that of the desired manifest. The command \
needs the permissions get and list for BOSHDeployments, and list for QuarksStatefulSets and pods; with --vitals, also list for \
pods.metrics.k8s.io.

Examples:
  host instances
  host instances -d nats -n messaging --ps
  host instances -d nats --failing --json
  host instances -d nats --column instance --column ips";

/// Options of `host instances`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InstancesArguments {
    /// Name of the BOSHDeployment [default: all]
    #[arg(short, long, value_name = "NAME")]
    deployment: Option<String>,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    table: TableArguments,
}

/// What is shown of instances.
#[derive(Args, Clone, Copy, Debug, Default)]
struct Shown {
    /// Show the containers of each instance as its processes
    #[arg(short, long = "ps")]
    processes: bool,
    /// Show desired state, index, node, claims, version and restarts
    #[arg(short = 'i', long)]
    details: bool,
    /// Show uptime, CPU and memory; needs a metrics server
    #[arg(long)]
    vitals: bool,
    /// Show only instances and processes that do not run
    #[arg(short, long)]
    failing: bool,
}

struct Listed<'o> {
    deployment: &'o str,
    spec: &'o BoshDeploymentSpec,
    instances: Vec<Instance>,
}

// === impl Listed ===

impl Listed<'_> {
    fn table(&self, shown: Shown, usages: &Usages, now: Timestamp) -> Table {
        let (mut rows, mut count) = (Vec::new(), 0);
        for instance in &self.instances {
            let state = instance.pod.as_ref().map_or(State::Stopped, State::of_pod);
            if shown.failing && (state == State::Running || instance.is_stopped(self.spec)) {
                continue;
            }
            count += 1;
            rows.push(self.row(instance, state, shown, usages, now));
            if shown.processes {
                rows.extend(processes(instance, shown, usages, now));
            }
        }
        Table {
            title: Some(format!("Deployment '{}'", self.deployment)),
            count,
            ..Table::new("instances", &header(shown), rows)
        }
    }

    fn row(&self, instance: &Instance, state: State, shown: Shown, usages: &Usages, now: Timestamp) -> Vec<Cell> {
        let status = instance.pod.as_ref().and_then(|pod| pod.status.as_ref());
        let ips = status.iter().flat_map(|status| &status.pod_ips).flatten();
        let ips: Vec<String> = ips.map(|ip| ip.ip.clone()).collect();
        let mut row = vec![Cell::from(instance.to_string())];
        if shown.processes {
            row.push("".into());
        }
        row.extend([
            state.cell(),
            instance.az.as_str().into(),
            Cell::lines(&ips),
            self.deployment.into(),
            instance.pod_name().into(),
        ]);
        if shown.details {
            row.extend(details(instance, self.spec));
        }
        if shown.vitals {
            let start = status.and_then(|status| status.start_time.as_ref()).map(|time| time.0);
            let pod = instance.pod_name();
            let of_pod = usages.iter().filter(|((of, _), _)| *of == pod);
            let usage = of_pod.map(|(_, usage)| *usage).reduce(Usage::plus);
            row.extend(vitals(start, usage, now));
        }
        row
    }
}

fn details(instance: &Instance, spec: &BoshDeploymentSpec) -> [Cell; 9] {
    let state = if instance.is_stopped(spec) {
        "stopped"
    } else {
        "started"
    };
    let is_ignored = spec.is_ignored(&instance.to_string());
    let pod = instance.pod.as_ref();
    let pod_spec = pod.and_then(|pod| pod.spec.as_ref());
    let claims: Vec<String> = pod.into_iter().flat_map(claims).map(String::from).collect();
    let created = pod.and_then(|pod| pod.metadata.creation_timestamp.as_ref());
    let restarts: i32 = pod
        .into_iter()
        .flat_map(main_statuses)
        .map(|one| one.restart_count)
        .sum();
    let text = |value: Option<String>| Cell::from(value.unwrap_or_default());
    [
        state.into(),
        text(instance.index.map(|index| index.to_string())),
        text(instance.index.map(|index| (index == 0).to_string())),
        is_ignored.to_string().into(),
        Cell::lines(&claims),
        text(pod_spec.and_then(|spec| spec.node_name.clone())),
        text(created.map(|created| time::format(created.0))),
        text(pod.map(|pod| label(pod, labels::DEPLOYMENT_VERSION).to_string())),
        text(pod.map(|_| restarts.to_string())),
    ]
}

fn processes(instance: &Instance, shown: Shown, usages: &Usages, now: Timestamp) -> Vec<Vec<Cell>> {
    let Some(pod) = &instance.pod else { return Vec::new() };
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut rows = Vec::new();
    for container in containers {
        let status = main_statuses(pod).find(|status| status.name == container.name);
        let state = match status {
            _ if pod.metadata.deletion_timestamp.is_some() => State::Stopped,
            Some(status) => State::of_process(status),
            None => State::Starting,
        };
        if shown.failing && state == State::Running {
            continue;
        }
        let mut row = vec![
            instance.to_string().into(),
            container.name.as_str().into(),
            state.cell(),
        ];
        row.resize(header(Shown { vitals: false, ..shown }).len(), Cell::default());
        if shown.vitals {
            let running = status.and_then(|status| status.state.as_ref()?.running.as_ref());
            let since = running
                .and_then(|running| running.started_at.as_ref())
                .map(|time| time.0);
            let usage = usages.get(&(pod.name_any(), container.name.clone())).copied();
            row.extend(vitals(since, usage, now));
        }
        rows.push(row);
    }
    rows
}

fn header(shown: Shown) -> Vec<&'static str> {
    let process = shown.processes.then_some("Process");
    let mut titles: Vec<&str> = ["Instance"].into_iter().chain(process).collect();
    titles.extend(["Process State", "AZ", "IPs", "Deployment", "Pod"]);
    if shown.details {
        titles.extend([
            "State",
            "Index",
            "Bootstrap",
            "Ignore",
            "Disk CIDs",
            "Node",
            "Created At",
            "Version",
            "Restarts",
        ]);
    }
    if shown.vitals {
        titles.extend(["Uptime", "CPU\nTotal", "Memory\nUsage"]);
    }
    titles
}

pub fn run(arguments: &InstancesArguments, color: Color) -> Result<(), ExitError> {
    let tables = arguments.place.run(async |access| tables(&access, arguments).await)?;
    Ok(arguments.table.print(tables, color)?)
}

async fn tables(access: &Access, arguments: &InstancesArguments) -> anyhow::Result<Vec<Table>> {
    let (mut deployments, selector) = match &arguments.deployment {
        Some(name) => {
            let found = access.deployment(name).await?;
            (vec![found.deployment], found.selector)
        }
        None => (
            access.list::<BoshDeployment>("").await?,
            labels::DEPLOYMENT_NAME.to_string(),
        ),
    };
    deployments.sort_by_key(ResourceExt::name_any);
    let groups: Vec<QuarksStatefulSet> = access.list(&selector).await?;
    let mut pods: Vec<Pod> = access.list(&instances::pods(&selector)).await?;
    let usages = if arguments.shown.vitals {
        usages(access, &selector).await?
    } else {
        Some(Usages::new())
    };
    let mut tables = Vec::new();
    for deployment in &deployments {
        let name = deployment.name_any();
        let value = access.names(&name)?.deployment();
        let is_ours = |labelled: &str| labelled == value;
        let groups = groups
            .iter()
            .filter(|one| is_ours(label(*one, labels::DEPLOYMENT_NAME)));
        let (ours, others) = pods
            .into_iter()
            .partition(|pod| is_ours(label(pod, labels::DEPLOYMENT_NAME)));
        pods = others;
        let listed = Listed {
            deployment: &name,
            spec: &deployment.spec,
            instances: Instance::among(deployment, groups, ours),
        };
        let mut table = listed.table(
            arguments.shown,
            usages.as_ref().unwrap_or(&Usages::new()),
            Timestamp::now(),
        );
        if usages.is_none() {
            table.notes.push(NO_METRICS.into());
        }
        tables.push(table);
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use serde_json::{Value, json};

    fn group(name: &str, zones: &[&str], zone_replicas: &[u32], replicas: u32) -> QuarksStatefulSet {
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("nats-{name}"), "labels": {labels::INSTANCE_GROUP_NAME: name}},
            "spec": {"template": {"spec": {"replicas": replicas}}, "zones": zones, "zoneReplicas": zone_replicas},
        }))
        .unwrap()
    }

    fn pod(group: &str, zone: u32, ordinal: u32, status: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {
                "name": format!("nats-{group}-z{zone}-v2-{ordinal}"), "creationTimestamp": "2026-11-08T10:00:00Z",
                "labels": {labels::INSTANCE_GROUP_NAME: group, labels::AZ_INDEX: zone.to_string(),
                    labels::AZ_NAME: format!("z{}", zone + 1), labels::DEPLOYMENT_VERSION: "7"},
            },
            "spec": {
                "nodeName": "node-1", "containers": [{"name": "nats-nats"}, {"name": "nats-exporter"}],
                "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": format!("disk-{ordinal}")}}, {"name": "x"}],
            },
            "status": status,
        }))
        .unwrap()
    }

    fn ready() -> Value {
        let running = json!({"running": {"startedAt": "2026-11-09T10:00:00Z"}});
        let container = |name: &str, restarts: i32| json!({"name": name, "ready": true, "restartCount": restarts, "image": "i", "imageID": "i", "state": running});
        json!({
            "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "startTime": "2026-11-08T10:00:01Z",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [container("nats-nats", 0), container("nats-exporter", 2)],
        })
    }

    fn crashing() -> Value {
        let container = |state: &Value| json!([{"name": "nats-nats", "ready": false, "restartCount": 4, "image": "i", "imageID": "i", "state": state}]);
        json!({"phase": "Running", "containerStatuses": container(&json!({"waiting": {"reason": "CrashLoopBackOff"}}))})
    }

    fn table(groups: &[QuarksStatefulSet], pods: &[Pod], shown: Shown) -> Table {
        let spec = json!({"manifest": {"type": "configmap", "name": "m"}, "instances": [
            {"name": "web", "stopped": true}, {"name": "nats/1", "ignored": true}]});
        let deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "nats"}, "spec": spec,
        }))
        .unwrap();
        let listed = Listed {
            deployment: "nats",
            spec: &deployment.spec,
            instances: Instance::among(&deployment, groups, pods.to_vec()),
        };
        let usage = Usage {
            cpu_millis: 250,
            memory_bytes: 3 << 20,
        };
        let usages = [(("nats-nats-z1-v2-0".to_string(), "nats-nats".to_string()), usage)].into();
        listed.table(shown, &usages, "2026-11-10T10:00:02Z".parse().unwrap())
    }

    #[test]
    fn instances_have_the_states_of_their_pods() {
        let groups = [group("nats", &["z1", "z2"], &[2, 1], 2), group("web", &[], &[], 1)];
        let pods = [
            pod("nats", 1, 0, &ready()),
            pod("nats", 0, 0, &crashing()),
            pod("gone", 0, 0, &json!({})),
        ];
        let found = table(&groups, &pods, Shown::default());
        let wanted = [
            "Deployment 'nats'",
            "",
            "Instance  Process State  AZ  IPs       Deployment  Pod",
            "gone/?    starting       z1  -         nats        nats-gone-z0-v2-0",
            "nats/0    failing        z1  -         nats        nats-nats-z0-v2-0",
            "nats/1    running        z2  10.0.0.1  nats        nats-nats-z1-v2-0",
            "nats/2    stopped        z1  -         nats        -",
            "web/0     stopped        -   -         nats        -",
            "",
            "5 instances",
        ];
        assert_eq!(on_terminal(&found), wanted);
        let failing = table(
            &groups,
            &pods,
            Shown {
                failing: true,
                ..Shown::default()
            },
        );
        assert_eq!(
            (failing.count, failing.rows.len()),
            (3, 3),
            "a stopped group does not fail"
        );
    }

    #[test]
    fn processes_details_and_vitals_are_columns() {
        let groups = [group("nats", &["z1", "z2"], &[], 1)];
        let pods = [pod("nats", 0, 0, &crashing()), pod("nats", 1, 0, &ready())];
        let shown = Shown {
            processes: true,
            details: true,
            vitals: true,
            failing: false,
        };
        let found = table(&groups, &pods, shown);
        let wanted = [
            "instance|process|process_state|az|ips|deployment|pod|state|index|bootstrap|ignore|disk_cids|node|created_at|version|\
             restarts|uptime|cpu_total|memory_usage",
            "nats/0||failing|z1||nats|nats-nats-z0-v2-0|started|0|true|false|disk-0|node-1|Sun Nov  8 10:00:00 UTC 2026|7|4|||",
            "nats/0|nats-nats|failing||||||||||||||||",
            "nats/0|nats-exporter|starting||||||||||||||||",
            "nats/1||running|z2|10.0.0.1|nats|nats-nats-z1-v2-0|started|1|false|true|disk-0|node-1|Sun Nov  8 10:00:00 UTC 2026|7|2|\
             2d 0h 0m 1s|250m|3 MiB",
            "nats/1|nats-nats|running||||||||||||||1d 0h 0m 2s|250m|3 MiB",
            "nats/1|nats-exporter|running||||||||||||||1d 0h 0m 2s||",
        ];
        assert_eq!(in_json(&found), wanted);
        assert_eq!(found.count, 2);
    }
}
