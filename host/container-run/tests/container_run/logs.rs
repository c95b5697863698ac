//! The sidecar for log files that jobs write themselves.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::pod::{Pod, until};

#[test]
fn files_of_jobs_are_sent_with_their_names_and_those_of_container_run_are_not() {
    let pod = Pod::new();
    pod.job("j", "", json!({}));
    let log = |name: &str, text: &str| {
        let path = pod.path("vcap/sys/log").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    log("j/j.stdout.log", "sent by the process's container\n");
    log("j/pre-start.stdout.log", "sent by the init container\n");
    log("j/access.log", "one\n");
    log("j/deeper/audit.log", "two\n");
    let mut sidecar = pod.start(&["logs"]);
    sidecar.says("j/access.log: one\n");
    sidecar.says("j/deeper/audit.log: two\n");
    log("j/access.log", "three\nnot whole");
    log("later/new.log", "four\n");
    sidecar.says("j/access.log: three\n");
    sidecar.says("later/new.log: four\n");
    log("j/access.log", ", now it is\n");
    std::thread::sleep(Duration::from_millis(50));
    // What was written before the stop signal is sent.
    assert_eq!(sidecar.stop(), 0);
    assert!(
        sidecar.output().ends_with("j/access.log: not whole, now it is\n"),
        "{}",
        sidecar.output()
    );
    assert!(!sidecar.output().contains("sent by"));

    // After a restart, only what is new.
    let sidecar = pod.start(&["logs"]);
    until("the end of the file", || {
        sidecar.has_read(&pod.path("vcap/sys/log/j/access.log"))
    });
    log("j/access.log", "five\n");
    sidecar.says("five");
    assert_eq!(sidecar.output(), "j/access.log: five\n");
}

#[test]
fn a_container_beside_processes_sends_what_they_log_while_they_stop() {
    let pod = Pod::new();
    let log = pod.path("vcap/sys/log/j/access.log");
    let text = format!(
        "trap 'sleep 1; echo last >>{log}; echo new >>{end}; exit 0' TERM; echo first >>{log}; while :; do sleep 0.05; done",
        log = log.display(),
        end = log.with_file_name("end.log").display()
    );
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    pod.job("j", &text, json!({}));
    let mut process = pod.process("j");
    let mut logs = pod.start(&["logs", "--members", "j/j"]);
    logs.says("j/access.log: first\n");
    logs.signal(Signal::TERM);
    process.signal(Signal::TERM);
    assert_eq!(logs.wait(), 0);
    for line in ["j/access.log: last\n", "j/end.log: new\n"] {
        assert!(logs.output().contains(line), "{}", logs.output());
    }
    process.wait();
}

#[test]
fn a_sidecar_that_starts_before_templates_are_rendered_knows_the_files_of_container_run() {
    let pod = Pod::new();
    pod.job("first", "", json!({}));
    let log = |name: &str, text: &str| {
        let path = pod.path("vcap/sys/log").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let mut sidecar = pod.start(&["logs"]);
    log("first/access.log", "of the first\n");
    sidecar.says("first/access.log: of the first\n");
    pod.job("second", "", json!({}));
    log("second/second.stdout.log", "sent by the process's container\n");
    log("second/access.log", "of the second\n");
    sidecar.says("second/access.log: of the second\n");
    assert_eq!(sidecar.stop(), 0);
    assert!(!sidecar.output().contains("sent by"), "{}", sidecar.output());
}
