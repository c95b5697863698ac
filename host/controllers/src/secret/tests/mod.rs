//! Tests of the plan without a cluster: each value is generated once, and again only for a cause.

mod signing;
mod transition;

use super::cause::Cause;
use super::made::{after, asked};
use super::observe::{Observed, ObservedCopy};
use super::plan::copies::CopyStep;
use super::plan::{Plan, Step, plan};
use super::status::{self, status};
use super::stored::marks;
use super::value::image;
use boson_api::secret::ReclaimPolicy;
use boson_api::{ConditionStatus, QuarksSecret};
use boson_cluster::objects::entry;
use boson_credentials::Issued;
use boson_manifest::labels;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use proptest::prelude::*;
use std::time::{Duration, SystemTime};

const CA: &str = r#"{"type": "certificate", "secretName": "ca", "request": {"certificate": {"commonName": "ca", "isCA": true, "keyLength": 2048}}}"#;
const LEAF: &str = r#"{"type": "certificate", "secretName": "leaf", "request": {"certificate": {"commonName": "leaf", "keyLength": 2048,
    "CARef": {"name": "ca", "key": "certificate"}, "CAKeyRef": {"name": "ca", "key": "private_key"}}}}"#;
const PASSWORD: &str = r#"{"type": "password", "secretName": "s"}"#;
const IMAGE: &str = r#"{"type": "dockerconfigjson", "secretName": "s", "request": {"imageCredentials": {"registry": "r",
    "username": {"name": "ca", "key": "is_ca"}}}}"#;
const TEMPLATES: &str = r#"{"type": "templatedconfig", "secretName": "s", "request": {"templatedConfig": {"type": "helm",
    "templates": {"a": "ca: {{ .Values.x }}"}, "values": {"x": {"name": "ca", "key": "is_ca"}}}}}"#;

fn now() -> SystemTime {
    SystemTime::now()
}

/// The observed state with this Secret as CA.
fn observed(ca: Option<&Secret>) -> Observed {
    let mut observed = Observed::default();
    observed.referred.insert("ca".into(), ca.cloned());
    observed
}

/// Plans and acts until there is nothing to do.
fn converge(object: &QuarksSecret, observed: &mut Observed, at: SystemTime) -> Plan {
    for _ in 0..4 {
        let plan = plan(object, observed, at);
        if plan.step == Step::Keep {
            return plan;
        }
        observed.secret = after(object, observed, &plan.step);
    }
    panic!("it never comes to rest: {:?}", plan(object, observed, at).step);
}

fn ca() -> Secret {
    let mut all = Observed::default();
    converge(&asked(CA), &mut all, now());
    all.secret.unwrap()
}

fn annotated(mut object: QuarksSecret, key: &str, value: &str) -> QuarksSecret {
    object
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(key.into(), value.into());
    object
}

fn cause(plan: &Plan) -> Option<Cause> {
    match &plan.step {
        Step::Create(draft) | Step::Replace(draft, _) | Step::Recreate(draft, _) | Step::Begin(draft, _) => {
            Some(draft.cause)
        }
        Step::Keep | Step::Mark(_) | Step::Edit(_) | Step::Prior(_) => None,
    }
}

fn message(plan: &Plan) -> String {
    plan.findings
        .iter()
        .map(|finding| format!("{}: {}", finding.reason, finding.message))
        .collect()
}

#[test]
fn every_type_is_generated_once() {
    let ca = ca();
    let others = [
        ("user", ""),
        ("rsa", ""),
        ("ssh", ""),
        ("basic-auth", r#", "request": {"basic-auth": {"username": "me"}}"#),
    ];
    let others = others.map(|(kind, rest)| format!(r#"{{"type": "{kind}", "secretName": "s"{rest}}}"#));
    let tls = LEAF.replacen("certificate", "tls", 1);
    let all = others
        .iter()
        .map(String::as_str)
        .chain([CA, LEAF, &tls, PASSWORD, IMAGE, TEMPLATES]);
    for spec in all {
        let object = asked(spec);
        let mut observed = observed(Some(&ca));
        assert_eq!(cause(&plan(&object, &observed, now())), Some(Cause::Absent), "{spec}");
        let rest = converge(&object, &mut observed, now());
        assert!(
            rest.generated && rest.findings[0].status == ConditionStatus::True,
            "{}",
            message(&rest)
        );
        let secret = observed.secret.unwrap();
        assert!(!secret.data.unwrap().is_empty());
        assert_eq!(secret.metadata.owner_references.unwrap()[0].uid, "uid-a");
    }
}

#[test]
fn keys_are_those_that_users_know() {
    let ca = ca();
    let tls = LEAF.replacen("certificate", "tls", 1);
    for (spec, kind, keys) in [
        (LEAF, "Opaque", "ca certificate is_ca private_key"),
        (&tls, "kubernetes.io/tls", "ca tls.crt tls.key"),
        (PASSWORD, "Opaque", "password"),
        (
            r#"{"type": "basic-auth", "secretName": "s"}"#,
            "kubernetes.io/basic-auth",
            "password username",
        ),
        (IMAGE, "kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
        (TEMPLATES, "Opaque", "a"),
    ] {
        let mut observed = observed(Some(&ca));
        converge(&asked(spec), &mut observed, now());
        let secret = observed.secret.unwrap();
        let found: Vec<String> = secret.data.unwrap().into_keys().collect();
        assert_eq!((secret.type_.as_deref(), found.join(" ").as_str()), (Some(kind), keys));
    }
}

#[test]
fn a_secret_of_the_user_is_left_as_it_is() {
    let secret = Secret {
        data: Some([("password".to_string(), ByteString(b"mine".to_vec()))].into()),
        ..Secret::default()
    };
    let observed = Observed {
        secret: Some(secret),
        ..Observed::default()
    };
    let object = annotated(asked(PASSWORD), marks::ROTATION, "1");
    let plan = plan(&object, &observed, now());
    assert_eq!(plan.step, Step::Keep);
    assert!(plan.generated && message(&plan).starts_with("UserProvided"));
}

#[test]
fn a_secret_without_our_marks_is_adopted_and_not_replaced() {
    let object = asked(PASSWORD);
    let mut observed = Observed::default();
    converge(&object, &mut observed, now());
    let made = observed.secret.clone().unwrap();
    let secret = observed.secret.as_mut().unwrap();
    secret.metadata.annotations = None;
    secret.metadata.owner_references = None;
    converge(&object, &mut observed, now());
    let adopted = observed.secret.unwrap();
    assert_eq!(adopted.data, made.data);
    assert_eq!(adopted.metadata, made.metadata);
}

#[test]
fn a_secret_of_another_object_or_a_deleted_one_is_not_changed() {
    let mut observed = Observed::default();
    converge(&asked(PASSWORD), &mut observed, now());
    let mut other = asked(PASSWORD);
    other.metadata.uid = Some("uid-b".into());
    let plan_of_heir = plan(&other, &observed, now());
    assert_eq!((plan_of_heir.step, plan_of_heir.generated), (Step::Keep, false));
    other.metadata.name = Some("b".into());
    let plan_of_other = plan(&other, &observed, now());
    assert_eq!(plan_of_other.step, Step::Keep);
    assert!(
        message(&plan_of_other).contains("belongs to QuarksSecret 'a'"),
        "{}",
        message(&plan_of_other)
    );
}

#[test]
fn a_changed_request_generates_a_new_value_unless_the_variable_says_no_overwrite() {
    let mut observed = Observed::default();
    converge(&asked(PASSWORD), &mut observed, now());
    let longer = PASSWORD.replace("\"s\"", r#""s", "request": {"password": {"length": 40}}"#);
    assert_eq!(cause(&plan(&asked(&longer), &observed, now())), Some(Cause::Request));
    let frozen = annotated(asked(&longer), labels::UPDATE_MODE, "no-overwrite");
    let before = observed.secret.clone().unwrap().data;
    converge(&frozen, &mut observed, now());
    assert_eq!(observed.secret.clone().unwrap().data, before);
    converge(&asked(&longer), &mut observed, now());
    assert_eq!(entry(&observed.secret.unwrap(), "password").unwrap().len(), 40);
}

#[test]
fn a_value_that_is_kept_is_replaced_if_its_type_changes() {
    let types = ["password", "user", "rsa", "ssh", "basic-auth"];
    let of = |kind: &str| {
        let kind = format!("\"{kind}\"");
        annotated(
            asked(&PASSWORD.replace("\"password\"", &kind)),
            labels::UPDATE_MODE,
            "no-overwrite",
        )
    };
    for before in types {
        let mut observed = Observed::default();
        converge(&of(before), &mut observed, now());
        for after in types {
            let expected = (before != after).then_some(Cause::Request);
            assert_eq!(cause(&plan(&of(after), &observed, now())), expected, "{before} {after}");
        }
    }
}

#[test]
fn another_type_of_secret_is_made_anew() {
    let ca = ca();
    let mut observed = observed(Some(&ca));
    converge(&asked(LEAF), &mut observed, now());
    let tls = asked(&LEAF.replacen("certificate", "tls", 1));
    assert!(matches!(plan(&tls, &observed, now()).step, Step::Recreate(..)));
    converge(&tls, &mut observed, now());
}

#[test]
fn a_rotation_is_one_new_value() {
    let mut observed = Observed::default();
    converge(&asked(PASSWORD), &mut observed, now());
    let first = observed.secret.clone().unwrap().data;
    let rotated = annotated(asked(PASSWORD), marks::ROTATION, "1");
    assert_eq!(cause(&plan(&rotated, &observed, now())), Some(Cause::Rotation));
    converge(&rotated, &mut observed, now());
    let second = observed.secret.clone().unwrap().data;
    assert_ne!(first, second);
    converge(&rotated, &mut observed, now());
    assert_eq!(observed.secret.unwrap().data, second);
}

#[test]
fn leaves_are_signed_again_with_their_own_key_when_the_ca_rotates() {
    let (old, new) = (ca(), ca());
    let mut observed = observed(Some(&old));
    converge(&asked(LEAF), &mut observed, now());
    let before = observed.secret.clone().unwrap();
    observed.referred.insert("ca".into(), Some(new.clone()));
    assert_eq!(cause(&plan(&asked(LEAF), &observed, now())), Some(Cause::Signature));
    converge(&asked(LEAF), &mut observed, now());
    let leaf = observed.secret.unwrap();
    assert_eq!(entry(&leaf, "private_key"), entry(&before, "private_key"));
    assert_ne!(entry(&leaf, "certificate"), entry(&before, "certificate"));
    assert_eq!(entry(&leaf, "ca"), entry(&new, "certificate"));
}

#[test]
fn a_certificate_is_renewed_before_it_expires_for_the_same_key() {
    let mut observed = observed(Some(&ca()));
    let leaf = asked(LEAF);
    let rest = converge(&leaf, &mut observed, now());
    assert!(rest.wake <= Duration::from_secs(12 * 3600));
    let before = observed.secret.clone().unwrap();
    let days = |days: u64| now() + Duration::from_secs(days * 86_400);
    assert_eq!(plan(&leaf, &observed, days(330)).step, Step::Keep);
    let due = plan(&leaf, &observed, days(336));
    assert_eq!(cause(&due), Some(Cause::Expiry));
    observed.secret = after(&leaf, &observed, &due.step);
    let renewed = observed.secret.unwrap();
    assert_eq!(entry(&renewed, "private_key"), entry(&before, "private_key"));
    let fingerprint = |secret: &Secret| {
        Issued::from_pem(&entry(secret, "certificate").unwrap())
            .unwrap()
            .fingerprint
    };
    assert_ne!(fingerprint(&renewed), fingerprint(&before));
}

#[test]
fn what_is_missing_is_named_and_a_rotation_is_not_lost_meanwhile() {
    let waiting = plan(&asked(LEAF), &observed(None), now());
    assert_eq!((waiting.step.clone(), waiting.generated), (Step::Keep, false));
    assert_eq!(message(&waiting), "Waiting: there is no Secret 'ca'");

    let ca = ca();
    let mut observed = observed(Some(&ca));
    converge(&asked(LEAF), &mut observed, now());
    observed.referred.insert("ca".into(), None);
    let rotated = annotated(asked(LEAF), marks::ROTATION, "1");
    let waiting = converge(&rotated, &mut observed, now());
    assert!(waiting.generated && message(&waiting).starts_with("Waiting"));
    observed.referred.insert("ca".into(), Some(ca));
    assert_eq!(cause(&plan(&rotated, &observed, now())), Some(Cause::Rotation));
}

#[test]
fn what_is_made_from_other_secrets_follows_them() {
    let mut source = ca();
    let mut observed = observed(Some(&source));
    converge(&asked(IMAGE), &mut observed, now());
    let before = image::credentials(&entry(observed.secret.as_ref().unwrap(), image::FILE_KEY).unwrap()).unwrap();
    source
        .data
        .as_mut()
        .unwrap()
        .insert("is_ca".into(), ByteString(b"maybe".to_vec()));
    observed.referred.insert("ca".into(), Some(source));
    assert_eq!(cause(&plan(&asked(IMAGE), &observed, now())), Some(Cause::Source));
    converge(&asked(IMAGE), &mut observed, now());
    let after = image::credentials(&entry(observed.secret.as_ref().unwrap(), image::FILE_KEY).unwrap()).unwrap();
    assert_eq!(after, ("maybe".to_string(), before.1), "the generated half stays");
}

#[test]
fn labels_follow_the_request_and_those_of_others_stay() {
    let labelled = |labels: &str| asked(&PASSWORD.replace("\"s\"", &format!(r#""s", "secretLabels": {labels}"#)));
    let mut observed = Observed::default();
    converge(&labelled(r#"{"a": "1", "b": "1"}"#), &mut observed, now());
    let before = observed.secret.clone().unwrap();
    observed
        .secret
        .as_mut()
        .unwrap()
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("theirs".into(), "x".into());
    converge(&labelled(r#"{"b": "2"}"#), &mut observed, now());
    let secret = observed.secret.unwrap();
    let labels: Vec<String> = secret
        .metadata
        .labels
        .unwrap()
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        labels,
        ["b=2", "quarks.cloudfoundry.org/secret-kind=generated", "theirs=x"]
    );
    assert_eq!(secret.data, before.data);
}

#[test]
fn nothing_is_written_to_a_namespace_that_does_not_allow_it() {
    let object = asked(&PASSWORD.replace("\"s\"", r#""s", "copies": [{"name": "c", "namespace": "m"}]"#));
    let mut observed = Observed {
        copies: vec![ObservedCopy::default()],
        ..Observed::default()
    };
    converge(&object, &mut observed, now());
    let refused = plan(&object, &observed, now());
    assert!(refused.copies.is_empty() && message(&refused).contains("m/c: the namespace does not allow the copy"));
    let mut there = Secret::default();
    for kind in ["Opaque", "kubernetes.io/tls"] {
        there.type_ = Some(kind.into());
        observed.copies[0].secret = Some(there.clone());
        let silent = plan(&object, &observed, now());
        assert_eq!(
            silent.findings, refused.findings,
            "it reveals which Secrets others have"
        );
    }
    observed.copies[0].secret = None;

    let mut consent = asked(r#"{"type": "copy", "secretName": "c"}"#);
    observed.copies[0].consent = Some(consent.clone());
    assert!(
        plan(&object, &observed, now()).copies.is_empty(),
        "of the type, without our annotation"
    );
    consent = annotated(consent, labels::SECRET_COPY_OF, "n/a");
    observed.copies[0].consent = Some(consent);
    let agreed = plan(&object, &observed, now());
    let CopyStep::Create(copy) = &agreed.copies[0] else {
        panic!("{:?}", agreed.copies);
    };
    assert_eq!(copy.data, observed.secret.as_ref().unwrap().data);

    observed.copies[0].hidden = Some("the operator may not get secrets".into());
    assert!(message(&plan(&object, &observed, now())).contains("m/c: the operator may not get secrets"));
    observed.copies[0].hidden = None;

    observed.copies[0].secret = Some(Secret::default());
    let own = plan(&object, &observed, now());
    assert!(own.copies.is_empty(), "a Secret of another owner");
    assert!(
        message(&own).contains("is not marked as this copy"),
        "{}",
        message(&own)
    );
    observed.copies[0].secret = Some((**copy).clone());
    let done = plan(&object, &observed, now());
    assert!(done.copies.is_empty() && message(&done).ends_with("Copied: 1 copies"));
}

#[test]
fn a_status_that_says_the_same_is_not_written() {
    let mut object = asked(PASSWORD);
    let mut observed = Observed::default();
    let plan = converge(&object, &mut observed, now());
    let (first, notices) = status(&object, &plan, now()).unwrap();
    assert_eq!(notices.len(), 1);
    object.status = Some(first);
    assert!(status(&object, &plan, now() + Duration::from_secs(60)).is_none());
}

/// What may happen to an object.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Length(i64),
    Rotation(u8),
    Label(u8),
    UpdateMode,
    MarksLost,
    SecretDeleted,
    Nothing,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (1..4_i64).prop_map(Happens::Length),
        (0..3_u8).prop_map(Happens::Rotation),
        (0..3_u8).prop_map(Happens::Label),
        Just(Happens::UpdateMode),
        Just(Happens::MarksLost),
        Just(Happens::SecretDeleted),
        Just(Happens::Nothing),
    ]
}

proptest! {
    /// After any history it comes to rest, and the value changes only for a cause.
    #[test]
    fn a_value_changes_for_a_cause_only(history in proptest::collection::vec(happens(), 1..12)) {
        let mut object = asked(PASSWORD);
        let mut observed = Observed::default();
        converge(&object, &mut observed, now());
        for event in history {
            let before = observed.secret.clone().unwrap();
            let asked_before = object.clone();
            match event {
                Happens::Length(length) => {
                    object.spec.request = serde_json::from_value(serde_json::json!({"password": {"length": length}})).unwrap();
                }
                Happens::Rotation(id) => object = annotated(object, marks::ROTATION, &id.to_string()),
                Happens::Label(value) => {
                    object.spec.secret_labels.insert("l".into(), value.to_string());
                }
                Happens::UpdateMode => object = annotated(object, labels::UPDATE_MODE, "no-overwrite"),
                Happens::MarksLost => {
                    let annotations = observed.secret.as_mut().unwrap().metadata.annotations.as_mut().unwrap();
                    annotations.retain(|key, _| key == marks::ROTATION);
                }
                Happens::SecretDeleted => observed.secret = None,
                Happens::Nothing => {}
            }
            let deleted = observed.secret.is_none();
            converge(&object, &mut observed, now());
            let secret = observed.secret.clone().unwrap();
            let rotated = object.metadata.annotations.as_ref().and_then(|all| all.get(marks::ROTATION))
                != before.metadata.annotations.as_ref().and_then(|all| all.get(marks::ROTATION));
            let may = deleted || rotated || object.spec.request != asked_before.spec.request;
            prop_assert!(may || secret.data == before.data, "{event:?}");
            prop_assert!(!rotated || secret.data != before.data || matches!(object.spec.request.as_ref().and_then(|r| r.password.as_ref()).and_then(|p| p.length), Some(1..4)));
        }
    }
}

/// The same object, with this policy.
fn reclaimed(mut object: QuarksSecret, policy: ReclaimPolicy) -> QuarksSecret {
    object.spec.reclaim_policy = policy;
    object
}

fn owners(secret: &Secret) -> Vec<&str> {
    let owners = secret.metadata.owner_references.iter().flatten();
    owners.map(|owner| owner.uid.as_str()).collect()
}

#[test]
fn a_retained_secret_has_no_owner_and_only_its_namesake_adopts_it() {
    let (object, mut observed) = (reclaimed(asked(PASSWORD), ReclaimPolicy::Retain), Observed::default());
    converge(&object, &mut observed, now());
    let made = observed.secret.clone().unwrap();
    assert_eq!(owners(&made), [""; 0]);
    let by = |secret: &Secret| {
        let annotations = secret.metadata.annotations.as_ref().unwrap();
        annotations.get(labels::RETAINED_BY).cloned()
    };
    assert_eq!(by(&made).unwrap(), "a/uid-a");

    // The deployment and the object are deleted. A new object writes the Secret, so a prune in progress must not delete
    // it.
    let mut again = object.clone();
    again.metadata.uid = Some("uid-b".into());
    let step = plan(&again, &observed, now()).step;
    assert!(
        matches!(&step, Step::Mark(secret) if secret.data == made.data),
        "{step:?}"
    );
    converge(&again, &mut observed, now());
    let adopted = observed.secret.clone().unwrap();
    assert_eq!(by(&adopted).unwrap(), "a/uid-b");
    assert_eq!(adopted.data, made.data);

    let mut other = object.clone();
    other.metadata.name = Some("thief".into());
    other.metadata.uid = Some("uid-c".into());
    let refused = plan(&other, &observed, now());
    assert_eq!(
        (refused.step, refused.findings[0].reason.as_ref()),
        (Step::Keep, "NameConflict")
    );
    let message = &refused.findings[0].message;
    assert!(message.contains("QuarksSecret 'a', which retained it"), "{message}");

    // And back.
    converge(&reclaimed(again, ReclaimPolicy::Delete), &mut observed, now());
    let deleted = observed.secret.unwrap();
    assert_eq!((owners(&deleted), by(&deleted)), (vec!["uid-b"], None));
    assert_eq!(deleted.data, made.data);
}

#[test]
fn what_others_own_of_a_retained_secret_stays_theirs() {
    let (object, mut observed) = (asked(PASSWORD), Observed::default());
    converge(&object, &mut observed, now());
    let other = OwnerReference {
        uid: "other".into(),
        ..OwnerReference::default()
    };
    let secret = observed.secret.as_mut().unwrap();
    secret.metadata.owner_references.as_mut().unwrap().push(other);
    converge(&reclaimed(object, ReclaimPolicy::Retain), &mut observed, now());
    assert_eq!(owners(observed.secret.as_ref().unwrap()), ["other"]);
}

#[test]
fn a_secret_that_was_generated_again_is_reported_once() {
    let (mut object, mut observed) = (asked(PASSWORD), Observed::default());
    let first = converge(&object, &mut observed, now());
    assert_eq!(status::generated_again_notice(&object, &first), None);
    object.status = status(&object, &first, now()).map(|(status, _)| status);
    // As `act` creates a replacement.
    let secret = observed.secret.as_mut().unwrap();
    secret.metadata.uid = Some("another".into());
    let annotations = secret.metadata.annotations.as_mut().unwrap();
    annotations.insert(marks::GENERATED_AGAIN.into(), "true".into());
    let again = converge(&object, &mut observed, now());
    let notice = status::generated_again_notice(&object, &again).unwrap();
    assert!(
        notice
            .note
            .starts_with("Secret 's' was deleted; its value was generated again at "),
        "{}",
        notice.note
    );
    object.status = status(&object, &again, now()).map(|(status, _)| status);
    assert_eq!(status::generated_again_notice(&object, &again), None);
}
