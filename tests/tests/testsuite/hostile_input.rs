//! Inputs that cannot be stored in a repository: files that are too large, that never end, that are not files. Each is
//! refused by name, quickly, with exit code 1 and no output. Small inputs are golden cases.

use boson_tests::{Ran, Run, built_in, host, host_with_input, root};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const MAX_INPUT_BYTES: usize = 32 << 20;

#[track_caller]
fn fails_with(ran: &Ran, code: &str, words: &str) {
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("error[{code}]")), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 20_000, "{} bytes of messages", ran.stderr.len());
    assert_eq!(ran.stdout, "");
}

fn scratch_with(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join(name), bytes).unwrap();
    scratch
}

#[test]
fn files_over_32_mib_are_refused_by_name() {
    let scratch = scratch_with("ok.yml", b"name: demo\n");
    let large = File::create(scratch.path().join("large.yml")).unwrap();
    large.set_len(MAX_INPUT_BYTES as u64 + 1).unwrap();
    for (arguments, name) in [
        (vec!["interpolate", "large.yml"], "'large.yml'"),
        (vec!["interpolate", "ok.yml", "-o", "large.yml"], "'large.yml'"),
        (vec!["interpolate", "ok.yml", "-l", "large.yml"], "'large.yml'"),
        (
            vec!["interpolate", "ok.yml", "--var-file", "x=large.yml"],
            "'large.yml'",
        ),
        (
            vec!["interpolate", "ok.yml", "--vars-store", "large.yml"],
            "'large.yml'",
        ),
        (vec!["convert", "large.yml"], "'large.yml'"),
    ] {
        fails_with(
            &host(scratch.path(), &arguments).unwrap(),
            "input-too-large",
            &format!("{name} is larger than 32 MiB"),
        );
    }
}

#[test]
fn standard_input_has_the_same_bound() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = host_with_input(scratch.path(), ["interpolate", "-"], &vec![b'#'; MAX_INPUT_BYTES + 1]).unwrap();
    fails_with(&ran, "input-too-large", "'(standard input)' is larger than 32 MiB");
}

#[test]
fn files_that_never_end_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fails_with(
        &host(scratch.path(), ["interpolate", "/dev/zero"]).unwrap(),
        "input-too-large",
        "'/dev/zero'",
    );
}

#[test]
fn a_large_file_within_bounds_is_read() {
    let mut text = String::from("name: large\nlist:\n");
    while text.len() < 4 << 20 {
        text.push_str("- {name: item, value: some text that takes space, number: 12345}\n");
    }
    let scratch = scratch_with("large.yml", text.as_bytes());
    let ran = host(scratch.path(), ["interpolate", "large.yml", "--path", "/name"]).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "large\n"), "{}", ran.stderr);
}

#[test]
fn endless_nesting_is_refused_quickly() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("&a [", "")] {
        let text = format!("{}{}\n", open.repeat(1 << 20), close.repeat(1 << 20));
        let scratch = scratch_with("deep.yml", text.as_bytes());
        let started = Instant::now();
        let ran = host(scratch.path(), ["interpolate", "deep.yml"]).unwrap();
        assert_eq!(ran.code, 1, "{open}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[yaml-"), "{open}: {}", ran.stderr);
        assert!(
            ran.stderr.len() < 5_000,
            "{open}: {} bytes of messages",
            ran.stderr.len()
        );
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{open}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn operations_that_run_out_of_fuel_name_their_file() {
    let insert = "- {type: replace, path: \"/list/0:before\", value: 1}\n";
    let scratch = scratch_with("slow.yml", insert.repeat(30_000).as_bytes());
    std::fs::write(scratch.path().join("m.yml"), "list: [0]\n").unwrap();
    std::fs::write(scratch.path().join("quick.yml"), insert).unwrap();
    let ran = host(
        scratch.path(),
        ["interpolate", "m.yml", "-o", "quick.yml", "-o", "slow.yml"],
    )
    .unwrap();
    fails_with(&ran, "plugin-out-of-fuel", " --> slow.yml\n");
}

#[test]
fn operations_of_a_group_that_run_out_of_fuel_name_their_place() {
    let insert = "          - {type: replace, path: \"/instance_groups/0/x/0:before\", value: 1}\n";
    let manifest = format!(
        r#"name: demo
releases: [{{name: demo, version: "1", url: registry.example.com/demo}}]
stemcells: [{{alias: default, os: ubuntu-jammy, version: "1.1"}}]
instance_groups:
- name: web
  instances: 1
  stemcell: default
  jobs: [{{name: app, release: demo, properties: {{app: {{domain: example.com}}}}}}]
  env:
    bosh:
      agent:
        settings:
          preRenderOps:
            instanceGroup:
          - {{type: replace, path: "/instance_groups/0/x?", value: [0]}}
{}"#,
        insert.repeat(30_000)
    )
    .replace("          - {", "            - {");
    let scratch = scratch_with("m.yml", manifest.as_bytes());
    let release = root().join("tests/fixtures/releases/demo");
    let release = release.to_str().unwrap();
    let ran = host(scratch.path(), ["convert", "m.yml", "--release", release]).unwrap();
    fails_with(&ran, "plugin-out-of-fuel", " --> m.yml:");
}

#[test]
fn one_endless_line_is_shown_in_part() {
    let text = format!("name: {}\nlist: [1\n", "x".repeat(1 << 20));
    let scratch = scratch_with("wide.yml", text.as_bytes());
    let ran = host(scratch.path(), ["interpolate", "wide.yml"]).unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.len() < 5_000, "{} bytes of messages", ran.stderr.len());
    let text = format!("name: [{}\n", "x, ".repeat(1 << 18));
    let scratch = scratch_with("wide.yml", text.as_bytes());
    let ran = host(scratch.path(), ["interpolate", "wide.yml"]).unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.len() < 5_000, "{} bytes of messages", ran.stderr.len());
}

#[test]
fn very_many_errors_do_not_flood_the_terminal() {
    let text: String = (0..20_000).map(|_| "- {type: add, path: /a}\n").collect();
    let scratch = scratch_with("ops.yml", text.as_bytes());
    std::fs::write(scratch.path().join("manifest.yml"), "a: 1\n").unwrap();
    let ran = host(scratch.path(), ["interpolate", "manifest.yml", "-o", "ops.yml"]).unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.len() < 200_000, "{} bytes of messages", ran.stderr.len());
}

#[test]
fn a_file_without_permission_is_reported() {
    let scratch = scratch_with("manifest.yml", b"name: demo\n");
    let file = scratch.path().join("manifest.yml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o0)).unwrap();
    if File::open(&file).is_ok() {
        return; // this user can read everything
    }
    fails_with(
        &host(scratch.path(), ["interpolate", "manifest.yml"]).unwrap(),
        "input-unreadable",
        "'manifest.yml'",
    );
}

#[test]
fn arguments_that_are_not_utf8_harm_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"J\xf6rg.yml");
    let ran = host(scratch.path(), ["interpolate".as_ref(), name]).unwrap();
    fails_with(&ran, "input-missing", "there is no file");
    let mut file = File::create(scratch.path().join(name)).unwrap();
    file.write_all(b"name: demo\n").unwrap();
    let ran = host(scratch.path(), ["interpolate".as_ref(), name]).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "name: demo\n"), "{}", ran.stderr);
}

#[test]
fn environment_variables_that_are_not_utf8_are_ignored_or_reported() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = scratch_with("manifest.yml", b"a: ((a))\n");
    let mut run = Run::new(scratch.path(), ["interpolate", "manifest.yml", "--vars-env", "P"]);
    run.environment = vec![
        ("P_a".into(), "1".into()),
        ("OTHER".into(), std::ffi::OsStr::from_bytes(b"\xff").into()),
    ];
    let ran = run.start().unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a: 1\n"), "{}", ran.stderr);
}

/// A deployment of one job, with its release in `release`.
fn deployment() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let fixtures = root().join("tests/fixtures");
    let place = |path: &str| scratch.path().join(path);
    std::fs::copy(fixtures.join("manifests/demo.yml"), place("manifest.yml")).unwrap();
    boson_tests::copy(&fixtures.join("releases/demo/jobs"), &place("release/jobs")).unwrap();
    scratch
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn releases_with_special_files_are_refused_without_waiting() {
    for file in ["spec", "monit", "templates/app.conf.erb"] {
        let scratch = deployment();
        let path = scratch.path().join("release/jobs/app").join(file);
        std::fs::remove_file(&path).unwrap();
        pipe(&path);
        let ran = host(scratch.path(), ["convert", "manifest.yml", "--release", "demo=release"]).unwrap();
        fails_with(
            &ran,
            "release-file-kind",
            &format!("'release/jobs/app/{file}' is not a plain file"),
        );
        std::fs::remove_file(&path).unwrap();
        File::create(&path)
            .unwrap()
            .set_len(MAX_INPUT_BYTES as u64 + 1)
            .unwrap();
        let ran = host(scratch.path(), ["convert", "manifest.yml", "--release", "demo=release"]).unwrap();
        fails_with(
            &ran,
            "release-file-too-large",
            &format!("'release/jobs/app/{file}' is too large"),
        );
    }
    let scratch = deployment();
    pipe(&scratch.path().join("pipe"));
    for place in ["pipe", "/dev/zero", "/dev/null"] {
        let ran = host(
            scratch.path(),
            ["convert", "manifest.yml", "--release", &format!("demo={place}")],
        )
        .unwrap();
        fails_with(
            &ran,
            "release-path",
            &format!("'{place}' is neither a file nor a directory"),
        );
    }
}

#[test]
fn links_of_a_release_stay_inside_of_it() {
    let scratch = deployment();
    std::fs::write(scratch.path().join("outside"), "secret of the machine").unwrap();
    let template = scratch.path().join("release/jobs/app/templates/app.conf.erb");
    for target in ["../../../../outside", "/etc/hostname", "app.conf.erb", "nowhere"] {
        std::fs::remove_file(&template).unwrap();
        std::os::unix::fs::symlink(target, &template).unwrap();
        let ran = host(scratch.path(), ["convert", "manifest.yml", "--release", "demo=release"]).unwrap();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{target}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[release-"), "{target}: {}", ran.stderr);
        assert!(
            !ran.stderr.contains("secret of the machine"),
            "{target}: {}",
            ran.stderr
        );
    }
}

#[test]
fn run_plugin_finds_a_plugin_and_reports_which_one() {
    let scratch = tempfile::tempdir().unwrap();
    let ops = built_in("ops.wasm").unwrap();
    let call = |input: &str| {
        let arguments = [
            "run-plugin".as_ref(),
            ops.as_os_str(),
            "--call".as_ref(),
            "find".as_ref(),
        ];
        host_with_input(scratch.path(), arguments, input.as_bytes()).unwrap()
    };
    let ran = call(r#"{"request": {"document": {"a": [7, 8]}, "document-name": "m.yml", "path": "/a/1"}}"#);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "{\n  \"value\": 8,\n  \"more\": []\n}\n"),
        "{}",
        ran.stderr
    );
    let measured: Vec<&str> = ran
        .stderr
        .lines()
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(measured, ["fuel", "peak memory", "time", "output"]);
    let ran = call(r#"{"request": {"document": {"a": [7, 8]}, "document-name": "m.yml", "path": "/a/2"}}"#);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("error[ops-missing-index]: Expected to find array index '2'"),
        "{}",
        ran.stderr
    );
}

#[test]
fn run_plugin_refuses_bad_arguments() {
    let scratch = tempfile::tempdir().unwrap();
    let ops = built_in("ops.wasm").unwrap();
    let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    for (input, words) in [
        (b"".as_slice(), "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[]", ""),
        (
            br#"{"request": {"document": {}, "document-name": 5, "path": "/a"}}"#,
            "document-name",
        ),
        (br#"{"request": {"document": {}, "document-name": "m.yml"}}"#, "path"),
        (deep.as_bytes(), "not JSON"),
    ] {
        let ran = host_with_input(
            scratch.path(),
            [
                "run-plugin".as_ref(),
                ops.as_os_str(),
                "--call".as_ref(),
                "find".as_ref(),
            ],
            input,
        )
        .unwrap();
        fails_with(&ran, "plugin-arguments", words);
    }
    let ran = host_with_input(
        scratch.path(),
        [
            "run-plugin".as_ref(),
            ops.as_os_str(),
            "--call".as_ref(),
            "nothing".as_ref(),
        ],
        b"{}",
    )
    .unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("find"),
        "says which functions there are: {}",
        ran.stderr
    );
}

#[test]
fn plugins_are_listed_with_stage_name_version_digest_and_source() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = host(scratch.path(), ["plugin", "list"]).unwrap();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["STAGE", "NAME", "VERSION", "DIGEST", "GROUPS", "SOURCE"]);
    let stages: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(stages, ["ops", "variables", "links", "render", "bpm"]);
    for row in &rows[1..] {
        assert!(row.len() >= 5 && row[3].starts_with("sha256:"), "{row:?}");
    }
}

#[test]
fn rendered_files_do_not_leave_the_directory_through_links() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("release/config/final.yml", "name: demo\n");
    write("release/jobs/app/monit", "");
    write(
        "release/jobs/app/spec",
        "name: app\ntemplates: {a.erb: config/app.yml}\nproperties: {}\n",
    );
    write("release/jobs/app/templates/a.erb", "from a template");
    write("context.yml", "{}");
    write("outside/app.yml", "untouched");
    let render = || {
        let arguments = [
            "render",
            "--release",
            "release",
            "--job",
            "app",
            "--context",
            "context.yml",
            "--out",
            "out",
        ];
        host(scratch.path(), arguments).unwrap()
    };
    std::fs::create_dir(scratch.path().join("out")).unwrap();
    std::os::unix::fs::symlink("../outside", scratch.path().join("out/config")).unwrap();
    fails_with(&render(), "output-unwritable", "cannot write 'out/config/app.yml'");
    let outside = scratch.path().join("outside");
    assert_eq!(std::fs::read_to_string(outside.join("app.yml")).unwrap(), "untouched");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    std::fs::remove_file(scratch.path().join("out/config")).unwrap();
    assert_eq!(render().code, 0);
    let made = std::fs::read_to_string(scratch.path().join("out/config/app.yml"));
    assert_eq!(made.unwrap(), "from a template");
}
