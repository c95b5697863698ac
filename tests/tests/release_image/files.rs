//! Images on disk.

use crate::workspace::{Layout, NAME, Workspace};
use boson_tests::compiled::{Entry, Release, write_uncompressed_stemcell};
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn an_image_has_jobs_packages_and_vcap_in_layers_of_their_own() {
    let workspace = Workspace::new();
    let made = workspace.made(&["release.tgz", "--out", "image", "--registry", "r.example/cf"]);
    let layout = Layout::read(&workspace.path("image"));
    assert!(made.starts_with(&format!("r.example/cf/{NAME}@sha256:")), "{made}");
    let server = "var/vcap/packages-src/server/f-server";
    for (path, expected) in [
        ("bin/sh", (0, "644 0 #!")),
        ("var/vcap/data/packages", (1, "777 0 -> /var/vcap/packages-src")),
        (
            "var/vcap/packages/bash",
            (2, "777 0 -> /var/vcap/packages-src/bash/f-bash"),
        ),
        ("var/vcap/packages-src/bash/f-bash/lib/libbash.so", (2, "640 1000")),
        (
            "var/vcap/packages/server",
            (3, "777 0 -> /var/vcap/packages-src/server/f-server"),
        ),
        (&format!("{server}/bin"), (3, "750 1000")),
        (&format!("{server}/bin/server"), (3, "755 1000 #!/bin/sh")),
        (
            &format!("{server}/bin/again"),
            (3, "644 0 -> var/vcap/packages-src/server/f-server/./bin/server"),
        ),
        (&format!("{server}/lib"), (3, "777 0 -> /var/vcap/packages/bash/lib")),
        ("var/vcap/jobs-src/server/templates/greeting.erb", (4, "644 1000 hello")),
        ("var/vcap/jobs-src/server/monit", (4, "644 1000")),
    ] {
        let found = layout.find(path).map(|(nth, line)| (nth, line.replace("/./", "/")));
        let expected = (expected.0, expected.1.replace("/./", "/"));
        assert_eq!(found, Some(expected), "{path}");
    }
    let (_, passwd) = layout.find("etc/passwd").unwrap();
    assert!(
        passwd.contains("syslog:x:101") && passwd.contains("vcap:x:1000:1000:"),
        "{passwd}"
    );
    assert!(layout.find("etc/group").unwrap().1.contains("vcap:x:1000:"));
    let labels = &layout.config["config"]["Labels"];
    assert_eq!(labels["bosh.release.name"], "messaging");
    assert_eq!(labels["bosh.release.version"], "1.4.0");
    assert_eq!(labels["bosh.stemcell"], "ubuntu-jammy/1.584");
    // The configuration of the stemcell image is not changed.
    assert_eq!(layout.config["config"]["Env"][0], "PATH=/bin");
}

#[test]
fn the_same_release_gives_the_same_digest_and_a_changed_job_one_other_layer() {
    let workspace = Workspace::new();
    let one = workspace.made(&["release.tgz", "--out", "one"]);
    assert_eq!(one, workspace.made(&["release.tgz", "--out", "two.tar"]));
    let before = Layout::read(&workspace.path("one"));
    workspace.release(&Release::small("good day"));
    // Into the same directory: a layer of the previous image is removed.
    assert_ne!(one, workspace.made(&["release.tgz", "--out", "one"]));
    let after = Layout::read(&workspace.path("one"));
    let digests = |layout: &Layout| layout.manifest["layers"].as_array().unwrap().clone();
    let (mut before, mut after) = (digests(&before), digests(&after));
    let (old, new) = (before.pop().unwrap(), after.pop().unwrap());
    assert_eq!(before, after);
    assert_ne!(old, new);
    assert!(new["size"].as_u64().unwrap() < 1024, "{new}");
    assert_eq!(
        fs::read_dir(workspace.path("one/blobs/sha256")).unwrap().count(),
        after.len() + 3
    );
}

#[test]
fn layouts_and_archives_are_read_as_releases_and_built_on() {
    let workspace = Workspace::new();
    workspace.made(&["release.tgz", "--out", "image.tar"]);
    let release = boson_releases::read(&workspace.path("image.tar"), None).unwrap();
    assert_eq!(
        (release.name.as_str(), release.version.as_deref()),
        ("messaging", Some("1.4.0"))
    );
    assert_eq!(release.jobs[0].templates[0].text, "hello");
    // An image with vcap needs no other; an archive can be a stemcell image.
    fs::remove_dir_all(workspace.path("stemcell")).unwrap();
    fs::rename(workspace.path("image.tar"), workspace.path("stemcell")).unwrap();
    workspace.made(&["release.tgz", "--out", "again"]);
    let layout = Layout::read(&workspace.path("again"));
    assert_eq!(layout.find("etc/passwd").unwrap().0, 1);
    assert_eq!(layout.layers.len(), 9);
}

#[test]
fn a_layer_of_the_stemcell_that_is_not_compressed_is_compressed_once() {
    let workspace = Workspace::new();
    write_uncompressed_stemcell(
        &workspace.path("plain"),
        &[("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")],
    )
    .unwrap();
    let made = |name: &str| {
        let output = workspace
            .command_on("plain", &["release.tgz", "--out", name])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Layout::read(&workspace.path(name)).manifest["layers"][0].clone()
    };
    let kept = || {
        let entries = fs::read_dir(workspace.path("cache/stemcells")).unwrap();
        let files: Vec<_> = entries.map(|entry| entry.unwrap()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        (files[0].path(), files[0].metadata().unwrap().ino())
    };
    let first = made("first");
    let (file, inode) = kept();
    assert_eq!(made("second"), first);
    assert_eq!(kept(), (file.clone(), inode), "it was compressed again");
    fs::write(&file, "damaged").unwrap();
    assert_eq!(made("third"), first);
    assert_ne!(fs::read(&file).unwrap(), b"damaged");
}

#[test]
fn a_release_without_packages_needs_a_stemcell_to_be_named_by() {
    let workspace = Workspace::new();
    let mut release = Release::small("x");
    release.packages.clear();
    release.jobs[0].1[0].1 = Entry::text("name: server\ntemplates: {greeting.erb: config/greeting}\n");
    workspace.release(&release);
    let said = workspace.refused(&["release.tgz", "--out", "image"]);
    assert!(
        said.contains("error[image-unnamed]") && said.contains("--stemcell OS/VERSION"),
        "{said}"
    );
    let made = workspace.made(&["release.tgz", "--out", "image", "--stemcell", "ubuntu-noble/1.1"]);
    assert!(
        made.starts_with("localhost/messaging:ubuntu-noble-1.1-1.4.0@sha256:"),
        "{made}"
    );
}

#[test]
fn files_of_others_are_not_overwritten() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("mine")).unwrap();
    fs::write(workspace.path("mine/notes"), "keep").unwrap();
    let said = workspace.refused(&["release.tgz", "--out", "mine"]);
    assert!(said.contains("error[image-out-not-empty]"), "{said}");
    let said = workspace.refused(&["release.tgz", "--out", "stemcell"]);
    assert!(said.contains("error[image-out-not-empty]"), "{said}");
}
