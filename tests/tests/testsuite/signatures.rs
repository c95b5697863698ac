//! Signatures, attestations and bills of materials of plugins on the command line, with a real registry on a loopback
//! address: Debian's `docker-registry`, which `.ci/setup` installs.

use boson_tests::component::core_module;
use boson_tests::registry::Server;
use boson_tests::signing::{self, SigningKey};
use boson_tests::sigstore::{Author, Sigstore};
use boson_tests::wrapper::COMMON;
use boson_tests::{Ran, Run, built_in, root};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const BUILDER: &str = "https://ci.example.com/builder";

/// A registry with the image of a plugin, and a directory to work in.
struct Scene {
    registry: Server,
    scratch: TempDir,
    component: Vec<u8>,
    /// The digest of the image.
    image: String,
}

impl Scene {
    fn new() -> Self {
        let registry = Server::start(false).unwrap();
        let component = fs::read(built_in("ops.wasm").unwrap()).unwrap();
        let image = registry.push_component("plugin:1", &component).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("plugin.wasm"), &component).unwrap();
        Self {
            registry,
            scratch,
            component,
            image,
        }
    }

    /// The tag of the image, as the command line takes it.
    fn tag(&self) -> String {
        format!("oci://{}", self.registry.image("plugin:1"))
    }

    fn host(&self, arguments: &[&str]) -> Ran {
        let mut run = Run::new(self.scratch.path(), arguments);
        let path = |name: &str| self.scratch.path().join(name).into_os_string();
        run.environment = vec![
            ("BOSON_REGISTRY_WITHOUT_TLS".into(), self.registry.host().into()),
            ("DOCKER_CONFIG".into(), path("docker")),
        ];
        run.start().unwrap()
    }

    fn verify(&self, component: &str, key: &SigningKey, more: &[&str]) -> Ran {
        let key = key.public();
        let arguments = ["plugin", "verify", component, "--key", key.to_str().unwrap()];
        self.host(&[arguments.as_slice(), more].concat())
    }

    /// A refused plugin; the message.
    fn refused(&self, component: &str, key: &SigningKey, more: &[&str]) -> String {
        let ran = self.verify(component, key, more);
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout, "");
        ran.stderr
    }

    /// A file with this text.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }
}

/// The fingerprint of a key: the digest of its DER.
fn fingerprint(key: &SigningKey) -> String {
    let mut openssl = Command::new("openssl");
    let output = openssl
        .args(["ec", "-pubin", "-outform", "DER", "-in"])
        .arg(key.public())
        .output()
        .unwrap();
    assert!(output.status.success());
    signing::digest(&output.stdout)
}

#[test]
fn an_image_is_verified_by_the_signatures_in_its_registry() {
    let (scene, key, other) = (Scene::new(), SigningKey::new().unwrap(), SigningKey::new().unwrap());
    let message = scene.refused(&scene.tag(), &key, &[]);
    for part in [
        "error[plugin-not-signed]:",
        &format!(
            "@{}', component {}, is not signed",
            scene.image,
            signing::digest(&scene.component)
        ),
        &fingerprint(&key),
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // Of the payload that names another image, nothing is true here.
    let (payload, signature) = signing::of_image(&key, &signing::digest(b"another image")).unwrap();
    let push = |payload: &str, signature: &str| {
        let pushed = scene
            .registry
            .push_signature("plugin", &scene.image, payload.as_bytes(), signature);
        pushed.unwrap();
    };
    push(&payload, &signature);
    let message = scene.refused(&scene.tag(), &key, &[]);
    assert!(message.contains("has a signature, but not by"), "{message}");

    let (payload, signature) = signing::of_image(&key, &scene.image).unwrap();
    push(&payload, &signature);
    let ran = scene.verify(&scene.tag(), &key, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "verified\n",
        &scene.image,
        &signing::digest(&scene.component),
        &fingerprint(&key),
        "the image, by key",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let ran = scene.verify(&scene.tag(), &key, &["-o", "json"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["verified"], true);
    assert_eq!(result["component"], signing::digest(&scene.component));
    assert_eq!(result["signature"]["of"], "image");
    assert_eq!(result["signature"]["key"]["fingerprint"], fingerprint(&key));
    let message = scene.refused(&scene.tag(), &other, &[]);
    assert!(message.contains(&fingerprint(&other)), "{message}");
}

#[test]
fn bundles_of_cosign_3_are_signatures_and_attestations() {
    let (scene, key) = (Scene::new(), SigningKey::new().unwrap());
    let bundle = |digest: &str, kind: &str, predicate: &Value| {
        let envelope = signing::statement(&key, digest, kind, predicate).unwrap();
        json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "x"}}, "dsseEnvelope": envelope})
            .to_string()
    };
    let signature = "https://sigstore.dev/cosign/sign/v1";
    let signed = bundle(&scene.image, signature, &json!({}));
    let of_other = bundle(&signing::digest(b"another image"), signature, &json!({}));
    let attested = bundle(&scene.image, PROVENANCE, &signing::provenance(BUILDER));
    let documents = [&of_other, &attested, &signed].map(|text| (BUNDLE, text.as_bytes()));
    let registry = &scene.registry;
    registry
        .push_referrers("plugin", &scene.image, &documents[..2])
        .unwrap();
    let message = scene.refused(&scene.tag(), &key, &[]);
    assert!(message.contains("error[plugin-not-signed]"), "{message}");
    registry.push_referrers("plugin", &scene.image, &documents).unwrap();
    let ran = scene.verify(
        &scene.tag(),
        &key,
        &["--provenance", "--builder", BUILDER, "-o", "json"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["provenance"]["builder"], BUILDER);
    assert_eq!(result["provenance"]["key"]["fingerprint"], fingerprint(&key));
}

#[test]
fn an_image_is_verified_by_the_identity_that_has_signed_it() {
    const ISSUER: &str = "https://issuer.example";
    const WORKFLOW: &str = "https://git.example/team/labels@refs/tags/v1";
    let (scene, sigstore) = (Scene::new(), Sigstore::new().unwrap());
    let root = scene.file("trusted_root.json", &sigstore.root().unwrap().to_string());
    let with = |command: &str, root: &str, rule: &str, more: &[&str]| {
        let tag = scene.tag();
        let arguments = ["plugin", command, &tag, "--trusted-root", root, "--identity", rule];
        scene.host(&[&arguments[..], more].concat())
    };
    let rule = format!("{ISSUER}=https://git.example/team/*@refs/tags/*");
    let ran = with("verify", &root, &rule, &[]);
    assert!(ran.stderr.contains("error[plugin-not-signed]:"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&rule), "{}", ran.stderr);
    let author = Author::new(WORKFLOW, ISSUER);
    let signature = "https://sigstore.dev/cosign/sign/v1";
    let signed = sigstore
        .statement(&author, &scene.image, signature, &json!({}))
        .unwrap();
    let built = signing::provenance(BUILDER);
    let attested = sigstore.statement(&author, &scene.image, PROVENANCE, &built).unwrap();
    let documents = [signed.to_string(), attested.to_string()];
    let documents: Vec<(&str, &[u8])> = documents.iter().map(|text| (BUNDLE, text.as_bytes())).collect();
    scene
        .registry
        .push_referrers("plugin", &scene.image, &documents)
        .unwrap();

    let ran = with(
        "verify",
        &root,
        &rule,
        &["--provenance", "--builder", BUILDER, "-o", "json"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    for signer in [&result["signature"], &result["provenance"]] {
        assert_eq!(signer["of"], "image");
        assert_eq!(signer["identity"], json!({"name": WORKFLOW, "issuer": ISSUER}));
    }
    let ran = with("inspect", &root, &rule, &[]);
    let state = format!("verified, identity '{WORKFLOW}' of '{ISSUER}'");
    assert_eq!(ran.stdout.matches(&state).count(), 2, "{}{}", ran.stdout, ran.stderr);
    let other_root = Sigstore::new().unwrap().root().unwrap().to_string();
    let other_root = scene.file("other_root.json", &other_root);
    for (root, rule, code, part) in [
        (
            &root,
            format!("{ISSUER}=me@example.com"),
            "plugin-signature-identity",
            WORKFLOW,
        ),
        (
            &root,
            format!("https://other.example={WORKFLOW}"),
            "plugin-signature-issuer",
            ISSUER,
        ),
        (&other_root, rule.clone(), "plugin-signature-log", "log"),
    ] {
        let ran = with("verify", root, &rule, &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        let code = format!("error[{code}]:");
        let parts = [code.as_str(), scene.image.as_str(), part];
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    }
    // What is no rule or no root is a mistake of the command line.
    let ran = with("verify", &root, "me@example.com", &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let wrong = scene.file("wrong.json", "{}");
    let ran = with("verify", &wrong, &rule, &[]);
    assert!(
        ran.stderr.contains("is not a trusted root of Sigstore"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_is_verified_by_the_signature_and_attestation_that_are_named() {
    let (scene, key, other) = (Scene::new(), SigningKey::new().unwrap(), SigningKey::new().unwrap());
    let message = scene.refused("plugin.wasm", &key, &[]);
    assert!(
        message.contains("pass the signature of the component with --signature"),
        "{message}"
    );
    let good = scene.file("good.sig", &key.sign(&scene.component).unwrap());
    let foreign = scene.file("foreign.sig", &other.sign(&scene.component).unwrap());
    let of_other = scene.file("other.sig", &key.sign(b"another component").unwrap());
    let nonsense = scene.file("nonsense.sig", "nonsense");
    for file in [&foreign, &of_other, &nonsense] {
        let message = scene.refused("plugin.wasm", &key, &["--signature", file]);
        assert!(message.contains("has a signature, but not by"), "{message}");
    }
    let ran = scene.verify("plugin.wasm", &key, &["--signature", &good]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("the component, by key"), "{}", ran.stdout);

    // How it was built is another question.
    let digest = signing::digest(&scene.component);
    let statement = |key: &SigningKey, digest: &str, builder: &str| {
        let statement = signing::statement(key, digest, PROVENANCE, &signing::provenance(builder));
        scene.file("plugin.att", &statement.unwrap().to_string())
    };
    let with = |file: &str| {
        let options = [
            "--signature",
            &good,
            "--provenance",
            "--builder",
            BUILDER,
            "--attestation",
            file,
        ];
        scene.verify("plugin.wasm", &key, &options)
    };
    let of_other = signing::digest(b"another component");
    for (by, about, builder) in [
        (&other, digest.as_str(), BUILDER),
        (&key, of_other.as_str(), BUILDER),
        (&key, digest.as_str(), "https://elsewhere.example"),
    ] {
        let ran = with(&statement(by, about, builder));
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(ran.stderr.contains("error[plugin-no-provenance]"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("a build by {BUILDER}")), "{}", ran.stderr);
    }
    let ran = with(&statement(&key, &digest, BUILDER));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let line = ran.stdout.lines().find(|line| line.contains("built by")).unwrap();
    assert!(line.ends_with(BUILDER), "{line}");
}

/// A bill of materials of each format.
fn sboms() -> (Value, Value) {
    let spdx = json!({"spdxVersion": "SPDX-2.3", "packages": [{"name": "serde"}, {"name": "serde_json"}]});
    let cyclone = json!({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"name": "CANARY"}]});
    (spdx, cyclone)
}

#[test]
fn inspection_of_an_image_shows_what_is_attached_and_who_has_signed_it() {
    let (scene, key) = (Scene::new(), SigningKey::new().unwrap());
    let inspect = |more: &[&str]| {
        let tag = scene.tag();
        let ran = scene.host(&[&["plugin", "inspect", tag.as_str()][..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let nothing = inspect(&[]);
    for line in ["signatures: none", "bills of materials: none", "attestations: none"] {
        assert!(nothing.lines().any(|found| found == line), "{line}: {nothing}");
    }
    let (spdx, cyclone) = sboms();
    let registry = &scene.registry;
    let (payload, signature) = signing::of_image(&key, &scene.image).unwrap();
    registry
        .push_signature("plugin", &scene.image, payload.as_bytes(), &signature)
        .unwrap();
    let plain = spdx.to_string();
    registry
        .push_tagged("plugin", &scene.image, "sbom", ("text/spdx+json", plain.as_bytes()))
        .unwrap();
    let attested = signing::statement(&key, &scene.image, "https://cyclonedx.org/bom", &cyclone).unwrap();
    registry
        .push_tagged(
            "plugin",
            &scene.image,
            "att",
            (ENVELOPE, attested.to_string().as_bytes()),
        )
        .unwrap();
    let built = signing::statement(&key, &scene.image, PROVENANCE, &signing::provenance(BUILDER)).unwrap();
    let of_other = signing::statement(&key, &signing::digest(b"another"), "https://spdx.dev/Document", &spdx).unwrap();
    let bundles = [built, of_other].map(|envelope| json!({"mediaType": BUNDLE, "dsseEnvelope": envelope}).to_string());
    let bundles: Vec<(&str, &[u8])> = bundles.iter().map(|text| (BUNDLE, text.as_bytes())).collect();
    registry.push_referrers("plugin", &scene.image, &bundles).unwrap();

    let unverified = inspect(&[]);
    let public = key.public();
    let verified = inspect(&["--key", public.to_str().unwrap()]);
    let by_key = format!("verified, key '{}' ({})", public.display(), fingerprint(&key));
    let line = |text: &str, parts: &[&str]| {
        let found = text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "{parts:?}: {text}");
    };
    for (text, state) in [(&unverified, "present, not verified"), (&verified, by_key.as_str())] {
        line(text, &[&scene.image, state]);
        line(text, &["SPDX 2.3", "2 components", &scene.image, "not signed"]);
        line(text, &["CycloneDX 1.6", "1 component", &scene.image, state]);
        line(text, &[PROVENANCE, &format!("built by {BUILDER}"), &scene.image, state]);
        line(
            text,
            &["SPDX 2.3", &signing::digest(b"another"), "about something else"],
        );
        assert!(!text.contains("CANARY"), "{text}");
    }
    let other = SigningKey::new().unwrap();
    let other_key = other.public();
    line(
        &inspect(&["--key", other_key.to_str().unwrap()]),
        &["CycloneDX 1.6", "not by a given key"],
    );
    let result: Value = serde_json::from_str(&inspect(&["--key", public.to_str().unwrap(), "-o", "json"])).unwrap();
    let items = result["attached"].as_array().unwrap();
    let states: Vec<_> = items
        .iter()
        .map(|one| (one["kind"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("signature", "verified"),
        ("sbom", "verified"),
        ("sbom", "unsigned"),
        ("attestation", "verified"),
        ("sbom", "other-subject"),
    ];
    assert_eq!(states, wanted, "{result}");
    assert_eq!(result["digest"], signing::digest(&scene.component));
}

#[test]
fn inspection_fails_with_both_digests_if_the_component_has_another_one() {
    let scene = Scene::new();
    let digest = signing::digest(&scene.component);
    let inspect =
        |component: &str, expected: &str| scene.host(&["plugin", "inspect", component, "--expect-digest", expected]);
    for component in ["plugin.wasm", &scene.tag()] {
        let ran = inspect(component, &digest);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let other = signing::digest(b"another");
        let ran = inspect(component, &other);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        let parts = ["error[plugin-digest]:", &digest, &other];
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    }
    let ran = inspect(&scene.tag(), &scene.image);
    assert!(ran.stderr.contains("this is the digest of the image"), "{}", ran.stderr);
    assert_eq!(inspect("plugin.wasm", "sha256:AB").code, 2);
}

/// The files of an image layout, with their contents.
fn layout(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(layout(&path))
        } else {
            found.push((
                path.file_name().unwrap().to_str().unwrap().to_string(),
                fs::read(&path).unwrap(),
            ))
        }
    }
    found.sort();
    found
}

/// A plugin of `checks` that reports nothing, and writes to standard output as Go's do.
fn printing() -> Vec<u8> {
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32))) {COMMON}
            (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32)
                (drop (call $write (i32.const 1) (i32.const 4096) (i32.const 0) (i32.const 8192)))
                (i32.const 4096)))"#
    );
    core_module(&module, "checks", "checks", &[]).unwrap()
}

#[test]
fn the_file_that_is_signed_is_the_component() {
    let (scene, key) = (Scene::new(), SigningKey::new().unwrap());
    let module = printing();
    fs::write(scene.scratch.path().join("module.wasm"), &module).unwrap();
    let host = |arguments: &[&str]| {
        let ran = scene.host(arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let printed = host(&["plugin", "component", "module.wasm", "--out", "made.wasm"]);
    let component = fs::read(scene.scratch.path().join("made.wasm")).unwrap();
    let digest = signing::digest(&component);
    assert_eq!(printed, format!("{digest}\n"));

    // All commands show the digest of this file, also for the module.
    for file in ["made.wasm", "module.wasm"] {
        assert!(host(&["plugin", "inspect", file]).contains(&digest), "{file}");
        assert!(host(&["plugin", "pack", "checks", file]).contains(&digest), "{file}");
    }
    let signature = key.sign(&component).unwrap();
    let bundle = json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": ""}},
        "messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": ""}, "signature": signature}});
    for text in [signature, bundle.to_string()] {
        let file = scene.file("signature", &text);
        let ran = scene.verify("made.wasm", &key, &["--signature", &file]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains(&digest), "{}", ran.stdout);
        let packed = host(&["plugin", "pack", "checks", "made.wasm", "--signature", &file]);
        assert!(packed.contains("plugin.wasm.sig"), "{packed}");
    }

    // The signature of the module would never be accepted by an operator.
    let of_module = scene.file("of-module", &key.sign(&module).unwrap());
    let message = scene.refused("module.wasm", &key, &["--signature", &of_module]);
    assert!(message.contains("host plugin component"), "{message}");
    let ran = scene.host(&["plugin", "pack", "checks", "module.wasm", "--signature", &of_module]);
    assert!(
        ran.code == 1 && ran.stderr.contains("is a core module"),
        "{}",
        ran.stderr
    );
    let ran = scene.host(&["plugin", "component", "made.wasm", "--out", "again.wasm"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("is not a core module"),
        "{}",
        ran.stderr
    );
}

#[test]
fn packing_and_pushing_the_same_component_gives_the_same_bytes() {
    let scene = Scene::new();
    let elsewhere = scene.scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(scene.scratch.path().join("plugin.wasm"), elsewhere.join("copy.wasm")).unwrap();
    let pack = |component: &str| {
        let ran = scene.host(&["plugin", "pack", "ops", component, "--deployment", "nats"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let packed = pack("plugin.wasm");
    assert!(packed.contains(&signing::digest(&scene.component)), "{packed}");
    assert_eq!(pack("elsewhere/copy.wasm"), packed);
    let push = |component: &str, out: &str| {
        let reference = "registry.example.com/team/plugin:1";
        let ran = scene.host(&["plugin", "push", component, reference, "--archive", out]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(push("plugin.wasm", "one"), push("elsewhere/copy.wasm", "other"));
    let read = |name: &str| layout(&scene.scratch.path().join(name));
    assert_eq!(read("one"), read("other"));
    push("plugin.wasm", "one.tar");
    push("elsewhere/copy.wasm", "other.tar");
    let tar = |name: &str| fs::read(scene.scratch.path().join(name)).unwrap();
    assert!(tar("one.tar") == tar("other.tar"), "the archives differ");
}

/// The whole commands of cosign in code spans of the page.
fn commands(page: &str) -> Vec<String> {
    let spans = page.split('`').skip(1).step_by(2);
    let commands = spans.filter(|span| span.starts_with("cosign ") && span.contains("offline.json"));
    commands.map(|span| span.replace('\n', " ")).collect()
}

/// Left out without cosign, which nothing installs: `go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3`.
#[test]
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
fn the_commands_of_the_page_work_with_cosign() {
    if Command::new("cosign").arg("version").output().is_err() {
        eprintln!("left out: there is no cosign");
        return;
    }
    let scene = Scene::new();
    let path = |name: &str| scene.scratch.path().join(name);
    fs::copy(path("plugin.wasm"), path("my-labels.wasm")).unwrap();
    let definition = json!({"buildType": "x", "externalParameters": {}});
    let build = json!({"buildDefinition": definition, "runDetails": {"builder": {"id": BUILDER}}});
    fs::write(path("build.json"), build.to_string()).unwrap();
    let page = fs::read_to_string(root().join("docs/plugins.md")).unwrap();
    let image = format!("{}@{}", scene.registry.image("plugin"), scene.image);
    let cosign = |command: &str| {
        let command = command.replace("registry.example.com/team/my-labels@sha256:5f3c...", &image);
        let ran = Command::new("cosign")
            .args(command.split_whitespace().skip(1))
            .current_dir(scene.scratch.path())
            .env("COSIGN_PASSWORD", "")
            .env("COSIGN_YES", "true")
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    cosign("cosign generate-key-pair");
    let mut commands = commands(&page);
    // First what the others read.
    commands.sort_by_key(|command| !command.starts_with("cosign signing-config"));
    let names: Vec<&str> = commands
        .iter()
        .filter_map(|command| command.split(' ').nth(1))
        .collect();
    assert_eq!(names, ["signing-config", "sign-blob", "sign", "attest-blob", "attest"]);
    for command in &commands {
        let is_of_image = command.contains("registry.example.com");
        let options = if is_of_image { " --allow-http-registry" } else { "" };
        cosign(&format!("{command}{options}"));
    }
    let checks = ["--key", "cosign.pub", "--provenance", "--builder", BUILDER];
    let tag = scene.tag();
    let of_files = [
        "--signature",
        "my-labels.sigstore.json",
        "--attestation",
        "my-labels.build.json",
    ];
    for subject in [[&["my-labels.wasm"][..], &of_files].concat(), vec![tag.as_str()]] {
        let ran = scene.host(&[&["plugin", "verify"][..], &subject, &checks].concat());
        assert_eq!(ran.code, 0, "{subject:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("attested"), "{}", ran.stdout);
    }
}
