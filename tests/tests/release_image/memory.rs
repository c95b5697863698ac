//! The memory of `host image` does not grow with the release.

use crate::workspace::Workspace;
use boson_tests::compiled::write_large;
use wait4::Wait4;

/// Size of the package's tarball in bytes. `make bench` uses 2 GiB.
const LARGE: u64 = 256 << 20;
/// Memory limit of a run, in KiB.
const MOST: u64 = 200 << 10;

#[test]
fn packages_pass_through_as_streams() {
    let workspace = Workspace::new();
    write_large(&workspace.path("release.tgz"), LARGE).unwrap();
    let child = workspace.command(&["release.tgz", "--out", "image"]).spawn().unwrap();
    let ended = child.wait4().unwrap();
    assert!(ended.status.success());
    let peak = ended.rusage.maxrss >> 10;
    assert!(peak < MOST, "{peak} KiB for {} MiB", LARGE >> 20);
}
