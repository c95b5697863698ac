//! Source releases without a builder: build contexts, and what is refused. `host/compile/tests` compiles.

use crate::workspace::{Workspace, said};
use boson_tests::compiled::{Entry, Release};
use boson_tests::write_script;
use std::collections::BTreeSet;
use std::fs::{self, File};

/// `release.tgz` as source: each package has a script.
fn source() -> Workspace {
    let workspace = Workspace::new();
    let mut release = Release::small("hello");
    release.source = true;
    for (_, files) in &mut release.packages {
        *files = vec![("packaging".into(), Entry::text("make\n"))];
    }
    workspace.release(&release);
    workspace
}

#[test]
fn without_a_builder_there_are_three_ways() {
    let workspace = source();
    // The stemcell image is not read: it does not exist.
    let arguments = ["release.tgz", "--stemcell", "ubuntu-noble/1.1", "--out", "image"];
    let mut command = workspace.command_on("missing", &arguments);
    let output = command.env("PATH", workspace.path("nothing")).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error[compile-no-builder]"), "{said}");
    for way in ["install a builder", "--context DIR", "bosh export-release"] {
        assert!(said.contains(way), "{said}");
    }
    assert!(!workspace.path("image").exists());
}

#[test]
fn a_docker_that_cannot_build_is_no_builder() {
    let workspace = source();
    let docker = workspace.path("programs/docker");
    fs::create_dir(workspace.path("programs")).unwrap();
    // As docker 28 without its plugin buildx.
    write_script(&docker, "#!/bin/sh\ntest \"$1\" != build\n").unwrap();
    let arguments = ["release.tgz", "--stemcell", "ubuntu-noble/1.1", "--out", "image"];
    let mut command = workspace.command_on("missing", &arguments);
    let output = command.env("PATH", workspace.path("programs")).output().unwrap();
    let said = said(&output);
    assert!(
        said.contains("error[compile-no-builder]") && said.contains("buildx"),
        "{said}"
    );
}

#[test]
fn a_build_context_has_a_stage_for_each_package_and_no_file_of_the_user() {
    let workspace = source();
    let arguments = [
        "release.tgz",
        "--stemcell",
        "ubuntu-noble/1.1",
        "--registry",
        "r.example/cf",
        "--context",
        "build",
    ];
    let made = workspace.made(&arguments);
    assert_eq!(made, "r.example/cf/messaging:ubuntu-noble-1.1-1.4.0\n");
    let names: BTreeSet<String> = fs::read_dir(workspace.path("build"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["Dockerfile", "jobs.tar.gz", "links.tar", "source-0.tar"]
    );
    let text = fs::read_to_string(workspace.path("build/Dockerfile")).unwrap();
    for line in [
        "ARG STEMCELL=stemcell",
        "FROM stemcell AS package-0",
        "LABEL bosh.stemcell=\"ubuntu-noble/1.1\"",
        "BOSH_PACKAGE_NAME=server BOSH_PACKAGE_VERSION=f-server.1 bash -x packaging",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mut sources = tar::Archive::new(File::open(workspace.path("build/source-0.tar")).unwrap());
    let paths: Vec<String> = sources
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert_eq!(paths.last().unwrap(), "var/vcap/data/compile/server/packaging");
    let said = workspace.refused(&arguments);
    assert!(said.contains("error[compile-context]"), "{said}");
}

#[test]
fn content_with_another_fingerprint_is_a_warning() {
    let workspace = source();
    let output = workspace
        .command(&["release.tgz", "--stemcell", "ubuntu-noble/1.1", "--context", "build"])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(
        said(&output).contains("warning[release-fingerprint]"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_source_release_needs_a_stemcell_to_be_named_by() {
    let said = source().refused(&["release.tgz", "--out", "image"]);
    assert!(
        said.contains("error[image-unnamed]") && said.contains("--stemcell OS/VERSION"),
        "{said}"
    );
}

#[test]
fn a_compiled_release_has_no_build_context() {
    let said = Workspace::new().refused(&["release.tgz", "--context", "build"]);
    assert!(said.contains("error[compile-context]"), "{said}");
}
