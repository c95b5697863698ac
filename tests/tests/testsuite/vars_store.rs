//! The file of `--vars-store`: the printed values are the stored ones, whatever runs at the same time, and whatever the
//! path is.

use boson_tests::{Ran, host};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::thread;

const MANIFEST: &str = "variables:\n- {name: a, type: password}\n- {name: b, type: password}\n\
                        - {name: key, type: rsa}\nall: [((a)), ((b)), ((key.public_key))]\n";

fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("m.yml"), MANIFEST).unwrap();
    scratch
}

fn interpolate(directory: &Path, store: &str) -> Ran {
    host(directory, ["interpolate", "m.yml", "--vars-store", store]).unwrap()
}

#[test]
fn runs_at_the_same_time_print_what_is_stored() {
    for _ in 0..6 {
        let scratch = scratch();
        let printed: Vec<Ran> = thread::scope(|scope| {
            let runs: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| interpolate(scratch.path(), "vars.yml")))
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        // A run that generates nothing reads the stored values.
        let stored = interpolate(scratch.path(), "vars.yml");
        for ran in &printed {
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (0, stored.stdout.as_str()),
                "{}",
                ran.stderr
            );
        }
        let mut names: Vec<_> = fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["m.yml", "vars.yml"], "no lock and no scratch file stays");
    }
}

#[test]
fn runs_for_different_variables_lose_none() {
    let scratch = scratch();
    let directory = scratch.path();
    let names: Vec<String> = (0..8).map(|number| format!("v{number}")).collect();
    thread::scope(|scope| {
        for name in &names {
            let (manifest, text) = (
                format!("{name}.yml"),
                format!("variables: [{{name: {name}, type: password}}]\n"),
            );
            fs::write(directory.join(&manifest), text).unwrap();
            scope.spawn(move || {
                let arguments = ["interpolate", manifest.as_str(), "--vars-store", "vars.yml"];
                assert_eq!(host(directory, arguments).unwrap().code, 0);
            });
        }
    });
    let stored = fs::read_to_string(directory.join("vars.yml")).unwrap();
    assert!(
        names.iter().all(|name| stored.contains(&format!("{name}: "))),
        "{stored}"
    );
}

#[test]
fn a_link_stays_a_link_and_its_file_is_written() {
    let scratch = scratch();
    fs::create_dir(scratch.path().join("team")).unwrap();
    symlink("team/vars.yml", scratch.path().join("vars.yml")).unwrap();
    let first = interpolate(scratch.path(), "vars.yml");
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(scratch.path().join("vars.yml").is_symlink());
    let stored = fs::read_to_string(scratch.path().join("team/vars.yml")).unwrap();
    assert!(stored.starts_with("a: "), "{stored}");
    assert_eq!(interpolate(scratch.path(), "team/vars.yml").stdout, first.stdout);
}

#[test]
fn a_path_that_is_not_a_regular_file_is_refused_and_not_changed() {
    let scratch = scratch();
    mknodat(
        CWD,
        scratch.path().join("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    symlink("pipe", scratch.path().join("link")).unwrap();
    for store in ["pipe", "link", "/dev/null", "/dev/stdin"] {
        let ran = interpolate(scratch.path(), store);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{store}: {}", ran.stderr);
        let wanted = format!("error[vars-store-special]: '{store}' is not a regular file");
        assert!(ran.stderr.contains(&wanted), "{store}: {}", ran.stderr);
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(fs::metadata(scratch.path().join("pipe")).unwrap().file_type().is_fifo());
    let ran = interpolate(scratch.path(), ".");
    assert!(
        ran.code == 1 && ran.stderr.contains("error[input-is-directory]"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_unwritable_store_can_be_read_if_no_new_values_are_needed() {
    let scratch = scratch();
    let first = interpolate(scratch.path(), "vars.yml");
    let fixed = scratch.path().join("fixed");
    fs::create_dir(&fixed).unwrap();
    fs::rename(scratch.path().join("vars.yml"), fixed.join("vars.yml")).unwrap();
    let mut permissions = fs::metadata(&fixed).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&fixed, permissions.clone()).unwrap();
    let ran = interpolate(scratch.path(), "fixed/vars.yml");
    assert_eq!((ran.code, ran.stdout), (0, first.stdout), "{}", ran.stderr);
    let ran = interpolate(scratch.path(), "none/vars.yml");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("error[output-unwritable]: cannot write 'none/vars.yml'"),
        "{}",
        ran.stderr
    );
    #[allow(clippy::permissions_set_readonly_false, reason = "the directory is removed next")]
    permissions.set_readonly(false);
    fs::set_permissions(&fixed, permissions).unwrap();
}

#[test]
fn no_value_is_generated_for_a_manifest_that_cannot_be_converted() {
    let scratch = tempfile::tempdir().unwrap();
    let example = boson_tests::root().join("docs/examples/nats");
    let manifest = fs::read_to_string(example.join("manifest.yml")).unwrap();
    // A hundred such keys would take minutes.
    let key = |nth| format!("- {{name: key-{nth}, type: rsa, options: {{key_length: 4096}}}}\n");
    let keys: String = (0..100).map(key).collect();
    let manifest = manifest.replace("variables:\n", &format!("variables:\n{keys}"));
    assert!(manifest.contains("key-99"));
    let release = |name: &str| format!("{}", example.join("releases").join(name).display());
    let (messaging, smoke) = (release("messaging"), release("smoke"));
    let arguments = [
        ["convert", "m.yml", "-v", "system_domain=example.com"],
        ["--release", &messaging, "--release", &smoke],
        ["--vars-store", "vars.yml", "--warnings", "all"],
    ];
    let link = ("watcher: {from: gateway}", "watcher: {from: unknown}");
    let option = (
        "variables:\n",
        "variables:\n- {name: long, type: password, options: {length: -1}}\n",
    );
    for ((old, new), error) in [(link, "error[links-"), (option, "'length' param cannot be negative")] {
        let wrong = manifest.replace(old, new);
        assert_ne!(wrong, manifest);
        fs::write(scratch.path().join("m.yml"), wrong).unwrap();
        let ran = host(scratch.path(), arguments.concat()).unwrap();
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
        assert!(!scratch.path().join("vars.yml").exists());
    }
}
