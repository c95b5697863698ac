//! `/container-run/processes/<job>.json`: the description of a job for container-run, written in the pod. Format 1.
//!
//! | member | |
//! |---|---|
//! | `version` | 1 |
//! | `job` | name |
//! | `instance` | `id`, `az`, `name`, `deployment`, as BOSH's agent writes them to `/var/vcap/instance` |
//! | `envs` | pairs: what `quarks.envs` sets by value; of scripts too |
//! | `processes` | see [`of_process`] |
//! | `probes` | process -> `readiness`, `liveness`, `startup` -> what container-run does: see [`crate::probe`] |
//! | `condition` | the command that must succeed before post-start |

use crate::{Limits, Monit, POD_IP, Process, Volume, probe};
use boson_document::{Map, Number, Tree, go};

/// The format that [`of_job`] writes.
pub const FORMAT_VERSION: u32 = 1;

/// A job on an instance.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    pub name: &'a str,
    /// `id`, `az`, `name`, `deployment`.
    pub instance: Tree,
    /// Its property `quarks`.
    pub quarks: &'a Tree,
    pub processes: &'a [Process],
}

/// The document of a job. `ip`: the pod's address.
pub fn of_job(job: &Job<'_>, ip: &str) -> Tree {
    let envs = envs(job.quarks);
    let processes: Vec<Tree> = job.processes.iter().map(|process| of_process(process, &envs)).collect();
    let mut tree: Tree = [
        ("version", Tree::from(FORMAT_VERSION)),
        ("job", job.name.into()),
        ("instance", job.instance.clone()),
        ("envs", pairs(&envs)),
        ("processes", processes.into()),
        ("probes", probe::all(job.quarks)),
        ("condition", condition(job.quarks).cloned().unwrap_or_default()),
    ]
    .into_iter()
    .collect();
    address(&mut tree, ip);
    tree
}

/// Whether an entry of `quarks.envs` is a literal value. Kubernetes sets the others in the container: those that refer
/// to another variable, a field of the pod, or a Secret.
pub fn is_by_value(env: &Tree) -> bool {
    let text = env.get("value").and_then(go::text);
    env.get("valueFrom").is_none_or(Tree::is_null) && text.is_none_or(|text| !text.contains("$("))
}

/// The command that must succeed before the post-start script runs.
pub fn condition(quarks: &Tree) -> Option<&Tree> {
    quarks.get("post_start")?.get("condition")?.get("exec")?.get("command")
}

/// Names and values of the entries of `quarks.envs` that are values as they stand.
fn envs(quarks: &Tree) -> Vec<(String, String)> {
    let own = quarks.items("envs").iter().filter(|env| is_by_value(env));
    let value = |env: &Tree| env.get("value").and_then(go::text).unwrap_or_default();
    // Kubernetes would have written `$$` as `$`.
    own.filter_map(|env| Some((env.str("name")?.to_string(), value(env).replace("$$", "$"))))
        .collect()
}

fn of_process(process: &Process, envs: &[(String, String)]) -> Tree {
    let signal = match process.shutdown_signal.as_str() {
        "INT" => "INT",
        _ => "TERM",
    };
    let env: Vec<(String, String)> = process.env.iter().chain(envs).cloned().collect();
    let volumes = process.additional_volumes.iter().chain(&process.unrestricted_volumes);
    [
        ("name", Tree::from(process.name.as_str())),
        ("executable", process.executable.as_str().into()),
        ("args", process.args.clone().into()),
        ("env", pairs(&last_of_each_name(env))),
        ("workdir", process.workdir.as_str().into()),
        ("pre_start", process.pre_start.clone().into()),
        ("shutdown_signal", signal.into()),
        ("capabilities", process.capabilities.clone().into()),
        ("limits", limits(&process.limits)),
        ("ephemeral_disk", process.ephemeral_disk.into()),
        ("persistent_disk", process.persistent_disk.into()),
        ("privileged", process.privileged.into()),
        ("volumes", volumes.map(volume).collect::<Vec<_>>().into()),
        ("monit", process.monit.as_ref().map(monit).into()),
    ]
    .into_iter()
    .collect()
}

fn last_of_each_name(env: Vec<(String, String)>) -> Vec<(String, String)> {
    let map: Map = env.into_iter().map(|(name, value)| (name, value.into())).collect();
    map.into_iter()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_string()))
        .collect()
}

fn pairs(env: &[(String, String)]) -> Tree {
    let pair = |(name, value): &(String, String)| Tree::from(vec![name.as_str(), value.as_str()]);
    env.iter().map(pair).collect::<Vec<_>>().into()
}

fn limits(limits: &Limits) -> Tree {
    let given = [
        ("open_files", &limits.open_files),
        ("processes", &limits.processes),
        ("core_file_size", &limits.core_file_size),
    ];
    let number = |text: &String| Number::new(text).map_or_else(|| Tree::from(text.as_str()), Tree::from);
    let given = given
        .into_iter()
        .filter_map(|(key, text)| Some((key, number(text.as_ref()?))));
    given.fold(Tree::object(), |tree, (key, value)| tree.with(key, value))
}

fn monit(monit: &Monit) -> Tree {
    Tree::object()
        .with("start", monit.start.clone())
        .with("stop", monit.stop.clone())
        .with("pidfile", monit.pidfile.as_str())
        .with("start_timeout", monit.start_timeout)
        .with("stop_timeout", monit.stop_timeout)
        .with("depends", monit.depends.clone())
        .with("uid", monit.uid.clone())
        .with("gid", monit.gid.clone())
}

fn volume(volume: &Volume) -> Tree {
    Tree::object()
        .with("path", volume.path.as_str())
        .with("writable", volume.writable)
        .with("mount_only", volume.mount_only)
}

/// Replaces the manifest's placeholder for the pod's address.
fn address(tree: &mut Tree, ip: &str) {
    match tree {
        Tree::String(text) if text.contains(POD_IP) => *text = text.replace(POD_IP, ip),
        Tree::Array(items) => items.iter_mut().for_each(|item| address(item, ip)),
        Tree::Object(map) => map.values_mut().for_each(|value| address(value, ip)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Findings, Given, read};
    use boson_document::json;

    #[test]
    fn a_job_is_written_with_the_property_merged_and_the_address_known() {
        let rendered = json::parse(
            r#"{"processes": [{"name": "a", "executable": "/a", "args": ["-x"], "env": {"A": "1", "B": "2"}, "shutdown_signal": "INT",
                "limits": {"open_files": 10}, "hooks": {"pre_start": "/hook"}, "capabilities": ["NET_BIND_SERVICE"]}]}"#,
        )
        .unwrap();
        let property = json::parse(r#"{"processes": [{"name": "a", "args": ["--listen", "$(POD_IP):1"]}]}"#).unwrap();
        let mut findings = Findings::default();
        let given = Given::read(&property, &boson_document::Place::default(), &mut findings);
        let processes = read("j", &rendered, "bpm.yml", Some(&given), &mut findings);
        assert_eq!(findings, Findings::default());
        let quarks = json::parse(
            r#"{"envs": [{"name": "B", "value": 3}], "post_start": {"condition": {"exec": {"command": ["/c"]}}},
                "run": {"healthcheck": {"a": {"liveness": {"exec": {"command": ["/l", "$(POD_IP)"]}}}}}}"#,
        )
        .unwrap();
        let job = Job {
            name: "j",
            instance: Tree::object().with("id", "g-0"),
            quarks: &quarks,
            processes: &processes,
        };
        let expected = r#"{"version":1,"job":"j","instance":{"id":"g-0"},"envs":[["B","3"]],"processes":[{"name":"a","executable":"/a","args":["--listen","10.0.0.1:1"],"env":[["A","1"],["B","3"]],"workdir":"","pre_start":"/hook","shutdown_signal":"INT","capabilities":["NET_BIND_SERVICE"],"limits":{"open_files":10},"ephemeral_disk":false,"persistent_disk":false,"privileged":false,"volumes":[],"monit":null}],"probes":{"a":{"liveness":{"exec":["/l","10.0.0.1"]}}},"condition":["/c"]}"#;
        assert_eq!(json::to_text(&of_job(&job, "10.0.0.1")), expected);
    }
}
