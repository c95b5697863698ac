//! The memory of `host image` does not grow with the release.

use crate::workspace::Workspace;
use boson_tests::compiled::write_large;
use wait4::Wait4;

/// Size of the package's tarball in bytes. `make bench` uses 2 GiB.
const TARBALL_BYTES: u64 = 256 << 20;
/// Memory limit of a run, in KiB.
const MAX_MEMORY_KIB: u64 = 200 << 10;

#[test]
fn packages_pass_through_as_streams() {
    let workspace = Workspace::new();
    write_large(&workspace.path("release.tgz"), TARBALL_BYTES).unwrap();
    let child = workspace.command(&["release.tgz", "--out", "image"]).spawn().unwrap();
    let ended = child.wait4().unwrap();
    assert!(ended.status.success());
    let peak = ended.rusage.maxrss >> 10;
    assert!(peak < MAX_MEMORY_KIB, "{peak} KiB for {} MiB", TARBALL_BYTES >> 20);
}
