//! The output of a run: the same bytes every time, all files or none, and no error if its reader closes the pipe.

use boson_tests::{Ran, binary, host, root};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn example() -> PathBuf {
    root().join("docs/examples/nats")
}

/// Arguments that convert the example, with a store in the working directory.
fn convert(more: &[&str]) -> Vec<String> {
    let at = |path: &str| example().join(path).display().to_string();
    let mut arguments = vec![
        "convert".to_string(),
        at("manifest.yml"),
        "-v".into(),
        "system_domain=example.com".into(),
    ];
    for release in ["messaging", "smoke"] {
        arguments.extend(["--release".into(), at(&format!("releases/{release}"))]);
    }
    arguments.extend(["--vars-store".into(), "vars.yml".into()]);
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

fn run(directory: &Path, more: &[&str]) -> Ran {
    host(directory, convert(more)).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A directory with a store that has every value.
fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::copy(
        root().join("tests/fixtures/nats/vars.yml"),
        scratch.path().join("vars.yml"),
    )
    .unwrap();
    scratch
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let scratch = scratch();
    for target in ["kubernetes", "quarks"] {
        let first = run(scratch.path(), &["--target", target]);
        assert_eq!(first.code, 0, "{}", first.stderr);
        for _ in 0..3 {
            let again = run(scratch.path(), &["--target", target]);
            assert_eq!(first.stdout, again.stdout, "{target}");
            assert_eq!(first.stderr, again.stderr, "{target}");
        }
    }
}

#[test]
fn generated_values_are_stored_and_reused() {
    let scratch = tempfile::tempdir().unwrap();
    let first = run(scratch.path(), &[]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let store = std::fs::read_to_string(scratch.path().join("vars.yml")).unwrap();
    let again = run(scratch.path(), &[]);
    assert_eq!(first.stdout, again.stdout);
    assert_eq!(store, std::fs::read_to_string(scratch.path().join("vars.yml")).unwrap());
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(scratch.path().join("vars.yml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "the store holds keys");
    assert_eq!(names(scratch.path()), ["vars.yml", "vars.yml.options"]);
}

#[test]
fn files_hold_what_would_be_printed() {
    let scratch = scratch();
    let printed = run(scratch.path(), &[]).stdout;
    let ran = run(scratch.path(), &["--out", "made/here"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let directory = scratch.path().join("made/here");
    let files = names(&directory);
    let (objects, others): (Vec<&String>, Vec<&String>) = files.iter().partition(|name| name.ends_with(".yaml"));
    assert_eq!(others, [".boson-nats.files"], "what kubectl passes over");
    let documents = |text: &str| {
        let mut all: Vec<String> = text
            .split("---\n")
            .map(|one| one.trim().to_string())
            .filter(|one| !one.is_empty())
            .collect();
        all.sort();
        all
    };
    let written: Vec<String> = objects
        .into_iter()
        .map(|name| std::fs::read_to_string(directory.join(name)).unwrap())
        .collect();
    assert_eq!(documents(&written.join("---\n")), documents(&printed));
    let again = run(scratch.path(), &["--out", "made/here"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(
        names(&directory),
        files,
        "a second run replaces, and leaves nothing else"
    );
}

#[test]
fn nothing_is_written_after_an_error() {
    let scratch = scratch();
    let before = names(scratch.path());
    let ran = run(scratch.path(), &["--out", "made", "-v", "broken"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(names(scratch.path()), before);
    std::fs::write(scratch.path().join("bad.yml"), "- {type: remove, path: /nothing}\n").unwrap();
    let before = names(scratch.path());
    let ran = run(scratch.path(), &["--out", "made", "-o", "bad.yml"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(names(scratch.path()), before);
}

#[test]
fn an_unwritable_output_is_reported_and_not_changed() {
    let scratch = scratch();
    std::fs::write(scratch.path().join("file"), "in the way").unwrap();
    let before = names(scratch.path());
    for out in ["file", "file/below", "/proc/nothing", "/dev/null/x"] {
        let ran = run(scratch.path(), &["--out", out]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{out}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("'{out}'")),
            "names the place: {}",
            ran.stderr
        );
        assert_eq!(names(scratch.path()), before);
    }
}

#[test]
fn a_write_error_is_reported_with_a_code() {
    let scratch = scratch();
    std::fs::write(scratch.path().join("file"), "in the way").unwrap();
    let ran = run(scratch.path(), &["--out", "file"]);
    assert!(ran.stderr.contains("error[output-unwritable]: "), "{}", ran.stderr);
}

#[test]
fn files_are_replaced_together_or_not_at_all() {
    let scratch = scratch();
    assert_eq!(run(scratch.path(), &["--out", "made"]).code, 0);
    let made = scratch.path().join("made");
    let mut files = names(&made);
    let blocked = files.pop().unwrap();
    // The inventory is written first: it names what may exist, so that a later run can remove it.
    files.retain(|file| file != ".boson-nats.files");
    for file in &files {
        std::fs::write(made.join(file), "old").unwrap();
    }
    std::fs::remove_file(made.join(&blocked)).unwrap();
    std::fs::create_dir_all(made.join(&blocked).join("in the way")).unwrap();
    let before = names(&made);
    let ran = run(scratch.path(), &["--out", "made"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(&blocked), "{}", ran.stderr);
    assert_eq!(names(&made), before, "no temporary files stay");
    for file in &files {
        assert_eq!(std::fs::read_to_string(made.join(file)).unwrap(), "old", "{file}");
    }
}

#[test]
fn an_unwritable_store_is_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let mut arguments = convert(&[]);
    let place = arguments.iter().position(|one| one == "vars.yml").unwrap();
    arguments[place] = "no/such/directory/vars.yml".into();
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("no/such/directory/vars.yml"), "{}", ran.stderr);
    assert!(names(scratch.path()).is_empty());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let scratch = scratch();
    for arguments in [
        convert(&[]),
        vec!["explain".into()],
        vec!["plugin".into(), "list".into()],
    ] {
        let mut child = Command::new(binary().unwrap())
            .args(&arguments)
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert!(
            !said.contains("panicked") && !said.contains("Broken pipe"),
            "{arguments:?}: {said}"
        );
        assert_eq!(status.code(), Some(0), "{arguments:?}: {said}");
    }
}

#[test]
fn a_full_disk_is_reported() {
    let scratch = scratch();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let output = Command::new(binary().unwrap())
        .args(convert(&[]))
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left"), "{said}");
}

#[test]
fn strict_makes_warnings_errors() {
    let scratch = scratch();
    std::fs::write(
        scratch.path().join("typo.yml"),
        "- {type: replace, path: /instance_grups?, value: []}\n",
    )
    .unwrap();
    let ran = run(scratch.path(), &["-o", "typo.yml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning[") && ran.stderr.contains("instance_grups"),
        "{}",
        ran.stderr
    );
    let ran = run(scratch.path(), &["-o", "typo.yml", "--strict"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error[convert-strict]") && ran.stderr.contains("instance_grups"),
        "{}",
        ran.stderr
    );
}
