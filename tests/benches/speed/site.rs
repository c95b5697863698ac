//! A control plane, a registry and `host operator` as a separate process, for the rows about the operator.

use anyhow::{Context, Result, ensure};
use boson_cluster::client::{Connection, connect};
use boson_tests::cluster::{Cluster, Operator, shared};
use boson_tests::registry::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of a page of memory, and ticks of a second: Linux's values on all supported machines.
const PAGE_BYTES: f64 = 4096.0;
/// Before the verb of a request that changes nothing.
const DRY_RUN: &str = "dry-run ";
const TICKS_PER_SECOND: f64 = 100.0;

/// A namespace with an operator.
pub struct Site {
    pub registry: Server,
    cluster: &'static Cluster,
    namespace: String,
    operator: Operator,
}

// === impl Site ===

impl Site {
    /// Starts everything but the operator, which serves one namespace.
    pub fn new(name: &str) -> Result<Self> {
        let namespace = shared()?.namespace(name)?;
        Self::with(&namespace, ["--namespace", &namespace])
    }

    /// The same for an operator that serves all namespaces with a label.
    pub fn of_many(name: &str) -> Result<Self> {
        let namespace = shared()?.namespace(name)?;
        let site = Self::with(&namespace, ["--monitored-id", &namespace])?;
        site.serve(&namespace)?;
        Ok(site)
    }

    fn with(namespace: &str, arguments: [&str; 2]) -> Result<Self> {
        let cluster = shared()?;
        cluster.define()?;
        let registry = Server::start(false)?;
        let operator = Operator::new(cluster, namespace)?.registry(&registry);
        let operator = operator.arguments(arguments);
        Ok(Self {
            operator: operator.variable("BOSON_LOG", "info"),
            registry,
            namespace: namespace.into(),
            cluster,
        })
    }

    fn serve(&self, namespace: &str) -> Result<()> {
        let label = format!("quarks.cloudfoundry.org/monitored={}", self.namespace);
        self.cluster.kubectl(["label", "namespace", namespace, &label])?;
        Ok(())
    }

    /// Another namespace that the operator serves.
    pub fn namespace_beside(&self, name: &str) -> Result<String> {
        let namespace = self.unserved_namespace(name)?;
        self.serve(&namespace)?;
        Ok(namespace)
    }

    /// Another namespace that no operator serves.
    pub fn unserved_namespace(&self, name: &str) -> Result<String> {
        self.cluster.namespace(&format!("{}-{name}", self.namespace))
    }

    /// The namespace of the operator.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.cluster.kubeconfig()
    }

    /// A client of the API server.
    pub async fn client(&self) -> Result<kube::Client> {
        let connection = Connection::File {
            path: Some(self.cluster.kubeconfig()),
            context: None,
        };
        connect(&connection).await.map_err(anyhow::Error::msg)
    }

    /// Starts the operator. Returns the seconds until it was ready.
    pub fn start(&mut self) -> Result<f64> {
        let began = Instant::now();
        self.operator.start()?;
        self.wait_until("ready", Duration::from_secs(120), |site| {
            let answer = site.operator.ask("/ready");
            Ok(answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")))
        })?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Stops the operator gracefully, so that it releases its lease.
    pub fn stop(&mut self) -> Result<()> {
        self.operator.stop()
    }

    /// Polls until the condition is met.
    pub fn wait_until(&self, what: &str, timeout: Duration, holds: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        self.operator.wait_until(what, timeout, || holds(self), String::new)
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespaced = ["--namespace", &self.namespace]
            .into_iter()
            .chain(arguments.iter().copied());
        self.cluster.kubectl(namespaced)
    }

    pub fn apply(&self, objects: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let arguments = ["--namespace", &self.namespace, "apply", "--server-side", "--filename=-"];
        let answer = self.cluster.try_kubectl(arguments, &list.to_string())?;
        ensure!(answer.success, "{}", answer.stderr);
        Ok(())
    }

    /// A deployment whose manifest is in the ConfigMap of this name.
    pub fn deployment(&self, name: &str, manifest: &str) -> Value {
        json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": name},
            "spec": {
                "manifest": {"type": "configmap", "name": manifest},
                "conversion": {"mode": "InProcess", "registry": format!("{}/bosh", self.registry.host())}
            }
        })
    }

    /// A counter, or a bucket of a histogram; 0 if it does not exist yet.
    pub fn metric(&self, name: &str) -> Result<f64> {
        let text = self.operator.ask("/metrics")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.unwrap_or("0").trim().parse()?)
    }

    /// Buckets of a histogram: upper limit, and number of values up to it.
    pub fn buckets(&self, name: &str) -> Result<Vec<(f64, f64)>> {
        let text = self.operator.ask("/metrics")?;
        let prefix = format!("{name}_bucket{{le=\"");
        let bucket = |line: &str| {
            let (limit, count) = line.strip_prefix(&prefix)?.split_once("\"} ")?;
            Some((limit.parse().unwrap_or(f64::INFINITY), count.trim().parse().ok()?))
        };
        Ok(text.lines().filter_map(bucket).collect())
    }

    /// Memory of the operator in MiB.
    pub fn memory(&self) -> Result<f64> {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.operator.process()?))?;
        let resident: f64 = pages.split(' ').nth(1).context("no resident pages")?.parse()?;
        Ok(resident * PAGE_BYTES / f64::from(1 << 20))
    }

    /// Time that the operator has spent on cores, in seconds.
    pub fn seconds(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.operator.process()?))?;
        let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |at: usize| {
            fields
                .get(at)
                .and_then(|field| field.parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
    }

    /// Number of the operator's writes without leases, from the audit log.
    pub fn writes(&self) -> Result<usize> {
        let requests = self.requests()?;
        Ok(requests
            .iter()
            .filter(|(what, _)| is_write(what))
            .map(|(_, count)| count)
            .sum())
    }

    /// Numbers of the operator's requests without watches and leases, by verb and resource.
    pub fn requests(&self) -> Result<BTreeMap<String, usize>> {
        let log = fs::read_to_string(self.cluster.audit_log())?;
        let mut requests = BTreeMap::new();
        for line in log.lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_string();
            let what = &event["objectRef"];
            let (verb, resource) = (text(&event["verb"]), text(&what["resource"]));
            let is_ours = event["user"]["username"] == "admin" && !text(&event["userAgent"]).starts_with("kubectl");
            if is_ours && verb != "watch" && resource != "leases" {
                let slash = if what["subresource"].is_null() { "" } else { "/" };
                let is_dry_run = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun="));
                let dry_run = if is_dry_run { DRY_RUN } else { "" };
                let what = format!("{dry_run}{verb} {resource}{slash}{}", text(&what["subresource"]));
                *requests.entry(what).or_default() += 1;
            }
        }
        Ok(requests)
    }
}

/// Whether requests of this name change something.
pub fn is_write(request: &str) -> bool {
    ![DRY_RUN, "get ", "list "].iter().any(|verb| request.starts_with(verb))
}
