//! What can be wrong with a deployment, and what can be done about it, in BOSH's words where it has them.

use boson_look::table::Table;
use clap::ValueEnum;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde::Serialize;
use serde_json::{Value, json};

const HEADER: [&str; 3] = ["#", "Type", "Description"];

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub kind: Kind,
    pub description: String,
    /// What it is about, as it was read.
    pub subject: Subject,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    Pod(Box<Pod>),
    /// A claim, and the pods that use it.
    Claim(Box<PersistentVolumeClaim>, Vec<Pod>),
    /// An object, and JSON pointers to the fields that others have set.
    Fields(Value, Vec<String>),
    /// Something that does not exist, so that it cannot be acted upon.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    MissingVm,
    UnresponsiveAgent,
    StuckVm,
    MissingDisk,
    MissingSecret,
    ChangedObject,
}

/// What to do about a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Resolution {
    Ignore,
    RecreateVmWithoutWait,
    RecreateVm,
    DeleteVmReference,
    DeleteDiskReference,
    RemoveChanges,
}

// === impl Kind ===

impl Kind {
    pub fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_string()
    }
}

// === impl Resolution ===

impl Resolution {
    /// As `--resolution` names it.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map(|one| one.get_name().to_string()).unwrap_or_default()
    }

    pub fn plan(self) -> &'static str {
        match self {
            Self::Ignore => "Skip for now",
            Self::RecreateVmWithoutWait => "Recreate the pod without waiting for its processes to start",
            Self::RecreateVm => "Recreate the pod and wait for its processes to start",
            Self::DeleteVmReference => {
                "Delete the pod without an answer of its node (forceful; make sure that the node is off, or its \
                 processes may still run and write to the disk)"
            }
            Self::DeleteDiskReference => "Delete the claim, for a new and empty disk (DANGEROUS!)",
            Self::RemoveChanges => "Remove these fields",
        }
    }
}

// === impl Problem ===

impl Problem {
    /// The ways to resolve it, the one that skips it first.
    pub fn resolutions(&self) -> &'static [Resolution] {
        use Resolution::{
            DeleteDiskReference, DeleteVmReference, Ignore, RecreateVm, RecreateVmWithoutWait, RemoveChanges,
        };
        match (self.kind, &self.subject) {
            (_, Subject::Nothing) | (Kind::MissingSecret, _) => &[Ignore],
            (Kind::MissingVm, _) => &[Ignore, RecreateVmWithoutWait, RecreateVm],
            (Kind::UnresponsiveAgent | Kind::StuckVm, _) => &[Ignore, DeleteVmReference],
            (Kind::MissingDisk, _) => &[Ignore, DeleteDiskReference],
            (Kind::ChangedObject, _) => &[Ignore, RemoveChanges],
        }
    }

    /// What `--auto` does, as in BOSH: only a pod that is certainly lost is replaced.
    pub fn default_resolution(&self) -> Resolution {
        self.resolution_of(&[Resolution::RecreateVmWithoutWait])
    }

    /// The first of these that is one of its resolutions.
    pub fn resolution_of(&self, wanted: &[Resolution]) -> Resolution {
        let first = wanted.iter().find(|one| self.resolutions().contains(one));
        first.copied().unwrap_or(Resolution::Ignore)
    }
}

/// The problems, numbered.
pub fn table(problems: &[Problem]) -> Table {
    let row = |(number, one): (usize, &Problem)| {
        vec![
            number.to_string().into(),
            one.kind.name().into(),
            one.description.as_str().into(),
        ]
    };
    let rows = (1..).zip(problems).map(row).collect();
    Table::new("problems", &HEADER, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: Kind, subject: Subject) -> Problem {
        Problem {
            kind,
            description: "d".into(),
            subject,
        }
    }

    #[test]
    fn only_what_is_certainly_lost_is_resolved_automatically() {
        let pod = || Subject::Pod(Box::default());
        assert_eq!(
            problem(Kind::MissingVm, pod()).default_resolution(),
            Resolution::RecreateVmWithoutWait
        );
        for (kind, subject) in [
            (Kind::MissingVm, Subject::Nothing),
            (Kind::UnresponsiveAgent, pod()),
            (Kind::StuckVm, pod()),
            (Kind::MissingDisk, Subject::Claim(Box::default(), Vec::new())),
            (Kind::ChangedObject, Subject::Fields(Value::Null, Vec::new())),
        ] {
            assert_eq!(
                problem(kind, subject).default_resolution(),
                Resolution::Ignore,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_resolution_applies_to_the_problems_that_have_it() {
        let wanted = [Resolution::DeleteVmReference, Resolution::RecreateVm];
        let pod = || Subject::Pod(Box::default());
        assert_eq!(
            problem(Kind::MissingVm, pod()).resolution_of(&wanted),
            Resolution::RecreateVm
        );
        assert_eq!(
            problem(Kind::StuckVm, pod()).resolution_of(&wanted),
            Resolution::DeleteVmReference
        );
        assert_eq!(
            problem(Kind::MissingSecret, Subject::Nothing).resolution_of(&wanted),
            Resolution::Ignore
        );
    }

    #[test]
    fn resolutions_have_the_names_of_bosh() {
        let names: Vec<String> = Resolution::value_variants().iter().map(|one| one.name()).collect();
        let wanted = [
            "ignore",
            "recreate_vm_without_wait",
            "recreate_vm",
            "delete_vm_reference",
            "delete_disk_reference",
            "remove_changes",
        ];
        assert_eq!(names, wanted);
    }
}
