//! What to do: a pure function of the QuarksSecret, what was seen, and the time.
//!
//! # Guarantees
//! A value that was generated is replaced for one of the [`Cause`]s only, each of which is visible in the cluster before and gone after. In
//! particular a value without our marks (restored from a backup, made by the predecessor) is adopted, never replaced.

use super::copies::{self, CopyStep};
use super::draft::{Cause, Draft, Trouble, derived, draft, marks_of, prior, signature};
use super::marks;
use super::observe::{Observed, entry};
use super::recipe::{self, request_digest};
use super::secret::{self, Owner};
use super::signing::{self, Prior};
use crate::api::secret::SecretType;
use crate::api::{ConditionStatus, QuarksSecret};
use crate::conditions::Finding;
use boson_credentials::Issued;
use boson_deployment::labels;
use k8s_openapi::api::core::v1::Secret;
use std::time::{Duration, SystemTime};

/// A certificate is renewed when this part of its life is left, but not earlier than [`EARLIEST`] before its end.
const LEFT: u32 = 3;
const EARLIEST: Duration = Duration::from_secs(30 * 86_400);
/// Nobody sleeps longer: a clock may be set meanwhile, and a change that was not heard of must not be missed for ever.
const LONGEST_SLEEP: Duration = Duration::from_secs(12 * 3600);
/// The same, for what is not as it should be.
const UNEASY_SLEEP: Duration = Duration::from_secs(300);

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// With the Secret.
    pub step: Step,
    /// With its copies; once the Secret is what it should be.
    pub copies: Vec<CopyStep>,
    /// What to say about it.
    pub findings: Vec<Finding>,
    /// Whether the Secret is there.
    pub generated: bool,
    /// The Secret that the plan is about, if it is there.
    pub about: Option<About>,
    /// When its certificate expires.
    pub not_after: Option<SystemTime>,
    /// When to look again, if nothing happens before.
    pub wake: Duration,
}

/// Which Secret there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its UID.
    pub uid: String,
    /// When it was generated, if that was in place of one that somebody had deleted.
    pub again: Option<String>,
}

/// What to do with the Secret.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Keep,
    /// Its labels, annotations and owner are to be these; its data stays.
    Mark(Box<Secret>),
    /// Somebody else signs it: do this first, or clean up behind it.
    Prior(Box<Prior>),
    /// There is none: make it.
    Create(Box<Draft>),
    /// Replace the data of this one, if it is still this one.
    Replace(Box<Draft>, Box<Secret>),
    /// Replace this one by another, because the type of a Secret cannot change.
    Recreate(Box<Draft>, Box<Secret>),
}

// === impl Plan ===

impl Plan {
    /// Nothing could be done, for a reason that somebody has to mend.
    pub fn troubled(reason: &'static str, message: String, generated: bool) -> Self {
        silent(ready(false, reason, message), generated)
    }
}

/// Decides.
pub fn plan(object: &QuarksSecret, observed: &Observed, now: SystemTime) -> Plan {
    if object.spec.kind == SecretType::Copy {
        let message = "agrees to copies; makes nothing itself";
        return silent(ready(true, "Agreed", message.into()), false);
    }
    let Some(secret) = &observed.secret else {
        return match valued(object, observed, Cause::Absent, None, now) {
            Ok(step) => write(step),
            Err(trouble) => silent(ready(false, trouble.reason, trouble.message), false),
        };
    };
    let name = &object.spec.secret_name;
    match secret::owner(object, secret) {
        Owner::User => {
            let message = format!("Secret '{name}' was made by somebody else and stays as it is");
            kept(
                object,
                observed,
                secret,
                Step::Keep,
                ready(true, "UserProvided", message),
            )
        }
        Owner::Other(other) => {
            let message = format!("Secret '{name}' belongs to {other}; give this one another name");
            silent(ready(false, "NameTaken", message), false)
        }
        Owner::Leaving => {
            let message = format!("Secret '{name}' is of an earlier object and about to go");
            silent(ready(false, "Waiting", message), false)
        }
        Owner::Us => ours(object, observed, secret, now),
    }
}

/// About a Secret that we made.
fn ours(object: &QuarksSecret, observed: &Observed, secret: &Secret, now: SystemTime) -> Plan {
    let renew = issued(object, secret).map(|issued| renewal(&issued));
    let trouble = match cause(object, observed, secret, renew, now) {
        Some(cause) => match valued(object, observed, cause, Some(secret), now) {
            Ok(step) => return write(step),
            Err(trouble) => Some(trouble),
        },
        None => match derived(object, observed, secret) {
            Ok(Some(draft)) => return write(replacement(object, draft, secret)),
            Ok(None) => None,
            Err(trouble) => Some(trouble),
        },
    };
    let marked = secret::marked(object, secret, &marks_of(object, observed));
    let step = match (&trouble, signing::leftovers(observed)) {
        (None, _) if marked != *secret => Step::Mark(Box::new(marked)),
        (None, Some(leftovers)) => Step::Prior(Box::new(leftovers)),
        // With its marks it would look as if what was asked for had been done.
        _ => Step::Keep,
    };
    let finding = match trouble {
        Some(trouble) => ready(false, trouble.reason, trouble.message),
        None => ready(true, "Generated", generated_message(object)),
    };
    let mut plan = kept(object, observed, secret, step, finding);
    if let Some(at) = renew {
        let left = at.duration_since(now).unwrap_or_default();
        plan.wake = plan.wake.min(left.max(Duration::from_secs(60)));
    }
    plan
}

/// How a value comes to be: made and written, or first signed by somebody else.
fn valued(
    object: &QuarksSecret,
    observed: &Observed,
    cause: Cause,
    old: Option<&Secret>,
    now: SystemTime,
) -> Result<Step, Trouble> {
    if let Some(prior) = prior(object, observed, cause, old, now)? {
        return Ok(Step::Prior(Box::new(prior)));
    }
    let draft = draft(object, observed, cause, old)?;
    Ok(match old {
        None => Step::Create(Box::new(draft)),
        Some(old) => replacement(object, draft, old),
    })
}

fn generated_message(object: &QuarksSecret) -> String {
    let ignored = recipe::ignored(&object.spec);
    match ignored.is_empty() {
        true => format!("Secret '{}' is generated", object.spec.secret_name),
        false => format!(
            "Secret '{}' is generated; without effect: {}",
            object.spec.secret_name,
            ignored.join(", ")
        ),
    }
}

/// Why the value is to be replaced, if it is.
fn cause(
    object: &QuarksSecret,
    observed: &Observed,
    secret: &Secret,
    renew: Option<SystemTime>,
    now: SystemTime,
) -> Option<Cause> {
    let wanted = object.metadata.annotations.as_ref();
    let wanted = |key: &str| wanted.and_then(|annotations| annotations.get(key));
    let marked = |key: &str| {
        secret
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(key))
    };
    if wanted(marks::ROTATION).is_some_and(|rotation| marked(marks::ROTATION) != Some(rotation)) {
        return Some(Cause::Rotation);
    }
    let frozen = wanted(labels::UPDATE_MODE).is_some_and(|mode| mode == "no-overwrite");
    let other = |mark: &str, now: String| marked(mark).is_some_and(|before| *before != now);
    if !frozen && other(marks::REQUEST, request_digest(object)) {
        return Some(Cause::Request);
    }
    if signature(object, observed).is_some_and(|signature| other(marks::SIGNED, signature)) {
        return Some(Cause::Signature);
    }
    renew.filter(|at| *at <= now).map(|_| Cause::Expiry)
}

fn issued(object: &QuarksSecret, secret: &Secret) -> Option<Issued> {
    let names = secret::certificate_keys(object.spec.kind)?;
    Issued::from_pem(&entry(secret, names.certificate)?)
}

/// When to renew.
fn renewal(issued: &Issued) -> SystemTime {
    let life = issued.not_after.duration_since(issued.not_before).unwrap_or_default();
    issued
        .not_after
        .checked_sub((life / LEFT).min(EARLIEST))
        .unwrap_or(issued.not_after)
}

fn replacement(object: &QuarksSecret, draft: Draft, old: &Secret) -> Step {
    let (draft, old) = (Box::new(draft), Box::new(old.clone()));
    match old.type_.as_deref() == Some(secret::kubernetes_type(object.spec.kind)) {
        true => Step::Replace(draft, old),
        false => Step::Recreate(draft, old),
    }
}

/// A plan that writes: what to say is known when it is done.
fn write(step: Step) -> Plan {
    Plan {
        step,
        copies: Vec::new(),
        findings: Vec::new(),
        generated: false,
        about: None,
        not_after: None,
        wake: UNEASY_SLEEP,
    }
}

/// A plan that writes nothing.
fn silent(finding: Finding, generated: bool) -> Plan {
    let well = finding.status == ConditionStatus::True;
    Plan {
        wake: if well { LONGEST_SLEEP } else { UNEASY_SLEEP },
        findings: vec![finding],
        generated,
        ..write(Step::Keep)
    }
}

/// The Secret is there: what remains are its copies.
fn kept(object: &QuarksSecret, observed: &Observed, secret: &Secret, step: Step, finding: Finding) -> Plan {
    let (copies, copied) = copies::plan(object, observed, secret);
    let mut plan = Plan {
        step,
        copies,
        about: about(secret),
        not_after: issued(object, secret).map(|issued| issued.not_after),
        ..silent(finding, true)
    };
    plan.findings.extend(copied);
    plan
}

fn about(secret: &Secret) -> Option<About> {
    let meta = &secret.metadata;
    let annotations = meta.annotations.as_ref();
    let again = annotations.is_some_and(|all| all.contains_key(marks::AGAIN));
    let since = meta.creation_timestamp.as_ref();
    Some(About {
        uid: meta.uid.clone()?,
        again: again.then(|| since.map(|since| since.0.to_string()).unwrap_or_default()),
    })
}

fn ready(holds: bool, reason: &'static str, message: String) -> Finding {
    Finding {
        kind: "Ready",
        status: holds.into(),
        reason: reason.into(),
        message,
    }
}
