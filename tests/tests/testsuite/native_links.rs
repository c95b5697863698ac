//! `host convert --native`: the folders of `tests/native-links` have native objects, and the link that they provide.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Pointer, json};
use boson_pipeline::convert::stored_documents;
use boson_tests::{host, root};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Where the resolved document of the group has the link.
const LINK: &str = "/instance_groups/0/jobs/0/properties/quarks/consumes/nats";

/// The link that the job `client` gets from these native objects.
fn link(native: &Path) -> Value {
    let fixtures = root().join("tests/fixtures");
    let [manifest, release] =
        ["manifests/native.yml", "releases/native"].map(|name| fixtures.join(name).display().to_string());
    let scratch = tempfile::tempdir().unwrap();
    let native = native.display().to_string();
    let arguments = ["convert", &manifest, "--release", &release, "--native", &native];
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 0, "{native}: {}", ran.stderr);
    assert!(!ran.stderr.contains("native-link"), "{native}: {}", ran.stderr);
    let objects = serde_yaml::Deserializer::from_str(&ran.stdout).map(|object| Value::deserialize(object).unwrap());
    let mut secrets = objects.filter(|object| object["data"][stored_documents::RESOLVED].is_string());
    let secret = secrets.next().unwrap();
    let data = STANDARD.decode(secret["data"][stored_documents::RESOLVED].as_str().unwrap());
    let document = stored_documents::read("resolved", &data.unwrap()).unwrap();
    let link = Pointer::parse(LINK).unwrap().find(&document.tree).map(json::to_text);
    serde_json::from_str(&link.unwrap()).unwrap()
}

#[test]
fn native_objects_provide_the_expected_links() {
    let mut folders: Vec<_> = fs::read_dir(root().join("tests/native-links")).unwrap().collect();
    assert!(folders.len() > 8);
    for folder in folders.drain(..) {
        let folder = folder.unwrap().path();
        let (file, directory) = (folder.join("native.yml"), folder.join("native"));
        let native = if file.exists() { file } else { directory };
        let expected = fs::read_to_string(folder.join("link.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(link(&native), expected, "{}", folder.display());
    }
}
