//! `boson-build image`: the content of the image, and that the same files give the same bytes. The program and the
//! plugins are made up here; tests on a cluster show whether the real ones run in it.

use boson_tests::compiled::sha256;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

const STAGES: [&str; 5] = ["ops", "variables", "links", "bpm", "render"];

/// A program and plugins like those of an installation.
struct Built {
    directory: TempDir,
}

// === impl Built ===

impl Built {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plugins = directory.path().join("plugins");
        fs::create_dir(&plugins).unwrap();
        for stage in STAGES {
            for kind in [
                "wasm",
                "sha256",
                "stamp",
                "0123456789abcdef.cwasm",
                "test-0123456789abcdef.cwasm",
            ] {
                fs::write(plugins.join(format!("{stage}.{kind}")), format!("{stage} {kind}")).unwrap();
            }
        }
        // Any program with shared libraries can be used.
        fs::copy("/bin/cat", directory.path().join("host")).unwrap();
        fs::write(directory.path().join("container-run"), "wrapper").unwrap();
        fs::write(directory.path().join("certificates"), "trusted\n").unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn image(&self) -> Output {
        let maker = boson_tests::binary().unwrap().with_file_name("boson-build");
        Command::new(maker)
            .args(["image", "--name", "registry.test/boson/host:1"])
            .arg("--host")
            .arg(self.path("host"))
            .arg("--container-run")
            .arg(self.path("container-run"))
            .arg("--plugins")
            .arg(self.path("plugins"))
            .arg("--certificates")
            .arg(self.path("certificates"))
            .arg("--out")
            .arg(self.path("image.tar"))
            .output()
            .unwrap()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let output = self.image();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut files = BTreeMap::new();
        let mut archive = tar::Archive::new(File::open(self.path("image.tar")).unwrap());
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(entry.path().unwrap().display().to_string(), bytes);
        }
        files
    }
}

#[test]
fn both_indexes_refer_to_the_same_image_with_correct_digests() {
    let files = Built::new().files();
    for (path, bytes) in &files {
        if let Some(digest) = path.strip_prefix("blobs/sha256/").filter(|digest| !digest.is_empty()) {
            assert_eq!(digest, sha256(bytes), "{path}");
        }
    }
    let index = json(&files["index.json"]);
    let named = &index["manifests"][0];
    assert_eq!(
        named["annotations"]["io.containerd.image.name"],
        "registry.test/boson/host:1"
    );
    let manifest = json(blob(&files, named));
    let config = json(blob(&files, &manifest["config"]));
    let layers = manifest["layers"].as_array().unwrap();
    let diffs: Vec<&Value> = layers.iter().map(|layer| &layer["digest"]).collect();
    assert_eq!(
        config["rootfs"]["diff_ids"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>(),
        diffs
    );
    assert_eq!(config["config"]["User"], "1000");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/usr/bin/host"]));
    assert_eq!(
        config["config"]["Labels"]["org.opencontainers.image.version"],
        env!("CARGO_PKG_VERSION")
    );

    let saved = &json(&files["manifest.json"])[0];
    assert_eq!(saved["RepoTags"], serde_json::json!(["registry.test/boson/host:1"]));
    let same = |path: &Value, descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        assert_eq!(path.as_str().unwrap(), format!("blobs/{digest}"));
    };
    same(&saved["Config"], &manifest["config"]);
    for (path, layer) in saved["Layers"].as_array().unwrap().iter().zip(layers) {
        same(path, layer);
    }
}

#[test]
fn layers_hold_only_an_installation_and_its_libraries() {
    let built = Built::new();
    let files = built.files();
    let manifest = json(blob(&files, &json(&files["index.json"])["manifests"][0]));
    let layers: Vec<String> = manifest["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| listing(blob(&files, layer)))
        .collect();
    let [base, plugins, program] = layers.try_into().unwrap();
    let mut expected = String::from("755 usr\n755 usr/share\n755 usr/share/boson\n755 usr/share/boson/plugins\n");
    let mut names: Vec<String> = STAGES
        .iter()
        .flat_map(|stage| ["0123456789abcdef.cwasm", "sha256", "wasm"].map(|kind| format!("{stage}.{kind}")))
        .collect();
    names.sort();
    for name in names {
        expected.push_str(&format!("644 usr/share/boson/plugins/{name}\n"));
    }
    assert_eq!(plugins, expected);
    assert_eq!(
        program,
        "755 usr\n755 usr/bin\n755 usr/bin/container-run\n755 usr/bin/host\n"
    );

    let needed = Command::new("ldd").arg(built.path("host")).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    let mut libraries = 0;
    for line in base.lines().filter(|line| line.contains(".so")) {
        let (_, path) = line.split_once(' ').unwrap();
        assert!(needed.contains(&format!("/{path} (")), "{path} is not among {needed}");
        libraries += 1;
    }
    assert!(libraries > 1, "{base}");
    for line in [
        "644 etc/passwd",
        "644 etc/group",
        "644 etc/nsswitch.conf",
        "644 etc/ssl/certs/ca-certificates.crt",
        "1777 tmp",
    ] {
        assert!(base.lines().any(|one| one == line), "{line} is not in\n{base}");
    }
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let (one, other) = (Built::new(), Built::new());
    // At another time, and in another order.
    for path in ["host", "plugins/ops.wasm"] {
        let file = File::options().append(true).open(other.path(path)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    assert_eq!(digest(&one), digest(&other));
    let mut changed = File::options()
        .append(true)
        .open(other.path("plugins/ops.wasm"))
        .unwrap();
    changed.write_all(b"!").unwrap();
    assert_ne!(digest(&one), digest(&other));
}

#[test]
fn without_machine_code_there_is_no_image() {
    let built = Built::new();
    fs::remove_file(built.path("plugins/bpm.0123456789abcdef.cwasm")).unwrap();
    let output = built.image();
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("no machine code of bpm: run `host plugin precompile"),
        "{error}"
    );
    assert!(!built.path("image.tar").exists());
}

/// Mode and path of everything in a layer, after a check of the fields that must be the same in all.
fn listing(layer: &[u8]) -> String {
    let mut text = String::new();
    for entry in tar::Archive::new(layer).entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(
            (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
            (0, 0, 0)
        );
        let path = entry.path().unwrap().display().to_string();
        text.push_str(&format!(
            "{:o} {}\n",
            header.mode().unwrap(),
            path.trim_end_matches('/')
        ));
    }
    text
}

fn digest(built: &Built) -> String {
    built.files();
    sha256(&fs::read(built.path("image.tar")).unwrap())
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> &'a [u8] {
    let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
    let bytes = &files[&format!("blobs/{digest}")];
    assert_eq!(descriptor["size"].as_u64().unwrap(), bytes.len() as u64);
    bytes
}
