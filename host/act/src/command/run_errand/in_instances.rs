//! An errand that is a job of an instance group of services: its `bin/run` runs in the containers of the job, in all of
//! its instances at the same time.

use super::output::{Logs, say};
use super::results::Ran;
use anyhow::{anyhow, bail};
use boson_cluster::client::{Container, Ended, Input};
use boson_look::access::Access;
use boson_look::instances::Instance;
use boson_manifest::wrapper::PROGRAM;
use k8s_openapi::api::core::v1::{Container as InPod, Pod};
use kube::ResourceExt;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinSet;

/// How much of the output is in memory at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// A container in which the errand can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    instance: String,
    pod: String,
    container: String,
    command: Vec<String>,
}

// === impl Place ===

impl Place {
    /// The containers of a job, one in each of these instances. Empty: none has the job.
    ///
    /// # Errors
    /// Instances that have the job do not run.
    pub fn of(instances: &[Instance], job: &str) -> anyhow::Result<Vec<Self>> {
        let mut places = Vec::new();
        let mut stopped = Vec::new();
        for instance in instances {
            let Some(pod) = &instance.pod else { continue };
            let Some(container) = container_of(pod, job) else {
                continue;
            };
            if is_running(pod, &container.name) {
                places.push(Self {
                    instance: instance.to_string(),
                    pod: pod.name_any(),
                    container: container.name.clone(),
                    command: command(container, job),
                });
            } else {
                stopped.push(instance.to_string());
            }
        }
        if !stopped.is_empty() {
            bail!(
                "instance(s) '{}' do not run, unable to run errand '{job}': `host instances` shows their states",
                stopped.join("', '")
            );
        }
        Ok(places)
    }

    async fn run(self, access: Arc<Access>, logs: Arc<Mutex<Logs>>) -> anyhow::Result<Ran> {
        let container = Container {
            namespace: &access.namespace,
            pod: &self.pod,
            name: &self.container,
        };
        let started = access.cluster.exec(container, &self.command, Input::Nothing).await;
        let mut process = started.map_err(|error| access.explained(error))?;
        let (stdout, stderr) = (self.instance.clone(), format!("{} stderr", self.instance));
        let status = process.take_status();
        let (output, errors) = (process.stdout(), process.stderr());
        tokio::try_join!(copy(output, &stdout, &logs), copy(errors, &stderr, &logs))?;
        let status = match status {
            Some(status) => status.await,
            None => None,
        };
        match Ended::of(status) {
            Ended::WithCode(exit_code) => Ok(Ran {
                exit_code,
                stdout: logs.lock().tail(&stdout),
                stderr: logs.lock().tail(&stderr),
                instance: self.instance,
            }),
            Ended::Failed(why) => Err(anyhow!("instance '{}': {why}", self.instance)),
        }
    }
}

/// Runs the errand in all of them.
///
/// # Errors
/// It could not be started in one of them, or its end was not reported. The others have ended.
pub async fn run(access: &Arc<Access>, places: Vec<Place>, logs: &Arc<Mutex<Logs>>) -> anyhow::Result<Vec<Ran>> {
    let mut tasks = JoinSet::new();
    for place in places {
        say(&format!(
            "runs in instance '{}', container '{}'",
            place.instance, place.container
        ));
        tasks.spawn(place.run(access.clone(), logs.clone()));
    }
    let (mut ran, mut failures) = (Vec::new(), Vec::new());
    while let Some(one) = tasks.join_next().await {
        match one.map_err(Into::into).flatten() {
            Ok(one) => ran.push(one),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    logs.lock().finish();
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    ran.sort_by(|a: &Ran, b: &Ran| a.instance.cmp(&b.instance));
    Ok(ran)
}

async fn copy(from: Option<impl AsyncRead + Unpin>, source: &str, logs: &Arc<Mutex<Logs>>) -> anyhow::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        logs.lock().add(source, chunk.get(..count).unwrap_or_default(), true)?;
    }
}

/// The container of the job's scripts, which run as root, or else of its first process.
fn container_of<'p>(pod: &'p Pod, job: &str) -> Option<&'p InPod> {
    let spec = pod.spec.as_ref()?;
    let all = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut ours = all.filter(|one| {
        let does = words(one)
            .get(1)
            .is_some_and(|verb| ["scripts", "process"].contains(&verb.as_str()));
        does && value_of(words(one), "--job").any(|value| value == job)
    });
    ours.next()
}

/// With the variables of the container that its own program gets.
fn command(container: &InPod, job: &str) -> Vec<String> {
    let mut command = [PROGRAM, "errand", "--job", job].map(str::to_string).to_vec();
    for variable in value_of(words(container), "--env") {
        command.extend(["--env".to_string(), variable.to_string()]);
    }
    command
}

fn words(container: &InPod) -> &[String] {
    container.command.as_deref().unwrap_or_default()
}

/// The values of a flag.
fn value_of<'w>(words: &'w [String], flag: &'static str) -> impl Iterator<Item = &'w str> {
    let pairs = words.iter().zip(words.iter().skip(1));
    pairs
        .filter(move |(word, _)| *word == flag)
        .map(|(_, value)| value.as_str())
}

fn is_running(pod: &Pod, container: &str) -> bool {
    let status = pod.status.iter();
    let mut all = status.flat_map(|one| [&one.init_container_statuses, &one.container_statuses]);
    let statuses = all.by_ref().flatten().flatten();
    let mut ours = statuses.filter(|one| one.name == container);
    let is_going = pod.metadata.deletion_timestamp.is_some();
    !is_going && ours.any(|one| one.state.as_ref().is_some_and(|state| state.running.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn instance(index: usize, init: &[Value], state: &Value) -> Instance {
        let command = [
            "/container-run/bin/container-run",
            "process",
            "--job",
            "web",
            "--process",
            "web",
            "--env",
            "A",
        ];
        let other = ["/container-run/bin/container-run", "process", "--job", "web-x"];
        let container = |name: &str, command: &[&str]| json!({"name": name, "command": command});
        let mut pod = json!({
            "metadata": {"name": format!("p-{index}")},
            "spec": {
                "initContainers": init, "containers": [container("web-x-web", &other), container("web-web", &command)],
            },
            "status": {},
        });
        let status = |name: &str| json!({"name": name, "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": state});
        pod["status"]["containerStatuses"] = json!([status("web-web")]);
        pod["status"]["initContainerStatuses"] = json!([status("bosh-scripts-web")]);
        Instance {
            group: "web".into(),
            index: Some(index),
            az: String::new(),
            pod: Some(serde_json::from_value(pod).unwrap()),
        }
    }

    fn containers(instances: &[Instance], job: &str) -> Vec<String> {
        let places = Place::of(instances, job).unwrap();
        places
            .into_iter()
            .map(|one| format!("{} {}", one.instance, one.container))
            .collect()
    }

    #[test]
    fn it_runs_in_a_container_of_its_job() {
        let running = json!({"running": {}});
        let scripts = json!({"name": "bosh-scripts-web", "command": ["x", "scripts", "--job", "web"]});
        let pre_start = json!({"name": "bosh-pre-start-web", "command": ["x", "script", "--job", "web"]});
        let all = [
            instance(0, &[pre_start.clone()], &running),
            instance(1, &[pre_start, scripts], &running),
        ];
        assert_eq!(containers(&all, "web"), ["web/0 web-web", "web/1 bosh-scripts-web"]);
        assert_eq!(containers(&all, "we"), [""; 0]);
        let places = Place::of(&all[..1], "web").unwrap();
        assert_eq!(places[0].command, [PROGRAM, "errand", "--job", "web", "--env", "A"]);
    }

    #[test]
    fn instances_that_do_not_run_are_an_error() {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let all = [instance(0, &[], &json!({"running": {}})), instance(1, &[], &waiting)];
        let why = Place::of(&all, "web").unwrap_err().to_string();
        assert_eq!(
            why,
            "instance(s) 'web/1' do not run, unable to run errand 'web': `host instances` shows their states"
        );
    }
}
