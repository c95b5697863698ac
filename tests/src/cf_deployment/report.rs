//! What became of each job of a version of cf-deployment: a table for people, and messages to compare with recorded
//! ones.

use super::{list, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The lines of a conversion that begin a message.
const SEVERITIES: [&str; 2] = ["error[", "warning["];

/// What `docs/cf.md` says about a job.
#[derive(Debug)]
struct Known<'p> {
    groups: &'p str,
    jobs: &'p str,
    ops_file: &'p str,
    why: &'p str,
}

/// A conversion, and what is known about its jobs.
#[derive(Debug)]
pub struct Report<'r> {
    /// The manifest, before ops files.
    pub manifest: &'r Value,
    /// What it was converted to; nothing after an error.
    pub objects: &'r [Value],
    /// What the conversion reported, with `--warnings all`.
    pub messages: &'r str,
    /// The text of `docs/cf.md`.
    pub page: &'r str,
}

// === impl Report ===

impl Report<'_> {
    /// Errors and warnings without their places, sorted: what differs between two versions of cf-deployment.
    pub fn messages(&self) -> BTreeSet<String> {
        let (mut found, mut start) = (BTreeSet::new(), None);
        for line in self.messages.lines() {
            if let Some((head, message)) = line.split_once("]: ")
                && SEVERITIES.iter().any(|severity| head.starts_with(severity))
            {
                start = Some(head);
                found.insert(format!("{head}]: {message}"));
            } else if let Some(head) = start
                && let Some((_, message)) = line
                    .trim_start()
                    .strip_prefix("--> ")
                    .and_then(|rest| rest.split_once("  "))
            {
                // More of the same kind are listed below the first one.
                found.insert(format!("{head}]: {message}"));
            } else if line.is_empty() {
                start = None;
            }
        }
        found
    }

    /// Jobs that `docs/cf.md` does not list.
    pub fn unknown(&self) -> BTreeSet<String> {
        let known = known(self.page);
        let all = self.jobs().into_iter();
        all.filter(|(group, job)| about(&known, group, job).is_none())
            .map(|(group, job)| format!("{job} of {group}"))
            .collect()
    }

    /// A row for each job, in the order of the manifest.
    pub fn table(&self) -> String {
        let known = known(self.page);
        let mut table = "| instance group | job | converts | runs | privileges | ops file | why |\n".to_string();
        table.push_str("|---|---|---|---|---|---|---|\n");
        for (group, job) in self.jobs() {
            let containers = self.containers(&group, &job);
            let (ops_file, why) =
                about(&known, &group, &job).map_or(("?", "not in docs/cf.md"), |row| (row.ops_file, row.why));
            let converts = if self.is_wrong(&group, &job) { "no" } else { "yes" };
            let runs = match containers.len() {
                _ if self.objects.is_empty() => "?".to_string(),
                0 => "no process".to_string(),
                count => format!("{count} by bpm.yml"),
            };
            let privileges: BTreeSet<String> = containers.into_iter().filter_map(privileges).collect();
            let privileges = privileges.into_iter().collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                table,
                "| {group} | {job} | {converts} | {runs} | {privileges} | {ops_file} | {why} |"
            );
        }
        table
    }

    /// Instance groups with their jobs, and `addons` with theirs.
    fn jobs(&self) -> Vec<(String, String)> {
        let groups = list(&self.manifest["instance_groups"]).iter();
        let groups = groups.map(|group| (text(&group["name"]), group));
        let addons = list(&self.manifest["addons"]).iter().map(|addon| ("addons", addon));
        let all = groups.chain(addons).flat_map(|(group, owner)| {
            let jobs = list(&owner["jobs"]).iter();
            jobs.map(move |job| (group.to_string(), text(&job["name"]).to_string()))
        });
        let mut seen = BTreeSet::new();
        all.filter(|one| seen.insert(one.clone())).collect()
    }

    /// The containers of the job's processes; those of an addon in the first group that has it.
    fn containers(&self, group: &str, job: &str) -> Vec<&Value> {
        let is_of_group = |object: &&Value| {
            let of = &object["metadata"]["labels"]["quarks.cloudfoundry.org/instance-group-name"];
            group == "addons" || text(of) == group
        };
        let pods = self.objects.iter().filter(is_of_group);
        let containers = |object| -> Vec<&Value> {
            let pod = &Value::pointer(object, "/spec/template/spec/template/spec/containers");
            let all = pod.map(list).unwrap_or_default().iter();
            all.filter(|container| runs(container, job)).collect()
        };
        pods.map(containers).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Whether an error is about the job.
    fn is_wrong(&self, group: &str, job: &str) -> bool {
        let (named, place) = (format!("job '{job}'"), format!("/name={job}"));
        self.messages
            .split("\n\n")
            .filter(|message| message.starts_with("error["))
            .any(|message| {
                let is_of_group = group == "addons"
                    || message.contains(&format!("'{group}'"))
                    || message.contains(&format!("/name={group}/"));
                is_of_group && (message.contains(&named) || message.contains(&place))
            })
    }
}

/// The rows of the page's table of jobs.
fn known(page: &str) -> Vec<Known<'_>> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line
            .strip_prefix("| ")?
            .trim_end_matches('|')
            .split(" | ")
            .map(str::trim)
            .collect();
        match cells[..] {
            [groups, jobs, ops_file, why] => Some(Known {
                groups,
                jobs,
                ops_file,
                why,
            }),
            [groups, jobs, ops_file] => Some(Known {
                groups,
                jobs,
                ops_file,
                why: "",
            }),
            _ => None,
        }
    });
    rows.collect()
}

/// The row about a job of this instance group.
fn about<'k, 'p>(known: &'k [Known<'p>], group: &str, job: &str) -> Option<&'k Known<'p>> {
    let has = |cell: &str, name: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        cell.split(|c| !is_part(c)).any(|word| word == name)
    };
    known.iter().find(|row| has(row.groups, group) && has(row.jobs, job))
}

/// Whether a container runs a process of the job.
fn runs(container: &Value, job: &str) -> bool {
    let words: Vec<&str> = list(&container["command"]).iter().map(text).collect();
    words.windows(2).any(|pair| pair == ["--job", job])
}

/// What a container may do that others may not.
fn privileges(container: &Value) -> Option<String> {
    let context = &container["securityContext"];
    let added: Vec<&str> = list(&context["capabilities"]["add"]).iter().map(text).collect();
    if context["privileged"] == true {
        Some("privileged".into())
    } else if context["runAsUser"] == 0 {
        Some("root".into())
    } else if added.is_empty() {
        None
    } else {
        Some(added.join(", "))
    }
}
