//! Processes that have a monit file only: the three styles of start programs, stop programs, pid files.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::pod::{Container, Pod, QUIET_DURATION, until};

/// A job whose `ctl` script starts and stops its server.
fn job(start: &str, stop: &str, more: Value) -> (Pod, Container) {
    let pod = Pod::new();
    let text = format!("PIDFILE=$POD/vcap/sys/run/j.pid\ncase $1 in start)\n{start}\n;; stop)\n{stop}\n;; esac");
    let ctl = pod.script("j", "ctl", &text);
    let mut monit = json!({"start": [ctl, "start"], "stop": [ctl, "stop"], "pidfile": pod.path("vcap/sys/run/j.pid"), "start_timeout": 30, "stop_timeout": 5});
    monit
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap_or_default());
    pod.describe("j", &json!([{"name": "j", "monit": monit}]));
    // Left by a container before.
    fs::write(pod.path("vcap/sys/run/j.pid"), "1").unwrap();
    let container = pod.process("j");
    (pod, container)
}

fn pid(pod: &Pod) -> Pid {
    let mut found = None;
    until("the pid file", || {
        found = pod
            .read("sys/run/j.pid")
            .trim()
            .parse()
            .ok()
            .filter(|pid| *pid != 1)
            .and_then(Pid::from_raw);
        found.is_some()
    });
    found.unwrap()
}

/// The server, once container-run follows it, and gets its exit status: what started it has ended.
fn server(pod: &Pod, container: &Container) -> Pid {
    let pid = pid(pod);
    pod.runs("j");
    let parent = container.pid().as_raw_nonzero().to_string();
    until("container-run as its parent", || {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
        let mut lines = status.lines();
        lines.any(|line| line.strip_prefix("PPid:").is_some_and(|pid| pid.trim() == parent))
    });
    pid
}

const STOP: &str = "echo stopping; kill $(cat $PIDFILE); rm -f $PIDFILE";
const BECOMES: &str = "echo $$ >$PIDFILE; exec sleep 1000";
const LEAVES: &str = "sleep 1000 & echo $! >$PIDFILE";
const DAEMON: &str = "setsid bash -c '(echo $BASHPID >'$PIDFILE'; exec sleep 1000) &'";

#[test]
fn the_three_styles_run_and_stop_by_their_stop_program() {
    for start in [BECOMES, LEAVES, DAEMON] {
        let (pod, mut container) = job(start, STOP, json!({}));
        let pid = server(&pod, &container);
        std::thread::sleep(QUIET_DURATION);
        assert!(!container.has_ended(), "{start}: {}", container.error());
        assert_eq!(container.stop(), 143, "{start}");
        assert!(container.output().contains("stopping"));
        assert!(test_kill_process(pid).is_err());
        assert!(!pod.path("vcap/sys/run/j.pid").exists());
    }
}

#[test]
fn the_container_ends_with_the_server() {
    for start in [BECOMES, LEAVES, DAEMON] {
        let (pod, mut container) = job(start, STOP, json!({}));
        kill_process(server(&pod, &container), Signal::KILL).unwrap();
        assert_eq!(container.wait(), 137, "{start}");
    }
}

#[test]
fn a_server_that_replaces_itself_is_followed() {
    let (pod, mut container) = job(
        "sleep 1000 & first=$!; echo $first >$PIDFILE
        (until [ -e $POD/replace ]; do sleep 0.05; done; sleep 1000 & echo $! >$PIDFILE; kill $first) &",
        STOP,
        json!({}),
    );
    let first = server(&pod, &container);
    fs::write(pod.path("replace"), "").unwrap();
    until("the end of the first server", || test_kill_process(first).is_err());
    std::thread::sleep(Duration::from_secs(2));
    assert!(!container.has_ended(), "{}", container.error());
    server(&pod, &container);
    assert_eq!(container.stop(), 143);
}

#[test]
fn a_start_that_leads_nowhere_fails_at_once_or_after_its_time() {
    let (_pod, mut container) = job("exit 3", STOP, json!({}));
    let start = Instant::now();
    assert_eq!(container.wait(), 3);
    assert!(start.elapsed() < Duration::from_secs(25));
    assert!(
        container
            .error()
            .contains("the start program ended with status 3, and "),
        "{}",
        container.error()
    );

    let (_pod, mut container) = job("sleep 1000", STOP, json!({"start_timeout": 1}));
    assert_eq!(container.wait(), 1);
    assert!(container.error().contains("after 1 seconds "), "{}", container.error());
}

#[test]
fn the_status_of_a_start_program_means_nothing_if_the_pid_file_is_right() {
    let (pod, mut container) = job("sleep 1000 & echo $! >$PIDFILE; exit 5", STOP, json!({}));
    pid(&pod);
    std::thread::sleep(QUIET_DURATION);
    assert!(!container.has_ended());
    container.stop();
}

#[test]
fn a_server_that_outlives_its_stop_program_is_killed_after_its_time() {
    let (pod, mut container) = job(
        "trap '' TERM; echo $$ >$PIDFILE; while :; do sleep 0.1; done",
        "true",
        json!({"stop_timeout": 1}),
    );
    pod.runs("j");
    let start = Instant::now();
    container.stop();
    assert!(start.elapsed() >= Duration::from_secs(1) && start.elapsed() < Duration::from_secs(20));
    assert!(
        container
            .error()
            .contains("it still runs 1 seconds after the stop program: killed"),
        "{}",
        container.error()
    );
}

#[test]
fn programs_get_monits_environment_and_user() {
    let text = "cd_=$(pwd); env | grep -vE '^(_|SHLVL|PWD|BPM_BOSH_ROOT|OLDPWD)='; echo $cd_ $(id -u); echo $$ >$PIDFILE; exec sleep 1000";
    let (pod, mut container) = job(text, STOP, json!({}));
    pid(&pod);
    let bin = pod.path("container-run/bin").display().to_string();
    let user = rustix::process::geteuid().as_raw();
    until("the output", || {
        container.output() == format!("PATH=/bin:/usr/bin:/sbin:/usr/sbin:{bin}\n/ {user}\n")
    });
    container.stop();

    if crate::pod::is_root() {
        let (_pod, mut container) = job("id -u; exit 1", STOP, json!({"uid": "vcap", "gid": "vcap"}));
        container.wait();
        assert_eq!(container.output(), "1000\n");
    }
}

/// Jobs `database` and `web`, which depends on it. Both write what they do into one file.
fn database_and_web() -> Pod {
    let pod = Pod::new();
    fs::write(pod.path("events"), "").unwrap();
    for (job, depends) in [("database", json!([])), ("web", json!(["database", "unknown"]))] {
        let pid_file = pod.path(&format!("vcap/sys/run/{job}.pid"));
        let text = format!(
            "PIDFILE={}\ncase $1 in start)\necho {job} starts >>$POD/events\n{BECOMES}\n;; stop)\necho {job} stops >>$POD/events; sleep 0.2; kill $(cat $PIDFILE)\n;; esac",
            pid_file.display()
        );
        let ctl = pod.script(job, "ctl", &text);
        let monit = json!({"start": [ctl, "start"], "stop": [ctl, "stop"], "pidfile": pid_file, "depends": depends});
        pod.describe(job, &json!([{"name": job, "monit": monit}]));
    }
    pod
}

fn events(pod: &Pod) -> Vec<String> {
    let text = fs::read_to_string(pod.path("events")).unwrap();
    text.lines().map(String::from).collect()
}

#[test]
fn a_process_starts_after_the_one_it_depends_on_and_stops_before_it() {
    let pod = database_and_web();
    let mut web = pod.process("web");
    until("web waits", || {
        web.error()
            .contains("waiting for 'database', on which this process depends")
    });
    assert!(web.error().contains("no process of this pod is 'unknown'"));
    assert_eq!(events(&pod), [""; 0]);
    let mut database = pod.process("database");
    pod.runs("web");
    database.signal(Signal::TERM);
    web.signal(Signal::TERM);
    assert_eq!((web.wait(), database.wait()), (143, 143));
    assert_eq!(
        events(&pod),
        ["database starts", "web starts", "web stops", "database stops"]
    );
}

#[test]
fn a_process_starts_again_after_the_one_it_depends_on() {
    let pod = database_and_web();
    let mut database = pod.process("database");
    let mut web = pod.process("web");
    pod.runs("web");
    let server = pod
        .read("sys/run/database.pid")
        .trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw);
    kill_process(server.unwrap(), Signal::KILL).unwrap();
    assert_eq!(database.wait(), 137);
    until("web stops", || {
        events(&pod).last().is_some_and(|last| last == "web stops")
    });
    let mut database = pod.process("database");
    until("web starts again", || events(&pod).len() == 5);
    pod.runs("web");
    assert_eq!(events(&pod)[3..], ["database starts", "web starts"]);
    // A container that stops alone does not wait for those that depend on it and go on.
    let waits = |web: &Container| {
        web.error()
            .matches("waiting for 'database', on which this process depends")
            .count()
    };
    let before = waits(&web);
    assert_eq!(database.stop(), 143);
    until("web stops and waits", || waits(&web) > before);
    assert_eq!(events(&pod).last().unwrap(), "web stops");
    assert_eq!(web.stop(), 0);
}
