//! Metrics of the calls of an operator's plugins.

use boson_cluster::metrics::{Metrics, Usage};
use boson_document::Code;
use boson_sandbox::{Measures, Meter, Plugin};
use std::sync::Arc;

/// Counts calls by the digest of the plugin.
pub struct Metering(pub Arc<Metrics>);

impl Meter for Metering {
    fn called(&self, plugin: &Plugin, measures: &Measures) {
        let usage = Usage {
            fuel: measures.fuel,
            memory: measures.memory,
            elapsed: measures.elapsed,
        };
        self.0.plugins.called(plugin.digest.digest(), &usage);
    }

    fn failed(&self, plugin: &Plugin, code: &'static Code) {
        self.0.plugins.failed(plugin.digest.digest(), code.name);
    }
}
