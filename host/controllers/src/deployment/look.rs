//! A look at everything that a deployment is made from and made of, without a call to the API server.

use super::Context;
use super::ruled::Ruled;
use crate::api::{BoshDeployment, ReferenceType};
use crate::cache::{Print, Sight, World};
use crate::client::written::Written;
use boson_deployment::names::Names;
use kube::{Resource, ResourceExt};

/// What was seen.
#[derive(Debug)]
pub(super) struct Look {
    pub sight: Sight,
    pub world: World,
    /// What shapes the conversion besides: the specification, the rules, settings of the operator.
    rules: Vec<u8>,
}

/// What a deployment sees; none where its name is none.
pub(super) fn sight(object: &BoshDeployment) -> Option<Sight> {
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
    Some(Sight {
        namespace: object.namespace()?,
        uid: object.uid()?,
        label: names.deployment(),
        refers,
        variables: format!("{}var-", with_ops.strip_suffix("with-ops")?),
    })
}

// === impl Look ===

impl Look {
    /// All of it, in 16 bytes.
    pub fn print(&self) -> Print {
        self.print_of(&self.world)
    }

    /// The same, with what was written since.
    pub fn after(mut self, written: &[Written]) -> Self {
        self.world = self.sight.after(self.world, written);
        self
    }

    fn print_of(&self, world: &World) -> Print {
        let mut bytes = self.rules.clone();
        for ((kind, name), print) in world {
            for part in [kind.as_bytes(), name.as_bytes(), print.bytes()] {
                bytes.extend_from_slice(part);
                bytes.push(0);
            }
        }
        Print::of_bytes(&bytes)
    }
}

// === impl Context ===

impl Context {
    /// What there is now; none where it cannot be known.
    pub(super) async fn look(&self, object: &BoshDeployment, ruled: &Ruled) -> Option<Look> {
        if !self.cache.is_filled(super::FILLED).await {
            return None;
        }
        if object
            .spec
            .documents()
            .any(|reference| reference.kind == ReferenceType::Url)
        {
            // Nothing tells when what is there changes.
            return None;
        }
        let own = ruled.rules.as_ref().ok()?;
        let faults: Vec<_> = ruled.faults.iter().map(|fault| &fault.message).collect();
        let sight = sight(object)?;
        let conversion = &self.conversion;
        let rules = serde_json::json!([
            sight.uid,
            object.meta().generation,
            own.ruling.digest,
            faults,
            conversion.cluster_domain,
            conversion.operator_image
        ]);
        Some(Look {
            world: self.cache.world(&sight),
            sight,
            rules: rules.to_string().into_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Place;
    use serde_json::json;

    fn deployment(manifest: &str) -> BoshDeployment {
        serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment",
            "metadata": {"name": "nats", "namespace": "n", "uid": "u"},
            "spec": {
                "manifest": {"type": manifest, "name": "m"}, "ops": [{"type": "secret", "name": "o"}],
                "cloudConfig": {"type": "configmap", "name": "c"}, "cloudConfigs": [{"type": "secret", "name": "d"}],
                "vars": [{"name": "x", "secret": "mine"}]
            }
        }))
        .unwrap()
    }

    #[test]
    fn a_deployment_sees_what_it_refers_to_and_the_values_of_its_variables() {
        let sight = sight(&deployment("configmap")).unwrap();
        let sees = |kind, name: &str, homes: &[&str]| {
            let place = Place {
                kind,
                namespace: "n".into(),
                name: name.into(),
            };
            let homes: Vec<String> = homes.iter().map(|home| (*home).to_string()).collect();
            sight.sees(&place, &homes)
        };
        for (kind, name, wanted) in [
            ("ConfigMap", "m", true),
            ("Secret", "m", false),
            ("Secret", "o", true),
            ("ConfigMap", "c", true),
            ("Secret", "d", true),
            ("Secret", "mine", true),
            ("Secret", "nats.var-password", true),
            ("Secret", "nats.var-implicit-domain", true),
            ("Secret", "nats.with-ops", false),
            ("Secret", "other.var-password", false),
        ] {
            assert_eq!(sees(kind, name, &[]), wanted, "{name}");
        }
        assert!(sees("Service", "any", &["u"]) && sees("PersistentVolumeClaim", "any", &["n/nats"]));
        assert!(!sees("Service", "any", &["v"]) && !sees("PersistentVolumeClaim", "any", &["m/nats"]));
    }
}
