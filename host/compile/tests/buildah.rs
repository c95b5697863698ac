//! Compiles small source releases with buildah, on a stemcell image made of busybox. Needs root.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boson_compile::{Builder, Choice, Compiler, Settings, Tally};
use boson_images::{Base, Pool};
use boson_oci::{Blob, Digesting, Image, Layer, MediaType, Section, digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_releases::Source;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use tar::{Archive, Builder as Tar, EntryType, Header};
use tempfile::TempDir;

/// The programs of the stemcell, all of them busybox.
const PROGRAMS: &[&str] = &[
    "sh", "awk", "cat", "cp", "env", "grep", "ln", "mkdir", "mv", "seq", "tar", "wget",
];

/// Writes an image layout with a shell, which is also there as `bash`.
fn stemcell(place: &Path) -> PathBuf {
    let mut tar = Tar::new(Vec::new());
    let busybox = fs::read("/bin/busybox").unwrap();
    let mut file = |path: &str, content: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, path, content).unwrap();
    };
    file("bin/busybox", &busybox);
    file("bin/bash", b"#!/bin/sh\nexec /bin/busybox sh \"$@\"\n");
    for program in PROGRAMS {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        tar.append_link(&mut header, format!("bin/{program}"), "busybox")
            .unwrap();
    }
    let plain = tar.into_inner().unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut plain.as_slice(), &mut gzip).unwrap();
    let packed = place.join("layer");
    fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let content = Section::open(&packed).unwrap();
    let layer = Layer {
        media_type: MediaType::ImageLayerGzip,
        digest: content.digest().unwrap(),
        diff_id: digest(&plain),
        content,
    };
    let config = json!({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id.as_ref() as &str]}});
    let config = Blob::json(MediaType::ImageConfig, &config);
    let layout = place.join("stemcell");
    boson_oci::directory(&Image::new("stemcell:1", config, vec![layer]), &layout).unwrap();
    layout
}

/// A cache, a stemcell image, and the repository of a release in two languages: `greeter` is compiled by the awk
/// program of `compiler`, with the blob of `words`.
struct Workshop {
    directory: TempDir,
    base: Base,
}

impl Workshop {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = Base::read(&stemcell(directory.path()), directory.path(), &Pool::default()).unwrap();
        let workshop = Self { directory, base };
        workshop.release("greeter");
        workshop
    }

    fn release(&self, name: &str) {
        let words = digest(b"world\n");
        let blobs = format!(
            "words/one.txt: {{size: 6, object_id: o, sha: '{}'}}\n",
            words.as_ref() as &str
        );
        for (path, text) in [
            ("config/final.yml", format!("name: {name}\n").as_str()),
            ("config/blobs.yml", &blobs),
            ("blobs/words/one.txt", "world\n"),
            ("jobs/run/spec", "name: run\ntemplates: {}\npackages: [greeter]\n"),
            ("jobs/run/monit", ""),
            ("packages/compiler/spec", "name: compiler\nfiles: [compiler/*.awk]\n"),
            (
                "packages/compiler/packaging",
                "set -e\nmkdir $BOSH_INSTALL_TARGET/bin\ncp compiler/*.awk $BOSH_INSTALL_TARGET/bin\n",
            ),
            ("src/compiler/upper.awk", "{ print toupper($0) }\n"),
            ("packages/words/spec", "name: words\nfiles: [words/*]\n"),
            ("packages/words/packaging", "mv words/one.txt $BOSH_INSTALL_TARGET\n"),
            (
                "packages/greeter/spec",
                "name: greeter\ndependencies: [words, compiler]\nfiles: [greeter/**/*]\n",
            ),
            ("packages/greeter/packaging", GREETER),
            ("src/greeter/text.in", "hello\n"),
        ] {
            self.write(name, path, text);
        }
    }

    fn write(&self, release: &str, path: &str, text: &str) {
        let path = self.directory.path().join(release).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn compile(&self, release: &str) -> Result<(Vec<Layer>, Tally), Vec<Diagnostic>> {
        let settings = Settings {
            choice: Choice::Only(Builder::Buildah),
            network: false,
            jobs: 2,
        };
        let compiler = Compiler::new(&self.directory.path().join("cache"), Pool::default(), settings).unwrap();
        let source = Source::folder(&self.directory.path().join(release), None, &mut Sources::default()).unwrap();
        compiler.compile(&source, &self.base, &|_| {})
    }

    /// How many packages were compiled, and how many were in the cache.
    fn counted(&self, release: &str) -> (usize, usize) {
        let (_, tally) = self.compile(release).unwrap();
        (tally.compiled, tally.cached)
    }
}

/// Uses its dependencies, and shows its environment. A network would have more interfaces than `lo`.
const GREETER: &str = r#"set -e
grep : /proc/net/dev | grep -v lo: && exit 9
cat greeter/text.in /var/vcap/packages/words/one.txt >in
awk -f /var/vcap/packages/compiler/bin/upper.awk in >$BOSH_INSTALL_TARGET/greeting
mkdir $BOSH_INSTALL_TARGET/bin
echo run >$BOSH_INSTALL_TARGET/bin/run
ln $BOSH_INSTALL_TARGET/bin/run $BOSH_INSTALL_TARGET/bin/again
echo "$PWD $BOSH_COMPILE_TARGET $BOSH_INSTALL_TARGET $BOSH_PACKAGE_NAME $BOSH_PACKAGE_VERSION" >$BOSH_INSTALL_TARGET/env
"#;

/// The entries of a layer: path, and the content, or the target of a link.
fn entries(layer: &Layer) -> BTreeMap<String, String> {
    let mut digesting = Digesting::new(layer.content.reader());
    std::io::copy(&mut digesting, &mut std::io::sink()).unwrap();
    assert_eq!(digesting.finish().digest, layer.digest);
    let mut archive = Archive::new(flate2::read::GzDecoder::new(layer.content.reader()));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut text = entry
            .link_name()
            .unwrap()
            .map(|to| format!("-> {}", to.display()))
            .unwrap_or_default();
        entry.read_to_string(&mut text).unwrap();
        (path.trim_end_matches('/').to_owned(), text)
    });
    entries.collect()
}

#[test]
fn packages_are_compiled_once_and_again_only_if_they_change() {
    let workshop = Workshop::new();
    let (layers, tally) = workshop.compile("greeter").unwrap();
    assert_eq!((tally.compiled, tally.cached), (3, 0));
    // Sorted by name: compiler, greeter, words.
    let found = entries(&layers[1]);
    let link = &found["var/vcap/packages/greeter"];
    let root = link.strip_prefix("-> /").unwrap();
    let version = root.strip_prefix("var/vcap/packages-src/greeter/").unwrap();
    assert_eq!(found[&format!("{root}/greeting")], "HELLO\nWORLD\n");
    // Which of two hard links is the file depends on the order of the directory.
    let pair = ["run", "again"].map(|name| found[&format!("{root}/bin/{name}")].clone());
    let links = pair.iter().filter(|text| text.starts_with("-> ")).count();
    assert!(links == 1 && pair.contains(&"run\n".to_owned()), "{pair:?}");
    let compile = "/var/vcap/data/compile/greeter";
    assert_eq!(
        found[&format!("{root}/env")],
        format!("{compile} {compile} /var/vcap/packages/greeter greeter {version}.1\n")
    );
    let (again, tally) = workshop.compile("greeter").unwrap();
    assert_eq!((tally.compiled, tally.cached), (0, 3));
    assert_eq!(again[1].digest, layers[1].digest);
    // Another release with the same packages: all are there. Another source: only its package.
    workshop.release("other");
    assert_eq!(workshop.counted("other"), (0, 3));
    workshop.write("other", "src/greeter/text.in", "good day\n");
    assert_eq!(workshop.counted("other"), (1, 2));
}

#[test]
fn a_failing_script_is_shown_and_what_is_done_is_not_done_again() {
    let workshop = Workshop::new();
    let fails = "echo before\nwget -q http://192.0.2.1/ || { echo no network here; exit 3; }\n";
    workshop.write("greeter", "packages/greeter/packaging", fails);
    let errors = workshop.compile("greeter").err().unwrap();
    let [error] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert_eq!(error.code, "compile-failed");
    assert!(
        error.message.contains("package 'greeter' of release 'greeter'"),
        "{error:?}"
    );
    assert!(error.message.contains("\n    no network here\n"), "{error:?}");
    let help = error.help.as_ref().unwrap();
    assert!(help.contains("--network"), "{help}");
    let log = help.split('\'').nth(1).unwrap();
    assert!(fs::read_to_string(log).unwrap().contains("before"));
    workshop.write("greeter", "packages/greeter/packaging", GREETER);
    assert_eq!(workshop.counted("greeter"), (1, 2));
}

#[test]
fn output_and_errors_of_a_script_are_in_the_order_in_which_they_were_written() {
    let workshop = Workshop::new();
    let script = "set +x\nfor nth in $(seq 300); do echo \"line $nth\"; echo \"error $nth\" >&2; done\nexit 3\n";
    workshop.write("greeter", "packages/greeter/packaging", script);
    let errors = workshop.compile("greeter").err().unwrap();
    let log = errors[0].help.as_ref().unwrap().split('\'').nth(1).unwrap();
    let log = fs::read_to_string(log).unwrap();
    let written: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("line ") || line.starts_with("error "))
        .collect();
    let expected: Vec<String> = (1..=300)
        .flat_map(|nth| [format!("line {nth}"), format!("error {nth}")])
        .collect();
    assert_eq!(written, expected);
}

#[test]
fn runs_with_caches_of_their_own_compile_the_same_packages_at_the_same_time() {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert_eq!(Workshop::new().counted("greeter"), (3, 0));
                }
            });
        }
    });
}
