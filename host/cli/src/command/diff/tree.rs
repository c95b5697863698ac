//! Differences, as JSON for programs.

use super::Differences;
use boson_document::Tree;
use boson_pipeline::deployment_diff::{InstanceChange, Line, ObjectChange, Reason};

/// `deployment`: its name.
pub(super) fn of(deployment: &str, differences: &Differences) -> Tree {
    let effects = &differences.effects;
    let variable = |(name, change): (&String, &boson_pipeline::deployment_diff::VariableChange)| {
        Tree::object().with("name", name.as_str()).with("change", change.name())
    };
    Tree::object()
        .with("deployment", deployment)
        .with("different", !differences.is_empty())
        .with("manifest", list(&differences.manifest, of_line))
        .with("instances", list(&effects.instances, of_instance))
        .with(
            "variables",
            Tree::Array(effects.variables.iter().map(variable).collect()),
        )
        .with("objects", list(&effects.objects, of_object))
}

fn list<T>(items: &[T], tree: fn(&T) -> Tree) -> Tree {
    Tree::Array(items.iter().map(tree).collect())
}

fn of_line(line: &Line) -> Tree {
    Tree::object()
        .with("line", line.text.as_str())
        .with("status", line.status.name().map(str::to_string))
}

fn of_instance(one: &InstanceChange) -> Tree {
    Tree::object()
        .with("group", one.group.as_str())
        .with("az", one.az.clone())
        .with("index", one.index)
        .with("action", one.action.name())
        .with("reasons", list(&one.reasons, of_reason))
}

fn of_reason(reason: &Reason) -> Tree {
    match reason {
        Reason::Files { job, files, causes } => Tree::object()
            .with("kind", "files")
            .with("job", job.as_str())
            .with("files", files.clone())
            .with("causes", causes.clone()),
        Reason::Pod(members) => Tree::object().with("kind", "pod").with("members", members.clone()),
        Reason::Resources(members) => Tree::object()
            .with("kind", "resources")
            .with("members", members.clone()),
        Reason::Disks(members) => Tree::object().with("kind", "disks").with("members", members.clone()),
        Reason::Group => Tree::object().with("kind", "group"),
    }
}

fn of_object(one: &ObjectChange) -> Tree {
    Tree::object()
        .with("object", one.object.as_str())
        .with("change", one.change)
        .with("fields", one.fields.clone())
}
