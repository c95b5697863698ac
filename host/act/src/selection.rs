//! The instances of a deployment that a command is about: all, those of an instance group, or one.

use boson_cluster::pods::is_ready;
use boson_look::instances::Instance;
use boson_manifest::names;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What a user selects: nothing, `GROUP` or `GROUP/INDEX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    All,
    Group(String),
    Instance {
        group: String,
        index: usize,
    },
}

/// Why nothing is selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    #[error("'{0}' is neither GROUP nor GROUP/INDEX, such as `web` or `web/0`")]
    Malformed(String),
    #[error("the deployment has no instances")]
    Empty,
    #[error("there is no instance group '{group}' with instances; instance groups: {known}")]
    UnknownGroup { group: String, known: String },
    #[error("there is no instance '{selection}'; instances: {known}")]
    UnknownInstance { selection: Selection, known: String },
}

// === impl Selection ===

impl Selection {
    /// Whether an instance is selected. `index`: none if its group does not exist any more.
    pub fn selects(&self, group: &str, index: Option<usize>) -> bool {
        match self {
            Self::All => true,
            Self::Group(wanted) => wanted == group,
            Self::Instance {
                group: wanted,
                index: number,
            } => wanted == group && index == Some(*number),
        }
    }

    /// The selected ones of all instances of a deployment, with and without pods.
    ///
    /// # Errors
    /// No instance is selected.
    pub fn of(&self, instances: Vec<Instance>) -> Result<Vec<Instance>, SelectionError> {
        let is_selected = |one: &Instance| self.selects(&one.group, one.index);
        let (selected, others): (Vec<Instance>, Vec<Instance>) = instances.into_iter().partition(is_selected);
        if !selected.is_empty() {
            return Ok(selected);
        }
        let group = match self {
            Self::Group(group) | Self::Instance { group, .. } if !others.is_empty() => group,
            _ => return Err(SelectionError::Empty),
        };
        let listed = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
        let of_group = others.iter().filter(|one| one.group == *group);
        let of_group: BTreeSet<String> = of_group.map(ToString::to_string).collect();
        Err(if of_group.is_empty() {
            SelectionError::UnknownGroup {
                group: group.clone(),
                known: listed(others.into_iter().map(|one| one.group).collect()),
            }
        } else {
            SelectionError::UnknownInstance {
                selection: self.clone(),
                known: listed(of_group),
            }
        })
    }
}

/// `GROUP` or `GROUP/INDEX`. A group may be written as in the manifest: `diego_cell` for `diego-cell`.
impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let malformed = || SelectionError::Malformed(text.to_string());
        let (group, index) = match text.split_once('/') {
            Some((group, index)) => (group, Some(index.parse().map_err(|_| malformed())?)),
            None => (text, None),
        };
        let group = names::label_value(group);
        if group.is_empty() {
            return Err(malformed());
        }
        Ok(match index {
            Some(index) => Self::Instance { group, index },
            None => Self::Group(group),
        })
    }
}

/// One pod of each instance, which has several during a rollout: one that is ready, or else the newest.
pub fn one_each(instances: Vec<Instance>) -> Vec<Instance> {
    let rank = |one: &Instance| {
        let metadata = one.pod.as_ref().map(|pod| &pod.metadata);
        let stays = metadata.is_some_and(|metadata| metadata.deletion_timestamp.is_none());
        let created = metadata.and_then(|metadata| metadata.creation_timestamp.clone());
        (stays, one.pod.as_ref().is_some_and(is_ready), created)
    };
    let mut chosen: Vec<Instance> = Vec::new();
    for instance in instances {
        let is_same = |one: &&mut Instance| one.group == instance.group && one.index == instance.index;
        // Without an index, it is unknown which instance a pod is.
        let known = chosen.iter_mut().filter(|one| one.index.is_some()).find(is_same);
        match known {
            Some(one) if rank(one) < rank(&instance) => *one = instance,
            Some(_) => {}
            None => chosen.push(instance),
        }
    }
    chosen
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all instances"),
            Self::Group(group) => f.write_str(group),
            Self::Instance { group, index } => write!(f, "{group}/{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances() -> Vec<Instance> {
        let all = [
            ("db", Some(0)),
            ("old", None),
            ("web-app", Some(0)),
            ("web-app", Some(1)),
        ];
        let instance = |(group, index): (&str, Option<usize>)| Instance {
            group: group.into(),
            index,
            az: String::new(),
            pod: None,
        };
        all.map(instance).to_vec()
    }

    fn selected(text: &str) -> Result<Vec<String>, String> {
        let selection = if text.is_empty() {
            Selection::All
        } else {
            text.parse().map_err(|error: SelectionError| error.to_string())?
        };
        let found = selection.of(instances()).map_err(|error| error.to_string())?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn all_of_a_group_or_one_are_selected() {
        assert_eq!(selected("").unwrap(), ["db/0", "old/?", "web-app/0", "web-app/1"]);
        assert_eq!(selected("web-app").unwrap(), ["web-app/0", "web-app/1"]);
        assert_eq!(selected("Web_App/1").unwrap(), ["web-app/1"]);
        assert_eq!(selected("old").unwrap(), ["old/?"]);
    }

    #[test]
    fn an_instance_with_several_pods_is_taken_once() {
        let instance = |index: Option<usize>, pod: &str, leaves: bool, ready: bool| {
            let time = "2026-11-28T10:00:00Z";
            let pod = serde_json::json!({
                "metadata": {"name": pod, "creationTimestamp": time, "deletionTimestamp": leaves.then_some(time)},
                "status": {"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
            });
            Instance {
                group: "web".into(),
                index,
                az: String::new(),
                pod: serde_json::from_value(pod).unwrap(),
            }
        };
        let found = one_each(vec![
            instance(Some(0), "old", true, true),
            instance(Some(0), "new", false, false),
            instance(Some(1), "serves", false, true),
            instance(Some(1), "starts", false, false),
            instance(None, "a", false, true),
            instance(None, "b", false, true),
        ]);
        let pods: Vec<String> = found.iter().map(Instance::pod_name).collect();
        assert_eq!(pods, ["new", "serves", "a", "b"]);
    }

    #[test]
    fn errors_name_what_there_is() {
        let wrong = |text: &str| selected(text).unwrap_err();
        assert_eq!(
            wrong("web"),
            "there is no instance group 'web' with instances; instance groups: db, old, web-app"
        );
        assert_eq!(
            wrong("web-app/2"),
            "there is no instance 'web-app/2'; instances: web-app/0, web-app/1"
        );
        for text in ["web/", "/0", "web/0/1", "web/-1", "web/x", "_"] {
            assert!(wrong(text).contains("is neither GROUP nor GROUP/INDEX"), "{text}");
        }
        assert_eq!(Selection::All.of(Vec::new()), Err(SelectionError::Empty));
    }
}
