//! An error is one line with its own exit status, without values that may be secret.

use std::fs;

use serde_json::json;

use crate::pod::Pod;

fn fails(pod: &Pod, arguments: &[&str], code: i32, text: &str) {
    let (status, output, error) = pod.run(pod.command(arguments));
    let expected = format!("container-run: {text}\n").replace("POD", &pod.path("").display().to_string());
    let expected = expected.replace("//", "/");
    assert_eq!(
        (status, output.as_str(), error.as_str()),
        (code, "", expected.as_str()),
        "{arguments:?}"
    );
}

const RUN: [&str; 5] = ["process", "--job", "j", "--process", "p"];

#[test]
fn arguments() {
    let pod = Pod::new();
    fails(&pod, &["process", "--job", "j"], 2, "--process is needed");
    fails(
        &pod,
        &["process", "--job", "../j", "--process", "p"],
        2,
        "--job: '../j' is not a name",
    );
    fails(&pod, &["process", "--what", "j"], 2, "unknown flag --what");
    let (status, _, error) = pod.run(pod.command(&["what"]));
    assert_eq!(status, 2);
    assert!(
        error.starts_with("container-run: unknown command 'what'; usage:"),
        "{error}"
    );
}

#[test]
fn descriptions() {
    let pod = Pod::new();
    fails(
        &pod,
        &RUN,
        125,
        "reading POD/container-run/processes/j.json: No such file or directory (os error 2)",
    );
    let file = pod.path("container-run/processes/j.json");
    for (text, expected) in [
        (
            "{\"version\":1,\n \"secret\" 7}",
            "POD/container-run/processes/j.json:2:11: not a description of processes (wrong JSON)",
        ),
        (
            "{\"version\":1,",
            "POD/container-run/processes/j.json:1:13: not a description of processes (the file ends early)",
        ),
        (
            r#"{"version":1,"job":"j","processes":[{"name":"p","env":"hunter2"}]}"#,
            "POD/container-run/processes/j.json:1:63: not a description of processes (a member is missing or has the wrong type)",
        ),
        (
            r#"{"version":9,"job":"j","processes":[]}"#,
            "POD/container-run/processes/j.json: format 9, this program reads format 1: the operator and the pod are of different versions",
        ),
        (
            r#"{"version":1,"job":"j","processes":[]}"#,
            "job 'j' has no process 'p'; it has no processes",
        ),
        (
            r#"{"version":1,"job":"j","processes":[{"name":"a"},{"name":"b"}]}"#,
            "job 'j' has no process 'p'; it has: a, b",
        ),
        (
            r#"{"version":1,"job":"j","processes":[{"name":"p"}]}"#,
            "process 'p' of job 'j' has no executable",
        ),
        (
            r#"{"version":1,"job":"j","processes":[{"name":"p","executable":"/bin/true","capabilities":["FLY"]}]}"#,
            "'FLY' is not the name of a capability",
        ),
    ] {
        fs::write(&file, text).unwrap();
        fails(&pod, &RUN, 125, expected);
    }
}

#[test]
fn programs_that_do_not_exist_or_cannot_run() {
    let pod = Pod::new();
    pod.describe("j", &json!([{"name": "p", "executable": "/no/such/program"}]));
    fails(
        &pod,
        &RUN,
        127,
        "cannot start /no/such/program: No such file or directory (os error 2)",
    );
    pod.describe("j", &json!([{"name": "p", "executable": "/etc/passwd"}]));
    fails(
        &pod,
        &RUN,
        126,
        "cannot start /etc/passwd: Permission denied (os error 13)",
    );
    pod.describe(
        "j",
        &json!([{"name": "p", "executable": "/bin/true", "workdir": "/no/such/directory"}]),
    );
    fails(
        &pod,
        &RUN,
        125,
        "entering /no/such/directory: No such file or directory (os error 2)",
    );
}
