//! Compiles a component in a separate process. Compilation is not covered by fuel: a hostile component can make a
//! compiler use any amount of processor time and memory, or overflow its stack. The same holds for the other tasks.

use crate::error::cut;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Processor time of one compilation, all threads together: it depends on the load of the machine less than wall-clock
/// time does. CRuby, the largest component known, takes 20 s, and 100 s on a virtual machine with busy processors.
const COMPILE_CPU_LIMIT: Duration = Duration::from_secs(240);
/// Processor time of the check of one document, which usually takes milliseconds.
const CHECK_CPU_LIMIT: Duration = Duration::from_secs(5);
/// Wall-clock time that a process may take, as a multiple of its processor time: on a busy machine, or in a pod with a
/// tenth of a processor, it waits most of its life. This ends a process that waits for ever.
const DEADLINE_FACTOR: u32 = 12;
/// Bytes of machine code of one component. CRuby has 100 MB.
pub const MAX_MACHINE_CODE_BYTES: u64 = 384 << 20;

/// Exit code of a compiler whose last line of standard error is the error in the component.
const REFUSED_EXIT_CODE: i32 = 1;
/// Bytes of that line that a message quotes. It may repeat names from the component, of any length.
const MAX_QUOTED_BYTES: usize = 1000;
/// Bytes of standard error that are read at a time, of which the end is retained.
const STDERR_BUFFER_BYTES: usize = 8 << 10;
/// Part of the last line of a Rust program whose stack overflows.
const STACK_OVERFLOW: &str = "stack overflow";
const TOO_DEEP: &str = "is nested too deeply";
/// Pause between two checks whether the compiler has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Numbers of signals (Linux).
mod signal {
    pub const ABRT: i32 = 6;
    pub const KILL: i32 = 9;
    pub const SEGV: i32 = 11;
    pub const XCPU: i32 = 24;
    pub const XFSZ: i32 = 25;
}

/// What a process does that limits itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Compiles a component to machine code: `compile-plugin`.
    Compile,
    /// Makes a component of a core module: `make-component`.
    MakeComponent,
    /// Checks settings against a schema: `check-settings`.
    CheckSettings,
}

// === impl Task ===

impl Task {
    fn command(self) -> &'static str {
        match self {
            Self::Compile => "compile-plugin",
            Self::MakeComponent => "make-component",
            Self::CheckSettings => "check-settings",
        }
    }

    /// Processor time that the process grants itself.
    pub fn cpu_limit(self) -> Duration {
        match self {
            Self::Compile | Self::MakeComponent => COMPILE_CPU_LIMIT,
            Self::CheckSettings => CHECK_CPU_LIMIT,
        }
    }

    /// Time after which the process is killed.
    pub(super) fn deadline(self) -> Duration {
        DEADLINE_FACTOR * self.cpu_limit()
    }

    /// What a sentence about a limit ends with.
    fn purpose(self) -> &'static str {
        match self {
            Self::Compile | Self::MakeComponent => " to compile",
            Self::CheckSettings => "",
        }
    }

    /// The begin of a sentence about a defect.
    fn failure_words(self) -> &'static str {
        match self {
            Self::Compile | Self::MakeComponent => "cannot be compiled",
            Self::CheckSettings => "fails",
        }
    }

    /// Runs `program` for this task; what it writes to standard output.
    ///
    /// # Errors
    /// Why the process did not succeed, as the rest of a sentence about `input`.
    pub fn run(self, program: &Path, input: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.failure_words());
        let memory = memfd_create("component", MemfdFlags::CLOEXEC);
        let mut output = memory.map(File::from).map_err(|error| failed(error.into()))?;
        run(self, program, self.deadline(), input, &output)?;
        let mut bytes = Vec::new();
        output.rewind().map_err(failed)?;
        output.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// Runs `program` with `input` on its standard input, and its output in `code`. Its streams are read and written while
/// it runs, so that it never waits for us. Only a limited part of its standard error is retained.
pub(super) fn run(task: Task, program: &Path, deadline: Duration, input: &[u8], code: &File) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", task.failure_words());
    let mut child = Command::new(program)
        .arg(task.command())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(code.try_clone().map_err(failed)?)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (stdin, errors) = (child.stdin.take(), child.stderr.take());
    let (ended, last) = std::thread::scope(|scope| {
        // A compiler that refuses a component ends before it has read all of it.
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input)));
        let last = scope.spawn(|| errors.map(last_line).unwrap_or_default());
        (wait(&mut child, deadline), last.join().unwrap_or_default())
    });
    match ended.map_err(failed)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(reason(task, status, &last)),
        None => Err(format!("needs more than {} s{}", deadline.as_secs(), task.purpose())),
    }
}

/// Waits for the end of the process, and kills it at the deadline. `None` if it was killed.
fn wait(child: &mut Child, deadline: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if started.elapsed() <= deadline => std::thread::sleep(POLL_INTERVAL),
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            Err(error) => {
                let _ = child.kill();
                return Err(error);
            }
        }
    }
}

/// Reads to the end; the last line, without control characters.
fn last_line(mut stream: impl Read) -> String {
    let (mut end, mut buffer) = (Vec::new(), [0; STDERR_BUFFER_BYTES]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        end.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let surplus = end.len().saturating_sub(STDERR_BUFFER_BYTES);
        end.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&end);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    cut(line.replace(char::is_control, ""), MAX_QUOTED_BYTES, "...")
}

/// Why the compiler did not succeed, in one sentence. Its output is quoted only if it was written for this purpose.
fn reason(task: Task, status: ExitStatus, last: &str) -> String {
    let (aim, fails) = (task.purpose(), task.failure_words());
    match (status.code(), status.signal()) {
        (Some(REFUSED_EXIT_CODE), _) if !last.is_empty() => last.to_string(),
        (_, Some(signal::XCPU)) => format!("needs too much processor time{aim}"),
        (_, Some(signal::XFSZ)) => format!("has more than {} MiB of machine code", MAX_MACHINE_CODE_BYTES >> 20),
        // Rust's runtime notices that a stack overflows, and aborts.
        (_, Some(signal::ABRT)) if last.contains(STACK_OVERFLOW) => TOO_DEEP.to_string(),
        (_, Some(signal::ABRT | signal::KILL)) => format!("needs too much memory{aim}"),
        (_, Some(signal::SEGV)) => TOO_DEEP.to_string(),
        (_, Some(signal)) => format!("{fails}: signal {signal} ended the process"),
        (code, None) => format!(
            "{fails}: the process ended with code {} and without a reason",
            code.unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A script cannot be executed while another thread forks with the script still open for writing.
    static ONE_AT_A_TIME: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

    /// The outcome with this script as the compiler.
    fn outcome(script: &str, deadline: Duration) -> Result<String, String> {
        let _one = ONE_AT_A_TIME.lock();
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("compiler");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let code = File::create(place.path().join("code")).unwrap();
        let component = vec![b'c'; 1 << 20];
        run(Task::Compile, &program, deadline, &component, &code)?;
        Ok(std::fs::read_to_string(place.path().join("code")).unwrap())
    }

    const LONG_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn the_component_goes_in_and_the_code_comes_out() {
        assert_eq!(outcome("wc -c", LONG_TIMEOUT).unwrap().trim(), (1 << 20).to_string());
    }

    #[test]
    fn a_flood_of_errors_neither_blocks_nor_fills_memory() {
        let flood = "yes error | head -c 3000000 >&2; printf 'imports %2000d' 7 >&2; exit 1";
        let message = outcome(flood, LONG_TIMEOUT).unwrap_err();
        assert!(message.starts_with("imports ") && message.ends_with("..."), "{message}");
        assert_eq!(message.len(), MAX_QUOTED_BYTES + 3);
    }

    #[test]
    fn a_compiler_that_sleeps_is_ended() {
        let message = outcome("exec sleep 600", Duration::from_secs(1)).unwrap_err();
        assert_eq!(message, "needs more than 1 s to compile");
    }

    #[test]
    fn the_reason_is_one_sentence_and_never_a_panic() {
        let panic = "echo \"thread 'main' panicked at x.rs:1:1\" >&2; echo 'note: run with RUST_BACKTRACE=1' >&2;";
        for (end, reason) in [
            (
                "exit 101",
                "cannot be compiled: the process ended with code 101 and without a reason",
            ),
            ("kill -ABRT $$", "needs too much memory to compile"),
            (
                "echo 'fatal runtime error: stack overflow, aborting' >&2; kill -ABRT $$",
                "is nested too deeply",
            ),
            ("kill -KILL $$", "needs too much memory to compile"),
            ("kill -SEGV $$", "is nested too deeply"),
            ("kill -XCPU $$", "needs too much processor time to compile"),
            ("kill -XFSZ $$", "has more than 384 MiB of machine code"),
        ] {
            assert_eq!(outcome(&format!("{panic} {end}"), LONG_TIMEOUT).unwrap_err(), reason);
        }
    }
}
