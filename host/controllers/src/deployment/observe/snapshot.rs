//! A snapshot of a deployment's inputs and objects, from the cache: no call to the API server.

use super::plugins::Resolution;
use crate::deployment::context::Context;
use boson_api::{BoshDeployment, BoshDeploymentSpec, ReferenceType};
use boson_cluster::cache::{Digests, ObjectDigest, Selector};
use boson_cluster::client::written::Written;
use boson_manifest::names::Names;
use kube::{Resource, ResourceExt};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a reconcile waits for the cache to be filled. Without the cache everything works, but costs more.
const CACHE_FILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of everything that a deployment depends on.
#[derive(Debug)]
pub struct Snapshot {
    pub selector: Selector,
    pub digests: Digests,
    /// What else shapes the conversion: the specification, the resolved plugins, settings of the operator.
    settings: Vec<u8>,
}

/// Which objects a deployment depends on; none if its name is invalid. `linked`: the other deployments that it takes
/// links from.
pub fn selector(object: &BoshDeployment, linked: &BTreeSet<String>) -> Option<Selector> {
    let name = object.name_any();
    let names = Names::new(&name, "", "").ok()?;
    let spec = &object.spec;
    let mut refers = Vec::new();
    for reference in spec.documents() {
        let kind = match reference.kind {
            ReferenceType::Configmap => "ConfigMap",
            ReferenceType::Secret => "Secret",
            ReferenceType::Url => continue,
        };
        refers.push((kind, reference.name.clone()));
    }
    refers.extend(spec.vars.iter().map(|variable| ("Secret", variable.secret.clone())));
    let with_ops = names.with_ops();
    let mut prefixes = vec![format!("{}var-", with_ops.strip_suffix("with-ops")?)];
    let names_of_linked = linked.iter().filter_map(|name| Names::new(name, "", "").ok());
    prefixes.extend(names_of_linked.map(|names| format!("{}-v", names.links(None))));
    Some(Selector {
        namespace: object.namespace()?,
        uid: object.uid()?,
        label: names.deployment(),
        name,
        refers,
        prefixes,
    })
}

/// The selector of a deployment, with the links that the process remembers.
pub fn of(context: &Context, object: &BoshDeployment) -> Option<Selector> {
    let key = (object.namespace()?, object.name_any());
    selector(object, &context.memory.linked.of(&key))
}

// === impl Snapshot ===

impl Snapshot {
    /// One digest of all of it.
    pub fn digest(&self) -> ObjectDigest {
        let mut bytes = self.settings.clone();
        for ((kind, name), digest) in &self.digests {
            for part in [kind.as_bytes(), name.as_bytes(), digest.bytes()] {
                bytes.extend_from_slice(part);
                bytes.push(0);
            }
        }
        ObjectDigest::of_bytes(&bytes)
    }

    /// The snapshot after these writes.
    pub fn after(mut self, written: &[Written]) -> Self {
        self.digests = self.selector.after(self.digests, written);
        self
    }
}

/// The present snapshot; none if the cache cannot tell.
pub async fn snapshot(context: &Context, object: &BoshDeployment, resolution: &Resolution) -> Option<Snapshot> {
    // A web server sends no event when a document changes.
    if !context.cache.is_filled(CACHE_FILL_TIMEOUT).await || on_the_web(&object.spec) {
        return None;
    }
    let own = resolution.active.as_ref().ok()?;
    let plugin_problems: Vec<_> = resolution
        .plugin_problems
        .iter()
        .map(|problem| &problem.message)
        .collect();
    let selector = of(context, object)?;
    let conversion = &context.conversion;
    let settings = serde_json::json!([
        selector.uid,
        object.meta().generation,
        own.resolved.digest,
        plugin_problems,
        conversion.cluster_domain,
        conversion.operator_image
    ]);
    Some(Snapshot {
        digests: context.cache.digests(&selector),
        selector,
        settings: settings.to_string().into_bytes(),
    })
}

/// The names of the native objects of a kind that provide links to a deployment; none if the cache cannot tell.
pub async fn linked(context: &Context, object: &BoshDeployment, kind: &str) -> Option<BTreeSet<String>> {
    if !context.cache.is_filled(CACHE_FILL_TIMEOUT).await {
        return None;
    }
    Some(context.cache.linked(kind, &of(context, object)?))
}

/// Whether any of the documents is on a web server, which sends no event when it changes.
pub fn on_the_web(spec: &BoshDeploymentSpec) -> bool {
    spec.documents().any(|reference| reference.kind == ReferenceType::Url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::cache::Place;
    use serde_json::json;

    fn deployment(manifest: &str) -> BoshDeployment {
        serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment",
            "metadata": {"name": "nats", "namespace": "n", "uid": "u"},
            "spec": {
                "manifest": {"type": manifest, "name": "m"}, "ops": [{"type": "secret", "name": "o"}],
                "cloudConfig": {"type": "configmap", "name": "c"}, "cloudConfigs": [{"type": "secret", "name": "d"}],
                "runtimeConfigs": [{"type": "configmap", "name": "r"}],
                "vars": [{"name": "x", "secret": "mine"}]
            }
        }))
        .unwrap()
    }

    #[test]
    fn a_deployment_depends_on_what_it_refers_to_and_on_the_values_of_its_variables() {
        let selector = selector(&deployment("configmap"), &["other".to_string()].into()).unwrap();
        let matches = |kind, name: &str, index_keys: &[&str]| {
            let place = Place {
                kind,
                namespace: "n".into(),
                name: name.into(),
            };
            let index_keys: Vec<String> = index_keys.iter().map(|key| (*key).to_string()).collect();
            selector.matches(&place, &index_keys)
        };
        for (kind, name, wanted) in [
            ("ConfigMap", "m", true),
            ("Secret", "m", false),
            ("Secret", "o", true),
            ("ConfigMap", "c", true),
            ("Secret", "d", true),
            ("ConfigMap", "r", true),
            ("Secret", "mine", true),
            ("Secret", "nats.var-password", true),
            ("Secret", "nats.var-implicit-domain", true),
            ("Secret", "nats.with-ops", false),
            ("Secret", "other.var-password", false),
            ("Secret", "other.links-v1", true),
            ("Secret", "another.links-v1", false),
        ] {
            assert_eq!(matches(kind, name, &[]), wanted, "{name}");
        }
        assert!(matches("Service", "any", &["u"]) && matches("PersistentVolumeClaim", "any", &["n/nats"]));
        assert!(!matches("Service", "any", &["v"]) && !matches("PersistentVolumeClaim", "any", &["m/nats"]));
    }
}
