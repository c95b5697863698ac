//! `bpm`, `monit` and `chpst`, as scripts in another container call them.

use std::process::Command;

use serde_json::json;

use crate::pod::{Container, Pod, is_root, until};

fn pod() -> (Pod, [Container; 2]) {
    let pod = Pod::new();
    let path = pod.script(
        "j",
        "run-it",
        "trap 'exit 4' TERM; echo start $1 $$; while :; do sleep 0.02; done",
    );
    pod.describe(
        "j",
        &json!([{"name": "j", "executable": path, "args": ["j"]}, {"name": "other", "executable": path, "args": ["other"], "check": "the_other"}]),
    );
    let containers = ["j", "other"].map(|name| pod.start(&["process", "--job", "j", "--process", name]));
    containers.iter().for_each(|container| container.says("start"));
    until("both", || {
        call(&pod, "bpm", &["list"]).1.matches("running").count() == 2
    });
    (pod, containers)
}

fn call(pod: &Pod, name: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(pod.path("container-run/bin").join(name));
    command.args(arguments).env("BPM_BOSH_ROOT", pod.path("vcap"));
    pod.run(command)
}

/// The numbers of the processes that a container has started so far.
fn starts(container: &Container) -> Vec<String> {
    let output = container.output();
    output
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .map(str::to_string)
        .collect()
}

#[test]
fn bpm_lists_stops_and_starts_processes_of_other_containers() {
    if !is_root() {
        return;
    }
    let (pod, mut containers) = pod();
    let (one, two) = (starts(&containers[0])[0].clone(), starts(&containers[1])[0].clone());
    let width = one.len().max(two.len()).max(3);
    let expected = format!(
        "Name    {:width$} Status\nj       {one:width$} running\nj.other {two:width$} running\n",
        "Pid"
    );
    assert_eq!(call(&pod, "bpm", &["list"]).1, expected);
    assert_eq!(
        call(&pod, "bpm", &["pid", "j", "-p", "other"]),
        (0, format!("{two}\n"), String::new())
    );

    assert_eq!(call(&pod, "bpm", &["stop", "j", "-p", "other"]).0, 0);
    assert!(!containers[1].has_ended(), "the container stays");
    let not_running = "Error: process is not running or could not be found\n".to_string();
    assert_eq!(
        call(&pod, "bpm", &["pid", "j", "-p", "other"]),
        (1, String::new(), not_running)
    );
    assert!(call(&pod, "bpm", &["list"]).1.contains("j.other - "));
    assert_eq!(call(&pod, "bpm", &["stop", "j", "-p", "other"]).0, 0);

    assert_eq!(call(&pod, "bpm", &["start", "j", "-p", "other"]).0, 0);
    until("a second start", || starts(&containers[1]).len() == 2);
    assert_eq!(
        call(&pod, "bpm", &["pid", "j", "-p", "other"]).1.trim(),
        starts(&containers[1])[1]
    );
    // Running already.
    assert_eq!(call(&pod, "bpm", &["start", "j"]).0, 0);
    assert_eq!(call(&pod, "bpm", &["run", "j"]).0, 0);
    assert_eq!(starts(&containers[0]).len(), 1);
    assert_eq!(containers[1].stop(), 4);
}

#[test]
fn bpm_starts_what_has_no_container_in_this_one() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    let path = pod.script("j", "run-it", "exec sleep 1000");
    pod.describe("j", &json!([{"name": "extra", "executable": path}]));
    assert_eq!(call(&pod, "bpm", &["start", "j", "-p", "extra"]).0, 0);
    until("its start", || call(&pod, "bpm", &["pid", "j", "-p", "extra"]).0 == 0);
    let pid = call(&pod, "bpm", &["pid", "j", "-p", "extra"]).1;
    assert_eq!(call(&pod, "bpm", &["stop", "j", "-p", "extra"]).0, 0);
    assert_eq!(call(&pod, "bpm", &["pid", "j", "-p", "extra"]).0, 1);
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
    // Unlike a container, its container-run ends, too.
    let state_file = std::fs::File::open(pod.path("container-run/instance/process.j.extra")).unwrap();
    until("the end of its container-run", || state_file.try_lock().is_ok());
}

#[test]
fn bpm_says_what_is_wrong_as_bpm_does() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    for (arguments, text) in [
        (&["start"][..], "Error: must specify a job\n"),
        (&["fly", "j"], "Error: unknown command \"fly\" for \"bpm\"\n"),
        (
            &["pid", "none"],
            "Error: process is not running or could not be found\n",
        ),
    ] {
        assert_eq!(call(&pod, "bpm", arguments), (1, String::new(), text.to_string()));
    }
}

#[test]
fn monit_knows_processes_by_their_checks() {
    if !is_root() {
        return;
    }
    let (pod, containers) = pod();
    let summary = call(&pod, "monit", &["summary"]).1;
    assert!(
        summary.contains("Process 'j'                         running\n"),
        "{summary}"
    );
    assert!(
        summary.contains("Process 'the_other'                 running\n"),
        "{summary}"
    );
    assert_eq!(call(&pod, "monit", &["restart", "the_other"]).0, 0);
    until("a second start", || starts(&containers[1]).len() == 2);
    assert_eq!(starts(&containers[0]).len(), 1);
    assert_eq!(call(&pod, "monit", &["-g", "vcap", "stop"]).0, 0);
    assert_eq!(call(&pod, "monit", &["summary"]).1.matches("not monitored").count(), 2);
    assert_eq!(call(&pod, "monit", &["start", "all"]).0, 0);
    assert_eq!(call(&pod, "monit", &["summary"]).1.matches("running").count(), 2);
    assert_eq!(call(&pod, "monit", &["start", "nothing"]).0, 1);
    for accepted in ["reload", "unmonitor", "monitor"] {
        assert_eq!(call(&pod, "monit", &[accepted]).0, 0, "{accepted}");
    }
}

#[test]
fn chpst_changes_the_user_and_limits() {
    let pod = Pod::new();
    std::fs::create_dir(pod.path("env")).unwrap();
    std::fs::write(pod.path("env/A"), "first line\nsecond").unwrap();
    std::fs::write(pod.path("env/HOME"), "").unwrap();
    let directory = pod.path("env").display().to_string();
    let text = "ulimit -n; echo $A; echo ${HOME-no home}; echo $0";
    let (code, output, error) = call(
        &pod,
        "chpst",
        &["-v", "-o", "99", "-e", &directory, "-b", "name", "bash", "-c", text],
    );
    assert_eq!(
        (code, output.as_str()),
        (0, "99\nfirst line\nno home\nname\n"),
        "{error}"
    );
    assert_eq!(call(&pod, "chpst", &["-u"]).0, 100);
    assert_eq!(call(&pod, "chpst", &["/no/such"]).0, 111);
    if is_root() {
        let (code, output, _) = call(
            &pod,
            "chpst",
            &["-u", "vcap:vcap", "--", "bash", "-c", "id -u; id -g; id -G"],
        );
        assert_eq!((code, output.as_str()), (0, "1000\n1000\n1000\n"));
        assert_eq!(call(&pod, "chpst", &["-u", ":1:2:3", "id", "-G"]).1, "2 3\n");
        assert_eq!(call(&pod, "chpst", &["-u", "no-such-user", "id"]).0, 111);
    }
}
