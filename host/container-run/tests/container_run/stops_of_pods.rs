//! A pod stops: all drain scripts end before any process gets a signal, and a missing sidecar delays nothing.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::pod::{Container, Pod, until};

const MEMBERS: &str = "a/a,b/b,c/c";
const SCRIPTS: &str = "a,b";

/// Three jobs with a process each, of which two have scripts. All write what they do into one file.
struct Stop {
    pod: Pod,
    grace: &'static str,
}

impl Stop {
    fn new(drain: &str, grace: &'static str) -> Self {
        let pod = Pod::new();
        fs::write(pod.path("events"), "").unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(pod.path("events"), Some(1000), Some(1000)).unwrap();
        }
        for job in ["a", "b", "c"] {
            let text = format!(
                "trap 'echo {job} stopped >>$POD/events; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
            );
            pod.job(job, &text, json!({}));
        }
        for job in ["a", "b"] {
            let say = |what: &str| format!("echo {job} {what} >>$POD/events");
            pod.script(
                job,
                "pre-stop",
                &format!(
                    "sleep 0.{}; {}",
                    if job == "a" { 1 } else { 4 },
                    say("pre-stop $BOSH_VM_NEXT_STATE")
                ),
            );
            pod.script(job, "drain", &drain.replace("SAY", &format!("echo {job}")));
            pod.script(job, "post-stop", &say("post-stop"));
        }
        Self { pod, grace }
    }

    fn process(&self, job: &str) -> Container {
        self.container("process", job, &["--process", job])
    }

    fn sidecar(&self, job: &str) -> Container {
        self.container("scripts", job, &["--persistent-disk-mb", "1024"])
    }

    /// A container, with the arguments that all containers of the pod have.
    fn container(&self, command: &str, job: &str, more: &[&str]) -> Container {
        let common = [
            command,
            "--job",
            job,
            "--members",
            MEMBERS,
            "--scripts",
            SCRIPTS,
            "--grace",
            self.grace,
        ];
        self.pod.start(&[&common[..], more].concat())
    }

    fn start(&self) -> (Vec<Container>, Vec<Container>) {
        let sidecars: Vec<Container> = ["a", "b"].map(|job| self.sidecar(job)).into();
        let processes: Vec<Container> = ["a", "b", "c"].map(|job| self.process(job)).into();
        processes.iter().for_each(|process| process.says("ready"));
        for job in ["a", "b"] {
            until("readiness", || {
                self.pod.run(self.pod.command(&["ready", "--job", job])).0 == 0
            });
        }
        (processes, sidecars)
    }

    fn events(&self) -> Vec<String> {
        fs::read_to_string(self.pod.path("events"))
            .unwrap()
            .lines()
            .map(str::to_string)
            .collect()
    }
}

fn stop_all(containers: &mut [Container]) -> Duration {
    let start = Instant::now();
    containers.iter().for_each(|container| container.signal(Signal::TERM));
    for container in containers {
        container.wait();
    }
    start.elapsed()
}

fn position(events: &[String], text: &str) -> usize {
    events
        .iter()
        .position(|event| event.starts_with(text))
        .unwrap_or_else(|| panic!("no {text} in {events:?}"))
}

const DRAIN: &str = "SAY drain $1 $2 $BOSH_JOB_STATE $BOSH_JOB_NEXT_STATE >>$POD/events
    if [ $1 = job_shutdown ]; then sleep 0.3; echo -1; else SAY drained >>$POD/events; echo 0; fi
    exit 7";

#[test]
fn all_pre_stops_then_all_drains_then_processes_then_post_stops() {
    let stop = Stop::new(DRAIN, "60");
    let (mut processes, mut sidecars) = stop.start();
    let time = stop_all(&mut processes);
    assert!(
        time > Duration::from_millis(1700) && time < Duration::from_secs(30),
        "{time:?}"
    );
    stop_all(&mut sidecars);
    let events = stop.events();
    let kind = |event: &String| {
        ["pre-stop", "drain", "stopped", "post-stop"]
            .iter()
            .position(|word| event.split(' ').nth(1).unwrap().starts_with(word))
    };
    let kinds: Vec<usize> = events.iter().map(|event| kind(event).unwrap()).collect();
    assert!(kinds.is_sorted(), "{events:#?}");
    assert_eq!(events.len(), 2 + 6 + 3 + 2, "{events:#?}");
    let disk = r#"{"persistent_disk":1024}"#;
    position(&events, "a pre-stop keep");
    position(&events, &format!("b drain job_shutdown hash_unchanged {disk} {disk}"));
    assert_eq!(
        events[position(&events, "b drain job_check_status")],
        format!("b drain job_check_status hash_unchanged {disk}")
    );
}

#[test]
fn a_request_skips_pre_stop_and_drain_but_not_post_stop() {
    let stop = Stop::new(DRAIN, "60");
    let (mut processes, mut sidecars) = stop.start();
    assert_eq!(stop.pod.run(stop.pod.command(&["skip-drain", "--valid", "3600"])).0, 0);
    stop_all(&mut processes);
    stop_all(&mut sidecars);
    let mut events = stop.events();
    events.sort();
    assert_eq!(
        events,
        ["a post-stop", "a stopped", "b post-stop", "b stopped", "c stopped"]
    );
}

#[test]
fn a_container_that_is_stopped_alone_waits_three_seconds_and_runs_no_scripts() {
    let stop = Stop::new(DRAIN, "60");
    let (mut processes, _sidecars) = stop.start();
    let start = Instant::now();
    assert_eq!(processes[0].stop(), 0);
    let time = start.elapsed();
    assert!(
        time >= Duration::from_secs(3) && time < Duration::from_secs(30),
        "{time:?}"
    );
    assert_eq!(stop.events(), ["a stopped"]);
    // Started again by the kubelet; then the pod stops, and everything runs.
    processes[0] = stop.process("a");
    processes[0].says("ready");
    stop_all(&mut processes);
    let events = stop.events();
    assert!(
        position(&events, "b drained") < position(&events[1..], "a stopped") + 1,
        "{events:#?}"
    );
}

#[test]
fn a_dead_sidecar_holds_up_nothing() {
    let stop = Stop::new(DRAIN, "60");
    let (mut processes, mut sidecars) = stop.start();
    for sidecar in &mut sidecars {
        sidecar.signal(Signal::KILL);
        sidecar.wait();
    }
    let time = stop_all(&mut processes);
    assert!(time < Duration::from_secs(20), "{time:?}");
    assert_eq!(stop.events().len(), 3);
}

#[test]
fn a_process_that_ended_before_holds_up_nothing() {
    let stop = Stop::new(DRAIN, "60");
    let (mut processes, _sidecars) = stop.start();
    processes[2].signal(Signal::KILL);
    processes[2].wait();
    let time = stop_all(&mut processes[..2]);
    assert!(time < Duration::from_secs(30), "{time:?}");
    let events = stop.events();
    assert!(
        position(&events, "a drained") < position(&events, "a stopped"),
        "{events:#?}"
    );
}

#[test]
fn a_drain_that_never_ends_is_cancelled_and_processes_are_stopped_in_time() {
    let stop = Stop::new(
        "trap '' TERM; SAY drain >>$POD/events; while :; do sleep 0.1; done",
        "15",
    );
    let (mut processes, mut sidecars) = stop.start();
    // A third of 15 seconds.
    let time = stop_all(&mut processes);
    assert!(
        time >= Duration::from_secs(5) && time < Duration::from_secs(30),
        "{time:?}"
    );
    assert!(
        processes[0]
            .error()
            .contains("take too long for the pod's grace period"),
        "{}",
        processes[0].error()
    );
    stop_all(&mut sidecars);
    let events = stop.events();
    position(&events, "a post-stop");
    assert!(
        sidecars[0].error().contains("the scripts of job 'a' are cancelled"),
        "{}",
        sidecars[0].error()
    );
}

#[test]
fn a_drain_that_answers_nothing_or_cannot_run_counts_as_done() {
    let stop = Stop::new("SAY no number; exit 1", "60");
    fs::remove_file(stop.pod.path("vcap/jobs/b/bin/drain")).unwrap();
    fs::create_dir(stop.pod.path("vcap/jobs/b/bin/drain")).unwrap();
    let (mut processes, sidecars) = stop.start();
    let time = stop_all(&mut processes);
    assert!(time < Duration::from_secs(30), "{time:?}");
    assert!(
        sidecars[0].error().contains("Script did not return a signed integer"),
        "{}",
        sidecars[0].error()
    );
    assert!(sidecars[1].error().contains("cannot start"), "{}", sidecars[1].error());
}

#[test]
fn a_drain_may_stop_its_process_itself() {
    let stop = Stop::new(
        "kill -TERM $(cat $POD/vcap/sys/run/bpm/a/a.pid); sleep 1; SAY drained >>$POD/events; echo 0",
        "60",
    );
    let (mut processes, _sidecars) = stop.start();
    stop_all(&mut processes);
    let events = stop.events();
    assert!(
        position(&events, "a stopped") < position(&events, "b drained"),
        "{events:#?}"
    );
    assert!(
        position(&events, "b drained") < position(&events, "b stopped"),
        "{events:#?}"
    );
    assert!(
        position(&events, "a drained") < position(&events, "c stopped"),
        "{events:#?}"
    );
}

/// As rep of Cloud Foundry moves its apps: first it looks for its process by `bpm pid`.
#[test]
fn a_drain_finds_its_process_by_bpm_until_it_stops_it() {
    let stop = Stop::new(
        "bpm=\"$POD/container-run/bin/bpm\"
        [ $BASH_SOURCE = $POD/vcap/jobs/a/bin/drain ] || { echo 0; exit; }
        export BPM_BOSH_ROOT=$POD/vcap
        SAY before $($bpm pid a) is $(cat $POD/vcap/sys/run/bpm/a/a.pid) >>$POD/events
        $bpm stop a
        SAY after $($bpm pid a 2>&1) >>$POD/events
        echo 0",
        "60",
    );
    let (mut processes, _sidecars) = stop.start();
    stop_all(&mut processes);
    let events = stop.events();
    let before = events[position(&events, "a before")]
        .strip_prefix("a before ")
        .and_then(|rest| rest.split_once(" is "))
        .unwrap();
    assert!(!before.0.is_empty() && before.0 == before.1, "{events:#?}");
    let after = &events[position(&events, "a after")];
    assert!(after.contains("process is not running"), "{events:#?}");
}
