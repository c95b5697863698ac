//! Pre-start scripts in the containers of processes, and what is lost of those in containers of their own.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::pod::{Pod, is_root, until};

/// The container of a process, with `--pre-starts`.
fn process(pod: &Pod, job: &str, process: &str, pre_starts: &str) -> Command {
    let more = ["--pre-starts", pre_starts];
    pod.command(&[&["process", "--job", job, "--process", process][..], &more].concat())
}

#[test]
fn an_inline_pre_start_runs_before_its_process_at_each_start_of_the_container() {
    let pod = Pod::new();
    pod.job("j", "echo process $(cat $POD/prepared)", json!({}));
    pod.script("j", "pre-start", "echo pre-start $TMPDIR; echo done >>$POD/prepared");
    let temporary = pod.path("vcap/data/tmp").display().to_string();
    for done in ["done", "done done"] {
        let (code, output, error) = pod.run(process(&pod, "j", "j", "j/j"));
        assert_eq!(
            (code, output),
            (0, format!("pre-start {temporary}\nprocess {done}\n")),
            "{error}"
        );
    }
    let log = pod.read("sys/log/j/pre-start.stdout.log");
    assert_eq!(log, format!("pre-start {temporary}\n").repeat(2));
}

#[test]
fn an_inline_pre_start_that_fails_keeps_its_process_and_those_of_other_jobs_from_starting() {
    let pod = Pod::new();
    pod.job("j", "echo process", json!({}));
    pod.job("other", "echo process", json!({}));
    pod.script("j", "pre-start", "[ -e $POD/works ] || exit 3");
    let mut other = pod.spawn(process(&pod, "other", "other", "j/j"));
    until("the wait", || {
        other.error().contains("waiting for the pre-start script")
    });
    let (code, output, error) = pod.run(process(&pod, "j", "j", "j/j"));
    assert_eq!((code, output.as_str()), (3, ""));
    assert_eq!(
        error,
        "container-run: script 'pre-start' of job 'j' failed: exit status 3\n"
    );
    assert!(!other.has_ended());
    fs::write(pod.path("works"), "").unwrap();
    assert_eq!(pod.run(process(&pod, "j", "j", "j/j")).0, 0);
    assert_eq!((other.wait(), other.output().as_str()), (0, "process\n"));
}

#[test]
fn inline_pre_starts_of_a_job_run_one_after_the_other_and_before_all_of_its_processes() {
    let pod = Pod::new();
    let path = pod.script("j", "run-it", "echo process >>$POD/order");
    let of = |name: &str| json!({"name": name, "executable": path, "privileged": true});
    pod.describe("j", &json!([of("a"), of("b")]));
    pod.script(
        "j",
        "pre-start",
        "echo begin >>$POD/order; sleep 0.3; echo end >>$POD/order",
    );
    let mut containers = ["a", "b"].map(|name| pod.spawn(process(&pod, "j", name, "j/a,j/b")));
    for container in &mut containers {
        assert_eq!(container.wait(), 0, "{}", container.error());
    }
    let order = fs::read_to_string(pod.path("order")).unwrap();
    let lines: Vec<&str> = order.lines().collect();
    assert_eq!(lines, ["begin", "end", "begin", "end", "process", "process"]);
}

#[test]
fn a_process_is_ready_when_it_has_started() {
    let pod = Pod::new();
    pod.job("j", "echo runs; exec sleep 1000", json!({}));
    let ready = || pod.run(pod.command(&["ready", "--job", "j", "--process", "j"])).0;
    assert_eq!(ready(), 1);
    let mut container = pod.process("j");
    container.says("runs");
    assert_eq!(ready(), 0);
    container.stop();
}

#[test]
fn a_stop_ends_an_inline_pre_start_and_the_wait_for_others() {
    let pod = Pod::new();
    pod.job("j", "echo process", json!({}));
    pod.script("j", "pre-start", "trap 'exit 0' TERM; echo runs; sleep 1000 & wait");
    let mut container = pod.spawn(process(&pod, "j", "j", "j/j"));
    container.says("runs");
    let (code, _, error) = pod.run(pod.command(&["ready", "--job", "j", "--process", "j"]));
    assert_eq!(code, 1);
    assert!(error.contains("process 'j' of job 'j' has not started yet"), "{error}");
    container.signal(Signal::TERM);
    assert_eq!((container.wait(), container.output().as_str()), (0, "runs\n"));
    pod.job("other", "echo process", json!({}));
    let mut other = pod.spawn(process(&pod, "other", "other", "j/j"));
    until("the wait", || other.error().contains("waiting"));
    assert_eq!((other.stop(), other.output().as_str()), (0, ""));
}

#[test]
fn an_errand_has_an_inline_pre_start() {
    let pod = Pod::new();
    pod.script("j", "run", "echo errand");
    pod.script("j", "pre-start", "echo pre-start");
    let errand = pod.command(&["errand", "--job", "j", "--pre-starts", "j/j"]);
    assert_eq!(pod.run(errand).1, "pre-start\nerrand\n");
    pod.script("j", "pre-start", "exit 4");
    let errand = pod.command(&["errand", "--job", "j", "--pre-starts", "j/j"]);
    assert_eq!(pod.run(errand).0, 4);
}

#[test]
fn an_inline_pre_start_is_root_and_its_process_is_not() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    pod.job("j", "id -u", json!({}));
    pod.script("j", "pre-start", "id -u");
    assert_eq!(pod.run(process(&pod, "j", "j", "j/j")).1, "0\n1000\n");
}

#[test]
fn files_that_a_pre_start_script_loses_are_logged_with_the_settings_that_keep_them() {
    let pod = Pod::new();
    let root = pod.path("root");
    for directory in [
        "etc",
        "var/vcap/packages/p",
        "var/vcap/jobs/j/bin",
        "var/vcap/sys/log/j",
    ] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let text = "touch $POD/root/var/vcap/packages/p/a; for i in $(seq 10 30); do echo >$POD/root/etc/$i; done";
    let script = pod.script("j", "pre-start", text);
    fs::rename(script, root.join("var/vcap/jobs/j/bin/pre-start")).unwrap();
    let run = |name: &str| {
        let mut command = pod.command(&["script", "--job", "j", "--name", name]);
        command.env("BPM_BOSH_ROOT", root.join("var/vcap"));
        pod.run(command)
    };
    let (code, _, error) = run("pre-start");
    assert_eq!(code, 0, "{error}");
    let lines: Vec<&str> = error.lines().collect();
    // Here, the directory of log files is no volume.
    assert!(lines[0].ends_with("other containers do not see these (24):"), "{error}");
    let first = format!("container-run:   {}", root.join("etc/10").display());
    assert_eq!((lines[1], lines[21]), (first.as_str(), "container-run:   .."));
    assert!(lines[22].ends_with("quarks.run.writable_packages: [p]"), "{error}");
    assert!(lines[23].ends_with("quarks.run.pre_start: inline"), "{error}");
    // Other scripts run beside the processes.
    fs::hard_link(
        root.join("var/vcap/jobs/j/bin/pre-start"),
        root.join("var/vcap/jobs/j/bin/other"),
    )
    .unwrap();
    assert_eq!(run("other").2, "");
}
