//! What calls of plugins use, for each version of a plugin.
//!
//! # Guarantees
//! Only versions that are in use have series, whatever is called meanwhile: their number is that of loaded plugins,
//! which is limited.

use super::Described;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Seconds. Most calls take a few milliseconds; a call is interrupted at 60 s.
const CALL_BUCKETS_SECONDS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0];

/// Metrics of calls of plugins.
#[derive(Debug)]
pub struct PluginMetrics {
    known: Mutex<Known>,
    calls: Family<Version, Counter>,
    errors: Family<ErrorLabels, Counter>,
    fuel: Family<Version, Counter>,
    memory: Family<Version, Gauge>,
    seconds: Family<Version, Histogram, fn() -> Histogram>,
    compile_seconds: Family<Version, Gauge<f64, AtomicU64>>,
    shadows: Family<Shadowed, Counter>,
}

/// The versions in use by digest, each with the codes of its errors so far.
type Known = BTreeMap<String, (Version, BTreeSet<&'static str>)>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Version {
    pub stage: &'static str,
    pub plugin: String,
    /// Its digest, as in messages.
    pub digest: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ErrorLabels {
    #[prometheus(flatten)]
    version: Version,
    code: &'static str,
}

/// Calls of a version that runs beside another one.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Shadowed {
    #[prometheus(flatten)]
    version: Version,
    reply: &'static str,
}

/// The values of [`Shadowed::reply`].
const SHADOW_REPLIES: [&str; 4] = ["same", "different", "failed", "skipped"];

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub fuel: u64,
    /// Bytes of memory at most.
    pub memory: usize,
    pub elapsed: Duration,
}

// === impl PluginMetrics ===

impl PluginMetrics {
    pub(super) fn new(registry: &mut Described) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(CALL_BUCKETS_SECONDS);
        Self {
            known: Mutex::default(),
            calls: registry.add(
                "plugin_calls",
                "Calls of a plugin by stage, name and digest, also those of rules by wrappers",
            ),
            errors: registry.add(
                "plugin_errors",
                "Calls of a plugin without a usable reply, by the code of the error; diagnostics about the input are no errors",
            ),
            fuel: registry.add(
                "plugin_fuel",
                "Fuel that calls of a plugin have used; that of wrappers includes the rules that they call",
            ),
            memory: registry.add(
                "plugin_memory_bytes",
                "Highest memory of a call of a plugin so far, in bytes",
            ),
            seconds: registry.register(
                "plugin_seconds",
                "Duration of calls of a plugin, in seconds",
                Family::new_with_constructor(seconds),
            ),
            compile_seconds: registry.add(
                "plugin_compile_seconds",
                "Duration of the compilation of a plugin, in seconds, if its machine code was not in the cache",
            ),
            shadows: registry.add(
                "plugin_shadow_calls",
                "Calls of a shadow plugin beside the plugin in use, by reply: same, different, failed, skipped",
            ),
        }
    }

    /// Begins to count for a version. `key`: its whole digest; the first of several names of a component is used.
    /// `compiled`: how long its compilation took, if it was not in the cache.
    pub fn add(&self, key: &str, version: Version, compiled: Option<Duration>) {
        let mut known = self.known.lock();
        let (version, _) = known
            .entry(key.to_string())
            .or_insert_with(|| (version, BTreeSet::new()));
        self.calls.get_or_create_owned(version);
        if let Some(compiled) = compiled {
            let gauge = self.compile_seconds.get_or_create_owned(version);
            gauge.set(compiled.as_secs_f64());
        }
    }

    /// Removes the series of all versions for which `holds` is false.
    pub fn retain(&self, holds: impl Fn(&str) -> bool) {
        self.known.lock().retain(|key, (version, codes)| {
            if holds(key) {
                return true;
            }
            self.calls.remove(version);
            self.fuel.remove(version);
            self.memory.remove(version);
            self.seconds.remove(version);
            self.compile_seconds.remove(version);
            for reply in SHADOW_REPLIES {
                let version = version.clone();
                self.shadows.remove(&Shadowed { version, reply });
            }
            for code in &*codes {
                let version = version.clone();
                self.errors.remove(&ErrorLabels { version, code });
            }
            false
        });
    }

    /// Counts a call of a version; without effect for one that is not in use.
    pub fn called(&self, key: &str, usage: &Usage) {
        // Held until the end, so that `retain` does not miss series.
        let known = self.known.lock();
        let Some((version, _)) = known.get(key) else { return };
        self.calls.get_or_create_owned(version).inc();
        self.fuel.get_or_create_owned(version).inc_by(usage.fuel);
        self.seconds
            .get_or_create_owned(version)
            .observe(usage.elapsed.as_secs_f64());
        let peak = self.memory.get_or_create_owned(version);
        let memory = i64::try_from(usage.memory).unwrap_or(i64::MAX);
        peak.set(peak.get().max(memory));
    }

    /// Counts an error of a version by its code, which `host explain` explains.
    pub fn failed(&self, key: &str, code: &'static str) {
        let mut known = self.known.lock();
        let Some((version, codes)) = known.get_mut(key) else {
            return;
        };
        codes.insert(code);
        let version = version.clone();
        self.errors.get_or_create_owned(&ErrorLabels { version, code }).inc();
    }

    /// Counts the calls of a version in one conversion that it ran beside: by reply, the same, different, failed, and
    /// those that were skipped.
    pub fn shadowed(&self, key: &str, counts: [u64; 4]) {
        let known = self.known.lock();
        let Some((version, _)) = known.get(key) else { return };
        for (reply, count) in SHADOW_REPLIES.into_iter().zip(counts) {
            let version = version.clone();
            self.shadows
                .get_or_create_owned(&Shadowed { version, reply })
                .inc_by(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    fn version(plugin: &str, digest: &str) -> Version {
        Version {
            stage: "resources",
            plugin: plugin.into(),
            digest: digest.into(),
        }
    }

    #[test]
    fn calls_of_versions_in_use_are_counted_and_old_versions_have_no_series() {
        let metrics = Metrics::default();
        let plugins = &metrics.plugins;
        plugins.add("1", version("hook", "sha256:1"), Some(Duration::from_millis(1500)));
        plugins.add("2", version("hook", "sha256:2"), None);
        for memory in [7, 5] {
            let usage = Usage {
                fuel: 10,
                memory,
                elapsed: Duration::from_millis(3),
            };
            plugins.called("1", &usage);
        }
        plugins.failed("1", "plugin-trapped");
        plugins.called("3", &Usage::default());
        plugins.shadowed("1", [5, 1, 0, 0]);
        let text = metrics.text().unwrap();
        let of = |digest: &str| format!("{{stage=\"resources\",plugin=\"hook\",digest=\"{digest}\"}}");
        for line in [
            format!("boson_plugin_calls_total{} 2", of("sha256:1")),
            format!("boson_plugin_calls_total{} 0", of("sha256:2")),
            format!("boson_plugin_fuel_total{} 20", of("sha256:1")),
            format!("boson_plugin_memory_bytes{} 7", of("sha256:1")),
            format!("boson_plugin_seconds_count{} 2", of("sha256:1")),
            format!("boson_plugin_compile_seconds{} 1.5", of("sha256:1")),
            "boson_plugin_shadow_calls_total{stage=\"resources\",plugin=\"hook\",digest=\"sha256:1\",reply=\"same\"} 5"
                .to_string(),
            "boson_plugin_errors_total{stage=\"resources\",plugin=\"hook\",digest=\"sha256:1\",code=\"plugin-trapped\"} 1"
                .to_string(),
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }

        plugins.retain(|key| key == "2");
        // A conversion that began before may still call it.
        plugins.called("1", &Usage::default());
        plugins.failed("1", "plugin-trapped");
        let text = metrics.text().unwrap();
        assert!(!text.contains("sha256:1") && text.contains("sha256:2"), "{text}");
    }
}
