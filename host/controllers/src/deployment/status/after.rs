//! The status of a deployment: counts, state and message; [`super::conditions`] has the conditions. Pure.

use super::conditions::{ERRANDS, findings};
use super::outcome::{CONVERSION_STEPS, Observed, Outcome};
use super::shadows::SHADOWS;
use boson_api::BoshDeploymentStatus;
use boson_api::conditions;
use boson_api::deployment::DeploymentState;
use boson_cluster::cache::GroupProblem;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The first status of a deployment.
pub fn created(now: &Time) -> BoshDeploymentStatus {
    BoshDeploymentStatus {
        state: Some(DeploymentState::Created),
        state_timestamp: Some(now.clone()),
        ..BoshDeploymentStatus::default()
    }
}

/// The status after a reconcile; equal to the old one if nothing has changed.
pub fn after(old: &BoshDeploymentStatus, observed: &Observed, now: &Time) -> BoshDeploymentStatus {
    let mut status = old.clone();
    let total = observed.groups.or(old.total_instance_groups);
    let (started, completed) = errand_counts(old, observed);
    status.total_job_count = Some(CONVERSION_STEPS + started);
    status.completed_job_count = Some(observed.steps + completed);
    status.total_instance_groups = total;
    status.deployed_instance_groups = Some(observed.ready);
    status.state = Some(state(observed, total));
    let message = conditions::cut(&message(observed, total));
    status.message = Some(message).filter(|message| !message.is_empty());
    status.observed_generation = observed.generation;
    status.warned.clone_from(&observed.warned);
    replace_observed(&mut status, observed);
    if observed.wrote {
        status.last_reconcile = Some(now.clone());
    }
    if counts(old) != counts(&status) {
        status.state_timestamp = Some(now.clone());
    }
    set_conditions(&mut status, observed, now);
    status
}

/// Replaces what this reconcile got as far as to observe; an earlier value of the rest stays.
fn replace_observed(status: &mut BoshDeploymentStatus, observed: &Observed) {
    if observed.inputs_digest.is_some() {
        status.inputs_digest.clone_from(&observed.inputs_digest);
    }
    if let Some(inputs) = &observed.inputs {
        status.inputs.clone_from(inputs);
    }
    if observed.outcome == Outcome::Applied {
        status.plugins.clone_from(&observed.plugins);
    }
    if let Some(outdated) = &observed.outdated {
        status.outdated_groups.clone_from(outdated);
    }
    if let Some(removed) = &observed.removed {
        status.removed_variables.clone_from(removed);
    }
    if observed.post_deploy.is_some() {
        status.post_deploy.clone_from(&observed.post_deploy);
    }
}

/// The state and the counts, whose change sets the timestamp of the state.
fn counts(status: &BoshDeploymentStatus) -> (Option<DeploymentState>, [Option<i32>; 4]) {
    let counts = [
        status.total_job_count,
        status.completed_job_count,
        status.total_instance_groups,
        status.deployed_instance_groups,
    ];
    (status.state, counts)
}

fn set_conditions(status: &mut BoshDeploymentStatus, observed: &Observed, now: &Time) {
    for finding in findings(observed, status) {
        conditions::set(&mut status.conditions, finding, observed.generation, now);
    }
    let errands = observed.errands.as_ref();
    if errands.is_some_and(|errands| errands.all().started == 0) {
        status.conditions.retain(|one| one.kind != ERRANDS);
    }
    if observed.shadows.as_ref().is_some_and(Vec::is_empty) {
        status.conditions.retain(|one| one.kind != SHADOWS);
    }
}

/// Errands that were started, and those of them that are completed.
fn errand_counts(old: &BoshDeploymentStatus, observed: &Observed) -> (i32, i32) {
    let beyond_steps = |count: Option<i32>| count.map_or(0, |count| count.saturating_sub(CONVERSION_STEPS).max(0));
    match &observed.errands {
        Some(errands) => (errands.all().started, errands.all().completed),
        None => (beyond_steps(old.total_job_count), beyond_steps(old.completed_job_count)),
    }
}

/// `Deployed` if and only if the condition Ready is True. A manual errand has no influence.
fn state(observed: &Observed, total: Option<i32>) -> DeploymentState {
    let errands = observed.errands.as_ref();
    let converted = observed.steps == CONVERSION_STEPS && errands.is_none_or(|errands| errands.auto.are_completed());
    match (converted, total == Some(observed.ready)) {
        (true, true) if observed.outcome == Outcome::Applied => DeploymentState::Deployed,
        (false, false) => DeploymentState::ResolvingManifest,
        _ => DeploymentState::Converting,
    }
}

fn message(observed: &Observed, total: Option<i32>) -> String {
    match &observed.outcome {
        Outcome::Partly(problem) | Outcome::Invalid(problem) | Outcome::Refused(problem) => problem.message.clone(),
        Outcome::Waiting(what) => format!("waiting for {what}"),
        Outcome::Applied => unfinished_message(observed, total),
    }
}

/// What the deployment waits for, or what has failed, while all objects are up to date.
fn unfinished_message(observed: &Observed, total: Option<i32>) -> String {
    let errands = observed.errands.clone().unwrap_or_default().auto;
    let started = errands.started;
    let mut parts = Vec::new();
    match total {
        Some(total) if total > observed.ready => {
            parts.push(format!(
                "waiting for {} of {total} instance groups",
                total - observed.ready
            ));
            let named = |(group, problem): &(String, GroupProblem)| format!("{group}: {}", problem.message);
            parts.extend(observed.group_problems.iter().map(named));
        }
        _ => {
            let waits = errands.running();
            parts.extend((waits > 0).then(|| format!("waiting for {waits} of {started} errands")));
        }
    }
    if !errands.failed.is_empty() {
        parts.push(format!("{} of {started} errands failed", errands.failed.len()));
        parts.extend(errands.failed);
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::errands::{Errands, Runs};
    use super::super::shadows::ShadowResult;
    use super::*;
    use crate::deployment::error::DeployProblem;
    use boson_api::{Condition, ConditionStatus, QuarksJob};
    use boson_plugins::PluginProblem;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn observed(outcome: Outcome, steps: i32, ready: i32) -> Observed {
        Observed {
            steps,
            errands: Some(Errands::default()),
            groups: Some(2),
            ready,
            ..Observed::ended(Some(1), outcome)
        }
    }

    #[test]
    fn a_change_that_cannot_be_applied_is_reported_and_nothing_else_changes() {
        let old = BoshDeploymentStatus {
            observed_generation: Some(1),
            total_job_count: Some(4),
            completed_job_count: Some(4),
            total_instance_groups: Some(2),
            deployed_instance_groups: Some(2),
            warned: Some("digest".into()),
            ..BoshDeploymentStatus::default()
        };
        let observed = Observed::as_before(&old, Some(2), Outcome::Waiting("an answer".into()), Vec::new());
        let new = after(&old, &observed, &at(2));
        assert_eq!(new.message.as_deref(), Some("waiting for an answer"));
        let applied = |one: &&Condition| one.kind == "Applied";
        assert_eq!(
            new.conditions.iter().find(applied).unwrap().status,
            ConditionStatus::Unknown
        );
        assert_eq!((new.total_job_count, new.completed_job_count), (Some(4), Some(1)));
        assert_eq!((new.deployed_instance_groups, &new.warned), (Some(2), &old.warned));
    }

    #[test]
    fn the_condition_about_shadow_plugins_stays_until_there_is_none() {
        let mut observed = observed(Outcome::Applied, 3, 2);
        let result = |agrees| ShadowResult {
            agrees,
            text: "shadow plugin 'p': ...".into(),
        };
        observed.shadows = Some(vec![result(true), result(false)]);
        let found = after(&created(&at(1)), &observed, &at(2));
        let (status, reason, message) = condition(&found, "ShadowPluginsAgree").unwrap();
        assert_eq!((status, reason.as_str()), (ConditionStatus::False, "Different"));
        assert_eq!(message.lines().count(), 2);
        observed.shadows = None;
        let kept = after(&found, &observed, &at(3));
        assert!(condition(&kept, "ShadowPluginsAgree").is_some());
        observed.shadows = Some(Vec::new());
        let gone = after(&kept, &observed, &at(4));
        assert_eq!(condition(&gone, "ShadowPluginsAgree"), None);
    }

    #[test]
    fn every_state_has_its_exact_text() {
        let text = |steps, ready| {
            let status = after(&created(&at(1)), &observed(Outcome::Applied, steps, ready), &at(2));
            serde_json::to_value(status.state).unwrap()
        };
        assert_eq!(serde_json::to_value(created(&at(1)).state).unwrap(), "Created");
        assert_eq!(text(1, 0), "Resolving Manifest");
        assert_eq!(text(3, 1), "Converting to Kubernetes Resources");
        assert_eq!(text(2, 2), "Converting to Kubernetes Resources");
        assert_eq!(text(3, 2), "Deployed");
    }

    #[test]
    fn errands_count_as_jobs() {
        let mut observed = observed(Outcome::Applied, 3, 2);
        let auto = Runs {
            started: 3,
            completed: 2,
            failed: Vec::new(),
        };
        observed.errands = Some(Errands {
            auto,
            ..Errands::default()
        });
        let status = after(&created(&at(1)), &observed, &at(2));
        assert_eq!((status.total_job_count, status.completed_job_count), (Some(6), Some(5)));
        assert_eq!(status.state, Some(DeploymentState::Converting));
        assert_eq!(status.message.as_deref(), Some("waiting for 1 of 3 errands"));
    }

    fn job(name: &str, asked: &str, failed: &str) -> QuarksJob {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob",
            "metadata": {"name": name, "annotations": {boson_cluster::objects::TRIGGER: asked}},
            "spec": {"trigger": {"strategy": "done"}, "template": {}},
            "status": {"runs": 1, "conditions": [{"type": "Failed", "status": failed, "reason": "JobFailed",
                "message": "'smoke' ended with 1", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap()
    }

    fn condition(status: &BoshDeploymentStatus, kind: &str) -> Option<(ConditionStatus, String, String)> {
        let found = status.conditions.iter().find(|one| one.kind == kind)?;
        Some((found.status, found.reason.clone(), found.message.clone()))
    }

    #[test]
    fn failed_auto_errands_are_reported_with_their_cause() {
        let mut observed = observed(Outcome::Applied, 3, 2);
        observed.errands = Some(Errands::of(
            [job("d-smoke", "once", "True"), job("d-load", "once", "False")].iter(),
        ));
        let reported = |observed: &Observed| {
            let status = after(&created(&at(1)), observed, &at(2));
            let (_, reason, message) = condition(&status, "Ready").unwrap();
            assert_eq!(Some(&message), status.message.as_ref());
            (reason, message)
        };
        let all = "waiting for 1 of 2 errands; 1 of 2 errands failed; d-smoke: 'smoke' ended with 1";
        assert_eq!(reported(&observed), ("ErrandsFailed".into(), all.into()));
        observed.ready = 1;
        let all = "waiting for 1 of 2 instance groups; 1 of 2 errands failed; d-smoke: 'smoke' ended with 1";
        assert_eq!(reported(&observed), ("ErrandsFailed".into(), all.into()));
        // It has succeeded since, and runs again.
        observed.errands = Some(Errands::of([job("d-smoke", "once", "False")].iter()));
        assert_eq!(reported(&observed).0, "GroupsNotReady");
    }

    #[test]
    fn a_manual_errand_has_its_own_condition_and_changes_no_other() {
        let quiet = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        assert_eq!(condition(&quiet, "ErrandsSucceeded"), None);
        let mut failed = observed(Outcome::Applied, 3, 2);
        failed.errands = Some(Errands::of([job("d-smoke", "manual", "True")].iter()));
        let status = after(&quiet, &failed, &at(3));
        assert_eq!(
            (status.state, &status.message),
            (Some(DeploymentState::Deployed), &None)
        );
        for kind in ["Ready", "Applied", "Converted"] {
            assert_eq!(condition(&status, kind), condition(&quiet, kind));
        }
        let (holds, reason, message) = condition(&status, "ErrandsSucceeded").unwrap();
        assert_eq!((holds, reason.as_str()), (ConditionStatus::False, "ErrandsFailed"));
        assert_eq!(message, "1 of 1 errands failed; d-smoke: 'smoke' ended with 1");
        assert_eq!((status.total_job_count, status.completed_job_count), (Some(4), Some(3)));
        failed.errands = Some(Errands::of([job("d-smoke", "manual", "False")].iter()));
        let running = after(&status, &failed, &at(4));
        assert_eq!(
            condition(&running, "ErrandsSucceeded").unwrap().0,
            ConditionStatus::Unknown
        );
        assert_eq!(
            condition(
                &after(&running, &observed(Outcome::Applied, 3, 2), &at(5)),
                "ErrandsSucceeded"
            ),
            None
        );
    }

    #[test]
    fn conditions_and_state_never_contradict_each_other() {
        use ConditionStatus::{False, True};
        let problem = || DeployProblem {
            reason: "X".into(),
            message: "no".into(),
            ..DeployProblem::default()
        };
        let outcomes = [
            Outcome::Applied,
            Outcome::Partly(problem()),
            Outcome::Waiting("an answer".into()),
            Outcome::Invalid(problem()),
            Outcome::Refused(problem()),
        ];
        let old = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        for (outcome, steps, ready) in outcomes
            .iter()
            .flat_map(|outcome| (0..=3).flat_map(move |steps| (0..=2).map(move |ready| (outcome, steps, ready))))
        {
            if *outcome == Outcome::Applied && steps < 3 {
                continue;
            }
            let status = after(&old, &observed(outcome.clone(), steps, ready), &at(3));
            let of = |kind| condition(&status, kind).unwrap().0;
            let case = format!("{outcome:?}, {steps} steps, {ready} ready: {:?}", status.conditions);
            assert_eq!(
                status.state == Some(DeploymentState::Deployed),
                of("Ready") == True,
                "{case}"
            );
            assert!(of("Ready") != True || of("Applied") == True, "{case}");
            assert!(of("Applied") != True || of("Converted") == True, "{case}");
            assert_eq!(
                of("Converted") == True,
                steps == 3 && !matches!(outcome, Outcome::Invalid(_) | Outcome::Partly(_)),
                "{case}"
            );
            let refused = matches!(outcome, Outcome::Refused(_));
            assert_eq!(of("Applied") == False, refused, "{case}");
            // A client that waits for the condition of a step learns why it does not become True.
            assert!(!refused || steps == 3 || of("Converted") == False, "{case}");
        }
    }

    #[test]
    fn progressing_reports_the_rollouts_of_all_groups_and_the_failed_one_first() {
        let rollout = |group: &str, reason: &str| {
            let rollout = GroupProblem {
                reason: reason.into(),
                message: format!("m{group}"),
            };
            (group.to_string(), rollout)
        };
        let of = |rollouts: &[(&str, &str)]| {
            let mut observed = observed(Outcome::Applied, 3, 1);
            observed.rollouts = rollouts.iter().map(|(group, reason)| rollout(group, reason)).collect();
            condition(&after(&created(&at(1)), &observed, &at(2)), "Progressing").unwrap()
        };
        use ConditionStatus::{False, True, Unknown};
        let text = |message: &str| message.to_string();
        assert_eq!(of(&[]).1, "RolledOut");
        assert_eq!(of(&[("a", "Paused")]), (Unknown, text("Paused"), text("a: ma")));
        let both = of(&[("a", "Paused"), ("b", "Updating")]);
        assert_eq!(both, (True, text("Updating"), text("a: ma; b: mb")));
        let failed = of(&[("a", "Updating"), ("b", "CanaryFailed")]);
        assert_eq!(failed, (False, text("CanaryFailed"), text("a: ma; b: mb")));
        let waits = after(
            &created(&at(1)),
            &observed(Outcome::Waiting("an answer".into()), 0, 0),
            &at(2),
        );
        assert_eq!(condition(&waits, "Progressing").unwrap().0, True);
    }

    #[test]
    fn nothing_changes_when_nothing_has_changed() {
        let first = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        assert_eq!(after(&first, &observed(Outcome::Applied, 3, 2), &at(9)), first);
    }

    #[test]
    fn a_deployment_goes_back_from_deployed() {
        let deployed = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        let problem = DeployProblem {
            reason: "OpsMissingKey".into(),
            message: "no such key".into(),
            ..DeployProblem::default()
        };
        let status = after(&deployed, &observed(Outcome::Invalid(problem), 0, 2), &at(3));
        assert_ne!(status.state, Some(DeploymentState::Deployed));
        assert_eq!(status.message.as_deref(), Some("no such key"));
        let ready = status.conditions.iter().find(|one| one.kind == "Ready").unwrap();
        assert_eq!(
            (ready.status, ready.reason.as_str()),
            (ConditionStatus::False, "OpsMissingKey")
        );
        assert_eq!(status.state_timestamp, Some(at(3)));
    }

    #[test]
    fn after_a_broken_change_no_condition_claims_that_the_objects_match_the_manifest() {
        let deployed = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        let problem = || DeployProblem {
            reason: "X".into(),
            message: "é".repeat(5000),
            ..DeployProblem::default()
        };
        let condition = |status: &BoshDeploymentStatus, kind: &str| {
            let (status, _, message) = condition(status, kind).unwrap();
            (status, message.chars().count())
        };
        let status = after(&deployed, &observed(Outcome::Invalid(problem()), 0, 2), &at(3));
        assert_eq!(condition(&status, "Applied").0, ConditionStatus::Unknown);
        assert_eq!(condition(&status, "Converted"), (ConditionStatus::False, 2000));
        assert_eq!(status.message.unwrap().chars().count(), 2000);
        let status = after(&deployed, &observed(Outcome::Refused(problem()), 3, 2), &at(3));
        assert_eq!(condition(&status, "Applied").0, ConditionStatus::False);
        assert_eq!(condition(&status, "Converted").0, ConditionStatus::True);
        let mut stuck = observed(Outcome::Applied, 3, 1);
        let reason = |status: &BoshDeploymentStatus| {
            let ready = status.conditions.iter().find(|one| one.kind == "Ready").unwrap();
            (ready.reason.clone(), ready.message.clone())
        };
        for (word, expected) in [("Refused", "GroupsRefused"), ("CrashLoopBackOff", "GroupsNotReady")] {
            let problem = GroupProblem {
                reason: word.into(),
                message: "no".into(),
            };
            stuck.group_problems = vec![("d-g".into(), problem)];
            let status = after(&deployed, &stuck, &at(3));
            let text = "waiting for 1 of 2 instance groups; d-g: no";
            assert_eq!(reason(&status), (expected.to_string(), text.to_string()));
            assert_eq!(status.message.as_deref(), Some(text));
        }
    }

    #[test]
    fn a_refused_plugin_is_reported_and_changes_nothing_else() {
        let fine = observed(Outcome::Applied, 3, 2);
        let problem = PluginProblem {
            reason: "PluginRefused".into(),
            message: "imports a function".into(),
        };
        let status = after(
            &created(&at(1)),
            &Observed {
                plugin_problems: vec![problem],
                ..fine.clone()
            },
            &at(2),
        );
        let reported = |status: &BoshDeploymentStatus| {
            let one = status
                .conditions
                .iter()
                .find(|one| one.kind == "PluginsHealthy")
                .unwrap();
            (one.status, one.reason.clone())
        };
        assert_eq!(reported(&status), (ConditionStatus::False, "PluginRefused".to_string()));
        assert_eq!(status.state, Some(DeploymentState::Deployed));
        assert_eq!(reported(&after(&status, &fine, &at(3))).0, ConditionStatus::True);
    }

    #[test]
    fn a_deployment_that_waits_for_a_plugin_is_not_ready() {
        let ready = after(&created(&at(1)), &observed(Outcome::Applied, 3, 2), &at(2));
        let mut waits = observed(Outcome::Waiting("plugin 'labels', which is being loaded".into()), 0, 2);
        waits.loading = vec!["labels".into()];
        let status = after(&ready, &waits, &at(3));
        let condition = |kind: &str| {
            let one = status.conditions.iter().find(|one| one.kind == kind).unwrap();
            (one.status, one.reason.as_str(), one.message.as_str())
        };
        let message = "waiting for plugin 'labels', which is being loaded";
        assert_eq!(condition("Ready"), (ConditionStatus::False, "Waiting", message));
        assert_eq!(
            condition("PluginsHealthy"),
            (ConditionStatus::Unknown, "PluginLoading", "being loaded: labels")
        );
        assert_eq!(status.plugins, ready.plugins, "the objects still come from them");
    }

    #[test]
    fn the_message_says_what_is_waited_for() {
        let message = |outcome, steps, ready| after(&created(&at(1)), &observed(outcome, steps, ready), &at(2)).message;
        assert_eq!(
            message(Outcome::Applied, 3, 1).as_deref(),
            Some("waiting for 1 of 2 instance groups")
        );
        assert_eq!(
            message(Outcome::Waiting("the values of a".into()), 0, 0).as_deref(),
            Some("waiting for the values of a")
        );
        assert_eq!(message(Outcome::Applied, 3, 2), None);
    }
}
