//! Moves a PersistentVolume from one claim to another, without its data: which step is next. Each step can be done
//! again, so a command that is interrupted continues when it is run again. Pure.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt;
use serde_json::{Value, json};

/// Annotation of a PersistentVolume that is being moved: its reclaim policy before.
const POLICY_ANNOTATION: &str = "quarks.cloudfoundry.org/reclaim-policy";
/// The volume, and its data, outlive their claim.
const RETAIN_POLICY: &str = "Retain";

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Create the new claim, for this volume.
    Create,
    /// Merge these members into the new claim.
    ChangeClaim(Value),
    /// Merge these members into the volume.
    ChangeVolume(Value),
    /// Delete the old claim.
    Delete,
    Wait,
    Done,
    Refuse(String),
}

/// `from`: the claim that has the volume, if it exists; `to`: the one that gets it, and its name; `other`: another one
/// that the volume names, if it exists.
pub fn next_step(
    volume: &PersistentVolume,
    from: Option<&PersistentVolumeClaim>,
    to: Option<&PersistentVolumeClaim>,
    name: &str,
    other: Option<&PersistentVolumeClaim>,
) -> Step {
    let own = volume.name_any();
    if let Some(other) = other.filter(|other| volume_of(other) == Some(own.as_str())) {
        let other = other.name_any();
        return Step::Refuse(format!("PersistentVolume '{own}' has the claim '{other}' meanwhile"));
    }
    let Some(to) = to else {
        return Step::Create;
    };
    match volume_of(to) {
        None => return Step::ChangeClaim(json!({"spec": {"volumeName": own}})),
        Some(other) if other != own => {
            return Step::Refuse(format!(
                "claim '{name}' has another volume, '{other}', meanwhile: run the command again"
            ));
        }
        Some(_) => {}
    }
    let spec = volume.spec.as_ref();
    let claim = spec.and_then(|spec| spec.claim_ref.as_ref());
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    let before = volume.annotations().get(POLICY_ANNOTATION);
    if claim.is_some_and(|claim| claim.uid.is_some() && claim.uid == to.metadata.uid) && is_bound(to) {
        let restored = |policy: &String| {
            let spec = json!({"persistentVolumeReclaimPolicy": policy});
            Step::ChangeVolume(json!({"metadata": {"annotations": {POLICY_ANNOTATION: null}}, "spec": spec}))
        };
        return before.map_or(Step::Done, restored);
    }
    if policy != Some(RETAIN_POLICY) || before.is_none() {
        let before = before.map_or(policy.unwrap_or(RETAIN_POLICY), String::as_str);
        return Step::ChangeVolume(json!({
            "metadata": {"annotations": {POLICY_ANNOTATION: before}},
            "spec": {"persistentVolumeReclaimPolicy": RETAIN_POLICY},
        }));
    }
    match from {
        Some(from) if from.metadata.deletion_timestamp.is_some() => Step::Wait,
        Some(_) => Step::Delete,
        None if claim.is_some_and(|claim| claim.name.as_deref() == Some(name) && claim.uid.is_none()) => Step::Wait,
        // Of the claim before, or of an earlier one of this name.
        None if claim.is_none_or(|claim| claim.uid != to.metadata.uid) => {
            Step::ChangeVolume(json!({"spec": {"claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": to.metadata.namespace, "name": name,
                "uid": null, "resourceVersion": null,
            }}}))
        }
        None => Step::Wait,
    }
}

/// The volume of a claim.
pub fn volume_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim
        .spec
        .as_ref()?
        .volume_name
        .as_deref()
        .filter(|name| !name.is_empty())
}

/// The claim that a volume names.
pub fn claim_of(volume: &PersistentVolume) -> Option<&str> {
    volume.spec.as_ref()?.claim_ref.as_ref()?.name.as_deref()
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::from_value;

    /// What the API server and Kubernetes' controllers do.
    #[derive(Default)]
    struct World {
        volume: Value,
        from: Option<Value>,
        to: Option<Value>,
        other: Option<Value>,
    }

    fn merge(into: &mut Value, members: &Value) {
        for (key, value) in members.as_object().unwrap() {
            match value {
                Value::Object(_) if into[key].is_object() => merge(&mut into[key], value),
                Value::Object(_) => {
                    into[key] = json!({});
                    merge(&mut into[key], value);
                }
                Value::Null => drop(into.as_object_mut().unwrap().remove(key)),
                value => into[key] = value.clone(),
            }
        }
    }

    impl World {
        fn new(policy: &str) -> Self {
            Self {
                volume: json!({"metadata": {"name": "pv"}, "spec": {"persistentVolumeReclaimPolicy": policy,
                    "claimRef": {"namespace": "n", "name": "old", "uid": "1"}}}),
                from: Some(json!({"metadata": {"name": "old", "uid": "1"}, "spec": {"volumeName": "pv"}})),
                to: None,
                other: None,
            }
        }

        fn next_step(&self) -> Step {
            let read = |claim: &Option<Value>| claim.clone().map(|claim| from_value(claim).unwrap());
            let [from, to, other]: [Option<PersistentVolumeClaim>; 3] = [&self.from, &self.to, &self.other].map(read);
            next_step(
                &from_value(self.volume.clone()).unwrap(),
                from.as_ref(),
                to.as_ref(),
                "new",
                other.as_ref(),
            )
        }

        fn carry_out(&mut self, step: &Step) {
            match step {
                Step::Create => {
                    self.to = Some(
                        json!({"metadata": {"name": "new", "namespace": "n", "uid": "2"}, "spec": {"volumeName": "pv"}}),
                    );
                }
                Step::ChangeClaim(members) => merge(self.to.as_mut().unwrap(), members),
                Step::ChangeVolume(members) => merge(&mut self.volume, members),
                Step::Delete => {
                    assert_eq!(
                        self.volume["spec"]["persistentVolumeReclaimPolicy"], RETAIN_POLICY,
                        "the data would be lost"
                    );
                    self.from = None;
                }
                Step::Wait => {
                    assert_eq!(self.volume["spec"]["claimRef"]["name"], "new", "waits for ever");
                    self.volume["spec"]["claimRef"]["uid"] = "2".into();
                    self.to.as_mut().unwrap()["status"] = json!({"phase": "Bound"});
                }
                Step::Done | Step::Refuse(_) => {}
            }
        }

        fn run(&mut self) -> Vec<Step> {
            let mut steps = Vec::new();
            while steps.len() < 20 {
                let step = self.next_step();
                self.carry_out(&step);
                steps.push(step);
                if matches!(steps.last(), Some(Step::Done | Step::Refuse(_))) {
                    break;
                }
            }
            steps
        }
    }

    #[test]
    fn a_volume_gets_another_claim_and_keeps_its_policy() {
        for policy in ["Delete", RETAIN_POLICY] {
            let mut world = World::new(policy);
            assert_eq!(world.run().last(), Some(&Step::Done));
            assert_eq!(world.volume["spec"]["claimRef"]["uid"], "2");
            assert_eq!(world.volume["spec"]["persistentVolumeReclaimPolicy"], policy);
            assert_eq!(world.volume["metadata"]["annotations"], json!({}));
        }
    }

    #[test]
    fn it_can_be_interrupted_after_each_step() {
        let count = World::new("Delete").run().len();
        for interrupted in 0..count {
            let mut world = World::new("Delete");
            for _ in 0..interrupted {
                let step = world.next_step();
                world.carry_out(&step);
            }
            // The next run decides from what exists.
            assert_eq!(world.run().last(), Some(&Step::Done), "after {interrupted} steps");
            assert_eq!(world.volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
        }
    }

    #[test]
    fn a_claim_that_its_stateful_set_has_created_gets_the_volume() {
        let mut world = World::new("Delete");
        world.to = Some(json!({"metadata": {"name": "new", "namespace": "n", "uid": "2"}, "spec": {}}));
        assert_eq!(
            world.next_step(),
            Step::ChangeClaim(json!({"spec": {"volumeName": "pv"}}))
        );
        assert_eq!(world.run().last(), Some(&Step::Done));
        world.to.as_mut().unwrap()["spec"]["volumeName"] = "other".into();
        assert!(matches!(world.next_step(), Step::Refuse(_)));
    }

    #[test]
    fn a_volume_that_another_command_has_given_away_meanwhile_is_not_taken() {
        let mut world = World::new("Delete");
        while world.from.is_some() {
            let step = world.next_step();
            world.carry_out(&step);
        }
        world.volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "other", "uid": "3"});
        world.other = Some(json!({"metadata": {"name": "other", "uid": "3"}, "spec": {"volumeName": "pv"}}));
        assert!(matches!(world.next_step(), Step::Refuse(_)));
    }

    #[test]
    fn a_volume_without_a_claim_is_taken() {
        let mut world = World::new(RETAIN_POLICY);
        world.from = None;
        world.volume["spec"].as_object_mut().unwrap().remove("claimRef");
        assert_eq!(world.run().last(), Some(&Step::Done));
    }
}
