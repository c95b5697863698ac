//! An errand that is a job of an instance group of services: its `bin/run` runs in the containers of the job, in all of
//! its instances at the same time.

use super::output::{Logs, say};
use super::results::InstanceResult;
use crate::containers;
use crate::remote::{self, Stream};
use anyhow::{anyhow, bail};
use boson_cluster::client::{Ended, Input};
use boson_look::access::Access;
use boson_look::instances::Instance;
use boson_manifest::container_run::PROGRAM;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::task::JoinSet;

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
            // During a rollout, an instance can have another pod.
            let is_going = |pod: &&Pod| pod.metadata.deletion_timestamp.is_some();
            let Some(pod) = instance.pod.as_ref().filter(|pod| !is_going(pod)) else {
                continue;
            };
            let Some(container) = container_of(pod, job) else {
                continue;
            };
            if containers::is_running(pod, &container.name) {
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

    async fn run(self, access: Arc<Access>, logs: Arc<Mutex<Logs>>) -> anyhow::Result<InstanceResult> {
        let container = access.container(&self.pod, &self.container);
        let process = remote::start(&access, container, &self.command, Input::Nothing).await?;
        let (stdout, stderr) = (self.instance.clone(), format!("{} stderr", self.instance));
        let take = |stream: Stream, part: &[u8]| match stream {
            Stream::Output => logs.lock().add(&stdout, part, true),
            Stream::Error => logs.lock().add(&stderr, part, true),
        };
        let ended = remote::read_output(process, std::future::pending(), take).await?;
        match ended {
            Ended::WithCode(exit_code) => {
                let logs = logs.lock();
                Ok(InstanceResult {
                    exit_code,
                    stdout: logs.tail(&stdout),
                    stderr: logs.tail(&stderr),
                    instance: self.instance,
                })
            }
            Ended::Failed(why) => Err(anyhow!("instance '{}': {why}", self.instance)),
        }
    }
}

/// Runs the errand in all of them. Returns what it did, and where it could not be started or its end was not reported.
pub async fn run(
    access: &Arc<Access>,
    places: Vec<Place>,
    logs: &Arc<Mutex<Logs>>,
) -> (Vec<InstanceResult>, Option<String>) {
    let order: Vec<String> = places.iter().map(|place| place.instance.clone()).collect();
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
    ran.sort_by_key(|one: &InstanceResult| order.iter().position(|instance| *instance == one.instance));
    (ran, (!failures.is_empty()).then(|| failures.join("; ")))
}

/// The container of the job's scripts, which run as root, or else of its first process.
fn container_of<'p>(pod: &'p Pod, job: &str) -> Option<&'p Container> {
    let is_beside = |one: &Container| matches!(containers::subcommand(one), Some("scripts" | "process"));
    containers::main_and_sidecars(pod).find(|one| is_beside(one) && containers::job(one) == Some(job))
}

/// With the variables of the container that its own program gets.
fn command(container: &Container, job: &str) -> Vec<String> {
    let mut command = [PROGRAM, "errand", "--job", job].map(str::to_string).to_vec();
    let words = container.command.as_deref().unwrap_or_default();
    let variables = words.windows(2).filter(|pair| pair[0] == "--env");
    command.extend(variables.flatten().cloned());
    command
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
        let scripts = json!({"name": "bosh-scripts-web", "restartPolicy": "Always", "command": [PROGRAM, "scripts", "--job", "web"]});
        let pre_start = json!({"name": "bosh-pre-start-web", "command": [PROGRAM, "script", "--job", "web"]});
        let all = [
            instance(0, std::slice::from_ref(&pre_start), &running),
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
