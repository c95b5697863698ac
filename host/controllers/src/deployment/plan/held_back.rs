//! Instance groups that cannot be converted. Each keeps the objects of an earlier conversion, if any, and does not
//! affect the other groups.

use crate::deployment::error::DeployProblem;
use boson_cluster::client::AnyObject;
use boson_manifest::labels;
use boson_manifest::names::label_value;
use serde_json::Value;
use std::collections::BTreeSet;

/// The groups, and what is wrong with them.
#[derive(Debug, Default)]
pub struct HeldBack {
    groups: BTreeSet<String>,
    problems: Vec<DeployProblem>,
}

// === impl HeldBack ===

impl HeldBack {
    /// Holds these groups back for one cause.
    pub fn add(&mut self, groups: impl IntoIterator<Item = String>, problem: DeployProblem) {
        self.groups.extend(groups);
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether the object belongs to one of the groups.
    pub fn owns(&self, object: &Value) -> bool {
        let group = object.label(labels::INSTANCE_GROUP_NAME);
        group.is_some_and(|group| self.groups.iter().any(|held| label_value(held) == group))
    }

    /// One text for all of them; none where no group is held back.
    pub fn problem(&self) -> Option<DeployProblem> {
        let first = self.problems.first()?;
        let names: Vec<String> = self.groups.iter().map(|group| format!("'{group}'")).collect();
        let what = match names.as_slice() {
            [one] => format!("instance group {one} is held back"),
            all => format!("instance groups {} are held back", all.join(", ")),
        };
        let messages: Vec<&str> = self.problems.iter().map(|problem| problem.message.as_str()).collect();
        Some(DeployProblem {
            reason: first.reason.clone(),
            message: format!("{what}; the other groups are applied\n{}", messages.join("\n")),
            failed_plugins: self
                .problems
                .iter()
                .flat_map(|problem| problem.failed_plugins.clone())
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(message: &str) -> DeployProblem {
        DeployProblem {
            reason: "RenderFailed".into(),
            message: message.into(),
            ..DeployProblem::default()
        }
    }

    #[test]
    fn objects_of_a_group_that_is_held_back_are_known_by_their_label() {
        let mut held = HeldBack::default();
        held.add(["Web_UI".to_string()], problem("no"));
        let object = |group: &str| json!({"metadata": {"labels": {labels::INSTANCE_GROUP_NAME: group}}});
        assert!(held.owns(&object(&label_value("Web_UI"))));
        assert!(!held.owns(&object("db")) && !held.owns(&json!({"metadata": {}})));
    }

    #[test]
    fn the_message_names_the_groups_and_each_cause_once() {
        let mut held = HeldBack::default();
        assert_eq!(held.problem(), None);
        held.add(["web".to_string()], problem("first"));
        held.add(["db".to_string()], problem("second"));
        held.add(["api".to_string()], problem("first"));
        let text = held.problem().unwrap().message;
        assert_eq!(
            text,
            "instance groups 'api', 'db', 'web' are held back; the other groups are applied\nfirst\nsecond"
        );
    }
}
