//! Values made with a fixed clock, and the tools outside that read them.

use boson_credentials::{ErrorKind, KeySize, Request, RsaKey, Source, System, generate};
use boson_document::{Tree, json};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// 2026-01-02T03:04:05Z.
pub const NOW: u64 = 1_767_323_045;

/// A fixed clock, countable randomness, real keys.
pub struct Fixed(System);

impl Source for Fixed {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(NOW * 1000 + 678)
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        (0..)
            .zip(bytes)
            .for_each(|(nth, byte)| *byte = 0xf0_u8.wrapping_add(nth));
        Ok(())
    }

    fn key(&self, size: KeySize) -> Result<RsaKey, ErrorKind> {
        self.0.key(size)
    }
}

pub fn source() -> Fixed {
    Fixed(System::new())
}

pub fn make(kind: &str, options: &str, signer: Option<&Tree>) -> Result<Tree, String> {
    let options = json::parse(options).unwrap();
    let request = Request {
        name: "v",
        kind,
        options: &options,
        signer,
    };
    generate(&request, &source()).map_err(|error| error.to_string())
}

/// Does what a user would, where the tool is installed. Otherwise prints what is skipped; in continuous integration
/// this is an error instead.
pub fn tool(program: &str, args: &[&str], dir: &Path) -> Option<String> {
    let run = Command::new(program).args(args).current_dir(dir).output();
    let Ok(output) = run else {
        let is_allowed = std::env::var_os("CI").is_none_or(|value| value.is_empty());
        assert!(is_allowed, "{program} is not installed");
        // Bypasses the test harness, which shows output only of tests that fail.
        let _ = writeln!(
            std::io::stderr(),
            "skipped a comparison with {program}, which is not installed"
        );
        return None;
    };
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

pub fn written(value: &Tree) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in value.as_object().unwrap() {
        std::fs::write(dir.path().join(name), text.as_str().unwrap()).unwrap();
    }
    dir
}
