//! Source releases: repositories and tarballs.

use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_releases::{Opened, Source};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

/// A repository with a package `app` that depends on `tool`, and one job.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        for (path, text) in [
            (
                "config/final.yml",
                "name: small\nblobstore: {provider: s3, options: {bucket_name: b}}\n",
            ),
            ("config/blobs.yml", BLOBS),
            (
                "jobs/app/spec",
                "name: app\ntemplates: {run.erb: bin/run}\npackages: [app]\n",
            ),
            ("jobs/app/monit", ""),
            ("jobs/app/templates/run.erb", "run\n"),
            ("packages/tool/spec", "name: tool\nfiles: [tool/*.txt]\n"),
            ("packages/tool/packaging", "cp tool/* $BOSH_INSTALL_TARGET\n"),
            (
                "packages/app/spec",
                "name: app\ndependencies: [tool]\nfiles: ['app/**/*']\nexcluded_files: [app/skip]\n",
            ),
            ("packages/app/packaging", "make\n"),
            ("src/app/main.c", "int x;\n"),
            ("src/app/skip", "skip\n"),
            ("src/app/deep/.hidden", "h\n"),
            ("blobs/tool/words.txt", "words\n"),
            ("blobs/tool/untracked.txt", "not in blobs.yml\n"),
        ] {
            repository.write(path, text);
        }
        let run = repository.path("src/app/main.c");
        fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
        symlink("main.c", repository.path("src/app/to")).unwrap();
        repository
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> Result<Source, Vec<Diagnostic>> {
        Source::folder(self.0.path(), None, &mut Sources::default())
    }

    /// The code and the message of the only error.
    fn refused(&self) -> String {
        let errors = self.read().err().unwrap();
        assert_eq!(errors.len(), 1, "{errors:?}");
        format!("{}: {}", errors[0].code, errors[0].message)
    }

    fn fingerprint(&self, package: &str) -> String {
        let source = self.read().unwrap();
        let found = source.packages.iter().find(|one| one.name == package);
        found.unwrap().fingerprint.clone()
    }
}

const BLOBS: &str = "tool/words.txt: {size: 6, object_id: o-1, sha: 'sha256:ff646650bc064e5981d37e75caf62e8551f146dff3b8967dd9cf36d263480e3a'}\n";

// Computed independently, with python3: `d = lambda b: 'sha256:' + hashlib.sha256(b).hexdigest()`, then SHA-256 over
// `'v2' + 'packaging' + d(b'cp tool/* $BOSH_INSTALL_TARGET\n') + 'tool/words.txt' + d(b'words\n') + '100644'`, and over
// `'v2' + 'app/deep/.hidden' + d(b'h\n') + '100644' + 'app/main.c' + d(b'int x;\n') + '100755' + 'app/to' +
// d(b'main.c') + 'symlink' + 'packaging' + d(b'make\n') + 'tool'`.
const TOOL: &str = "1553d4eb373f13739397720bfbdce48889243dbd8b9ad16a1f62184e1a24d29d";
const APP: &str = "ebc4977126faf0f4030cf1a8c660647f3d36282fa85380c67f14d19306d9df0d";

#[test]
fn packages_have_the_fingerprints_of_the_bosh_cli() {
    let source = Repository::new().read().unwrap();
    let packages = source
        .packages
        .iter()
        .map(|one| (one.name.as_str(), one.fingerprint.as_str()));
    // Dependencies come first.
    assert_eq!(packages.collect::<Vec<_>>(), [("tool", TOOL), ("app", APP)]);
    assert!(source.jobs.file("jobs/app/job.MF").is_ok());
    assert!(source.jobs.file("jobs/app/templates/run.erb").is_ok());
}

#[test]
fn a_repository_has_its_final_version_only_with_the_same_content() {
    let repository = Repository::new();
    let version = || repository.read().unwrap().release.version.clone().unwrap();
    let dev = version();
    assert!(dev.starts_with("0+dev.") && dev.len() == "0+dev.".len() + 12, "{dev}");
    assert_eq!(dev, version());
    repository.write(
        "releases/small/index.yml",
        "builds: {u: {version: '7'}}\nformat-version: '2'\n",
    );
    // As TOOL: `'v2' + 'job.MF' + d(spec) + '100644' + 'monit' + d(b'') + '100644' + 'templates/run.erb' + d(b'run\n')
    // + '100644'`.
    let manifest = format!(
        "name: small\nversion: '7'\njobs: [{{name: app, fingerprint: 2c6086791b302205217139897e2513155a295efd9572e37e492585e8ebb99499}}]\npackages: [{{name: tool, fingerprint: \
         {TOOL}}}, {{name: app, fingerprint: {APP}}}]\n"
    );
    repository.write("releases/small/small-7.yml", &manifest);
    assert_eq!(version(), "7");
    repository.write("jobs/app/templates/run.erb", "changed\n");
    let changed = version();
    assert!(changed.starts_with("7+dev."), "{changed}");
}

#[test]
fn a_missing_blob_is_named_with_its_address_when_it_is_needed() {
    let repository = Repository::new();
    fs::remove_file(repository.path("blobs/tool/words.txt")).unwrap();
    // Its digest is known, so the fingerprint is, and nothing has to be compiled if the cache has the package.
    assert_eq!(repository.fingerprint("tool"), TOOL);
    let source = repository.read().unwrap();
    let errors = source.unpack(&["tool"].into(), &mut |_, _, _| Ok(())).err().unwrap();
    assert_eq!(errors[0].code, "release-blob");
    assert!(
        errors[0].message.contains("https://b.s3.amazonaws.com/o-1"),
        "{errors:?}"
    );
    assert!(
        errors[0].help.as_ref().unwrap().contains("bosh sync-blobs"),
        "{errors:?}"
    );
    assert!(source.unpack(&["app"].into(), &mut |_, _, _| Ok(())).is_ok());
    repository.write(
        "config/blobs.yml",
        "tool/words.txt: {size: 6, object_id: o-1, sha: 8e1f0d2c}\n",
    );
    assert!(
        repository.refused().starts_with("release-blob: "),
        "{}",
        repository.refused()
    );
    repository.write("blobs/tool/words.txt", "other\n");
    assert!(
        repository.refused().starts_with("release-digest: "),
        "{}",
        repository.refused()
    );
}

#[test]
fn packages_that_cannot_be_read_are_refused() {
    for (path, text, expected) in [
        (
            "packages/tool/spec",
            "name: tool\nfiles: [tool/*.txt]\ndependencies: [app]\n",
            "release-package-cycle: ",
        ),
        (
            "packages/tool/spec",
            "name: tool\nfiles: [none/*]\n",
            "release-package-spec: Missing files for pattern",
        ),
        (
            "packages/tool/spec",
            "name: tool\nfiles: ['../x']\n",
            "release-package-spec: Invalid pattern",
        ),
        (
            "packages/tool/spec",
            "name: 'a b'\n",
            "release-package-spec: Invalid package name",
        ),
        ("packages/tool/pre_packaging", "true\n", "release-package-spec: "),
        (
            "packages/app/spec",
            "name: app\ndependencies: [gone]\n",
            "release-package-spec: Expected to find",
        ),
        (
            "packages/tool/spec.lock",
            "name: tool\nfingerprint: abc\n",
            "release-fingerprint: Expected to find 'tool/abc'",
        ),
    ] {
        let repository = Repository::new();
        repository.write(path, text);
        let said = repository.refused();
        assert!(said.starts_with(expected), "{path}: {said}");
    }
}

/// A vendored package in a local blobstore.
#[test]
fn vendored_packages_are_read_from_their_archives() {
    let repository = Repository::new();
    let pack = |files: &[(&str, &str)]| {
        let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    };
    let same = [
        ("packaging", "cp tool/* $BOSH_INSTALL_TARGET\n"),
        ("tool/words.txt", "words\n"),
    ];
    let archive = pack(&same);
    let digest = boson_oci::digest(&archive);
    fs::create_dir(repository.path("store")).unwrap();
    fs::write(repository.path("store/o-2"), &archive).unwrap();
    repository.write(
        "config/final.yml",
        "name: small\nblobstore: {provider: local, options: {blobstore_path: store}}\n",
    );
    repository.write("packages/tool/spec.lock", &format!("name: tool\nfingerprint: {TOOL}\n"));
    let index = |digest: &str| {
        format!("builds: {{{TOOL}: {{version: {TOOL}, blobstore_id: o-2, sha1: '{digest}'}}}}\nformat-version: '2'\n")
    };
    let path = ".final_builds/packages/tool/index.yml";
    repository.write(path, &index(digest.as_ref()));
    let source = repository.read().unwrap();
    let warns = |source: &Source| {
        source
            .release
            .warnings
            .iter()
            .any(|one| one.code == "release-fingerprint")
    };
    assert_eq!(source.packages[0].other_content, None);
    assert!(!warns(&source));
    let mut seen = Vec::new();
    let visited = source.unpack(&["tool"].into(), &mut |package, item, _| {
        seen.push(format!("{} {}", package.name, item.path));
        Ok(())
    });
    visited.unwrap();
    assert_eq!(seen, ["tool packaging", "tool tool/words.txt"]);
    // An archive with another content is compiled, but never for other releases.
    let other = pack(&[("packaging", "rm -rf /\n")]);
    fs::write(repository.path("store/o-2"), &other).unwrap();
    assert!(
        repository.refused().starts_with("release-digest: "),
        "{}",
        repository.refused()
    );
    repository.write(path, &index(boson_oci::digest(&other).as_ref()));
    let source = repository.read().unwrap();
    assert!(source.packages[0].other_content.is_some() && warns(&source));
}

#[test]
fn a_directory_without_a_release_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let errors = Opened::open(empty.path(), None, None, &mut Sources::default(), &mut |_| {});
    assert_eq!(errors.err().unwrap()[0].code, "release-kind");
    let missing = Opened::open(Path::new("/nowhere"), None, None, &mut Sources::default(), &mut |_| {});
    assert_eq!(missing.err().unwrap()[0].code, "release-path");
}
