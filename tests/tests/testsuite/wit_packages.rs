//! `host plugin wit --push` and `--packages`: the packages of the plugin interface in a registry and in a directory, as
//! `wkg` reads them.

use boson_tests::registry::Server;
use boson_tests::{Ran, host, root, wit_changes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wit_component::DecodedWasm;
use wit_parser::Resolve;

const PACKAGES: [&str; 8] = [
    "types",
    "ops",
    "variables",
    "links",
    "render",
    "bpm",
    "resources",
    "checks",
];

fn push(server: &Server, path: &str) -> Ran {
    let place = format!("{}/{path}", server.host());
    let arguments = [
        "plugin",
        "wit",
        "--push",
        &place,
        "--registry-without-tls",
        server.host(),
    ];
    let scratch = tempfile::tempdir().unwrap();
    host(scratch.path(), arguments).unwrap()
}

/// A blob or a manifest in the storage of the registry.
fn stored(server: &Server, digest: &str) -> Vec<u8> {
    let hex = digest.strip_prefix("sha256:").unwrap();
    let blobs = server.files().join("data/docker/registry/v2/blobs/sha256");
    fs::read(blobs.join(&hex[..2]).join(hex).join("data")).unwrap()
}

/// Asserts that the bytes are the package of `wit/`, with its comments.
fn is_package(name: &str, bytes: &[u8]) {
    let DecodedWasm::WitPackage(decoded, id) = wit_component::decode(bytes).unwrap() else {
        unreachable!("{name} is a component");
    };
    let mut resolve = Resolve::default();
    let text = |name: &str| fs::read_to_string(root().join(format!("wit/{name}/1.0.0/{name}.wit"))).unwrap();
    let mut wanted = resolve.push_str("types.wit", &text("types")).unwrap();
    if name != "types" {
        wanted = resolve.push_str("package.wit", &text(name)).unwrap();
    }
    assert_eq!(decoded.packages[id].name, resolve.packages[wanted].name);
    assert_eq!(decoded.packages[id].docs, resolve.packages[wanted].docs);
    assert_eq!(
        wit_changes::items(&decoded, id),
        wit_changes::items(&resolve, wanted),
        "{name}"
    );
}

#[test]
fn a_registry_has_the_packages_as_tools_of_wit_expect_them() {
    let server = Server::start(false).unwrap();
    let ran = push(&server, "team");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), PACKAGES.len(), "{}", ran.stdout);
    for (line, name) in lines.iter().zip(PACKAGES) {
        let (reference, digest) = line.split_once('@').unwrap();
        assert_eq!(reference, format!("{}/team/boson/{name}:1.0.0", server.host()));
        let manifest: Value = serde_json::from_slice(&stored(&server, digest)).unwrap();
        assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
        assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
        assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
        assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.0.0");
        let config = manifest["config"]["digest"].as_str().unwrap();
        let config: Value = serde_json::from_slice(&stored(&server, config)).unwrap();
        let layer = manifest["layers"][0]["digest"].as_str().unwrap();
        assert_eq!(config["layerDigests"], json!([layer]));
        let exports = config["component"]["exports"].as_array().unwrap();
        assert!(
            exports.iter().all(|name| name.as_str().unwrap().ends_with("@1.0.0")),
            "{config}"
        );
        is_package(name, &stored(&server, layer));
    }
}

#[test]
fn a_package_in_the_registry_is_not_replaced() {
    let server = Server::start(false).unwrap();
    let other = server.push_component("boson/types:1.0.0", b"\0asm other").unwrap();
    let first = push(&server, "bosh");
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(first.stdout.lines().count(), PACKAGES.len() - 1, "{}", first.stdout);
    let kept = format!("not replaced: {}@{other}", server.image("boson/types:1.0.0"));
    assert!(first.stderr.contains(&kept), "{}", first.stderr);
    let second = push(&server, "bosh");
    assert_eq!((second.code, second.stdout.as_str()), (0, ""), "{}", second.stderr);
    for line in first.stdout.lines() {
        assert!(second.stderr.contains(line), "{line}: {}", second.stderr);
    }
}

/// Files of a directory, by their paths in it.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let list = boson_tests::sources::below(directory, "wasm").unwrap();
    let read = |file: PathBuf| {
        (
            file.strip_prefix(directory).unwrap().to_path_buf(),
            fs::read(&file).unwrap(),
        )
    };
    list.into_iter().map(read).collect()
}

#[test]
fn the_same_packages_are_written_as_files() {
    let scratch = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| {
        let ran = host(scratch.path(), ["plugin", "wit", "--packages", name]).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        files(&scratch.path().join(name))
    });
    assert!(one == other, "they differ");
    assert_eq!(one.len(), PACKAGES.len());
    for name in PACKAGES {
        is_package(name, &one[Path::new(&format!("boson/{name}/1.0.0.wasm"))]);
    }
    let ran = host(scratch.path(), ["plugin", "wit"]).unwrap();
    assert_eq!(ran.code, 2, "a stage is missing: {}", ran.stderr);
}

/// The configuration files of wkg that the page shows: for a registry, and for a directory.
fn configurations() -> [String; 2] {
    let page = fs::read_to_string(root().join("docs/plugins.md")).unwrap();
    let blocks = page.split("```toml\n[namespace_registries]\n").skip(1);
    let texts: Vec<String> = blocks
        .map(|block| format!("[namespace_registries]\n{}", block.split("```").next().unwrap()))
        .collect();
    texts.try_into().unwrap()
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
fn wkg_fetches_the_packages_of_each_stage() {
    if Command::new("wkg").arg("--version").output().is_err() {
        eprintln!("left out: there is no wkg");
        return;
    }
    let server = Server::start(false).unwrap();
    assert_eq!(push(&server, "team").code, 0);
    let scratch = tempfile::tempdir().unwrap();
    assert_eq!(
        host(scratch.path(), ["plugin", "wit", "--packages", "packages"])
            .unwrap()
            .code,
        0
    );
    let [registry, directory] = configurations();
    let without_tls = format!("[registry.\"{}\".oci]\nprotocol = \"http\"\n", server.host());
    let registry = registry
        .replace("ghcr.io", server.host())
        .replace("\"boson/\"", "\"team/\"")
        + &without_tls;
    let packages = scratch.path().join("packages");
    let directory = directory.replace("\"DIR\"", &format!("{packages:?}"));
    for (source, configuration) in [("registry", registry), ("directory", directory)] {
        let place = scratch.path().join(source);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("config.toml"), configuration).unwrap();
        for stage in PACKAGES.into_iter().filter(|name| *name != "types") {
            let plugin = place.join(stage);
            fs::create_dir_all(plugin.join("wit")).unwrap();
            let world = format!("package example:plugin;\nworld plugin {{ include boson:{stage}/{stage}@1.0.0; }}\n");
            fs::write(plugin.join("wit/world.wit"), world).unwrap();
            let mut wkg = Command::new("wkg");
            wkg.arg("fetch")
                .current_dir(&plugin)
                .env("WKG_CACHE_DIR", place.join("cache"));
            let ran = wkg.env("WKG_CONFIG_FILE", place.join("config.toml")).output().unwrap();
            assert!(ran.status.success(), "{source}: {stage}: {ran:?}");
            let mut resolve = Resolve::default();
            let (package, _) = resolve.push_dir(plugin.join("wit")).unwrap();
            let names: Vec<String> = resolve.packages.iter().map(|(_, one)| one.name.to_string()).collect();
            assert!(names.contains(&format!("boson:{stage}@1.0.0")), "{names:?}");
            assert!(resolve.select_world(&[package], Some("plugin")).is_ok());
            assert!(fs::read_to_string(plugin.join("wkg.lock")).unwrap().contains("sha256:"));
        }
    }
}
