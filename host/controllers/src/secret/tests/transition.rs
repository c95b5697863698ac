//! Tests of the rotation of a CA without a cluster: whatever the order of the writes and of the rollouts, all instances
//! can verify each other at all times, and the end is the same.

use crate::secret::made::{after, asked};
use crate::secret::observe::Observed;
use crate::secret::observe::consumers::{Consumers, Leaf};
use crate::secret::plan::{Plan, Step, plan};
use crate::secret::position::{Position, position};
use crate::secret::stored::marks;
use boson_api::QuarksSecret;
use boson_cluster::objects::entry;
use boson_credentials::verifies;
use k8s_openapi::api::core::v1::Secret;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

const LEAVES: usize = 2;
const INSTANCES: usize = 3;
/// More than any rotation needs.
const MAX_ROUNDS: usize = 12;

fn certificate(name: &str, rest: &str) -> QuarksSecret {
    asked(&format!(
        r#"{{"type": "certificate", "secretName": "{name}", "request": {{"certificate":
            {{"commonName": "{name}", "keyLength": 2048{rest}}}}}}}"#
    ))
}

fn signed_by(ca: &str) -> String {
    format!(
        r#", "CARef": {{"name": "{ca}", "key": "certificate"}}, "CAKeyRef": {{"name": "{ca}", "key": "private_key"}}"#
    )
}

fn rotated(mut object: QuarksSecret, id: &str) -> QuarksSecret {
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations.insert(marks::ROTATION.into(), id.into());
    object
}

fn named(mut secret: Secret, name: &str) -> Secret {
    secret.metadata.name = Some(name.into());
    secret
}

/// The certificate that an instance presents, and the CAs that it trusts.
#[derive(Clone, Debug, PartialEq)]
struct Presented {
    certificate: String,
    ca: String,
}

/// A CA, its certificates, and the instances that use them. An operator has no other state.
#[derive(Clone)]
struct World {
    ca: QuarksSecret,
    authority: Secret,
    leaves: Vec<Secret>,
    instances: Vec<Vec<Presented>>,
}

fn leaf() -> QuarksSecret {
    certificate("leaf", &signed_by("ca"))
}

/// Rotations of this begin with the same values.
fn world() -> World {
    static WORLD: OnceLock<World> = OnceLock::new();
    let new = || {
        let ca = certificate("ca", r#", "isCA": true"#);
        let made = |object: &QuarksSecret, observed: &Observed| {
            let step = plan(object, observed, SystemTime::now()).step;
            after(object, observed, &step).unwrap()
        };
        let authority = made(&ca, &Observed::default());
        let leaves = (0..LEAVES).map(|_| made(&leaf(), &of_leaf(&authority, None)));
        let mut world = World {
            ca,
            leaves: leaves.collect(),
            authority,
            instances: Vec::new(),
        };
        world.instances = vec![world.present(); INSTANCES];
        world
    };
    WORLD.get_or_init(new).clone()
}

fn of_leaf(authority: &Secret, secret: Option<&Secret>) -> Observed {
    Observed {
        secret: secret.cloned(),
        referred: [("ca".to_string(), Some(authority.clone()))].into(),
        ..Observed::default()
    }
}

/// What may happen next. Each reconcile makes one write, so the operator may be killed after each.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Authority,
    Leaf(usize),
    Rollout(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        Just(Happens::Authority),
        (0..LEAVES).prop_map(Happens::Leaf),
        (0..INSTANCES).prop_map(Happens::Rollout),
    ]
}

// === impl World ===

impl World {
    fn present(&self) -> Vec<Presented> {
        let text = |secret: &Secret, key| entry(secret, key).unwrap();
        let one = |secret| Presented {
            certificate: text(secret, "certificate"),
            ca: text(secret, "ca"),
        };
        self.leaves.iter().map(one).collect()
    }

    fn of_authority(&self) -> Observed {
        let present = self.present();
        let is_old = self.instances.iter().any(|instance| *instance != present);
        Observed {
            secret: Some(self.authority.clone()),
            consumers: Consumers {
                leaves: self
                    .leaves
                    .iter()
                    .filter_map(|secret| Leaf::of(&leaf(), secret))
                    .collect(),
                pending: is_old.then(|| "deployment 'd'".to_string()).into_iter().collect(),
            },
            ..Observed::default()
        }
    }

    fn plan(&self, now: SystemTime) -> Plan {
        plan(&self.ca, &self.of_authority(), now)
    }

    fn act(&mut self, event: Happens) {
        let now = SystemTime::now();
        match event {
            Happens::Authority => {
                let observed = self.of_authority();
                let step = self.plan(now).step;
                self.authority = after(&self.ca, &observed, &step).unwrap();
            }
            Happens::Leaf(nth) => {
                let observed = of_leaf(&self.authority, Some(&self.leaves[nth]));
                let step = plan(&leaf(), &observed, now).step;
                self.leaves[nth] = after(&leaf(), &observed, &step).unwrap();
            }
            Happens::Rollout(nth) => self.instances[nth] = self.present(),
        }
    }

    /// One of everything.
    fn round(&mut self) {
        self.act(Happens::Authority);
        (0..LEAVES).for_each(|nth| self.act(Happens::Leaf(nth)));
        (0..INSTANCES).for_each(|nth| self.act(Happens::Rollout(nth)));
    }

    /// Whether every instance accepts the certificates of every other one.
    fn is_trusted(&self) -> bool {
        let all = || self.instances.iter().flatten();
        let trusted: BTreeSet<&str> = all().map(|one| one.ca.as_str()).collect();
        let certificates: BTreeSet<&str> = all().map(|one| one.certificate.as_str()).collect();
        let accepts = |ca: &str, certificate: &str| {
            let mut blocks = ca.split_inclusive("-----END CERTIFICATE-----\n");
            blocks.any(|block| verifies(certificate, block))
        };
        trusted.iter().all(|ca| certificates.iter().all(|one| accepts(ca, one)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn instances_verify_each_other_in_any_order_of_writes_and_rollouts(
        history in proptest::collection::vec(happens(), 0..60),
    ) {
        let mut world = world();
        let before = world.present();
        let old = entry(&world.authority, "certificate").unwrap();
        world.ca = rotated(world.ca, "1");
        prop_assert!(world.is_trusted());
        for event in history {
            world.act(event);
            prop_assert!(world.is_trusted(), "{event:?}");
        }
        for _ in 0..MAX_ROUNDS {
            world.round();
            prop_assert!(world.is_trusted());
        }
        let new = entry(&world.authority, "certificate").unwrap();
        prop_assert!(new != old && position(&world.authority) == Position::Settled);
        prop_assert_eq!(entry(&world.authority, "ca"), Some(new.clone()));
        prop_assert_eq!(world.authority.data.as_ref().unwrap().len(), 4, "nothing is left beside it");
        for (now, then) in world.present().iter().zip(&before) {
            prop_assert!(now.ca == new && verifies(&now.certificate, &new) && now.certificate != then.certificate);
        }
        prop_assert!(matches!(world.plan(SystemTime::now()).step, Step::Keep), "one request is one rotation");
    }
}

/// The CAs in a leaf, by their certificates.
fn trusts(world: &World) -> Vec<String> {
    let ca = &world.present()[0].ca;
    ca.split_inclusive("-----END CERTIFICATE-----\n")
        .map(str::to_string)
        .collect()
}

#[test]
fn values_in_each_step_are_those_of_credhub() {
    let mut world = world();
    let signing = |world: &World| entry(&world.authority, "certificate").unwrap();
    let old = signing(&world);
    let leaf = world.present()[0].certificate.clone();
    world.ca = rotated(world.ca, "1");
    world.round();
    assert_eq!(position(&world.authority), Position::Trusting);
    assert_eq!(
        (signing(&world), entry(&world.authority, "ca")),
        (old.clone(), Some(old.clone()))
    );
    let [first, new] = trusts(&world).try_into().unwrap();
    assert_eq!(first, old);
    assert_eq!(world.present()[0].certificate, leaf, "the certificate stays");
    world.round();
    assert_eq!(
        (signing(&world), entry(&world.authority, "ca")),
        (new.clone(), Some(new.clone()))
    );
    assert_eq!(trusts(&world), [new.clone(), old]);
    assert!(
        entry(&world.authority, "transitional.private_key").is_none(),
        "it is not needed any more"
    );
    world.round();
    assert_eq!(trusts(&world), [new]);
}

#[test]
fn a_step_waits_for_every_certificate_and_every_instance_and_says_so() {
    let mut world = world();
    world.ca = rotated(world.ca, "1");
    world.act(Happens::Authority);
    let message = |world: &World| world.plan(SystemTime::now()).findings[1].message.clone();
    let step = "step 1 of 3: the new CA is trusted beside the old one; waiting for";
    assert_eq!(
        message(&world),
        format!("{step} certificate 'leaf', certificate 'leaf'")
    );
    (0..LEAVES).for_each(|nth| world.act(Happens::Leaf(nth)));
    assert_eq!(message(&world), format!("{step} deployment 'd'"));
    (0..INSTANCES).for_each(|nth| world.act(Happens::Rollout(nth)));
    assert!(matches!(world.plan(SystemTime::now()).step, Step::Edit(_)));
}

#[test]
fn another_request_during_a_rotation_begins_after_it() {
    let mut world = world();
    world.ca = rotated(world.ca, "1");
    world.round();
    world.ca = rotated(world.ca, "2");
    world.ca.spec.secret_labels.insert("a".into(), "b".into());
    world.round();
    world.round();
    assert_eq!(position(&world.authority), Position::Settled);
    let annotations = world.authority.metadata.annotations.clone().unwrap();
    assert_eq!(annotations[marks::ROTATION], "1");
    assert!(matches!(world.plan(SystemTime::now()).step, Step::Begin(..)));
}

#[test]
fn a_ca_is_rotated_before_it_expires_and_an_expired_one_delays_nothing() {
    let mut world = world();
    let days = |days: u64| SystemTime::now() + Duration::from_secs(days * 86_400);
    assert!(matches!(world.plan(days(330)).step, Step::Keep));
    assert!(matches!(world.plan(days(336)).step, Step::Begin(..)));
    world.ca = rotated(world.ca, "1");
    world.act(Happens::Authority);
    assert!(matches!(world.plan(days(300)).step, Step::Keep));
    assert!(matches!(world.plan(days(366)).step, Step::Edit(_)));
}

#[test]
fn a_ca_that_lost_the_key_of_the_next_one_begins_again() {
    let mut world = world();
    world.ca = rotated(world.ca, "1");
    world.round();
    let data = world.authority.data.as_mut().unwrap();
    data.insert("transitional.private_key".into(), data["private_key"].clone());
    assert!(matches!(world.plan(SystemTime::now()).step, Step::Begin(..)));
    (0..MAX_ROUNDS).for_each(|_| world.round());
    assert!(world.is_trusted() && position(&world.authority) == Position::Settled);
}

/// A CA below the other one.
fn child() -> QuarksSecret {
    certificate("child", &format!(r#", "isCA": true{}"#, signed_by("ca")))
}

/// Its Secret after the next step.
fn step(world: &World, secret: Option<&Secret>, object: &QuarksSecret) -> Secret {
    let observed = of_leaf(&world.authority, secret);
    let step = plan(object, &observed, SystemTime::now()).step;
    let next = after(object, &observed, &step);
    next.map(|secret| named(secret, "child")).unwrap()
}

#[test]
fn a_ca_that_is_rotated_while_the_one_above_it_signs_ends_with_the_new_one() {
    let (mut world, child) = (world(), child());
    let made = step(&world, None, &child);
    world.ca = rotated(world.ca, "1");
    world.round();
    let mut secret = step(&world, Some(&made), &child);
    world.round();
    assert_eq!(position(&world.authority), Position::Signing);
    let asked = rotated(child, "1");
    for _ in 0..MAX_ROUNDS {
        secret = step(&world, Some(&secret), &asked);
    }
    world.round();
    assert_eq!(position(&world.authority), Position::Settled);
    let secret = step(&world, Some(&secret), &asked);
    let new = entry(&world.authority, "certificate").unwrap();
    assert!(verifies(&entry(&secret, "certificate").unwrap(), &new));
    assert_eq!(entry(&secret, "ca"), Some(new));
}

#[test]
fn a_ca_waits_for_the_rotation_of_a_ca_below_it_which_waits_for_nothing() {
    let (mut world, child) = (world(), child());
    let made = step(&world, None, &child);
    let asked = rotated(child.clone(), "1");
    let begun = step(&world, Some(&made), &asked);
    assert_eq!(position(&begun), Position::Trusting);
    // The CA above waits for the one below.
    world.ca = rotated(world.ca, "1");
    (0..3).for_each(|_| world.round());
    let mut observed = world.of_authority();
    observed.consumers.leaves = Leaf::of(&child, &begun).into_iter().collect();
    world.ca = rotated(world.ca, "2");
    observed.secret = after(
        &world.ca,
        &observed,
        &plan(&world.ca, &observed, SystemTime::now()).step,
    );
    let waits = plan(&world.ca, &observed, SystemTime::now());
    assert!(
        waits.findings[1].message.ends_with("certificate 'child'"),
        "{:?}",
        waits.findings
    );
    // Otherwise neither would go on.
    world.authority = observed.secret.unwrap();
    assert_eq!(position(&step(&world, Some(&made), &asked)), Position::Trusting);
}
