//! A pod without containers: a directory with the files that container-run finds in one, and programs that run as its
//! containers would.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything takes on a machine with much else to do.
const WAIT_TIMEOUT: Duration = Duration::from_secs(40);

/// How long tests watch that nothing happens.
pub const QUIET_DURATION: Duration = Duration::from_millis(500);

/// A script's first line: another program, which ends after the script, writes what the script prints.
pub const LATE_WRITER: &str = "exec > >(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; sleep 0.2; cat)";

pub struct Pod {
    directory: TempDir,
}

/// A container that runs.
pub struct Container {
    child: Child,
    output: PathBuf,
    error: PathBuf,
}

/// Whether the test runs as root; otherwise prints why it is skipped. In continuous integration this is an error
/// instead.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        assert!(
            std::env::var_os("CI").is_none_or(|value| value.is_empty()),
            "needs root"
        );
        // Bypasses the test harness, which shows output only of tests that fail.
        let _ = writeln!(std::io::stderr(), "skipped a test of container-run: it needs root");
    }
    root
}

/// Waits until something is the case.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT_TIMEOUT;
    while !is() {
        assert!(Instant::now() < end, "{what}: not within {} s", WAIT_TIMEOUT.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

// === impl Pod ===

impl Pod {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // For vcap, too.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let pod = Self { directory };
        for path in ["vcap/jobs", "vcap/sys/log", "vcap/sys/run", "vcap/data", "vcap/store"] {
            fs::create_dir_all(pod.path(path)).unwrap();
        }
        let own = pod.path("container-run");
        // As the kubelet makes it for the sidecar `logs`, which starts before container-run is installed.
        fs::create_dir_all(own.join("logs")).unwrap();
        let made = Command::new(env!("CARGO_BIN_EXE_container-run"))
            .arg("install")
            .arg(&own)
            .arg("--jobs")
            .arg(pod.path("vcap/jobs"))
            .status();
        assert!(made.unwrap().success());
        pod
    }

    /// A path in the pod's directory.
    pub fn path(&self, inner: &str) -> PathBuf {
        self.directory.path().join(inner)
    }

    /// The text of a file below `/var/vcap`; empty if the file is missing.
    pub fn read(&self, inner: &str) -> String {
        fs::read_to_string(self.path("vcap").join(inner)).unwrap_or_default()
    }

    /// A shell script of a job; `$POD` is the pod's directory in it.
    pub fn script(&self, job: &str, name: &str, text: &str) -> String {
        let path = self.path(&format!("vcap/jobs/{job}/bin/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(self.path(&format!("vcap/sys/log/{job}"))).unwrap();
        let text = format!("#!/bin/bash\nPOD={}\n{text}\n", self.directory.path().display());
        // By another process: a program that another thread starts at this moment holds the files that are open here
        // until it is executed, and a script that is open for writing cannot be executed.
        let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh"]).arg(&path).arg(text);
        assert!(shell.status().unwrap().success());
        path.display().to_string()
    }

    /// Writes what template-render writes in a pod.
    pub fn describe(&self, job: &str, processes: &Value) {
        let text = json!({"version": 1, "job": job, "processes": processes}).to_string();
        fs::write(self.path(&format!("container-run/processes/{job}.json")), text).unwrap();
        fs::create_dir_all(self.path(&format!("vcap/jobs/{job}"))).unwrap();
    }

    /// Adds members to what [`Pod::describe`] wrote.
    pub fn describe_more(&self, job: &str, members: &Value) {
        let path = self.path(&format!("container-run/processes/{job}.json"));
        let mut text: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let members = members.as_object().cloned().unwrap_or_default();
        text.as_object_mut().unwrap().extend(members);
        fs::write(path, text.to_string()).unwrap();
    }

    /// A job with one process of its name, a shell script.
    pub fn job(&self, job: &str, text: &str, more: Value) {
        let path = self.script(job, "run-it", text);
        let mut process = json!({"name": job, "executable": path});
        let members = more.as_object().cloned().unwrap_or_default();
        process.as_object_mut().unwrap().extend(members);
        self.describe(job, &json!([process]));
    }

    /// A command of container-run's program.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("container-run/bin/container-run"));
        command.args(arguments);
        self.surround(&mut command);
        command
    }

    /// The same under another program, such as `unshare`.
    pub fn command_under(&self, under: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(under[0]);
        command.args(&under[1..]);
        command
            .arg(self.path("container-run/bin/container-run"))
            .args(arguments);
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        command.env("BPM_BOSH_ROOT", self.path("vcap")).stdin(Stdio::null());
    }

    /// Starts a container.
    pub fn start(&self, arguments: &[&str]) -> Container {
        self.spawn(self.command(arguments))
    }

    /// Starts the container of a job's process of the same name.
    pub fn process(&self, job: &str) -> Container {
        self.start(&["process", "--job", job, "--process", job])
    }

    /// Waits until container-run has noticed that a job's process of the same name runs.
    pub fn runs(&self, job: &str) {
        let ready = ["ready", "--job", job, "--process", job];
        until(&format!("'{job}' runs"), || self.run(self.command(&ready)).0 == 0);
    }

    /// Starts a command, with its output in files.
    pub fn spawn(&self, mut command: Command) -> Container {
        let (output, error) = (tempfile(self.directory.path()), tempfile(self.directory.path()));
        command.stdout(File::create(&output).unwrap());
        command.stderr(File::create(&error).unwrap());
        Container {
            child: command.spawn().unwrap(),
            output,
            error,
        }
    }

    /// Runs a command to its end: status, standard output, standard error.
    pub fn run(&self, command: Command) -> (i32, String, String) {
        let mut container = self.spawn(command);
        let code = container.wait();
        (code, container.output(), container.error())
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        // A container-run that is killed while it starts may leave its process behind.
        let own = self.directory.path().as_os_str().as_encoded_bytes();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.and_then(Pid::from_raw)
                && command.windows(own.len()).any(|part| part == own)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn tempfile(directory: &Path) -> PathBuf {
    let (_, path) = tempfile::NamedTempFile::new_in(directory).unwrap().keep().unwrap();
    path
}

// === impl Container ===

impl Container {
    /// Of container-run.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// On a busy machine, a program may not have started when its test continues. As the first process of a container
    /// it would not end by the signal.
    fn handles_term(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask & (1 << (Signal::TERM.as_raw() - 1)) != 0)
    }

    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap()).into_owned()
    }

    pub fn error(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.error).unwrap()).into_owned()
    }

    /// Whether it has this file open, and has read it to its end.
    pub fn has_read(&self, file: &Path) -> bool {
        let file = fs::canonicalize(file).unwrap();
        let end = format!("pos:\t{}", fs::metadata(&file).unwrap().len());
        let of_process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let mut descriptors = fs::read_dir(of_process.join("fd")).into_iter().flatten().flatten();
        descriptors.any(|descriptor| {
            let info = of_process.join("fdinfo").join(descriptor.file_name());
            fs::read_link(descriptor.path()).is_ok_and(|open| open == file)
                && fs::read_to_string(info).is_ok_and(|text| text.lines().any(|line| line == end))
        })
    }

    /// Waits for this in its standard output.
    pub fn says(&self, text: &str) {
        until(&format!("'{text}' in the output"), || self.output().contains(text));
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end: the exit status, or 128 and the signal.
    pub fn wait(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        until("the end", || self.has_ended());
        let status = self.child.wait().unwrap();
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
    }

    /// Requests its stop as soon as it handles the signal, and waits until it has exited.
    pub fn stop(&mut self) -> i32 {
        until("a handler of TERM", || self.handles_term() || self.has_ended());
        self.signal(Signal::TERM);
        self.wait()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; container-run ends what is below it.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let below = below(self.child.id());
            drop(self.child.kill());
            drop(self.child.wait());
            for pid in below {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// All processes below this one.
pub fn below(root: u32) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()) {
                open.push(child);
                found.extend(Pid::from_raw(i32::try_from(child).unwrap()));
            }
        }
    }
    found
}
