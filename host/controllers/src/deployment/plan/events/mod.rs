//! The events of a deployment: what is wrong, and what in its manifest has no effect. Pure.

pub mod causes;
pub mod change;
pub mod idle_wrappers;

use crate::codes::PLUGIN_SHADOW_DIFFERS;
use crate::deployment::status::{Observed, Outcome, REFUSED};
use crate::stateful_set;
use boson_api::conditions;
use boson_cluster::cache::GroupProblem;
use boson_cluster::client::Notice;
use boson_cluster::objects;
use boson_pipeline::{Diagnostic, Severity};
use serde_json::Value;

/// An event for everything that is wrong: the outcome, instance groups, plugins, and what shadow plugins would change.
pub fn problem_notices(observed: &Observed) -> Vec<Notice> {
    let problem = match &observed.outcome {
        Outcome::Partly(problem) | Outcome::Invalid(problem) | Outcome::Refused(problem) => {
            Some(Notice::warning(problem.reason.clone(), problem.message.clone()))
        }
        Outcome::Applied | Outcome::Waiting(_) => None,
    };
    let worth = |(_, problem): &&(String, GroupProblem)| stateful_set::is_worth_an_event(&problem.reason);
    let group_problems = observed.group_problems.iter().filter(worth).map(|(group, problem)| {
        let reason = if stateful_set::is_refusal(&problem.reason) {
            REFUSED
        } else {
            problem.reason.as_str()
        };
        Notice::warning(reason.to_string(), format!("{group}: {}", problem.message))
    });
    let plugin_problems = observed.plugin_problems.iter();
    let plugin_problems = plugin_problems.map(|one| Notice::warning(one.reason.clone(), one.message.clone()));
    let shadows = observed.shadows.iter().flatten().filter(|one| !one.agrees);
    let reason = conditions::reason(PLUGIN_SHADOW_DIFFERS.name);
    let shadows = shadows.map(|one| Notice::warning(reason.clone(), one.text.clone()));
    let all = problem.into_iter().chain(group_problems).chain(plugin_problems);
    all.chain(shadows).collect()
}

/// One digest of the events about these warnings; none without a warning.
pub fn digest(warnings: &[Diagnostic]) -> Option<String> {
    let notes: Vec<Value> = warnings.iter().map(|one| warning(one).note.into()).collect();
    (!notes.is_empty()).then(|| objects::digest(&Value::Array(notes)))
}

/// The event about a warning or a note.
pub fn warning(warning: &Diagnostic) -> Notice {
    let place = [&warning.place.document, &warning.place.pointer];
    let place: String = place.into_iter().flatten().map(String::as_str).collect();
    let note = if place.is_empty() {
        warning.message.clone()
    } else {
        format!("{} ({place})", warning.message)
    };
    Notice {
        warning: warning.severity != Severity::Info,
        reason: conditions::reason(&warning.code).into(),
        note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::error::DeployProblem;
    use boson_plugins::PluginProblem;

    #[test]
    fn what_is_wrong_comes_before_groups_and_plugins_and_a_group_that_only_starts_is_no_event() {
        let problem = |reason: &str| GroupProblem {
            reason: reason.into(),
            message: "no".into(),
        };
        let invalid = DeployProblem {
            reason: "OpsMissingKey".into(),
            message: "no such key".into(),
            ..DeployProblem::default()
        };
        let observed = Observed {
            group_problems: vec![
                ("d-a".into(), problem("Refused")),
                ("d-b".into(), problem(crate::pod_problems::NOT_READY)),
            ],
            plugin_problems: vec![PluginProblem {
                reason: "PluginRefused".into(),
                message: "imports a function".into(),
            }],
            ..Observed::ended(Some(1), Outcome::Invalid(invalid))
        };
        let of = |observed: &Observed| -> Vec<String> {
            let notices = problem_notices(observed).into_iter();
            notices.map(|one| format!("{} {}", one.reason, one.note)).collect()
        };
        assert_eq!(
            of(&observed),
            [
                "OpsMissingKey no such key",
                "GroupsRefused d-a: no",
                "PluginRefused imports a function"
            ]
        );
        let waiting = Observed::ended(Some(1), Outcome::Waiting("an answer".into()));
        assert_eq!(of(&waiting), [""; 0]);
    }

    #[test]
    fn a_warning_ends_with_its_place_if_it_has_one() {
        let odd = || Diagnostic::reported_warning("a-b", "this is odd");
        let note = |one: Diagnostic| warning(&one).note;
        assert_eq!(note(odd()), "this is odd");
        assert_eq!(note(odd().at("/name")), "this is odd (/name)");
        assert_eq!(note(odd().in_document("m.yml")), "this is odd (m.yml)");
        assert_eq!(note(odd().in_document("m.yml").at("/name")), "this is odd (m.yml/name)");
    }

    #[test]
    fn a_note_is_a_normal_event() {
        let odd = Diagnostic::reported_warning("a-b", "this is odd");
        assert!(warning(&odd).warning);
        let severity = Severity::Info;
        assert!(!warning(&Diagnostic { severity, ..odd }).warning);
    }

    #[test]
    fn the_same_warnings_have_the_same_digest() {
        let warning = |text: &str| Diagnostic::reported_warning("a-b", text);
        assert_eq!(digest(&[]), None);
        assert_eq!(digest(&[warning("x")]), digest(&[warning("x")]));
        assert_ne!(digest(&[warning("x")]), digest(&[warning("y")]));
    }
}
