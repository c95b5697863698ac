//! BPM's way of stopping a process, and what happens to signals and to processes below.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::pod::{Pod, until};

#[test]
fn the_signal_is_that_of_bpm_yml_and_goes_to_the_process_alone() {
    for (member, signal) in [(json!({}), "TERM"), (json!({"shutdown_signal": "INT"}), "INT")] {
        let pod = Pod::new();
        let text = format!(
            "(trap 'echo grandchild' TERM INT; while :; do sleep 0.05; done) &
            trap 'echo got {signal}; sleep 0.5; exit 5' {signal}
            sleep 0.3; echo ready; while :; do sleep 0.05; done"
        );
        pod.job("j", &text, member);
        let mut container = pod.process("j");
        container.says("ready");
        assert_eq!(container.stop(), 5);
        assert_eq!(container.output(), format!("ready\ngot {signal}\n"));
    }
}

#[test]
fn a_process_that_ignores_term_gets_quit_after_15_seconds_and_is_killed_2_seconds_later() {
    let pod = Pod::new();
    pod.job(
        "j",
        "trap 'echo term at $SECONDS' TERM; trap 'echo quit' QUIT; echo ready; while :; do sleep 0.1; done",
        json!({}),
    );
    let mut container = pod.process("j");
    container.says("ready");
    let start = Instant::now();
    assert_eq!(container.stop(), 137);
    let seconds = start.elapsed().as_secs_f32();
    assert!((17.0..30.0).contains(&seconds), "{seconds}");
    assert!(container.output().contains("quit"), "{}", container.output());
}

#[test]
fn what_outlives_the_process_is_killed_in_any_session() {
    let pod = Pod::new();
    let text = "setsid sleep 1000 & echo $! >$POD/one
        (setsid bash -c 'trap \"\" TERM HUP; sleep 1001 & echo $! >'$POD'/two; wait' &)
        while [ ! -s $POD/two ]; do sleep 0.05; done
        exit 9";
    pod.job("j", text, json!({}));
    if rustix::process::geteuid().is_root() {
        for name in ["one", "two"] {
            std::fs::write(pod.path(name), "").unwrap();
            std::os::unix::fs::chown(pod.path(name), Some(1000), Some(1000)).unwrap();
        }
    }
    let mut container = pod.process("j");
    assert_eq!(container.wait(), 9);
    for name in ["one", "two"] {
        let pid = std::fs::read_to_string(pod.path(name)).unwrap().trim().parse().unwrap();
        assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "{name} lives");
    }
}

#[test]
fn signals_are_passed_on() {
    let pod = Pod::new();
    let text = "for s in HUP USR1 USR2 QUIT WINCH ALRM; do trap \"echo $s\" $s; done; echo ready; while :; do sleep 0.02; done";
    pod.job("j", text, json!({}));
    let mut container = pod.process("j");
    container.says("ready");
    for (signal, name) in [
        (Signal::HUP, "HUP"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::QUIT, "QUIT"),
        (Signal::WINCH, "WINCH"),
        (Signal::ALARM, "ALRM"),
    ] {
        container.signal(signal);
        container.says(name);
    }
    assert_eq!(container.stop(), 143);
}

#[test]
fn a_storm_of_signals_harms_neither_container_run_nor_process() {
    let pod = Pod::new();
    let text = "trap 'hups=1' HUP; trap ':' USR1 USR2 WINCH; trap 'echo hups $hups; exit 6' TERM; echo ready; while :; do sleep 0.05; done";
    pod.job("j", text, json!({}));
    let mut container = pod.process("j");
    container.says("ready");
    let storm = [
        Signal::HUP,
        Signal::USR1,
        Signal::USR2,
        Signal::WINCH,
        Signal::CHILD,
        Signal::PIPE,
        Signal::XFSZ,
    ];
    for _ in 0..5000 {
        for signal in storm {
            container.signal(signal);
        }
    }
    assert!(!container.has_ended());
    for _ in 0..1000 {
        if kill_process(container.pid(), Signal::TERM).is_err() {
            break;
        }
    }
    assert_eq!(container.wait(), 6);
    assert!(container.output().ends_with("hups 1\n"), "{}", container.output());
}

#[test]
fn a_hook_that_is_stopped_ends_the_container() {
    let pod = Pod::new();
    let hook = pod.script("j", "hook", "echo hook; exec sleep 1000");
    pod.job("j", "echo process", json!({"pre_start": hook}));
    let mut container = pod.process("j");
    container.says("hook");
    assert_eq!(container.stop(), 143);
    assert!(!container.output().contains("process"));
}

#[test]
fn orphans_are_reaped() {
    let pod = Pod::new();
    let text = "for i in $(seq 50); do (sleep 0.01 &) ; done; sleep 0.5; echo ready; exec sleep 1000";
    pod.job("j", text, json!({}));
    let container = pod.process("j");
    container.says("ready");
    until("one child", || {
        crate::pod::below(container.pid().as_raw_nonzero().get().unsigned_abs()).len() == 1
    });
}
