//! Differences, as text for people.

use super::Differences;
use boson_pipeline::deployment_diff::{Action, InstanceChange, Line, ObjectChange, Reason, Status, VariableChange};
use boson_pipeline::listing::first_of;
use boson_pipeline::report::clean;

/// Most fields of an object that are named.
const MAX_NAMED_FIELDS: usize = 5;

/// All parts that have differences.
pub(super) fn of(differences: &Differences, color: bool) -> String {
    if differences.is_empty() {
        return "no differences\n".into();
    }
    let effects = &differences.effects;
    let instances = effects.instances.iter().map(|one| of_instance(one, color));
    let variables = effects.variables.iter();
    let variables = variables.map(|(name, change)| of_variable(name, *change, color));
    let objects = effects.objects.iter().map(|one| of_object(one, color));
    let parts = [
        ("manifest", of_lines(&differences.manifest, color)),
        ("instances", instances.collect()),
        ("variables", variables.collect()),
        ("objects", objects.collect()),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let parts = parts.map(|(title, text)| format!("{title}:\n{text}"));
    parts.collect::<Vec<_>>().join("\n")
}

/// The lines as `bosh deploy` prints them.
pub(super) fn of_lines(lines: &[Line], color: bool) -> String {
    let line = |line: &Line| signed(line.status, &line.text, color);
    lines.iter().map(line).collect()
}

fn signed(status: Status, text: &str, color: bool) -> String {
    let line = format!("{}{text}", status.sign());
    match status {
        Status::Added if color => format!("\x1b[32m{line}\x1b[0m\n"),
        Status::Removed if color => format!("\x1b[31m{line}\x1b[0m\n"),
        _ => format!("{line}\n"),
    }
}

fn of_instance(one: &InstanceChange, color: bool) -> String {
    let az = one.az.as_ref().map_or(String::new(), |az| format!(" ({az})"));
    let status = match one.action {
        Action::Create => Status::Added,
        Action::Restart | Action::Resize => Status::Context,
        Action::Delete => Status::Removed,
    };
    let otherwise = match one.action {
        Action::Resize => ", or restart where the cluster cannot resize pods",
        _ => "",
    };
    let title = format!("{} {}/{}{az}{otherwise}", one.action.name(), one.group, one.index);
    let reasons = one
        .reasons
        .iter()
        .map(|reason| format!("      {}\n", clean::line(&of_reason(reason))));
    signed(status, &clean::line(&title), color) + &reasons.collect::<String>()
}

fn of_reason(reason: &Reason) -> String {
    match reason {
        Reason::Files { job, files, causes } if causes.is_empty() => {
            format!("files of job {job}: {}", files.join(", "))
        }
        Reason::Files { job, files, causes } => {
            format!(
                "files of job {job}: {}; other values of {}",
                files.join(", "),
                causes.join(", ")
            )
        }
        Reason::Pod(members) => format!("pod: {}", members.join(", ")),
        Reason::Resources(members) => format!("CPU and memory: {}", members.join(", ")),
        Reason::Disks(members) => format!("disks: {}", members.join(", ")),
        Reason::Group => "the group: its pods are replaced together".into(),
    }
}

fn of_variable(name: &str, change: VariableChange, color: bool) -> String {
    let (status, what) = match change {
        VariableChange::New => (Status::Added, "a value is generated"),
        VariableChange::Removed => (Status::Removed, "its value is retained until `host prune`"),
        VariableChange::Regenerated => (Status::Context, "gets another value"),
        VariableChange::Kept => (Status::Context, "other options, the value stays"),
    };
    signed(status, &clean::line(&format!("{name}: {what}")), color)
}

fn of_object(one: &ObjectChange, color: bool) -> String {
    let status = match one.change {
        "added" => Status::Added,
        "removed" => Status::Removed,
        _ => Status::Context,
    };
    let fields = if one.fields.is_empty() {
        String::new()
    } else {
        format!(": {}", first_of(&one.fields, MAX_NAMED_FIELDS, " and "))
    };
    signed(status, &clean::line(&format!("{}{fields}", one.object)), color)
}
