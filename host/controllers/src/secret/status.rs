//! The status, and the events for its changes.

use super::Context;
use super::plan::Plan;
use crate::controller::{Next, Report};
use boson_api::conditions;
use boson_api::secret::{QuarksSecretStatus, ROTATING};
use boson_api::{ConditionStatus, QuarksSecret};
use boson_cluster::client::Notice;
use boson_cluster::objects::annotation;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use std::time::SystemTime;

/// The new status and its events, unless nothing has changed.
pub fn status(object: &QuarksSecret, plan: &Plan, now: SystemTime) -> Option<(QuarksSecretStatus, Vec<Notice>)> {
    let before = object.status.clone().unwrap_or_default();
    let now = time(now);
    let mut next = before.clone();
    let mut notices = Vec::new();
    for finding in &plan.findings {
        // What a rotation waits for changes with each instance: each step is one event.
        let reported = before.conditions.iter().any(|condition| {
            condition.kind == finding.kind
                && condition.reason == finding.reason
                && (condition.message == finding.message || finding.kind == ROTATING)
        });
        if !reported {
            notices.push(Notice {
                warning: finding.status == ConditionStatus::False,
                reason: finding.reason.clone(),
                note: finding.message.clone(),
            });
        }
        conditions::set(&mut next.conditions, finding.clone(), object.metadata.generation, &now);
    }
    // After an error, the Secret was not looked at: its rotation is not complete.
    let is_unknown = plan.generated && plan.about.is_none();
    next.conditions.retain(|condition| {
        let is_found = plan.findings.iter().any(|finding| finding.kind == condition.kind);
        is_found || (is_unknown && condition.kind == ROTATING)
    });
    if let Some(about) = &plan.about {
        next.secret_uid = Some(about.uid.clone());
        next.rotation.clone_from(&about.rotation);
    }
    let copied = plan.findings.iter().find(|finding| finding.kind == "Copied");
    next.generated = Some(plan.generated);
    next.copied = copied.map(|finding| finding.status == ConditionStatus::True);
    next.not_after = plan.not_after.map(time);
    next.observed_generation = object.metadata.generation;
    if next == before {
        return None;
    }
    next.last_reconcile = Some(now);
    Some((next, notices))
}

/// What to report after this plan, which writes nothing more.
pub(super) fn report(object: &QuarksSecret, plan: &Plan, now: SystemTime) -> Report<Context> {
    let (status, events_after) = status(object, plan, now).unzip();
    Report {
        status,
        events_after: events_after.unwrap_or_default(),
        ..Report::next(Next::Wait(Action::requeue(plan.wake)))
    }
}

/// The event for the object and its deployment after a Secret was generated again, once for each Secret. It is emitted
/// before the status is written, which records that.
pub fn generated_again_notice(object: &QuarksSecret, plan: &Plan) -> Option<Notice> {
    let about = plan.about.as_ref()?;
    let reported = object.status.as_ref().and_then(|status| status.secret_uid.as_ref());
    let since = about.again.as_ref().filter(|_| reported != Some(&about.uid))?;
    let name = &object.spec.secret_name;
    let variable = annotation(&object.metadata, labels::VARIABLE);
    let value = variable.map_or_else(|| "its value".into(), |variable| format!("variable '{variable}'"));
    let note = format!("Secret '{name}' was deleted; {value} was generated again at {since} and has changed");
    Some(Notice::warning("GeneratedAgain", note))
}

/// Whole seconds: Kubernetes drops fractions, which would look like a change.
fn time(time: SystemTime) -> Time {
    Time(Timestamp::from_second(seconds(time)).unwrap_or(Timestamp::MAX))
}

/// Whole seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
