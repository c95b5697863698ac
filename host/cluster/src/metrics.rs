//! The metrics. Labels have only values from fixed lists: names chosen by users would create a series each, and reveal
//! the names. Exception: names of plugins, whose number is limited, and which are public.

mod plugins;
mod process;
mod tally;

pub use plugins::{PluginMetrics, Usage, Version};
pub use tally::{Earliest, Readiness, Tally};

use process::Process;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::fmt;

const METRIC_PREFIX: &str = "boson";
/// Seconds. An answer takes 2 ms; a reconcile without a change should take less than 20 ms; a call is given up at 10 s.
const DURATION_BUCKETS_SECONDS: [f64; 9] = [0.002, 0.005, 0.02, 0.05, 0.2, 0.5, 2.0, 5.0, 10.0];

#[derive(Debug)]
pub struct Metrics {
    registry: Described,
    /// Calls to the API server; watches are not among them.
    pub api_calls: Family<ApiCall, Counter>,
    pub api_seconds: Histogram,
    pub reconciles: Family<Reconcile, Counter>,
    pub reconcile_seconds: Histogram,
    pub conversions: Counter,
    pub generated: Family<Generated, Counter>,
    /// BOSHDeployments and pods that were reviewed before they were stored.
    pub reviews: Family<Review, Counter>,
    pub review_seconds: Histogram,
    /// Workloads that were rolled because the content of a link has changed.
    pub link_rolls: Counter,
    /// 1 while this process leads.
    pub leading: Gauge,
    /// Plugins from ConfigMaps that are in use.
    pub plugins_loaded: Gauge,
    /// Plugins from ConfigMaps whose present content is refused.
    pub plugins_refused: Gauge,
    /// Those of them that are canaries and were stopped.
    pub canaries_stopped: Gauge,
    /// Calls of plugins, for each version in use.
    pub plugins: PluginMetrics,
    /// Whether all parts of this process do their work.
    pub ready: Gauge,
    /// BOSHDeployments by their condition Ready.
    pub deployments: Tally,
    /// QuarksStatefulSets by their condition Ready.
    pub groups: Tally,
    /// Certificates of variables.
    pub certificates: Earliest,
    build: Family<Build, Gauge>,
    process: Process,
}

/// What was built.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

/// Description of a metric, for the reference page.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name in a scrape.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// One line, with labels and unit.
    pub meaning: &'static str,
}

/// A registry that can list its metrics.
#[derive(Debug, Default)]
struct Described {
    registry: Registry,
    descriptions: Vec<Description>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ApiCall {
    pub verb: &'static str,
    pub kind: String,
    pub outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Reconcile {
    pub controller: &'static str,
    pub outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Generated {
    /// Type of the QuarksSecret.
    pub kind: String,
    /// Why it was generated.
    pub cause: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Review {
    /// What was reviewed: `deployments` or `pods`.
    pub resource: &'static str,
    pub outcome: &'static str,
}

// === impl Described ===

impl Described {
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, meaning: &'static str) -> M {
        self.register(name, meaning, M::default())
    }

    fn histogram(&mut self, name: &str, meaning: &'static str) -> Histogram {
        self.register(name, meaning, Histogram::new(DURATION_BUCKETS_SECONDS))
    }

    /// Registers a metric, and returns it.
    fn register<M: Metric + Clone>(&mut self, name: &str, meaning: &'static str, metric: M) -> M {
        self.register_plain(&format!("{METRIC_PREFIX}_{name}"), meaning, metric.clone());
        metric
    }

    /// Registers a metric without our prefix.
    fn register_plain(&mut self, name: &str, meaning: &'static str, metric: impl Metric) {
        let (kind, suffix) = match metric.metric_type() {
            MetricType::Counter => ("counter", "_total"),
            MetricType::Gauge => ("gauge", ""),
            MetricType::Histogram => ("histogram", ""),
            _ => ("untyped", ""),
        };
        self.descriptions.push(Description {
            name: format!("{name}{suffix}"),
            kind,
            meaning,
        });
        self.registry.register(name, meaning, metric);
    }
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Described::default();
        // In the order of a scrape.
        let mut metrics = Self {
            api_calls: registry.add(
                "api_calls",
                "Calls to the API server by verb, kind and outcome, without watches",
            ),
            api_seconds: registry.histogram(
                "api_seconds",
                "Duration of calls to the API server, in seconds",
            ),
            reconciles: registry.add("reconciles", "Reconciles by controller and outcome"),
            reconcile_seconds: registry.histogram("reconcile_seconds", "Duration of reconciles, in seconds"),
            conversions: registry.add("conversions", "Conversions of deployments"),
            generated: registry.add("secrets_generated", "Generated values, by kind and cause"),
            reviews: registry.add(
                "reviews",
                "Webhook reviews of deployments, of their deletions, and of pods that ask for links, by resource and outcome",
            ),
            review_seconds: registry.histogram("review_seconds", "Duration of webhook reviews, in seconds"),
            link_rolls: registry.add(
                "link_rolls",
                "Workloads rolled because the content of a link that they consume has changed",
            ),
            leading: registry.add("leading", "1 while this process is the leader, otherwise 0"),
            plugins_loaded: registry.add("plugins_loaded", "Plugins from ConfigMaps that are in use"),
            plugins_refused: registry.add(
                "plugins_refused",
                "Plugins from ConfigMaps whose current content is rejected, or waits for an approval",
            ),
            canaries_stopped: registry.add(
                "plugin_canaries_stopped",
                "Canaries of plugins that were stopped, because conversions failed because of them",
            ),
            plugins: PluginMetrics::new(&mut registry),
            ready: registry.add(
                "ready",
                "1 while all parts of this process are ready, as /ready reports",
            ),
            deployments: Tally::new(registry.add(
                "deployments",
                "BOSHDeployments by their condition Ready; only from the leader",
            )),
            groups: Tally::new(registry.add(
                "instance_groups",
                "Instance groups without errands, by their condition Ready; only from the leader",
            )),
            certificates: Earliest::new(registry.add(
                "certificate_expiry_timestamp_seconds",
                "Earliest expiry of a variable's certificate, in seconds since 1970; the operator renews certificates before they expire",
            )),
            build: registry.add("build_info", "Always 1; the label contains the version"),
            process: Process::default(),
            registry,
        };
        let version = env!("CARGO_PKG_VERSION");
        metrics.build.get_or_create_owned(&Build { version }).set(1);
        metrics.process.register(&mut metrics.registry);
        metrics
    }
}

impl Metrics {
    /// In Prometheus' text format.
    ///
    /// # Errors
    /// Never in practice: writing to a string does not fail.
    pub fn text(&self) -> Result<String, fmt::Error> {
        self.process.update();
        let mut out = String::new();
        text::encode(&mut out, &self.registry.registry)?;
        Ok(out)
    }

    /// Descriptions of all metrics; a scrape omits those without values.
    pub fn descriptions(&self) -> &[Description] {
        &self.registry.descriptions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_names_what_was_counted() {
        let metrics = Metrics::default();
        let reconcile = Reconcile {
            controller: "quarks-secret",
            outcome: "ok",
        };
        metrics.reconciles.get_or_create(&reconcile).inc();
        let text = metrics.text().unwrap();
        let line = "boson_reconciles_total{controller=\"quarks-secret\",outcome=\"ok\"} 1";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("boson_leading 0"), "{text}");
        let build = format!("boson_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&build), "{text}");
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.and_then(|line| line.split(' ').nth(1)?.parse::<f64>().ok())
        };
        for name in [
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_start_time_seconds",
        ] {
            assert!(value(name).is_some_and(|value| value > 0.0), "{name}: {text}");
        }
        assert!(
            !text.contains("certificate_expiry_timestamp_seconds{"),
            "there are no certificates"
        );
    }
}
