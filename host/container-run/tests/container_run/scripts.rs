//! Scripts one at a time: pre-start in its init container, errands, and the sidecar's post-start, post-deploy and
//! post-stop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::pod::{LATE_WRITER, Pod, QUIET_DURATION, until};

#[test]
fn a_script_has_the_agents_environment_and_log_files() {
    let pod = Pod::new();
    pod.script(
        "j",
        "pre-start",
        "env | grep -vE '^(_|SHLVL|PWD|BPM_BOSH_ROOT)='; echo err >&2; echo nice $(nice); exit 3",
    );
    let mut command = pod.command(&["script", "--job", "j", "--name", "pre-start", "--env", "POD_IP"]);
    command.env("POD_IP", "10.0.0.1").env("SECRET", "x");
    let (code, output, error) = pod.run(command);
    assert_eq!(code, 3);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let bin = pod.path("container-run/bin").display().to_string();
    let expected = [
        format!("PATH=/usr/sbin:/usr/bin:/sbin:/bin:{bin}"),
        "POD_IP=10.0.0.1".to_string(),
        format!("TMPDIR={}", pod.path("vcap/data/tmp").display()),
    ];
    assert_eq!(lines[..3], expected);
    assert!(lines[3].starts_with("nice ") && lines[3] != "nice 0", "{output}");
    assert!(
        error.contains("err\ncontainer-run: script 'pre-start' of job 'j' failed: exit status 3"),
        "{error}"
    );
    assert_eq!(pod.read("sys/log/j/pre-start.stdout.log"), output);
    assert_eq!(pod.read("sys/log/j/pre-start.stderr.log"), "err\n");
    let mode = fs::metadata(pod.path("vcap/sys/log/j/pre-start.stdout.log"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn the_last_lines_of_a_script_that_logs_through_another_program_are_not_lost() {
    let pod = Pod::new();
    let text = format!("{LATE_WRITER}; echo why; exit 3");
    for (name, run) in [
        ("pre-start", &["script", "--job", "j", "--name", "pre-start"][..]),
        ("run", &["errand", "--job", "j"]),
        ("post-start", &["scripts", "--job", "j", "--scripts", "j"]),
    ] {
        pod.script("j", name, &text);
        let (code, output, error) = pod.run(pod.command(run));
        assert!(code != 0 && output == "why\n", "{name}: {output} {error}");
    }
    assert_eq!(pod.read("sys/log/j/pre-start.stdout.log"), "why\n");
}

#[test]
fn a_background_process_that_keeps_the_output_does_not_keep_the_container() {
    let pod = Pod::new();
    pod.script("j", "pre-start", "sleep 1000 & exit 3");
    assert_eq!(pod.start(&["script", "--job", "j", "--name", "pre-start"]).wait(), 3);
}

#[test]
fn a_script_that_the_job_has_not_is_no_failure_and_one_that_cannot_run_is() {
    let pod = Pod::new();
    let run = ["script", "--job", "j", "--name", "pre-start"];
    let (code, _, error) = pod.run(pod.command(&run));
    assert_eq!(
        (code, error.as_str()),
        (0, "container-run: job 'j' has no script 'pre-start'\n")
    );
    let path = pod.script("j", "pre-start", "");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(pod.run(pod.command(&run)).0, 126);
}

#[test]
fn a_script_that_failed_may_keep_its_container_for_a_while() {
    let pod = Pod::new();
    pod.script("j", "pre-start", "exit 3");
    let mut container = pod.start(&[
        "script",
        "--job",
        "j",
        "--name",
        "pre-start",
        "--wait-after-failure",
        "3600",
    ]);
    until("the failure", || {
        container.error().contains("continues to run for 3600 seconds")
    });
    assert!(!container.has_ended());
    assert_eq!(container.stop(), 3);
}

#[test]
fn an_errand_passes_its_status_on_and_writes_no_files() {
    let pod = Pod::new();
    pod.script("j", "run", "echo out; echo err >&2; sleep 1000 & exit 42");
    let mut container = pod.start(&["errand", "--job", "j"]);
    assert_eq!(container.wait(), 42);
    assert_eq!(
        (container.output(), container.error()),
        ("out\n".to_string(), "err\n".to_string())
    );
    assert_eq!(fs::read_dir(pod.path("vcap/sys/log/j")).unwrap().count(), 0);
}

#[test]
fn an_errand_is_cancelled_with_its_group_and_killed_after_ten_seconds() {
    let pod = Pod::new();
    pod.script("j", "run", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    let mut container = pod.start(&["errand", "--job", "j"]);
    container.says("ready");
    let start = Instant::now();
    assert_eq!(container.stop(), 137);
    let seconds = start.elapsed().as_secs_f32();
    assert!((10.0..30.0).contains(&seconds), "{seconds}");
}

#[test]
fn an_errand_may_run_a_process_of_bpm_and_sees_its_status() {
    let pod = Pod::new();
    if !crate::pod::is_root() {
        return;
    }
    let program = pod.script("j", "errand", "echo $A $(id -u); exit 21");
    pod.describe(
        "j",
        &json!([{"name": "e", "executable": program, "env": [["A", "of bpm"]]}]),
    );
    pod.script(
        "j",
        "run",
        "$POD/vcap/jobs/bpm/bin/bpm run j -p e -e A=given -v /tmp:writable; echo status $?",
    );
    let mut container = pod.start(&["errand", "--job", "j"]);
    assert_eq!(container.wait(), 0);
    assert_eq!(container.output(), "given 1000\nstatus 21\n");
    assert_eq!(pod.read("sys/log/j/e.stdout.log"), "given 1000\n");
    assert!(!pod.path("vcap/sys/run/bpm/j/e.pid").exists());
}

const SIDECAR: [&str; 7] = ["scripts", "--job", "j", "--members", "j/a,j/b", "--scripts", "j"];

fn ready(pod: &Pod) -> i32 {
    pod.run(pod.command(&["ready", "--job", "j"])).0
}

fn two_processes(pod: &Pod) {
    let path = pod.script("j", "run-it", "exec sleep 1000");
    pod.describe(
        "j",
        &json!([{"name": "a", "executable": path}, {"name": "b", "executable": path}]),
    );
}

#[test]
fn post_start_runs_once_when_all_processes_run_and_the_condition_holds() {
    let pod = Pod::new();
    two_processes(&pod);
    pod.script("j", "post-start", "echo post-start");
    let condition = json!(["test", "-e", pod.path("condition")]);
    pod.describe_more("j", &json!({"condition": condition}));
    let mut arguments = SIDECAR.to_vec();
    arguments.extend(["--condition", "described"]);
    let mut sidecar = pod.start(&arguments);
    let _a = pod.start(&["process", "--job", "j", "--process", "a"]);
    std::thread::sleep(QUIET_DURATION);
    assert_eq!((sidecar.output().as_str(), ready(&pod)), ("", 1));
    let _b = pod.start(&["process", "--job", "j", "--process", "b"]);
    std::thread::sleep(QUIET_DURATION);
    assert_eq!((sidecar.output().as_str(), ready(&pod)), ("", 1));
    fs::write(pod.path("condition"), "").unwrap();
    sidecar.says("post-start\n");
    until("readiness", || ready(&pod) == 0);
    // Killed and started again, as by the kubelet: not once more.
    sidecar.signal(Signal::KILL);
    sidecar.wait();
    assert_eq!(ready(&pod), 1);
    let sidecar = pod.start(&arguments);
    until("readiness", || ready(&pod) == 0);
    assert_eq!(sidecar.output(), "");
}

#[test]
fn a_post_start_that_fails_ends_the_sidecar() {
    let pod = Pod::new();
    two_processes(&pod);
    pod.script("j", "post-start", "echo no >&2; exit 7");
    let mut sidecar = pod.start(&SIDECAR);
    let _a = pod.start(&["process", "--job", "j", "--process", "a"]);
    let _b = pod.start(&["process", "--job", "j", "--process", "b"]);
    assert_eq!(sidecar.wait(), 1);
    assert!(
        sidecar
            .error()
            .contains("no\ncontainer-run: script 'post-start' of job 'j' failed: exit status 7"),
        "{}",
        sidecar.error()
    );
    assert_eq!(ready(&pod), 1);
}

#[test]
fn post_deploy_runs_once_for_each_new_value() {
    let pod = Pod::new();
    two_processes(&pod);
    pod.script("j", "post-deploy", "echo deployed");
    let file = pod.path("annotation").display().to_string();
    fs::write(&file, "").unwrap();
    let mut arguments = SIDECAR.to_vec();
    arguments.extend(["--post-deploy", &file]);
    let sidecar = pod.start(&arguments);
    let _a = pod.start(&["process", "--job", "j", "--process", "a"]);
    let _b = pod.start(&["process", "--job", "j", "--process", "b"]);
    until("readiness", || ready(&pod) == 0);
    assert_eq!(sidecar.output(), "");
    for count in 1..3 {
        fs::write(&file, format!("version-{count}")).unwrap();
        until("post-deploy", || sidecar.output().matches("deployed").count() == count);
        std::thread::sleep(QUIET_DURATION);
        assert_eq!(sidecar.output().matches("deployed").count(), count);
    }
}

#[test]
fn post_stop_runs_when_no_process_lives() {
    let pod = Pod::new();
    two_processes(&pod);
    pod.script("j", "post-stop", "echo post-stop");
    let mut sidecar = pod.start(&SIDECAR);
    let mut a = pod.start(&["process", "--job", "j", "--process", "a"]);
    until("a", || pod.path("vcap/sys/run/bpm/j/a.pid").exists());
    // Only this container is stopped: the pod is not stopping.
    assert_eq!((sidecar.stop(), sidecar.output().as_str()), (0, ""));
    let mut sidecar = pod.start(&SIDECAR);
    a.stop();
    assert_eq!((sidecar.stop(), sidecar.output().as_str()), (0, "post-stop\n"));
}
