//! Plugins whose components are in a registry, with a real registry and the real operator.

use crate::guests::Guest;
use crate::plugins::scene::{HOOKED, Scene, healthy, uses};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::registry::{PASSWORD, Server, USER};
use boson_tests::signing::{self, SigningKey};
use boson_tests::sigstore::{Author, Sigstore};
use serde_json::{Value, json};
use std::fs;

/// A ConfigMap with a plugin whose component is in this image.
fn in_image(name: &str, stage: &str, image: &str, more: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"quarks.cloudfoundry.org/plugin": stage}},
        "data": {"plugin.yaml": format!("name: {name}\nimage: {image}\n{more}")},
    })
    .to_string()
}

/// The digest of the component that the deployment was converted with.
fn digest(deployment: &Value, name: &str) -> String {
    let used = deployment["status"]["plugins"].as_array().unwrap();
    let one = used.iter().find(|one| one["name"] == name).unwrap();
    one["digest"].as_str().unwrap().to_string()
}

/// Restarts the operator, and waits until it has loaded the plugin: before, its last good version is not known to it.
fn restart(scene: &mut Scene) {
    let loads = |scene: &Scene| {
        let log = scene.operator.log();
        let loads = log
            .lines()
            .filter(|line| line.contains(" loaded ") && line.contains("hook"));
        loads.count()
    };
    let before = loads(scene);
    scene.operator.kill();
    scene.operator.start().unwrap();
    scene.wait_until("a plugin that is loaded again", || Ok(loads(scene) > before));
}

#[test]
fn a_tag_is_resolved_once_and_the_last_good_component_stays_while_the_registry_is_away() {
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let pinned = scene
        .registry
        .push_component("hook:1", &Guest::resources("hook", HOOKED))
        .unwrap();
    let tag = scene.registry.image("hook:1");
    scene.apply(&in_image("hook", "resources", &tag, "")).unwrap();
    let first = digest(&scene.wait_until_used("resources", "hook"), "hook");
    let recorded = |scene: &Scene| {
        let map = scene.get("configmap/hook").unwrap();
        map["metadata"]["annotations"]["quarks.cloudfoundry.org/plugin-image"].clone()
    };
    assert_eq!(recorded(&scene), format!("{tag}@{pinned}"));

    // The tag moves. Neither a change of the ConfigMap nor a restart changes the component.
    let other = HOOKED.replace("hooked", "moved");
    scene
        .registry
        .push_component("hook:1", &Guest::resources("hook", &other))
        .unwrap();
    scene.apply(&in_image("hook", "resources", &tag, "order: 7\n")).unwrap();
    restart(&mut scene);
    let deployment = scene.wait_until_healthy();
    assert_eq!(digest(&deployment, "hook"), first);
    assert_eq!(recorded(&scene), format!("{tag}@{pinned}"));

    // The image is gone: the operator has it on its disk.
    let images = scene
        .registry
        .files()
        .join("data/docker/registry/v2/repositories/bosh/hook");
    fs::remove_dir_all(images).unwrap();
    restart(&mut scene);
    scene.apply(&in_image("hook", "resources", &tag, "order: 8\n")).unwrap();
    let deployment = scene.wait_until_healthy();
    assert_eq!(digest(&deployment, "hook"), first);

    nothing_is_lost_while_a_registry_does_not_answer(&scene);
    pods_get_a_component_in_config_maps(&scene);
}

fn nothing_is_lost_while_a_registry_does_not_answer(scene: &Scene) {
    let away = in_image("hook", "resources", "127.0.0.1:1/team/hook:1", "");
    scene.apply(&away).unwrap();
    let message = scene.wait_for_refusal("PluginImageRegistry", "");
    assert!(
        message.contains("the registry of image '127.0.0.1:1/team/hook:1' is unreachable"),
        "{message}"
    );
    let deployment = scene.get("boshdeployment/nats").unwrap();
    assert!(uses(&deployment, "resources", "hook"), "{deployment:#}");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
}

fn pods_get_a_component_in_config_maps(scene: &Scene) {
    let render = Guest::render("other-render", "processes: [{name: other, executable: /bin/other}]");
    let pinned = scene.registry.push_component("render:1", &render).unwrap();
    let image = format!("{}@{pinned}", scene.registry.image("render"));
    scene.apply(&in_image("other-render", "render", &image, "")).unwrap();
    scene.wait_until_used("render", "other-render");
    let maps = scene.get("configmaps").unwrap();
    let copies = maps["items"].as_array().unwrap().iter().filter(|map| {
        let name = map["metadata"]["name"].as_str().unwrap();
        name.starts_with("nats.plugin-render-") && map["binaryData"]["plugin.wasm.zst"].is_string()
    });
    assert_eq!(copies.count(), 1, "the component, compressed");
}

#[test]
fn a_private_image_is_pulled_with_a_secret_of_the_plugins_own_namespace() {
    let private = Server::start(true).unwrap();
    let component = Guest::resources("hook", HOOKED);
    let pinned = private.push_component("hook:1", &component).unwrap();
    let image = private.image("hook:1");
    let mut scene = Scene::new().unwrap();
    scene.operator.kill();
    let registries = format!("{},{}", scene.registry.host(), private.host());
    scene
        .operator
        .set("BOSON_REGISTRY_WITHOUT_TLS", Some(registries.into()));
    scene.operator.set("BOSON_PLUGINS_PINNED", Some("true".into()));
    scene.operator.start().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");

    let secrets = "imagePullSecrets: [{name: pull}]\n";
    scene.apply(&in_image("hook", "resources", &image, secrets)).unwrap();
    let message = scene.wait_for_refusal("PluginNotPinned", "");
    assert!(message.contains("the operator requires a digest"), "{message}");

    let image = format!("{image}@{pinned}");
    scene.apply(&in_image("hook", "resources", &image, "")).unwrap();
    scene.wait_for_refusal("PluginImageAccess", "");
    scene.apply(&in_image("hook", "resources", &image, secrets)).unwrap();
    let message = scene.wait_for_refusal("PluginPullSecret", "");
    assert!(message.contains("pull Secret 'pull' does not exist"), "{message}");
    let secret = |password: &str| {
        let auth = STANDARD.encode(format!("{USER}:{password}"));
        let config = json!({"auths": {private.host(): {"auth": auth}}}).to_string();
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": config}})
        .to_string()
    };
    scene.apply(&secret("CANARY")).unwrap();
    let message = scene.wait_for_refusal("PluginImageAccess", "");
    assert!(!message.contains("CANARY"), "{message}");
    // It is retried: Secrets are not watched.
    scene.apply(&secret(PASSWORD)).unwrap();
    scene.wait_until_used("resources", "hook");
    scene.wait_until_healthy();
    assert!(!scene.operator.log().contains(PASSWORD) && !scene.operator.log().contains("CANARY"));

    // Neither the Secret nor what was pulled with it is available to another namespace.
    for (more, reason) in [("", "PluginImageAccess"), (secrets, "PluginPullSecret")] {
        scene
            .apply_in(&scene.own, &in_image("thief", "resources", &image, more))
            .unwrap();
        let message = scene.wait_for_refusal(reason, "");
        assert!(message.contains("'thief'"), "{message}");
    }
    let deployment = scene.get("boshdeployment/nats").unwrap();
    assert!(uses(&deployment, "resources", "hook") && !uses(&deployment, "resources", "thief"));
}

/// Restarts the operator with this rule for signatures.
fn require(scene: &mut Scene, key: &SigningKey, what: &str) {
    scene.operator.stop().unwrap();
    scene.operator.set("BOSON_PLUGIN_SIGNATURES", Some(what.into()));
    scene.operator.set("BOSON_PLUGIN_KEYS", Some(key.public().into()));
    scene.operator.start().unwrap();
}

#[test]
fn only_signed_plugins_are_used_where_signatures_are_enforced() {
    let (key, other) = (SigningKey::new().unwrap(), SigningKey::new().unwrap());
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    require(&mut scene, &key, "enforce");

    // In a ConfigMap: the signature of the component.
    let component = Guest::resources("hook", HOOKED);
    let signature = scene.operator.files().join("signature");
    let add = |scene: &Scene, text: &str| {
        fs::write(&signature, text).unwrap();
        let more = ["--signature", signature.to_str().unwrap()];
        scene.add("resources", &component, &more).unwrap()
    };
    scene.add("resources", &component, &[]).unwrap();
    let message = scene.wait_for_refusal("PluginNotSigned", "");
    assert!(message.contains("the plugin is not signed"), "{message}");
    for text in [
        other.sign(&component).unwrap(),
        key.sign(b"another component").unwrap(),
        "nonsense".into(),
    ] {
        add(&scene, &text);
        let refused = |deployment: &Value| {
            let reported = healthy(deployment, "False");
            reported.is_some_and(|one| {
                one["message"]
                    .as_str()
                    .unwrap()
                    .contains("not of a key or identity that the operator trusts")
            })
        };
        scene.wait_for_deployment("the wrong signature", refused);
    }
    assert!(!uses(&scene.get("boshdeployment/nats").unwrap(), "resources", "hook"));
    add(&scene, &key.sign(&component).unwrap());
    scene.wait_until_used("resources", "hook");

    the_signature_of_an_image_may_come_later(&scene, &key);
    with_other_keys_nothing_is_signed(&mut scene, &other);
}

/// It is attached to the image, in the registry.
fn the_signature_of_an_image_may_come_later(scene: &Scene, key: &SigningKey) {
    let pinned = scene
        .registry
        .push_component(
            "signed:1",
            &Guest::resources("signed", &HOOKED.replace("hooked", "made")),
        )
        .unwrap();
    let image = format!("{}@{pinned}", scene.registry.image("signed:1"));
    scene
        .apply(&in_image("signed", "resources", &image, "order: 2\n"))
        .unwrap();
    scene.wait_for_refusal("PluginNotSigned", "");
    let (payload, signature) = signing::of_image(key, &pinned).unwrap();
    scene
        .registry
        .push_signature("signed", &pinned, payload.as_bytes(), &signature)
        .unwrap();
    scene.wait_until_used("resources", "signed");
}

/// Deployments that used it stop, or report it.
fn with_other_keys_nothing_is_signed(scene: &mut Scene, other: &SigningKey) {
    require(scene, other, "warn");
    scene.wait_for_deployment("the warning", |deployment| {
        let events = scene.get("events.events.k8s.io").unwrap_or_default().to_string();
        let is_reported = events
            .contains("'signed': the plugin has a signature, but not of a key or identity that the operator trusts");
        is_reported && uses(deployment, "resources", "signed") && healthy(deployment, "True").is_some()
    });
    require(scene, other, "enforce");
    scene.wait_for_deployment("the loss", |deployment| {
        let conditions = deployment["status"]["conditions"].as_array().unwrap();
        conditions
            .iter()
            .any(|one| one["type"] == "Converted" && one["reason"] == "PluginLost")
    });
}

#[test]
fn only_plugins_of_trusted_identities_are_used_where_signatures_are_enforced() {
    const ISSUER: &str = "https://issuer.example";
    let sigstore = Sigstore::new().unwrap();
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    let root = scene.operator.files().join("trusted_root.json");
    fs::write(&root, sigstore.root().unwrap().to_string()).unwrap();
    scene.operator.stop().unwrap();
    scene.operator.set("BOSON_PLUGIN_SIGNATURES", Some("enforce".into()));
    scene.operator.set("BOSON_PLUGIN_TRUSTED_ROOT", Some(root.into()));
    let rule = format!("{ISSUER}=https://git.example/team/*@refs/tags/*");
    scene.operator.set("BOSON_PLUGIN_IDENTITIES", Some(rule.into()));
    scene.operator.start().unwrap();

    let component = Guest::resources("hook", HOOKED);
    let file = scene.operator.files().join("signature");
    let add = |scene: &Scene, name: &str, issuer: &str| {
        let bundle = sigstore.signature(&Author::new(name, issuer), &component).unwrap();
        fs::write(&file, bundle.to_string()).unwrap();
        let more = ["--signature", file.to_str().unwrap()];
        scene.add("resources", &component, &more).unwrap()
    };
    add(&scene, "https://git.example/evil/labels@refs/tags/v1", ISSUER);
    let message = scene.wait_for_refusal("PluginSignatureIdentity", "");
    assert!(message.contains("https://git.example/evil/labels"), "{message}");
    add(
        &scene,
        "https://git.example/team/labels@refs/tags/v1",
        "https://evil.example",
    );
    scene.wait_for_refusal("PluginSignatureIssuer", "");
    assert!(!uses(&scene.get("boshdeployment/nats").unwrap(), "resources", "hook"));
    add(&scene, "https://git.example/team/labels@refs/tags/v1", ISSUER);
    scene.wait_until_used("resources", "hook");
}

#[test]
fn only_plugins_with_an_attested_build_are_used_where_provenance_is_enforced() {
    const BUILDER: &str = "https://ci.example.com/builder";
    const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
    let key = SigningKey::new().unwrap();
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    scene.operator.stop().unwrap();
    scene.operator.set("BOSON_PLUGIN_PROVENANCE", Some("enforce".into()));
    scene.operator.set("BOSON_PLUGIN_BUILDERS", Some(BUILDER.into()));
    scene.operator.set("BOSON_PLUGIN_KEYS", Some(key.public().into()));
    scene.operator.start().unwrap();

    // In a ConfigMap: an attestation of the component.
    let component = Guest::resources("hook", HOOKED);
    let file = scene.operator.files().join("attestation");
    let add = |builder: &str| {
        let statement = signing::statement(
            &key,
            &signing::digest(&component),
            PROVENANCE,
            &signing::provenance(builder),
        );
        fs::write(&file, statement.unwrap().to_string()).unwrap();
        let more = ["--attestation", file.to_str().unwrap()];
        scene.add("resources", &component, &more).unwrap();
    };
    add("https://elsewhere.example");
    let message = scene.wait_for_refusal("PluginNoProvenance", "");
    assert!(
        message.contains(&format!("the plugin was built by {BUILDER}")),
        "{message}"
    );
    add(BUILDER);
    scene.wait_until_used("resources", "hook");

    // In a registry: an attestation of the image. One that is attached later is found, too.
    let other = Guest::resources("signed", &HOOKED.replace("hooked", "made"));
    let pinned = scene.registry.push_component("signed:1", &other).unwrap();
    let attach = |builder: &str| {
        let statement = signing::statement(&key, &pinned, PROVENANCE, &signing::provenance(builder)).unwrap();
        let document = ("application/vnd.dsse.envelope.v1+json", statement.to_string());
        scene
            .registry
            .push_tagged("signed", &pinned, "att", (document.0, document.1.as_bytes()))
            .unwrap();
    };
    attach("https://elsewhere.example");
    let image = format!("{}@{pinned}", scene.registry.image("signed:1"));
    scene
        .apply(&in_image("signed", "resources", &image, "order: 2\n"))
        .unwrap();
    scene.wait_for_refusal("PluginNoProvenance", "");
    attach(BUILDER);
    scene.wait_until_used("resources", "signed");
}
