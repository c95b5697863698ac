//! Processes and scripts of jobs in real pods: they start in BOSH's order, as the users that BOSH runs them as, and
//! restart after a failure.

use super::lifecycle::{CLAIMS, check_start, check_stop};
use crate::world::World;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Shared by the group's pods over their restarts: a disk on which every process and script notes that it ran.
const NOTES: &str = "/var/vcap/store/order";

#[test]
fn everything_that_bosh_starts_runs_in_its_order_and_as_its_user() {
    let Some(world) = World::on_node("running").unwrap() else {
        return;
    };
    world.cluster.disks(&world.namespace, CLAIMS, 2).unwrap();
    let more = ["--vars-store", "vars.yml", "--registry", "boson.test"];
    world.convert_release("lifecycle", Ok, &more).unwrap();
    for pod in 0..2 {
        wait_for_ready(&world, pod).unwrap();
        check_start(&notes_of(&world, pod).unwrap(), pod).unwrap();
    }
    no_secret_is_in_a_workload(&world).unwrap();
    logs_are_those_of_kubectl_and_of_bosh(&world).unwrap();
    a_large_log_file_is_rotated(&world).unwrap();
    a_killed_process_starts_again(&world).unwrap();
    monits_port_stops_and_starts_a_process_of_another_container(&world).unwrap();
    a_deleted_pod_stops_in_order_and_finds_its_disk_again(&world).unwrap();
    an_errand_gives_its_exit_status_and_log(&world).unwrap();
}

/// The word is in an argument of bpm.yml.
fn no_secret_is_in_a_workload(world: &World) -> Result<()> {
    let notes = notes_of(world, 0)?;
    let line = notes
        .iter()
        .find(|line| line.starts_with("first starts"))
        .context("no start")?;
    let word = line.split(' ').nth(4).context("no word")?;
    ensure!(word.len() == 20, "{line}");
    let workloads = world.get("statefulsets,jobs,pods,services")?.to_string();
    ensure!(!workloads.contains(word), "a workload holds the password");
    Ok(())
}

fn logs_are_those_of_kubectl_and_of_bosh(world: &World) -> Result<()> {
    let log = log_of(world, "first-server")?;
    ensure!(log.contains("stdout of first"), "{log}");
    let file = inside(
        world,
        0,
        "first-server",
        "cat /var/vcap/sys/log/first/server.stdout.log",
    )?;
    ensure!(file.contains("stdout of first"), "{file}");
    let log = log_of(world, "bosh-pre-start-first")?;
    ensure!(log.contains("log of pre-start"), "{log}");
    world.wait_until("a line of a log file in the log of the sidecar", || {
        Ok(log_of(world, "logs")?.contains("a line of first"))
    })
}

/// More than the size at which `logs` rotates a file.
fn a_large_log_file_is_rotated(world: &World) -> Result<()> {
    const FILE: &str = "/var/vcap/sys/log/first/large.log";
    let script = format!("dd if=/dev/zero of={FILE} bs=1000000 count=60 2>&1");
    inside(world, 0, "first-server", &script)?;
    world.wait_until("a rotated file", || {
        let sizes = inside(world, 0, "first-server", &format!("stat -c %s {FILE} {FILE}.1 || true"))?;
        Ok(sizes.split_whitespace().eq(["0", "60000000"]))
    })?;
    // A restarted sidecar does not send everything again.
    let state = inside(world, 0, "first-server", "ls /container-run/logs")?;
    ensure!(state.trim() == "sent", "the state of the sidecar is '{state}'");
    ensure!(
        !log_of(world, "logs")?.contains("stdout of first"),
        "the output of a process is sent twice"
    );
    Ok(())
}

fn a_killed_process_starts_again(world: &World) -> Result<()> {
    let starts = |notes: Vec<String>| notes.iter().filter(|line| line.starts_with("first starts")).count();
    let before = starts(notes_of(world, 1)?);
    inside(
        world,
        1,
        "first-server",
        "kill -9 $(cat /var/vcap/sys/run/bpm/first/server.pid)",
    )?;
    world.wait_until("another start", || Ok(starts(notes_of(world, 1)?) == before + 1))?;
    wait_for_ready(world, 1)
}

/// From a container of vcap, of a process that root runs.
fn monits_port_stops_and_starts_a_process_of_another_container(world: &World) -> Result<()> {
    const MONIT: &str = "http://vcap:random-password@127.0.0.1:2822";
    let state = || -> Result<String> {
        let script = format!("wget -q -O - '{MONIT}/_status?format=xml'");
        let text = inside(world, 1, "first-server", &script)?;
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
        inside(world, 1, "first-server", &script)?;
        world.wait_until(&format!("{action} by monit"), || Ok(state()? == reached))?;
    }
    let notes = notes_of(world, 1)?;
    let of_it: Vec<&String> = notes.iter().filter(|line| line.starts_with("by-monit")).collect();
    ensure!(
        of_it == ["by-monit starts 0", "by-monit stops 0", "by-monit starts 0"],
        "{notes:#?}"
    );
    // Only processes of the pod find it.
    let pod = world.get("pod/lifecycle-server-v1-0")?;
    let address = pod["status"]["podIP"].as_str().context("no address")?;
    let refused = format!("! wget -q -O - http://{address}:2822/_status 2>&1");
    let said = inside(world, 1, "first-server", &refused)?;
    ensure!(said.contains("refused"), "{said}");
    wait_for_ready(world, 1)
}

fn a_deleted_pod_stops_in_order_and_finds_its_disk_again(world: &World) -> Result<()> {
    let before = notes_of(world, 0)?.len();
    world.kubectl(&["delete", "pod", "lifecycle-server-v1-0", "--timeout=300s"])?;
    wait_for_ready(world, 0)?;
    let all = notes_of(world, 0)?;
    ensure!(all.len() > before, "the disk is another one: {all:#?}");
    let lines = &all[before..];
    let end = lines.iter().position(|line| line.starts_with("first pre-start"));
    let end = end.with_context(|| format!("no new life in {lines:#?}"))?;
    let (stop, start) = lines.split_at(end);
    check_start(start, 0)?;
    check_stop(stop)
}

fn an_errand_gives_its_exit_status_and_log(world: &World) -> Result<()> {
    let run = r#"{"spec": {"suspend": false}}"#;
    world.kubectl(&["patch", "job", "lifecycle-check", "--patch", run])?;
    let mut ended = Value::Null;
    world.wait_until("the end of the errand", || {
        let pods = Value::from(world.list("pods", "job-name=lifecycle-check")?);
        ended = pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].clone();
        Ok(!ended.is_null())
    })?;
    ensure!(ended == 7, "{ended}");
    let log = world.kubectl(&["logs", "job/lifecycle-check", "--container", "check-check"])?;
    ensure!(log == "errand of 0 in lifecycle\n", "{log}");
    // A sidecar does not keep an errand from ending.
    world.wait_until("the failure of the job", || {
        Ok(world.get("job/lifecycle-check")?["status"]["failed"] == 1)
    })
}

fn wait_for_ready(world: &World, pod: usize) -> Result<()> {
    world.wait_for_condition(&format!("pod/lifecycle-server-v1-{pod}"), "Ready")
}

fn inside(world: &World, pod: usize, container: &str, script: &str) -> Result<String> {
    world.inside(&format!("lifecycle-server-v1-{pod}"), container, script)
}

/// What a container of the first pod has printed.
fn log_of(world: &World, container: &str) -> Result<String> {
    world.kubectl(&["logs", "lifecycle-server-v1-0", "--container", container])
}

fn notes_of(world: &World, pod: usize) -> Result<Vec<String>> {
    let text = inside(world, pod, "by-monit-by-monit", &format!("cat {NOTES}"))?;
    Ok(text.lines().map(String::from).collect())
}
