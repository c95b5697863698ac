//! As the first process of a pid namespace, with full and read-only file systems, and without a single library.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::pod::{Pod, is_root, until};

const RUN: [&str; 5] = ["process", "--job", "j", "--process", "j"];

#[test]
fn as_the_first_process_it_reaps_and_passes_signals_and_the_status_on() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    let text = "for i in $(seq 50); do (sleep 0.01 &) ; done; setsid sleep 1000 &
        sleep 0.5
        while grep -qs '^State:.Z' /proc/[0-9]*/status; do sleep 0.05; done
        trap 'exit 6' TERM
        echo first is $(cat /proc/1/comm), processes $(ls -d /proc/[0-9]* | wc -l), pid file $(cat $POD/vcap/sys/run/bpm/j/j.pid) $$
        while :; do sleep 0.1; done";
    pod.job("j", text, json!({"privileged": true}));
    let mut container =
        pod.spawn(pod.command_under(&["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"], &RUN));
    container.says("pid file");
    let output = container.output();
    assert!(output.starts_with("first is container-run, processes "), "{output}");
    let ids = output
        .trim()
        .rsplit_once("pid file ")
        .unwrap()
        .1
        .split_once(' ')
        .unwrap();
    assert_eq!(ids.0, ids.1, "{output}");
    // unshare is between: it passes no signal on.
    let container_run = crate::pod::below(container.pid().as_raw_nonzero().get().unsigned_abs())[0];
    rustix::process::kill_process(container_run, Signal::TERM).unwrap();
    assert_eq!(container.wait(), 6);
}

/// Mounts something and then becomes container-run.
fn with_mounts(pod: &Pod, mounts: &str) -> Command {
    let text = format!("set -e; {mounts}; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", &text, "mounts"]);
    command.arg(pod.path("container-run/bin/container-run")).args(RUN);
    command.env("BPM_BOSH_ROOT", pod.path("vcap"));
    command
}

#[test]
fn a_full_disk_loses_output_and_nothing_else() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    let text = "head -c 200000 /dev/zero | tr '\\0' x; echo
        while [ -e $POD/vcap/sys/log/j/filler ]; do sleep 0.05; done; echo the end";
    pod.job("j", text, json!({}));
    let log = pod.path("vcap/sys/log/j").display().to_string();
    let mounts = format!(
        "mount -t tmpfs -o size=128k,mode=777 log {log}; head -c 65536 /dev/zero >{log}/filler; trap 'cat {log}/*' EXIT"
    );
    let mut container = pod.spawn(with_mounts(&pod, &mounts));
    until("all that was offered to the disk", || {
        container.output().len() == 200_001
    });
    let filler = format!("/proc/{}/root{log}/filler", container.pid().as_raw_nonzero());
    std::fs::remove_file(filler).unwrap();
    let (code, output, error) = (container.wait(), container.output(), container.error());
    assert_eq!((code, output.len()), (0, 200_009), "{error}");
    assert!(output.ends_with("the end\n"));
    assert_eq!(
        error
            .matches("No space left on device (os error 28): output is not stored there")
            .count(),
        1,
        "{error}"
    );
    assert_eq!(error.matches("written again; ").count(), 1, "{error}");
}

#[test]
fn a_read_only_root_costs_files_and_not_the_process() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    pod.job("j", "echo out; echo err >&2; exit 3", json!({}));
    let root = pod.path("").display().to_string();
    let mounts = format!("mount --bind {root} {root}; mount -o remount,ro,bind {root}");
    let (code, output, error) = pod.run(with_mounts(&pod, &mounts));
    assert_eq!((code, output.as_str()), (3, "out\n"), "{error}");
    assert!(
        error.contains("Read-only file system") && error.contains("\nerr\n"),
        "{error}"
    );
}

/// The static binary that `.ci/container-run` built. What cargo builds for tests needs the machine's libraries.
fn static_binary() -> Option<PathBuf> {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_container-run"));
    let found = built.ancestors().map(|directory| directory.join("container-run"));
    let found = found.skip(2).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: .ci/container-run has built no static binary");
    }
    found
}

/// By another process: see [`Pod::script`].
fn copy(program: &Path, to: &Path) {
    assert!(Command::new("cp").args([program, to]).status().unwrap().success());
}

#[test]
fn it_runs_where_there_is_nothing_else() {
    let Some(binary) = static_binary().filter(|_| is_root()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    copy(&binary, &directory.path().join("container-run"));
    let output = Command::new("chroot")
        .arg(directory.path())
        .args(["/container-run", "version"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.starts_with(b"container-run "));
    // And starts programs there: itself.
    std::fs::remove_file(directory.path().join("container-run")).unwrap();
    for place in ["bin", "dev", "processes"] {
        std::fs::create_dir_all(directory.path().join(place)).unwrap();
    }
    copy(&binary, &directory.path().join("bin/container-run"));
    // What every container has.
    std::fs::write(directory.path().join("dev/null"), "").unwrap();
    let description = json!({"version": 1, "job": "j", "processes": [
        {"name": "j", "executable": "/bin/container-run", "args": ["version"], "workdir": "/"}]});
    // Without /proc it determines its path from its own name.
    let place = directory.path().join("processes/j.json");
    std::fs::write(place, description.to_string()).unwrap();
    let output = Command::new("chroot")
        .arg(directory.path())
        .arg("/bin/container-run")
        .args(RUN)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.starts_with(b"container-run "));
}
