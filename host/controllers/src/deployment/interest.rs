//! Which deployments look at a ConfigMap or a Secret. Pure.

use crate::api::{BoshDeployment, ReferenceType};
use boson_deployment::names::Names;
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use std::sync::Arc;

/// The deployments that look at this ConfigMap or Secret.
pub(super) fn interested<K: ResourceExt>(
    deployments: &[Arc<BoshDeployment>],
    object: &K,
    kind: ReferenceType,
) -> Vec<ObjectRef<BoshDeployment>> {
    let (namespace, name) = (object.namespace(), object.name_any());
    let here = deployments
        .iter()
        .filter(|deployment| deployment.namespace() == namespace);
    // What was made for one and is changed or deleted comes back.
    let made_for = |deployment: &BoshDeployment| {
        let mut owners = object.owner_references().iter();
        owners.any(|owner| Some(&owner.uid) == deployment.metadata.uid.as_ref())
    };
    here.filter(|deployment| looks_at(deployment, kind, &name) || made_for(deployment))
        .map(|deployment| ObjectRef::from_obj(&**deployment))
        .collect()
}

fn looks_at(deployment: &BoshDeployment, kind: ReferenceType, name: &str) -> bool {
    let spec = &deployment.spec;
    let refers = std::iter::once(&spec.manifest)
        .chain(&spec.ops)
        .any(|reference| reference.kind == kind && reference.name == name);
    let holds_value = || {
        let given = spec.vars.iter().any(|variable| variable.secret == name);
        let own = Names::new(&deployment.name_any(), "", "").is_ok_and(|names| names.is_variable(name));
        given || own
    };
    refers || (kind == ReferenceType::Secret && holds_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_looks_at_what_it_refers_to_and_at_the_values_of_its_variables() {
        let deployment: BoshDeployment = serde_json::from_value(serde_json::json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1",
            "kind": "BOSHDeployment",
            "metadata": {"name": "nats"},
            "spec": {
                "manifest": {"type": "configmap", "name": "m"},
                "ops": [{"type": "secret", "name": "o"}],
                "vars": [{"name": "x", "secret": "mine"}]
            }
        }))
        .unwrap();
        for (kind, name, wanted) in [
            (ReferenceType::Configmap, "m", true),
            (ReferenceType::Secret, "m", false),
            (ReferenceType::Secret, "o", true),
            (ReferenceType::Secret, "mine", true),
            (ReferenceType::Secret, "nats.var-password", true),
            (ReferenceType::Secret, "nats.var-implicit-domain", true),
            (ReferenceType::Secret, "nats.with-ops", false),
            (ReferenceType::Secret, "other.var-password", false),
        ] {
            assert_eq!(looks_at(&deployment, kind, name), wanted, "{name}");
        }
    }
}
