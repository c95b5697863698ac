//! Releases for which no image is built.

use crate::workspace::Workspace;
use boson_tests::compiled::{Entry, Release};
use std::fs;

#[test]
fn hostile_packages_are_refused() {
    let workspace = Workspace::new();
    for (path, entry, code) in [
        ("../../etc/passwd", Entry::text("x"), "release-archive-path"),
        ("/etc/passwd", Entry::text("x"), "release-archive-path"),
        ("dev", Entry::Device, "release-archive-entry"),
        ("bin/.wh.sh", Entry::text(""), "release-archive-entry"),
        ("lib/x", Entry::text(""), "release-archive-link"),
        (
            "hard",
            Entry::HardLink("../../../etc/passwd".into()),
            "release-archive-link",
        ),
        ("bomb", Entry::File(0o644, vec![0; 200 << 20]), "release-archive-bomb"),
    ] {
        let mut release = Release::small("x");
        release.packages[1].1.push((path.into(), entry));
        workspace.release(&release);
        let said = workspace.refused(&["release.tgz", "--out", "image"]);
        assert!(said.contains(&format!("error[{code}]")), "{path}: {said}");
        assert!(said.contains("compiled_packages/server.tgz"), "{path}: {said}");
        assert!(!workspace.path("image").exists(), "{path}");
    }
}

#[test]
fn names_that_lead_out_are_refused() {
    let workspace = Workspace::new();
    let mut release = Release::small("x");
    release.packages[0].0 = "..".into();
    workspace.release(&release);
    let said = workspace.refused(&["release.tgz", "--out", "image"]);
    assert!(said.contains("error[release-manifest]"), "{said}");
}

#[test]
fn a_package_that_does_not_match_its_digest_is_refused() {
    let workspace = Workspace::new();
    let whole = fs::read(workspace.path("release.tgz")).unwrap();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(whole.as_slice()), &mut plain).unwrap();
    let at = plain
        .windows(8)
        .position(|window| window == [0x1f, 0x8b, 8, 0, 0, 0, 0, 0])
        .unwrap();
    // The time in the header of a package's gzip: everything else is unchanged.
    let second = at
        + 100
        + plain[at + 100..]
            .windows(8)
            .position(|window| window == [0x1f, 0x8b, 8, 0, 0, 0, 0, 0])
            .unwrap();
    plain[second + 4] = 1;
    fs::write(workspace.path("release.tgz"), plain).unwrap();
    let said = workspace.refused(&["release.tgz", "--out", "image"]);
    assert!(
        said.contains("error[release-digest]") && said.contains("package 'bash'"),
        "{said}"
    );
}
