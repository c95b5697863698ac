//! What is told about a QuarksStatefulSet: conditions, and events of what is wrong.

use super::{Context, Done, MANAGER, Trouble};
use crate::api::{Condition, ConditionStatus, QuarksStatefulSet, QuarksStatefulSetStatus};
use crate::client::{Error, Notice};
use crate::conditions::{self, Finding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;

/// Condition: whether claims have the size and class that is asked for.
const DISKS: &str = "DisksAsAsked";

// === impl Context ===

impl Context {
    pub(super) async fn report(&self, set: &QuarksStatefulSet, done: &Result<Done, Trouble>) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let status = status(set, done, &now);
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        for notice in notices(set, &status, done) {
            if let Err(error) = self.events.tell(set, &notice).await {
                tracing::warn!(%error, "an event was lost");
            }
        }
        match self.cluster.set_status(MANAGER, set, &status).await {
            Ok(_) => Ok(()),
            // The news of whatever changed it brings us back.
            Err(error) if error.is_race() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What keeps a QuarksStatefulSet from ever being ready, in the words of its status.
pub(crate) fn trouble(status: &QuarksStatefulSetStatus) -> Option<&str> {
    let mut ready = status.conditions.iter().filter(|one| one.kind == "Ready");
    let told = |reason: &str| !["PodsReady", "PodsNotReady"].contains(&reason);
    ready
        .find(|one| told(&one.reason) && one.status == ConditionStatus::False)
        .map(|one| one.message.as_str())
}

/// What is worth an event.
fn notices(set: &QuarksStatefulSet, status: &QuarksStatefulSetStatus, done: &Result<Done, Trouble>) -> Vec<Notice> {
    let warning = |reason: &str, note: &str| Notice {
        warning: true,
        reason: reason.to_string().into(),
        note: note.into(),
    };
    match done {
        Err(Trouble(reason, message)) => vec![warning(reason, message)],
        Ok(_) => {
            let old = set.status.as_ref().and_then(|status| disks(&status.conditions));
            let new = disks(&status.conditions).filter(|new| new.status == ConditionStatus::False);
            let news = new.filter(|new| old.is_none_or(|old| old.message != new.message));
            news.map(|new| warning(&new.reason, &new.message)).into_iter().collect()
        }
    }
}

fn disks(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.kind == DISKS)
}

fn status(set: &QuarksStatefulSet, done: &Result<Done, Trouble>, now: &Time) -> QuarksStatefulSetStatus {
    let mut status = set.status.clone().unwrap_or_default();
    let generation = set.meta().generation;
    status.ready = matches!(done, Ok(Done { ready: true, .. }));
    status.observed_generation = generation;
    if matches!(done, Ok(Done { written: true, .. })) {
        status.last_reconcile = Some(now.clone());
    }
    for finding in findings(done) {
        conditions::set(&mut status.conditions, finding, generation, now);
    }
    if matches!(done, Ok(Done { disks: None, .. })) {
        status.conditions.retain(|condition| condition.kind != DISKS);
    }
    status
}

fn findings(done: &Result<Done, Trouble>) -> Vec<Finding> {
    let finding = |kind, holds: bool, reason: &'static str, message: String| Finding {
        kind,
        status: holds.into(),
        reason: reason.into(),
        message,
    };
    let done = match done {
        Err(Trouble(reason, why)) => return vec![finding("Ready", false, reason, why.clone())],
        Ok(done) => done,
    };
    let text = match done.ready {
        true => "all pods of the newest version are ready",
        false => "not all pods of the newest version are ready",
    };
    let reason = if done.ready { "PodsReady" } else { "PodsNotReady" };
    let mut all = vec![finding("Ready", done.ready, reason, text.into())];
    all.extend(done.disks.as_ref().map(|told| match told.is_empty() {
        true => finding(
            DISKS,
            true,
            "AsAsked",
            "claims have the size and class that is asked for".into(),
        ),
        false => finding(
            DISKS,
            false,
            "Kept",
            format!("claims that are not as asked for: {}", told.join("; ")),
        ),
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(disks: Option<&[&str]>) -> Result<Done, Trouble> {
        Ok(Done {
            written: false,
            ready: true,
            again: false,
            disks: disks.map(|told| told.iter().map(ToString::to_string).collect()),
        })
    }

    #[test]
    fn disks_that_are_not_as_asked_for_are_told_once_and_keep_nothing_from_being_ready() {
        let spec = serde_json::json!({"template": {}});
        let mut set = QuarksStatefulSet::new("d-g", serde_json::from_value(spec).unwrap());
        let now = Time(Timestamp::UNIX_EPOCH);
        let small = done(Some(&["'a' stays"]));
        let told = status(&set, &small, &now);
        assert!(told.ready && trouble(&told).is_none());
        assert_eq!(
            notices(&set, &told, &small)[0].note,
            "claims that are not as asked for: 'a' stays"
        );
        set.status = Some(told.clone());
        assert!(notices(&set, &told, &small).is_empty());
        let mended = status(&set, &done(Some(&[])), &now);
        assert_eq!(disks(&mended.conditions).unwrap().status, ConditionStatus::True);
        assert!(disks(&status(&set, &done(None), &now).conditions).is_none());
        let refused = status(&set, &Err(Trouble("Refused", "no".into())), &now);
        assert_eq!(trouble(&refused), Some("no"));
    }
}
