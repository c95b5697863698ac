//! Points at which a test ends the process, as a crash would: between any two changes of the file system. Compiled for
//! tests only.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use rustix::process::{Signal, getpid, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the point at which the process is killed.
const POINT_VARIABLE: &str = "BOSON_TEST_CRASH_AT";
/// The directory that the process works on.
const DIRECTORY_VARIABLE: &str = "BOSON_TEST_CRASH_DIRECTORY";

/// Kills the process at the point that the test chose. The signal cannot be caught: no destructor runs.
pub fn point() {
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let wanted: Option<u32> = std::env::var(POINT_VARIABLE)
        .ok()
        .and_then(|number| number.parse().ok());
    if wanted == Some(PASSED.fetch_add(1, Ordering::SeqCst)) {
        kill_process(getpid(), Signal::KILL).unwrap();
    }
}

/// Runs `act` in a separate process on a directory that `prepare` has made, once for each point: the process is killed
/// there, and then `check` examines the directory. `test`: the path of the test that calls this, which the process runs
/// again. Ends with the run that passes every point.
pub fn crash_at_each_point(test: &str, prepare: impl Fn(&Path), act: impl Fn(&Path), check: impl Fn(&Path, u32)) {
    if let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) {
        return act(&PathBuf::from(directory));
    }
    for at in 0.. {
        let scratch = tempfile::tempdir().unwrap();
        prepare(scratch.path());
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(POINT_VARIABLE, at.to_string())
            .env(DIRECTORY_VARIABLE, scratch.path())
            .output()
            .unwrap();
        let output = format!(
            "{}{}",
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        );
        match (ran.status.signal(), ran.status.success()) {
            (Some(9), _) => check(scratch.path(), at),
            (None, true) => {
                assert!(output.contains("1 passed"), "there is no test '{test}': {output}");
                assert!(at > 0, "no point was passed");
                return check(scratch.path(), at);
            }
            _ => panic!("point {at}: {:?}\n{output}", ran.status),
        }
    }
}
