//! Pre-render scripts: their order, where they run, and what a second try starts from.

use std::fs;

use crate::pod::{LATE_WRITER, Pod};

/// A volume of job sources with one release, and scripts of the job `j`.
fn volume(pod: &Pod, scripts: &[(&str, &str)]) -> String {
    let source = pod.path("all-releases/jobs-src/r/j/templates");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("app.erb"), "port: 1\n").unwrap();
    let directory = pod.path("all-releases/pre-render/j");
    fs::create_dir_all(&directory).unwrap();
    for (name, text) in scripts {
        fs::write(directory.join(name), text).unwrap();
    }
    pod.path("all-releases").display().to_string()
}

fn run(pod: &Pod, volume: &str) -> (u8, String, String) {
    let mut command = pod.command(&["pre-render", "--job", "j", "--sources", volume, "--env", "POD_ORDINAL"]);
    command.env("POD_ORDINAL", "2").env("SECRET", "x");
    let (code, output, error) = pod.run(command);
    (u8::try_from(code).unwrap(), output, error)
}

#[test]
fn scripts_change_the_sources_in_their_order() {
    let pod = Pod::new();
    let volume = volume(
        &pod,
        &[
            (
                "0001-jobs-0",
                "cat >>jobs-src/r/j/templates/app.erb <<END\nsecond: $POD_ORDINAL$SECRET\nEND\n",
            ),
            (
                "0000-bpm-0",
                "echo first >> \"$PWD/jobs-src/r/j/templates/app.erb\"; pwd\n",
            ),
        ],
    );
    let (code, output, error) = run(&pod, &volume);
    assert_eq!((code, output.trim(), error.as_str()), (0, volume.as_str(), ""));
    let changed = fs::read_to_string(pod.path("all-releases/jobs-src/r/j/templates/app.erb")).unwrap();
    assert_eq!(changed, "port: 1\nfirst\nsecond: 2\n");
    assert!(!pod.path("all-releases/saved/j").exists());
}

#[test]
fn the_last_lines_of_a_script_that_fails_are_not_lost() {
    let pod = Pod::new();
    let text = format!("{LATE_WRITER}; echo why; exit 3\n");
    let volume = volume(&pod, &[("0000-jobs-0", &text)]);
    let (code, output, _) = run(&pod, &volume);
    assert_eq!((code, output.as_str()), (3, "why\n"));
}

#[test]
fn a_second_try_starts_from_the_sources_as_they_were() {
    let pod = Pod::new();
    let volume = volume(
        &pod,
        &[
            (
                "0000-jobs-0",
                "echo changed >> jobs-src/r/j/templates/app.erb; touch jobs-src/r/done\n",
            ),
            ("0001-jobs-1", "test -e go || exit 3\n"),
            ("0002-jobs-2", "echo last >> jobs-src/r/j/templates/app.erb\n"),
        ],
    );
    for _ in 0..2 {
        let (code, _, error) = run(&pod, &volume);
        assert_eq!(
            (code, error.as_str()),
            (
                3,
                "container-run: pre-render script '0001-jobs-1' of job 'j' failed: exit status 3\n"
            )
        );
    }
    fs::write(pod.path("all-releases/go"), "").unwrap();
    assert_eq!(run(&pod, &volume).0, 0);
    let changed = fs::read_to_string(pod.path("all-releases/jobs-src/r/j/templates/app.erb")).unwrap();
    assert_eq!(changed, "port: 1\nchanged\nlast\n");
}
