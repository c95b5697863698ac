//! A process as BPM runs it: environment, user, limits, hook, pid file, directories, exit status.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use serde_json::json;

use crate::pod::{LATE_WRITER, Pod, is_root, until};

#[test]
fn the_exit_status_is_that_of_the_process() {
    for (text, expected) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$; sleep 9", 139),
    ] {
        let pod = Pod::new();
        pod.job("j", text, json!({}));
        assert_eq!(pod.process("j").wait(), expected, "{text}");
    }
}

#[test]
fn the_last_lines_of_a_process_that_logs_through_another_program_are_not_lost() {
    let pod = Pod::new();
    pod.job("j", &format!("{LATE_WRITER}; echo why; exit 3"), json!({}));
    let mut container = pod.process("j");
    assert_eq!((container.wait(), container.output().as_str()), (3, "why\n"));
    assert_eq!(pod.read("sys/log/j/j.stdout.log"), "why\n");
}

#[test]
fn the_environment_is_exactly_bpms() {
    let pod = Pod::new();
    pod.describe(
        "j",
        &json!([{"name": "p", "executable": "/usr/bin/env", "env": [["A", "1 $(2)"], ["LANG", "C"], ["POD_IP", "of bpm"]]}]),
    );
    let mut command = pod.command(&[
        "process",
        "--job",
        "j",
        "--process",
        "p",
        "--env",
        "POD_IP",
        "--env",
        "ABSENT",
    ]);
    command
        .env("POD_IP", "10.0.0.1")
        .env("HTTP_PROXY", "http://proxy")
        .env("USER", "root");
    let (code, output, _) = pod.run(command);
    assert_eq!(code, 0);
    let root = pod.path("vcap").display().to_string();
    let expected = [
        "A=1 $(2)".to_string(),
        "LANG=C".to_string(),
        "POD_IP=10.0.0.1".to_string(),
        format!("TMPDIR={root}/data/j/tmp"),
        format!("PATH={root}/jobs/j/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:."),
        format!("HOME={root}/data/j"),
    ];
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(output.lines().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn arguments_and_the_working_directory_are_those_of_bpm_yml() {
    let pod = Pod::new();
    pod.job(
        "j",
        "pwd; printf '<%s>' \"$@\"",
        json!({"args": ["a b", "", "$(X)", "--", "*"]}),
    );
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0);
    let expected = format!("{}\n<a b><><$(X)><--><*>", pod.path("vcap/jobs/j").display());
    assert_eq!(container.output(), expected);

    pod.job("k", "pwd", json!({"workdir": "/usr"}));
    let mut container = pod.process("k");
    container.wait();
    assert_eq!(container.output(), "/usr\n");
}

#[test]
fn limits_are_set_soft_and_hard() {
    let pod = Pod::new();
    let text = "ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc";
    pod.job("j", text, json!({"limits": {"open_files": 123, "core_file_size": 0}}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0, "{}", container.error());
    assert_eq!(container.output(), "123\n123\n0\n0\n");
}

#[test]
fn without_a_limit_there_are_as_many_files_as_bpm_gives_or_the_container_allows() {
    let pod = Pod::new();
    pod.job("j", "ulimit -n", json!({}));
    let mut container = pod.process("j");
    container.wait();
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let expected = hard.map_or(524_288, |hard| hard.min(524_288));
    assert_eq!(container.output(), format!("{expected}\n"));
}

#[test]
fn a_limit_that_the_container_does_not_allow_fails_loudly() {
    let pod = Pod::new();
    pod.job("j", "echo runs", json!({"limits": {"open_files": 1_u64 << 40}}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 125);
    assert!(
        container
            .error()
            .contains("limits.open_files 1099511627776 cannot be set here"),
        "{}",
        container.error()
    );
    assert_eq!(container.output(), "");
}

const STATUS: &str = "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t'";

#[test]
fn root_becomes_vcap_without_groups_and_capabilities() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    pod.job("j", STATUS, json!({}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0);
    let none = "0000000000000000";
    let expected = format!(
        "1000\n1000\n1000\nCapInh:{none}\nCapPrm:{none}\nCapEff:{none}\nCapBnd:{none}\nCapAmb:{none}\nNoNewPrivs:1\n"
    );
    assert_eq!(container.output(), expected);
}

#[test]
fn capabilities_of_bpm_yml_are_in_every_set_and_no_others() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    pod.job("j", STATUS, json!({"capabilities": ["NET_BIND_SERVICE", "SYS_TIME"]}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0, "{}", container.error());
    // Bits 10 and 25.
    let both = "0000000002000400";
    let expected = format!(
        "1000\n1000\n1000\nCapInh:{both}\nCapPrm:{both}\nCapEff:{both}\nCapBnd:{both}\nCapAmb:{both}\nNoNewPrivs:1\n"
    );
    assert_eq!(container.output(), expected);
}

#[test]
fn a_privileged_process_stays_root() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    pod.job(
        "j",
        "id -u; grep NoNewPrivs /proc/self/status",
        json!({"privileged": true}),
    );
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0);
    assert_eq!(container.output(), "0\nNoNewPrivs:\t0\n");
}

#[test]
fn directories_that_root_makes_above_others_are_vcaps() {
    if !is_root() {
        return;
    }
    let pod = Pod::new();
    // As the kubelet makes volumes: for the group of vcap.
    for volume in ["vcap/sys/run", "vcap/data", "vcap/sys/log"] {
        chown(pod.path(volume), None, Some(1000)).unwrap();
        fs::set_permissions(pod.path(volume), fs::Permissions::from_mode(0o2770)).unwrap();
    }
    let volume = |name: &str| json!([{"path": pod.path("vcap/data/shared/deep").join(name), "writable": true}]);
    pod.job("j", "exit 0", json!({"volumes": volume("j")}));
    assert_eq!(pod.process("j").wait(), 0);
    for (path, mode) in [
        ("sys/run/bpm", 0o770),
        ("sys/run/bpm/j", 0o770),
        ("data/shared", 0o770),
        ("data/shared/deep", 0o770),
        ("data/shared/deep/j", 0o700),
    ] {
        let made = fs::metadata(pod.path("vcap").join(path)).unwrap();
        assert_eq!((made.uid(), made.gid()), (1000, 1000), "{path}");
        assert_eq!(made.mode() & 0o777, mode, "{path}: the umask must not apply");
    }
}

#[test]
fn the_hook_runs_before_every_start_as_root_with_the_processs_environment() {
    let pod = Pod::new();
    let hook = pod.script("j", "hook", "echo hook $(id -u) $A");
    pod.job(
        "j",
        "echo process; exit 7",
        json!({"pre_start": hook, "env": [["A", "b"]]}),
    );
    for _ in 0..2 {
        let mut container = pod.process("j");
        assert_eq!(container.wait(), 7);
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(container.output(), format!("hook {user} b\nprocess\n"));
    }
    assert_eq!(pod.read("sys/log/j/j.stdout.log").matches("hook").count(), 2);
}

#[test]
fn a_hook_that_fails_ends_the_container_before_the_process() {
    let pod = Pod::new();
    let hook = pod.script("j", "hook", "exit 4");
    pod.job("j", "echo process", json!({"pre_start": hook}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 4);
    assert!(
        container.error().contains("prestart hook failed: exit status 4"),
        "{}",
        container.error()
    );
    assert_eq!(container.output(), "");
}

#[test]
fn the_pid_file_names_the_process_while_it_runs() {
    let pod = Pod::new();
    pod.job("j", "echo $$; exec sleep 100", json!({}));
    let file = pod.path("vcap/sys/run/bpm/j/j.pid");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    // Left by a container before, and by now the number of something else.
    fs::write(&file, "1").unwrap();
    let mut container = pod.process("j");
    until("the pid file", || {
        let output = container.output();
        !output.is_empty() && fs::read_to_string(&file).is_ok_and(|text| text == output.trim())
    });
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(container.stop(), 143);
    assert!(!file.exists());
}

#[test]
fn directories_are_made_and_vcaps() {
    let pod = Pod::new();
    let volume = pod.path("volume/of/it");
    let more = json!({"ephemeral_disk": true, "persistent_disk": true, "volumes": [
        {"path": volume, "writable": true, "mount_only": false}, {"path": pod.path("not-made"), "writable": true, "mount_only": true}]});
    pod.job("j", "echo x >$TMPDIR/x && echo y >$HOME/y", more);
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 0, "{}", container.error());
    assert!(!pod.path("not-made").exists());
    for path in [
        "vcap/data/j",
        "vcap/data/j/tmp",
        "vcap/store/j",
        "vcap/sys/run/j",
        "volume/of/it",
    ] {
        let metadata = fs::metadata(pod.path(path)).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o700, "{path}");
        if rustix::process::geteuid().is_root() {
            assert_eq!((metadata.uid(), metadata.gid()), (1000, 1000), "{path}");
        }
    }
}

#[test]
fn a_persistent_disk_that_is_missing_is_said_as_by_bpm() {
    let pod = Pod::new();
    fs::remove_dir(pod.path("vcap/store")).unwrap();
    pod.job("j", "echo runs", json!({"persistent_disk": true}));
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 125);
    assert_eq!(
        container.error(),
        "container-run: requested persistent disk does not exist\n"
    );
}
