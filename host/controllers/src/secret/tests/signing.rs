//! Tests of certificates from CertificateSigningRequests without a cluster: step by step, and from any step on.

use crate::secret::made::{after, asked};
use crate::secret::observe::{Observed, ObservedRequest};
use crate::secret::plan::signing::{AUTHORITY_KEYS, PRIVATE_KEY, Prior};
use crate::secret::plan::{Plan, Step, plan};
use crate::secret::request;
use crate::secret::signer::{self, OWN_SIGNER, Signer};
use crate::secret::stored::marks;
use crate::secret::value::generate::generated;
use crate::secret::value::recipe::Recipe;
use boson_api::QuarksSecret;
use boson_cluster::objects::entry;
use boson_credentials::{KeySize, RsaKey, System, names_as_issuer};
use boson_document::json::parse;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::api::core::v1::{Secret, Service};
use std::time::{Duration, SystemTime};

const SPEC: &str = r#"{"type": "certificate", "secretName": "s", "secretLabels": {"a": "b"}, "request": {"certificate":
    {"commonName": "a.n.svc", "alternativeNames": ["a.n.svc"], "keyLength": 2048, "signerType": "cluster"}}}"#;

fn observed(signer: &str) -> Observed {
    let signer = Signer {
        name: (!signer.is_empty()).then(|| signer.into()),
        namespace: "o".into(),
        cluster_domain: "cluster.local".into(),
    };
    Observed {
        request: Some(ObservedRequest {
            signer,
            key: None,
            request: None,
            authority: None,
            root: None,
        }),
        ..Observed::default()
    }
}

fn holding(entries: &[(&str, &str)]) -> Secret {
    let entries = entries
        .iter()
        .map(|(key, text)| ((*key).to_string(), ByteString((*text).into())));
    Secret {
        data: Some(entries.collect()),
        ..Secret::default()
    }
}

fn condition(request: &mut CertificateSigningRequest, kind: &str) {
    let condition = CertificateSigningRequestCondition {
        type_: kind.into(),
        ..CertificateSigningRequestCondition::default()
    };
    let status = request.status.get_or_insert_default();
    status.conditions.get_or_insert_default().push(condition);
}

/// Carries out a step of the plan; returns its name.
fn done(object: &QuarksSecret, observed: &mut Observed, step: &Step) -> &'static str {
    let next = after(object, observed, step);
    observed.secret = next;
    let request = observed.request.as_mut().unwrap();
    let Step::Prior(prior) = step else {
        return if matches!(step, Step::Keep) { "keep" } else { "write" };
    };
    match &**prior {
        Prior::Authority(_) => {
            let made = generated(&System::new(), "ca", &authority()).unwrap();
            let text = |key: &str| made.str(key).unwrap().to_string();
            request.authority = Some(holding(&[
                (AUTHORITY_KEYS[0], &text("certificate")),
                (AUTHORITY_KEYS[1], &text("private_key")),
            ]));
            "authority"
        }
        Prior::Key(size, kept) => {
            let key = kept
                .clone()
                .unwrap_or_else(|| RsaKey::generate(*size).unwrap().private_pem());
            request.key = Some(holding(&[(PRIVATE_KEY, &key)]));
            "key"
        }
        Prior::Ask(asked) => {
            request.request = Some((**asked).clone());
            "ask"
        }
        Prior::Approve(_) => {
            condition(request.request.as_mut().unwrap(), "Approved");
            "approve"
        }
        Prior::Sign(_, recipe) => {
            let certificate = generated(&System::new(), "x", recipe)
                .unwrap()
                .str("certificate")
                .unwrap()
                .to_string();
            let status = request.request.as_mut().unwrap().status.get_or_insert_default();
            status.certificate = Some(ByteString(certificate.into_bytes()));
            "sign"
        }
        Prior::Clear { key } => {
            request.request = None;
            if *key {
                request.key = None;
            }
            "clear"
        }
    }
}

fn authority() -> Recipe {
    Recipe {
        kind: "certificate",
        options: parse(r#"{"common_name": "ca", "is_ca": true, "duration": 3650, "key_length": 2048}"#).unwrap(),
        signer: None,
        kept_key: None,
        trusted: None,
    }
}

/// Plans and acts until there is nothing to do; returns the names of the steps.
fn converge(object: &QuarksSecret, observed: &mut Observed, at: SystemTime) -> (Vec<&'static str>, Plan) {
    let mut steps = Vec::new();
    for _ in 0..12 {
        let plan = plan(object, observed, at);
        if plan.step == Step::Keep {
            return (steps, plan);
        }
        steps.push(done(object, observed, &plan.step));
    }
    panic!("it never comes to rest: {steps:?}");
}

fn key(observed: &Observed) -> String {
    entry(observed.secret.as_ref().unwrap(), "private_key").unwrap()
}

#[test]
fn the_built_in_signer_signs_and_renews_for_the_same_key() {
    let object = asked(SPEC);
    let mut observed = observed(OWN_SIGNER);
    let now = SystemTime::now();
    let (steps, settled) = converge(&object, &mut observed, now);
    assert_eq!(steps, ["key", "ask", "authority", "approve", "sign", "write", "clear"]);
    assert!(settled.generated && settled.not_after.is_some());
    let secret = observed.secret.clone().unwrap();
    assert_eq!(
        secret.metadata.labels.as_ref().unwrap()["a"],
        "b",
        "the predecessor lost them"
    );
    let text = |key: &str| entry(&secret, key).unwrap();
    assert!(names_as_issuer(&text("certificate"), &text("ca")));
    assert_eq!(text("is_ca"), "false");

    let before = key(&observed);
    let late = now + Duration::from_secs(340 * 86_400);
    let kept = Prior::Key(KeySize::Rsa2048, Some(before.clone()));
    assert_eq!(plan(&object, &observed, late).step, Step::Prior(Box::new(kept)));

    let mut rotated = object.clone();
    rotated
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(marks::ROTATION.into(), "1".into());
    converge(&rotated, &mut observed, now);
    assert_ne!(key(&observed), before);
}

#[test]
fn another_authority_signs_all_certificates_again() {
    let object = asked(SPEC);
    let mut observed = observed(OWN_SIGNER);
    let now = SystemTime::now();
    converge(&object, &mut observed, now);
    let before = observed.secret.clone().unwrap();
    let other = generated(&System::new(), "ca", &authority()).unwrap();
    let text = |key: &str| other.str(key).unwrap().to_string();
    let other = holding(&[
        (AUTHORITY_KEYS[0], &text("certificate")),
        (AUTHORITY_KEYS[1], &text("private_key")),
    ]);
    observed.request.as_mut().unwrap().authority = Some(other);
    let (steps, _) = converge(&object, &mut observed, now);
    assert_eq!(steps, ["key", "ask", "approve", "sign", "write", "clear"]);
    let after = observed.secret.unwrap();
    assert_ne!(entry(&after, "ca"), entry(&before, "ca"));
    assert_eq!(entry(&after, "private_key"), entry(&before, "private_key"));
}

#[test]
fn without_its_authority_a_certificate_is_signed_again_by_a_new_one() {
    let with_service = SPEC.replace("\"keyLength\"", r#""serviceRef": [{"name": "x"}], "keyLength""#);
    for spec in [SPEC, &with_service] {
        let object = asked(spec);
        let mut observed = observed(OWN_SIGNER);
        observed.services = services(&object);
        let now = SystemTime::now();
        converge(&object, &mut observed, now);
        let before = observed.secret.clone().unwrap();
        for lost in [None, Some(holding(&[(AUTHORITY_KEYS[0], "no certificate")]))] {
            observed.request.as_mut().unwrap().authority = lost;
            let (steps, _) = converge(&object, &mut observed, now);
            assert_eq!(steps, ["key", "ask", "authority", "approve", "sign", "write", "clear"]);
        }
        let after = observed.secret.unwrap();
        assert_ne!(entry(&after, "ca"), entry(&before, "ca"));
        assert_eq!(entry(&after, "private_key"), entry(&before, "private_key"));
    }
}

/// The Services that it refers to.
fn services(object: &QuarksSecret) -> Vec<(String, Option<Service>)> {
    let asked = signer::cluster_request(object).unwrap();
    let found = |name: &str| {
        let mut service = Service::default();
        service.metadata.name = Some(name.into());
        service.metadata.namespace = Some("n".into());
        service
    };
    let names = asked.service_ref.iter().map(|service| service.name.clone());
    names.map(|name| (name.clone(), Some(found(&name)))).collect()
}

#[test]
fn requests_to_other_signers_are_never_approved_by_us() {
    let object = asked(SPEC);
    let mut observed = observed("example.com/signer");
    let (steps, plan) = converge(&object, &mut observed, SystemTime::now());
    assert_eq!(steps, ["key", "ask"]);
    assert!(
        plan.findings[0].message.contains("waits for approval"),
        "{:?}",
        plan.findings
    );
    condition(observed.request.as_mut().unwrap().request.as_mut().unwrap(), "Approved");
    let (steps, plan) = converge(&object, &mut observed, SystemTime::now());
    assert!(
        steps.is_empty() && plan.findings[0].message.contains("its signer"),
        "{:?}",
        plan.findings
    );
    condition(observed.request.as_mut().unwrap().request.as_mut().unwrap(), "Failed");
    let (_, plan) = converge(&object, &mut observed, SystemTime::now());
    assert_eq!(plan.findings[0].reason, "Failed");
}

#[test]
fn the_built_in_signer_refuses_names_of_other_namespaces_before_it_makes_a_key() {
    let object = asked(&SPEC.replace(r#"["a.n.svc"]"#, r#"["a.n.svc", "a.other.svc"]"#));
    let mut built_in = observed(OWN_SIGNER);
    let (steps, plan) = converge(&object, &mut built_in, SystemTime::now());
    assert_eq!((steps.len(), plan.findings[0].reason.as_ref()), (0, "NameRefused"));
    assert!(
        plan.findings[0].message.contains("'a.other.svc'"),
        "{:?}",
        plan.findings
    );
    // Other signers have their own rules.
    let (steps, _) = converge(&object, &mut observed("example.com/signer"), SystemTime::now());
    assert_eq!(steps, ["key", "ask"]);
}

#[test]
fn without_a_signer_nothing_is_created() {
    let (steps, plan) = converge(&asked(SPEC), &mut observed(""), SystemTime::now());
    assert_eq!((steps.len(), plan.findings[0].reason.as_ref()), (0, "NoSigner"));
    assert!(
        plan.findings[0].message.contains("--signer-name"),
        "{:?}",
        plan.findings
    );
}

#[test]
fn a_forged_request_is_not_signed() {
    let object = asked(SPEC);
    let mut observed = observed(OWN_SIGNER);
    for _ in 0..2 {
        let step = plan(&object, &observed, SystemTime::now()).step;
        done(&object, &mut observed, &step);
    }
    let request = |observed: &mut Observed| observed.request.as_mut().unwrap().request.take().unwrap();
    let mut forged = request(&mut observed);
    forged.spec.request = ByteString(b"another key".to_vec());
    observed.request.as_mut().unwrap().request = Some(forged.clone());
    let step = plan(&object, &observed, SystemTime::now()).step;
    assert_eq!(step, Step::Prior(Box::new(Prior::Clear { key: false })));
    forged.metadata.annotations = None;
    observed.request.as_mut().unwrap().request = Some(forged);
    let plan = plan(&object, &observed, SystemTime::now());
    assert_eq!(
        (plan.step, plan.findings[0].reason.as_ref()),
        (Step::Keep, "NameConflict")
    );
}

#[test]
fn a_certificate_for_another_key_is_not_written() {
    let object = asked(SPEC);
    let mut observed = observed("example.com/signer");
    converge(&object, &mut observed, SystemTime::now());
    let stranger = generated(&System::new(), "ca", &authority()).unwrap();
    let request = observed.request.as_mut().unwrap().request.as_mut().unwrap();
    let certificate = stranger.str("certificate").unwrap().as_bytes().to_vec();
    request.status.get_or_insert_default().certificate = Some(ByteString(certificate));
    let (steps, plan) = converge(&object, &mut observed, SystemTime::now());
    assert!(steps.is_empty());
    assert_eq!(plan.findings[0].reason, "Refused");
}

#[test]
fn names_of_requests_differ_where_objects_do() {
    let named = |namespace: &str, name: &str, uid: &str| {
        let mut object = asked(SPEC);
        object.metadata.namespace = Some(namespace.into());
        object.metadata.name = Some(name.into());
        object.metadata.uid = Some(uid.into());
        request::name(&object).unwrap()
    };
    let long = "x".repeat(250);
    let all = [
        named("a-b", "c", "1"),
        named("a", "b-c", "1"),
        named("a", "b-c", "2"),
        named("a", &long, "1"),
    ];
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert!(all.iter().all(|name| format!("{name}-csr-private-key").len() <= 253));
}
