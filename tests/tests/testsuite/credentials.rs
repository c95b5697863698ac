//! Values that `host convert` generates, checked with openssl and ssh-keygen.

use boson_tests::{Ran, host};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const MANIFEST: &str = r#"
name: ((dep))
releases:
- {name: demo, version: "1", url: registry.example.com/demo}
stemcells:
- {alias: default, os: ubuntu-jammy, version: "1.1"}
variables:
- {name: ca, type: certificate, update_mode: converge, options: {is_ca: true, common_name: ca, key_length: 2048}}
- name: tls
  type: certificate
  update_mode: converge
  consumes:
    alternative_name: {from: app, properties: {wildcard: true}}
    common_name: {from: app}
  options: {ca: ca, alternative_names: [10.0.0.9], key_length: 2048, duration: 10, extended_key_usage: [client_auth]}
- {name: login, type: user, options: {username: admin}}
- {name: key, type: ssh}
instance_groups:
- name: web
  instances: 2
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {chain: ((tls.certificate)), quarks: {ports: []}}
"#;

/// A release with a job that provides an address.
fn release(directory: &Path) {
    let write = |path: &str, text: &str| {
        let path = directory.join("release").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("config/final.yml", "name: demo\n");
    write("jobs/app/monit", "");
    write(
        "jobs/app/spec",
        "name: app\ntemplates: {bpm.yml.erb: config/bpm.yml}\npackages: []\nprovides: [{name: app, type: address}]\nproperties: {chain: {}}\n",
    );
    write(
        "jobs/app/templates/bpm.yml.erb",
        "processes: [{name: app, executable: /var/vcap/packages/app/bin/app}]\n",
    );
}

fn convert(directory: &Path, manifest: &str) -> Ran {
    std::fs::write(directory.join("manifest.yml"), manifest).unwrap();
    let ran = host(
        directory,
        [
            "convert",
            "manifest.yml",
            "--release",
            "release",
            "-v",
            "dep=demo",
            "--vars-store",
            "vars.yml",
        ],
    )
    .unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran
}

/// A value of the store, by `host interpolate --path`.
fn stored(directory: &Path, path: &str) -> String {
    let ran = host(directory, ["interpolate", "vars.yml", "--path", path]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

/// Output of a tool for this standard input.
fn output(tool: &str, arguments: &[&str], input: &str) -> String {
    let child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let missing = |error: std::io::Error| format!("`.ci/setup check` installs {tool}: {error}");
    let mut child = child.map_err(missing).unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{tool} {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn addresses_of_consumed_links_are_in_the_certificate() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    convert(scratch.path(), MANIFEST);
    let certificate = stored(scratch.path(), "/tls/certificate");
    // Versions of openssl differ in how they print names by default.
    let shown = ["x509", "-noout", "-text", "-nameopt", "RFC2253"];
    let text = output("openssl", &shown, &certificate);
    let wanted = "DNS:demo-web.default.svc.cluster.local, DNS:demo-web-0.default.svc.cluster.local, \
                  DNS:demo-web-1.default.svc.cluster.local, IP Address:10.0.0.9";
    assert!(text.contains(wanted), "{text}");
    assert!(text.contains("CN=demo-web.default.svc.cluster.local"), "{text}");
    assert!(
        text.contains("TLS Web Client Authentication") && text.contains("(2048 bit)"),
        "{text}"
    );
    let ca = scratch.path().join("ca.pem");
    std::fs::write(&ca, stored(scratch.path(), "/tls/ca")).unwrap();
    let verified = output("openssl", &["verify", "-CAfile", ca.to_str().unwrap()], &certificate);
    assert_eq!(verified, "stdin: OK\n");
    assert_eq!(
        stored(scratch.path(), "/ca/certificate"),
        stored(scratch.path(), "/tls/ca")
    );
}

#[test]
fn keys_and_users_are_valid_for_other_tools() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    convert(scratch.path(), MANIFEST);
    let at = |path: &str| stored(scratch.path(), path);
    let line = output("ssh-keygen", &["-l", "-E", "md5", "-f", "-"], &at("/key/public_key"));
    let fingerprint = at("/key/public_key_fingerprint");
    assert!(line.starts_with(&format!("2048 MD5:{} ", fingerprint.trim())), "{line}");
    let (hash, password) = (at("/login/password_hash"), at("/login/password"));
    let salt = hash.split('$').nth(2).unwrap();
    let made = output("openssl", &["passwd", "-6", "-salt", salt, "-stdin"], &password);
    assert_eq!(made, hash);
    assert_eq!((at("/login/username").trim(), password.trim().len()), ("admin", 20));
}

#[test]
fn certificates_converge_with_their_options_and_their_ca() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    convert(scratch.path(), MANIFEST);
    let values = || {
        [
            "/ca/certificate",
            "/tls/certificate",
            "/login/password",
            "/key/public_key",
        ]
        .map(|path| stored(scratch.path(), path))
    };
    let first = values();
    let again = convert(scratch.path(), MANIFEST);
    assert_eq!((values(), again.stderr.as_str()), (first.clone(), ""));
    let scaled = convert(scratch.path(), &MANIFEST.replace("instances: 2", "instances: 3"));
    let second = values();
    assert!(
        scaled
            .stderr
            .contains("The value of variable 'tls' was regenerated: its options have changed"),
        "{}",
        scaled.stderr
    );
    assert!(second[0] == first[0] && second[1] != first[1] && second[2..] == first[2..]);
    let other_ca = MANIFEST
        .replace("instances: 2", "instances: 3")
        .replace("common_name: ca,", "common_name: other,");
    let rotated = convert(scratch.path(), &other_ca);
    let third = values();
    assert!(
        rotated
            .stderr
            .contains("The value of variable 'tls' was regenerated: its CA has changed"),
        "{}",
        rotated.stderr
    );
    assert!(third[0] != second[0] && third[1] != second[1] && third[2..] == second[2..]);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(scratch.path().join("vars.yml.options"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn files_of_an_earlier_run_are_removed_with_their_object() {
    let scratch = tempfile::tempdir().unwrap();
    release(scratch.path());
    let run = |instances: &str, more: &[&str]| {
        std::fs::write(
            scratch.path().join("manifest.yml"),
            MANIFEST.replace("instances: 2", instances),
        )
        .unwrap();
        let arguments = [
            "convert",
            "manifest.yml",
            "--release",
            "release",
            "-v",
            "dep=demo",
            "--vars-store",
            "vars.yml",
            "--out",
            "out",
        ];
        host(scratch.path(), arguments.iter().chain(more)).unwrap()
    };
    let service = scratch.path().join("out/service-demo-web-1.yaml");
    assert_eq!(run("instances: 2", &[]).code, 0);
    std::fs::write(scratch.path().join("out/mine.yaml"), "mine").unwrap();
    assert!(service.exists());
    assert_eq!(run("instances: 1", &["--name", "9"]).code, 1, "a run that fails");
    assert!(service.exists(), "removes nothing");
    let ran = run("instances: 1", &[]);
    assert!(
        ran.stderr
            .contains("wrote 8 files to out, and removed 2 that an earlier run wrote\n"),
        "{}",
        ran.stderr
    );
    assert!(!service.exists() && scratch.path().join("out/mine.yaml").exists());
}
