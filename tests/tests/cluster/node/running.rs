//! Processes and scripts of jobs in real pods: they start in BOSH's order, as the users that BOSH runs them as, and
//! restart after a failure.

use super::lifecycle::{CLAIMS, check_start, check_stop, release};
use crate::world::World;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::image::Image;
use serde_json::Value;

const IMAGE: &str = "boson.test/lifecycle:busybox-1-1";
/// Shared by the group's pods over their restarts: a disk on which every process and script notes that it ran.
const NOTES: &str = "/var/vcap/store/order";

#[test]
fn everything_that_bosh_starts_runs_in_its_order_and_as_its_user() {
    let Some(env) = Environment::set().unwrap() else { return };
    for pod in 0..2 {
        env.ready(pod).unwrap();
        check_start(&env.notes(pod).unwrap(), pod).unwrap();
    }
    no_secret_is_in_a_workload(&env).unwrap();
    logs_are_those_of_kubectl_and_of_bosh(&env).unwrap();
    a_large_log_file_is_rotated(&env).unwrap();
    a_killed_process_starts_again(&env).unwrap();
    monits_port_stops_and_starts_a_process_of_another_container(&env).unwrap();
    a_deleted_pod_stops_in_order_and_finds_its_disk_again(&env).unwrap();
    an_errand_gives_its_exit_status_and_log(&env).unwrap();
}

/// The word is in an argument of bpm.yml.
fn no_secret_is_in_a_workload(env: &Environment) -> Result<()> {
    let notes = env.notes(0)?;
    let line = notes
        .iter()
        .find(|line| line.starts_with("first starts"))
        .context("no start")?;
    let word = line.split(' ').nth(4).context("no word")?;
    ensure!(word.len() == 20, "{line}");
    let workloads = env.world.get("statefulsets,jobs,pods,services")?.to_string();
    ensure!(!workloads.contains(word), "a workload holds the password");
    Ok(())
}

fn logs_are_those_of_kubectl_and_of_bosh(env: &Environment) -> Result<()> {
    let log = env.log("first-server")?;
    ensure!(log.contains("stdout of first"), "{log}");
    let file = env.inside(0, "first-server", "cat /var/vcap/sys/log/first/server.stdout.log")?;
    ensure!(file.contains("stdout of first"), "{file}");
    let log = env.log("bosh-pre-start-first")?;
    ensure!(log.contains("log of pre-start"), "{log}");
    env.world.until("a line of a log file in the log of the sidecar", || {
        Ok(env.log("logs")?.contains("a line of first"))
    })
}

/// More than the size at which `logs` rotates a file.
fn a_large_log_file_is_rotated(env: &Environment) -> Result<()> {
    const FILE: &str = "/var/vcap/sys/log/first/large.log";
    let script = format!("dd if=/dev/zero of={FILE} bs=1000000 count=60 2>&1");
    env.inside(0, "first-server", &script)?;
    env.world.until("a rotated file", || {
        let sizes = env.inside(0, "first-server", &format!("stat -c %s {FILE} {FILE}.1 || true"))?;
        Ok(sizes.split_whitespace().eq(["0", "60000000"]))
    })?;
    // A restarted sidecar does not send everything again.
    let state = env.inside(0, "first-server", "ls /container-run/logs")?;
    ensure!(state.trim() == "sent", "the state of the sidecar is '{state}'");
    ensure!(
        !env.log("logs")?.contains("stdout of first"),
        "the output of a process is sent twice"
    );
    Ok(())
}

fn a_killed_process_starts_again(env: &Environment) -> Result<()> {
    let starts = |notes: Vec<String>| notes.iter().filter(|line| line.starts_with("first starts")).count();
    let before = starts(env.notes(1)?);
    env.inside(
        1,
        "first-server",
        "kill -9 $(cat /var/vcap/sys/run/bpm/first/server.pid)",
    )?;
    env.world
        .until("another start", || Ok(starts(env.notes(1)?) == before + 1))?;
    env.ready(1)
}

/// From a container of vcap, of a process that root runs.
fn monits_port_stops_and_starts_a_process_of_another_container(env: &Environment) -> Result<()> {
    const MONIT: &str = "http://vcap:random-password@127.0.0.1:2822";
    let state = || -> Result<String> {
        let script = format!("wget -q -O - '{MONIT}/_status?format=xml'");
        let text = env.inside(1, "first-server", &script)?;
        let service = text.split("<name>by-monit</name>").nth(1).context(text.clone())?;
        let members = ["monitor", "status", "pendingaction"].map(|member| {
            let value = service.split(&format!("<{member}>")).nth(1);
            value.and_then(|value| value.split('<').next()).unwrap_or_default()
        });
        Ok(members.join(" "))
    };
    let running = "1 0 0";
    for (action, reached) in [("stop", "0 0 0"), ("start", running)] {
        let script = format!("wget -q -O - --post-data action={action} {MONIT}/by-monit");
        env.inside(1, "first-server", &script)?;
        env.world
            .until(&format!("{action} by monit"), || Ok(state()? == reached))?;
    }
    let notes = env.notes(1)?;
    let of_it: Vec<&String> = notes.iter().filter(|line| line.starts_with("by-monit")).collect();
    ensure!(
        of_it == ["by-monit starts 0", "by-monit stops 0", "by-monit starts 0"],
        "{notes:#?}"
    );
    // Only processes of the pod find it.
    let pod = env.world.get("pod/lifecycle-server-v1-0")?;
    let address = pod["status"]["podIP"].as_str().context("no address")?;
    let refused = format!("! wget -q -O - http://{address}:2822/_status 2>&1");
    let said = env.inside(1, "first-server", &refused)?;
    ensure!(said.contains("refused"), "{said}");
    env.ready(1)
}

fn a_deleted_pod_stops_in_order_and_finds_its_disk_again(env: &Environment) -> Result<()> {
    let before = env.notes(0)?.len();
    env.world
        .kubectl(&["delete", "pod", "lifecycle-server-v1-0", "--timeout=120s"])?;
    env.ready(0)?;
    let all = env.notes(0)?;
    ensure!(all.len() > before, "the disk is another one: {all:#?}");
    let lines = &all[before..];
    let end = lines.iter().position(|line| line.starts_with("first pre-start"));
    let end = end.with_context(|| format!("no new life in {lines:#?}"))?;
    let (stop, start) = lines.split_at(end);
    check_start(start, 0)?;
    check_stop(stop)
}

fn an_errand_gives_its_exit_status_and_log(env: &Environment) -> Result<()> {
    let run = r#"{"spec": {"suspend": false}}"#;
    env.world
        .kubectl(&["patch", "job", "lifecycle-check", "--patch", run])?;
    let mut ended = Value::Null;
    env.world.until("the end of the errand", || {
        let pods = Value::from(env.world.list("pods", "job-name=lifecycle-check")?);
        ended = pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].clone();
        Ok(!ended.is_null())
    })?;
    ensure!(ended == 7, "{ended}");
    let log = env
        .world
        .kubectl(&["logs", "job/lifecycle-check", "--container", "check-check"])?;
    ensure!(log == "errand of 0 in lifecycle\n", "{log}");
    // A sidecar does not keep an errand from ending.
    env.world.until("the failure of the job", || {
        Ok(env.world.get("job/lifecycle-check")?["status"]["failed"] == 1)
    })
}

/// A namespace with the release of `tests/fixtures/releases/lifecycle`.
struct Environment {
    world: World,
}

// === impl Environment ===

impl Environment {
    fn set() -> Result<Option<Self>> {
        let Some(world) = World::on_node("running")? else {
            return Ok(None);
        };
        world.cluster.load_image(&Image::release(IMAGE, &release())?)?;
        world.cluster.disks(&world.namespace, CLAIMS, 2)?;
        let more = ["--vars-store", "vars.yml", "--registry", "boson.test"];
        world.convert(&release().join("manifest.yml"), &release(), &more, &[])?;
        Ok(Some(Self { world }))
    }

    fn ready(&self, pod: usize) -> Result<()> {
        self.world.until_is(&format!("pod/lifecycle-server-v1-{pod}"), "Ready")
    }

    fn inside(&self, pod: usize, container: &str, script: &str) -> Result<String> {
        self.world
            .inside(&format!("lifecycle-server-v1-{pod}"), container, script)
    }

    /// What a container of the first pod has printed.
    fn log(&self, container: &str) -> Result<String> {
        self.world
            .kubectl(&["logs", "lifecycle-server-v1-0", "--container", container])
    }

    fn notes(&self, pod: usize) -> Result<Vec<String>> {
        let text = self.inside(pod, "by-monit-by-monit", &format!("cat {NOTES}"))?;
        Ok(text.lines().map(String::from).collect())
    }
}
