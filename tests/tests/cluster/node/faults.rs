//! Faults while a pod starts and stops: whatever is killed, the deployment becomes ready again, its disk loses no note,
//! and drain scripts run to their end in a pod that Kubernetes stops gracefully. On its own cluster, because daemons of
//! the node and the API server are killed.

use super::disks::{CHANGE, Lifecycle};
use super::lifecycle::{check_drain, check_start, check_stop};
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, own_with_node};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};

/// Noted by the first call of the drain script; the second call follows after a second.
const DRAINS: &str = "first drain 0 job_shutdown";
const DRAINED: &str = "first drain 0 job_check_status";
const PRE_STARTS: &str = "first pre-start";
const STARTS: &str = "first starts";
const POST_STARTED: &str = "first post-start";

#[test]
fn a_deployment_becomes_ready_again_after_faults_at_start_and_stop_without_losing_a_note() {
    let Some(cluster) = own_with_node().unwrap() else {
        return;
    };
    // It ends with this process, as the shared one does.
    let cluster = Box::leak(Box::new(cluster));
    let mut lifecycle = Lifecycle::new(cluster, "faults", 1).unwrap();
    lifecycle.deploy("").unwrap();
    lifecycle.wait_until_ready().unwrap();
    let disk = lifecycle.disks().unwrap().remove(0);
    for killed in [Killed::Process, Killed::ContainerRun] {
        a_part_of_the_pod_is_killed(&lifecycle, &disk, killed)
            .with_context(|| format!("{killed:?}"))
            .unwrap();
    }
    a_pod_is_deleted_without_grace(&lifecycle, &disk).unwrap();
    for daemon in ["kubelet", "kube-apiserver"] {
        a_daemon_is_killed(&lifecycle, &disk, daemon).context(daemon).unwrap();
    }
    the_container_runtime_is_killed(&lifecycle, &disk).unwrap();
    the_operator_is_killed(&mut lifecycle, &disk).unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Killed {
    Process,
    /// The first process of the container.
    ContainerRun,
}

/// While the pod drains, and when the new one starts.
fn a_part_of_the_pod_is_killed(lifecycle: &Lifecycle, disk: &Path, killed: Killed) -> Result<()> {
    let before = notes(disk)?;
    let count = |line| Ok::<_, anyhow::Error>(since(disk, &before, line)?.len());
    let cluster = lifecycle.env.cluster;
    hold_drain(disk)?;
    delete(lifecycle)?;
    lifecycle.wait_until("a drain", || Ok(count(DRAINS)? == 1))?;
    kill(cluster, killed)?;
    release_drain(disk)?;
    lifecycle.wait_until("a start", || Ok(count(STARTS)? == 1))?;
    kill(cluster, killed)?;
    lifecycle.wait_until("another start", || Ok(count(STARTS)? == 2))?;
    lifecycle.wait_until("post-start", || Ok(count(POST_STARTED)? == 1))?;
    lifecycle.wait_until_ready()?;
    ensure!(servers(cluster)?.len() == 1, "two processes run");
    let notes = notes(disk)?;
    let (stop, start) = halves(&notes, &before)?;
    let mut stopped = check_drain(stop)?;
    stopped.sort_unstable();
    // `first/server` was killed.
    ensure!(stopped == ["by-monit stops 0", "second stops 1000"], "{stop:#?}");
    check_start(start, 0)
}

/// No script can run.
fn a_pod_is_deleted_without_grace(lifecycle: &Lifecycle, disk: &Path) -> Result<()> {
    let before = notes(disk)?;
    let pod = lifecycle.pod(0)?["metadata"].clone();
    let name = pod["name"].as_str().context("no pod")?;
    lifecycle
        .env
        .kubectl(&["delete", "pod", name, "--force", "--grace-period=0"])?;
    lifecycle.wait_until("post-start", || Ok(since(disk, &before, POST_STARTED)?.len() == 1))?;
    lifecycle.wait_until_ready()?;
    ensure!(lifecycle.pod(0)?["metadata"]["uid"] != pod["uid"], "it is the same pod");
    lifecycle.wait_until("one process", || Ok(servers(lifecycle.env.cluster)?.len() == 1))?;
    let notes = notes(disk)?;
    let (_, start) = halves(&notes, &before)?;
    check_start(start, 0)
}

/// While the pod drains, and again when the new one starts.
fn a_daemon_is_killed(lifecycle: &Lifecycle, disk: &Path, daemon: &str) -> Result<()> {
    let cluster = lifecycle.env.cluster;
    let before = notes(disk)?;
    let happened = |line| Ok(!since(disk, &before, line)?.is_empty());
    hold_drain(disk)?;
    delete(lifecycle)?;
    lifecycle.wait_until("a drain", || happened(DRAINS))?;
    cluster.kill(daemon)?;
    release_drain(disk)?;
    lifecycle.wait_until("the end of the drain", || happened(DRAINED))?;
    cluster.restart(daemon)?;
    lifecycle.wait_until("pre-start", || happened(PRE_STARTS))?;
    cluster.kill(daemon)?;
    cluster.restart(daemon)?;
    lifecycle.wait_until("post-start", || happened(POST_STARTED))?;
    lifecycle.wait_until_ready()?;
    stopped_and_started_once(disk, &before)
}

/// While the new pod starts. While a pod stops, the kubelet does not repeat a call that fails with the runtime, and
/// waits for the grace period.
fn the_container_runtime_is_killed(lifecycle: &Lifecycle, disk: &Path) -> Result<()> {
    let cluster = lifecycle.env.cluster;
    let before = notes(disk)?;
    let happened = |line| Ok(!since(disk, &before, line)?.is_empty());
    delete(lifecycle)?;
    lifecycle.wait_until("pre-start", || happened(PRE_STARTS))?;
    cluster.kill("containerd")?;
    cluster.restart("containerd")?;
    lifecycle.wait_until("post-start", || happened(POST_STARTED))?;
    lifecycle.wait_until_ready()?;
    stopped_and_started_once(disk, &before)
}

/// While it replaces the pod of a changed group.
fn the_operator_is_killed(lifecycle: &mut Lifecycle, disk: &Path) -> Result<()> {
    let before = notes(disk)?;
    let happened = |line| Ok(!since(disk, &before, line)?.is_empty());
    hold_drain(disk)?;
    lifecycle.deploy(CHANGE)?;
    lifecycle.wait_until("a drain", || happened(DRAINS))?;
    lifecycle.env.operator.kill();
    release_drain(disk)?;
    lifecycle.env.operator.start()?;
    lifecycle.wait_until("a start", || happened(STARTS))?;
    lifecycle.env.operator.kill();
    lifecycle.env.operator.start()?;
    lifecycle.wait_until("post-start", || happened(POST_STARTED))?;
    lifecycle.wait_until_ready()?;
    ensure!(
        !since(disk, &before, "first starts 1000 --word changed ")?.is_empty(),
        "{:#?}",
        notes(disk)?
    );
    stopped_and_started_once(disk, &before)
}

fn delete(lifecycle: &Lifecycle) -> Result<()> {
    let pod = lifecycle.pod(0)?;
    let name = pod["metadata"]["name"].as_str().context("no pod")?;
    lifecycle.env.kubectl(&["delete", "pod", name, "--wait=false"])?;
    Ok(())
}

/// The next drain script does not end before [`release_drain`], however late this test notices it.
fn hold_drain(disk: &Path) -> Result<()> {
    Ok(fs::write(disk.join("hold"), "")?)
}

fn release_drain(disk: &Path) -> Result<()> {
    Ok(fs::remove_file(disk.join("hold"))?)
}

// --- notes ---

/// Read on this machine: neither the node nor the API server is needed.
fn notes(disk: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(disk.join("order"))?;
    Ok(text.lines().map(String::from).collect())
}

/// New notes that start like this.
fn since(disk: &Path, before: &[String], line: &str) -> Result<Vec<String>> {
    let all = notes(disk)?.into_iter().skip(before.len());
    Ok(all.filter(|other| other.starts_with(line)).collect())
}

/// The notes of the pod that stopped, and of the one that started. Nothing older is lost.
fn halves<'n>(notes: &'n [String], before: &[String]) -> Result<(&'n [String], &'n [String])> {
    ensure!(notes.starts_with(before), "{before:#?} is not the start of {notes:#?}");
    let new = &notes[before.len()..];
    let starts = new.iter().position(|line| line.starts_with(PRE_STARTS));
    Ok(new.split_at(starts.with_context(|| format!("no start in {new:#?}"))?))
}

fn stopped_and_started_once(disk: &Path, before: &[String]) -> Result<()> {
    let notes = notes(disk)?;
    let (stop, start) = halves(&notes, before)?;
    check_stop(stop)?;
    check_start(start, 0)?;
    let starts = start.iter().filter(|line| line.starts_with(STARTS)).count();
    ensure!(starts == 1, "{start:#?}");
    Ok(())
}

// --- processes ---

/// The processes `first/server` in all pods: their directories in this machine's `/proc`.
fn servers(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for process in cluster.processes_of_pods()? {
        // A process that has ended has no files.
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&words).contains("\0/var/vcap/jobs/first/bin/server\0--word") {
            found.push(process);
        }
    }
    // The shell forks before it executes a command: until then the new process has its parent's command line.
    let is_server = |number: &str| found.iter().any(|process| process.ends_with(number));
    let forked = |process: &PathBuf| status(process, "PPid:").is_ok_and(|parent| is_server(&parent));
    Ok(found.iter().filter(|process| !forked(process)).cloned().collect())
}

/// A field of a process's status.
fn status(process: &Path, field: &str) -> Result<String> {
    let status = fs::read_to_string(process.join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    Ok(line.with_context(|| format!("no {field}"))?.trim().to_string())
}

/// From outside of the pod: inside, a container's first process cannot be killed.
fn kill(cluster: &Cluster, killed: Killed) -> Result<()> {
    let servers = servers(cluster)?;
    ensure!(servers.len() == 1, "{servers:?}");
    let field = match killed {
        Killed::Process => "Pid:",
        Killed::ContainerRun => "PPid:",
    };
    let process = status(&servers[0], field)?;
    let id = Pid::from_raw(process.parse()?).context("no process")?;
    kill_process(id, Signal::KILL).with_context(|| format!("{process} cannot be killed"))
}
