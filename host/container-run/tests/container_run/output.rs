//! Logs: a file of BPM's name and the container's log; full, missing and stuck ones.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::pod::Pod;

#[test]
fn output_is_in_files_that_are_appended_to_and_in_the_containers_log() {
    let pod = Pod::new();
    pod.job("j", "echo out; echo err >&2", json!({}));
    for _ in 0..2 {
        let mut container = pod.process("j");
        assert_eq!(container.wait(), 0);
        assert_eq!(
            (container.output(), container.error()),
            ("out\n".to_string(), "err\n".to_string())
        );
    }
    assert_eq!(pod.read("sys/log/j/j.stdout.log"), "out\nout\n");
    assert_eq!(pod.read("sys/log/j/j.stderr.log"), "err\nerr\n");
    let metadata = fs::metadata(pod.path("vcap/sys/log/j/j.stdout.log")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    if rustix::process::geteuid().is_root() {
        assert_eq!((metadata.uid(), metadata.gid()), (1000, 1000));
    }
}

#[test]
fn ten_megabytes_a_second_arrive_whole_in_both() {
    let pod = Pod::new();
    // 40 MB, as fast as they can be written.
    pod.job(
        "j",
        "yes 'a line of a log, of a usual length, is about this long, more or less' | head -c 40000000",
        json!({}),
    );
    let mut command = pod.command(&["process", "--job", "j", "--process", "j"]);
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut read = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut read).unwrap();
    assert!(child.wait().unwrap().success());
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} MB/s", 40.0 / seconds);
    assert_eq!(read.len(), 40_000_000);
    assert!(fs::read(pod.path("vcap/sys/log/j/j.stdout.log")).unwrap() == read);
    assert!(seconds < 4.0 * 5.0, "{seconds} s, even on a busy machine");
}

#[test]
fn an_unread_container_log_stops_no_process() {
    let pod = Pod::new();
    pod.job(
        "j",
        "yes 0123456789 | head -c 3000000; echo >$POD/vcap/data/j/done
        until [ -e $POD/is-read ]; do sleep 0.05; done; echo the end",
        json!({"ephemeral_disk": true}),
    );
    let mut command = pod.command(&["process", "--job", "j", "--process", "j"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    crate::pod::until("the process continues", || pod.path("vcap/data/j/done").exists());
    // There is room again for the message about what is missing, and for the end.
    let mut read = String::new();
    pipe.by_ref().take(16 << 10).read_to_string(&mut read).unwrap();
    fs::write(pod.path("is-read"), "").unwrap();
    pipe.read_to_string(&mut read).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(read.len() < 2_000_000, "{}", read.len());
    assert!(
        read.contains("bytes of output are not in the container's log"),
        "{}",
        &read[read.len() - 300..]
    );
    assert!(read.ends_with("the end\n"));
    assert_eq!(pod.read("sys/log/j/j.stdout.log").len(), 3_000_000 + "the end\n".len());
}

#[test]
fn a_file_that_cannot_grow_loses_output_and_nothing_else() {
    let pod = Pod::new();
    pod.job("j", "yes 0123456789 | head -c 300000; echo the end", json!({}));
    let run = ["process", "--job", "j", "--process", "j"];
    let (code, output, error) = pod.run(pod.command_under(&["prlimit", "--fsize=1000000"], &run));
    assert_eq!((code, output.len(), error.as_str()), (0, 300_008, ""));
    // The container's own log is a file in this test, and limited by the same: 400 kB in all.
    let (code, _, error) = pod.run(pod.command_under(&["prlimit", "--fsize=400000"], &run));
    assert_eq!(code, 0);
    assert_eq!(
        error
            .matches("File too large (os error 27): output is not stored there")
            .count(),
        1,
        "{error}"
    );
    assert_eq!(
        fs::metadata(pod.path("vcap/sys/log/j/j.stdout.log")).unwrap().len(),
        400_000
    );
}

#[test]
fn a_log_that_is_a_link_or_a_directory_is_not_written_to() {
    let pod = Pod::new();
    pod.job("j", "echo out; echo err >&2", json!({}));
    let victim = pod.path("victim");
    fs::write(&victim, "").unwrap();
    symlink(&victim, pod.path("vcap/sys/log/j/j.stdout.log")).unwrap();
    fs::create_dir(pod.path("vcap/sys/log/j/j.stderr.log")).unwrap();
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0);
    assert_eq!(container.output(), "out\n");
    assert_eq!(fs::read_to_string(victim).unwrap(), "");
    let error = container.error();
    assert!(
        error.contains("j.stdout.log: Too many levels of symbolic links") && error.contains("err\n"),
        "{error}"
    );
    assert!(error.contains("j.stderr.log: Is a directory"), "{error}");
}

#[test]
fn files_are_rotated_and_the_oldest_are_deleted() {
    let pod = Pod::new();
    pod.job(
        "j",
        "for i in 1 2 3 4 5 6; do
            head -c 600 /dev/zero | tr '\\0' $i
            until grep -qs $i $POD/vcap/sys/log/j/j.stdout.log; do sleep 0.02; done
        done",
        json!({}),
    );
    let mut container = pod.start(&[
        "process",
        "--job",
        "j",
        "--process",
        "j",
        "--log-size",
        "1000",
        "--log-files",
        "3",
    ]);
    assert_eq!(container.wait(), 0);
    let files = ["", ".1", ".2", ".3", ".4"].map(|end| pod.read(&format!("sys/log/j/j.stdout.log{end}")));
    assert_eq!(files[0], "6".repeat(600));
    assert_eq!(files[3], "3".repeat(600));
    assert_eq!(files[4], "");
    assert_eq!(container.output().len(), 3600);
}

#[test]
fn a_container_log_that_is_closed_is_no_failure() {
    let pod = Pod::new();
    pod.job("j", "for i in 1 2 3; do echo $i; sleep 0.1; done; exit 8", json!({}));
    let mut command = pod.command(&["process", "--job", "j", "--process", "j"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(8));
    assert_eq!(pod.read("sys/log/j/j.stdout.log"), "1\n2\n3\n");
}
