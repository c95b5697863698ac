//! `container-run copy-packages`, which needs no tools of the image.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::pod::{Pod, is_root};

fn copy(pod: &Pod, packages: &[&str]) -> (i32, String, String) {
    let [from, to] = ["packages", "volume"].map(|name| pod.path(name).display().to_string());
    pod.run(pod.command(&[&["copy-packages", &from, &to][..], packages].concat()))
}

/// Makes the directories, and a package that is a link to a directory, as in images.
fn package(pod: &Pod, name: &str) -> PathBuf {
    let source = pod.path("packages-src").join(name).join("1");
    fs::create_dir_all(source.join("bin")).unwrap();
    for directory in ["packages", "volume"] {
        fs::create_dir_all(pod.path(directory)).unwrap();
    }
    symlink(&source, pod.path("packages").join(name)).unwrap();
    source
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn packages_are_copied_once_from_where_their_links_lead() {
    let pod = Pod::new();
    let source = package(&pod, "cli");
    fs::write(source.join("bin/cf8"), "program").unwrap();
    assert_eq!(copy(&pod, &["cli"]), (0, String::new(), String::new()));
    let copied = pod.path("volume/cli");
    assert!(!fs::symlink_metadata(&copied).unwrap().is_symlink());
    // A complete copy stays when init containers run again after a restart of the node: scripts may have changed it.
    fs::write(copied.join("bin/cf8"), "changed").unwrap();
    assert_eq!(copy(&pod, &["cli"]).0, 0);
    assert_eq!(fs::read_to_string(copied.join("bin/cf8")).unwrap(), "changed");
}

#[test]
fn a_copy_has_the_modes_owners_and_links_of_the_package() {
    let pod = Pod::new();
    let source = package(&pod, "cli");
    let program = source.join("bin/cf8");
    fs::write(&program, "program").unwrap();
    fs::hard_link(&program, source.join("bin/cf-8")).unwrap();
    symlink("cf8", source.join("bin/cf")).unwrap();
    symlink("/nowhere", source.join("bin/outside")).unwrap();
    let _socket = UnixListener::bind(source.join("bin/socket")).unwrap();
    if is_root() {
        chown(&program, Some(0), Some(1000)).unwrap();
    }
    set_mode(&program, 0o4750);
    set_mode(&source.join("bin"), 0o555);
    assert_eq!(copy(&pod, &["cli"]), (0, String::new(), String::new()));
    let copied = pod.path("volume/cli/bin");
    let mut names: Vec<String> = fs::read_dir(&copied)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["cf", "cf-8", "cf8", "outside"]);
    let [first, second] = ["cf8", "cf-8"].map(|name| fs::metadata(copied.join(name)).unwrap());
    assert_eq!((first.mode() & 0o7777, first.ino()), (0o4750, second.ino()));
    assert_eq!(fs::metadata(&copied).unwrap().mode() & 0o7777, 0o555);
    if is_root() {
        assert_eq!(first.gid(), 1000);
    }
    let link = |name: &str| fs::read_link(copied.join(name)).unwrap().display().to_string();
    assert_eq!([link("cf"), link("outside")], ["cf8", "/nowhere"]);
    // The directory for temporary files cannot be removed otherwise.
    set_mode(&source.join("bin"), 0o755);
    set_mode(&copied, 0o755);
}

#[test]
fn what_a_killed_run_leaves_is_removed_even_if_it_is_read_only() {
    let pod = Pod::new();
    package(&pod, "cli");
    let partial = pod.path("volume/.partial");
    fs::create_dir_all(partial.join("bin")).unwrap();
    fs::write(partial.join("bin/half"), "half").unwrap();
    set_mode(&partial.join("bin"), 0o555);
    set_mode(&partial, 0o555);
    assert_eq!(copy(&pod, &["cli"]), (0, String::new(), String::new()));
    assert!(!pod.path("volume/cli/bin/half").exists());
    assert!(!partial.exists());
}

#[test]
fn a_package_that_the_image_lacks_and_a_path_are_errors() {
    let pod = Pod::new();
    package(&pod, "cli");
    let (code, _, error) = copy(&pod, &["cli", "other"]);
    assert_eq!(code, 125);
    assert!(error.contains("packages/other does not exist"), "{error}");
    assert!(pod.path("volume/cli").exists());
    for name in ["../cli", "/etc", "cli/bin", "..", ".partial", ""] {
        let (code, _, error) = copy(&pod, &[name]);
        assert_eq!(code, 2, "{name}");
        assert!(error.contains("is not the name of a package"), "{name}: {error}");
    }
}
