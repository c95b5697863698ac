//! `container-run copy-packages`, which needs no tools of the image.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::pod::Pod;

#[test]
fn packages_are_copied_once_from_where_their_links_lead() {
    let pod = Pod::new();
    let (from, to) = (pod.path("packages"), pod.path("shared-packages"));
    let source = pod.path("packages-src/cli/1");
    fs::create_dir_all(source.join("bin")).unwrap();
    for directory in [&from, &to] {
        fs::create_dir(directory).unwrap();
    }
    symlink(&source, from.join("cli")).unwrap();
    let program = source.join("bin/cf8");
    fs::write(&program, "program").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(&program, source.join("bin/cf-8")).unwrap();
    symlink("cf8", source.join("bin/cf")).unwrap();
    // What a killed run leaves.
    fs::create_dir_all(to.join(".partial/bin")).unwrap();
    fs::write(to.join(".partial/bin/half"), "half").unwrap();
    let copy = |name: &str| {
        let command = ["copy-packages", from.to_str().unwrap(), to.to_str().unwrap(), name];
        pod.run(pod.command(&command))
    };
    assert_eq!(copy("cli"), (0, String::new(), String::new()));
    assert!(!fs::symlink_metadata(to.join("cli")).unwrap().is_symlink());
    let mut names: Vec<String> = fs::read_dir(to.join("cli/bin"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["cf", "cf-8", "cf8"]);
    let [first, second] = ["cf8", "cf-8"].map(|name| fs::metadata(to.join("cli/bin").join(name)).unwrap());
    assert_eq!((first.mode() & 0o777, first.ino()), (0o755, second.ino()));
    assert_eq!(fs::read_link(to.join("cli/bin/cf")).unwrap().to_str(), Some("cf8"));

    // A complete copy stays, as if the init container ran again after a restart of the node.
    fs::write(to.join("cli/bin/cf8"), "the copy").unwrap();
    assert_eq!(copy("cli").0, 0);
    assert_eq!(fs::read_to_string(to.join("cli/bin/cf8")).unwrap(), "the copy");
    let (code, _, error) = copy("other");
    assert_eq!(code, 125);
    assert!(error.contains("packages/other does not exist"), "{error}");
}
