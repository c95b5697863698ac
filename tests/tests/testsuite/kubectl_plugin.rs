//! The program under the names that kubectl gives its plugins.

use std::os::unix::fs::symlink;
use std::process::Command;

/// Standard output and standard error of the program by this name.
fn run(name: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    symlink(boson_tests::binary().unwrap(), &program).unwrap();
    let output = Command::new(program)
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn usage_errors_and_version_have_the_name_that_the_user_typed() {
    for (name, typed) in [("host", "host"), ("kubectl-boson", "kubectl boson")] {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(run(name, &["--version"]), format!("{typed} {version}\n"));
        let help = run(name, &["wait", "--help"]);
        assert!(
            help.contains(&format!("Usage: {typed} wait [OPTIONS] <DEPLOYMENT>")),
            "{help}"
        );
        assert!(help.contains(&format!("\n  {typed} wait nats -n messaging")), "{help}");
        let error = run(name, &["wait"]);
        assert!(error.contains(&format!("Usage: {typed} wait <DEPLOYMENT>")), "{error}");
    }
}

#[test]
fn completions_are_for_the_program_that_was_called() {
    assert!(run("host", &["completions", "bash"]).contains("complete -F _host -o"));
    assert!(run("kubectl-boson", &["completions", "bash"]).contains("-o default kubectl-boson"));
    assert!(run("kubectl_complete-boson", &["pru"]).starts_with("prune\t"));
}
