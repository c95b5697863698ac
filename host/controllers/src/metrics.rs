//! What is counted. Labels come from lists that we wrote: a name that a user chose would make a series for each of them, and tell it.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;

/// Seconds. An answer takes 2 ms; a reconcile without change is to take less than 20 ms; a call is given up at 10 s.
const SECONDS: [f64; 9] = [0.002, 0.005, 0.02, 0.05, 0.2, 0.5, 2.0, 5.0, 10.0];

/// Everything that is counted, by name.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Calls to the API server; watches are not among them.
    pub api_calls: Family<ApiCall, Counter>,
    /// How long they took.
    pub api_seconds: Histogram,
    /// Reconciles.
    pub reconciles: Family<Reconcile, Counter>,
    /// How long they took.
    pub reconcile_seconds: Histogram,
    /// Deployments that were converted.
    pub conversions: Counter,
    /// Values that were generated.
    pub generated: Family<Generated, Counter>,
    /// 1 while this process leads.
    pub leading: Gauge,
}

/// A call.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ApiCall {
    /// As RBAC spells it.
    pub verb: &'static str,
    /// Kind of the object.
    pub kind: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// A reconcile.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Reconcile {
    /// Which controller.
    pub controller: &'static str,
    /// What came of it.
    pub outcome: Outcome,
}

/// A value.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Generated {
    /// Type of the QuarksSecret.
    pub kind: &'static str,
    /// Why it was made.
    pub cause: &'static str,
}

/// What came of something, in one word.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Outcome(pub &'static str);

impl EncodeLabelValue for Outcome {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All zero.
    pub fn new() -> Self {
        let seconds = || Histogram::new(SECONDS);
        let mut metrics = Self {
            registry: Registry::with_prefix("boson"),
            api_calls: Family::default(),
            api_seconds: seconds(),
            reconciles: Family::default(),
            reconcile_seconds: seconds(),
            conversions: Counter::default(),
            generated: Family::default(),
            leading: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "api_calls",
            "Calls to the API server, without watches",
            self.api_calls.clone(),
        );
        registry.register(
            "api_seconds",
            "How long calls to the API server took",
            self.api_seconds.clone(),
        );
        registry.register("reconciles", "Objects that were looked at", self.reconciles.clone());
        registry.register(
            "reconcile_seconds",
            "How long that took",
            self.reconcile_seconds.clone(),
        );
        registry.register(
            "conversions",
            "Deployments that were converted",
            self.conversions.clone(),
        );
        registry.register(
            "secrets_generated",
            "Values that were generated",
            self.generated.clone(),
        );
        registry.register("leading", "1 while this process leads", self.leading.clone());
    }

    /// In Prometheus' text format.
    ///
    /// # Errors
    /// None that can be acted upon: writing to a text fails never.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_names_what_was_counted() {
        let metrics = Metrics::new();
        let reconcile = Reconcile {
            controller: "quarks-secret",
            outcome: Outcome("ok"),
        };
        metrics.reconciles.get_or_create(&reconcile).inc();
        let text = metrics.text().unwrap();
        let line = "boson_reconciles_total{controller=\"quarks-secret\",outcome=\"ok\"} 1";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("boson_leading 0"), "{text}");
    }
}
