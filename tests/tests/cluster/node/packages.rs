//! A job on a node runs a program in a package of another release, as it could on a VM.

use crate::operator::{Environment, config_map, is};
use anyhow::Result;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::with_node;
use boson_tests::{WAIT_TIMEOUT, root};
use serde_json::json;
use std::fs;

const POD: &str = "colocated-web-v1-0";

#[test]
fn a_job_runs_a_program_of_another_release_and_cannot_change_it() {
    let Some(cluster) = with_node().unwrap() else { return };
    let env = Environment::with_pods(cluster, "packages").unwrap();
    deploy(&env).unwrap();
    for (file, user) in [("of-pre-start", 0), ("tmp/of-server", 1000)] {
        let said = inside(&env, &format!("cat /var/vcap/data/web/{file}")).unwrap();
        assert_eq!(said.trim(), format!("hello from tools to {user}"));
    }
    let error = inside(&env, "touch /var/vcap/packages/greeter/bin/greeter 2>&1 || true").unwrap();
    assert!(error.contains("Read-only file system"), "{error}");
    // One more than a pod of one release has, and the script.
    let path = "jsonpath={.spec.initContainers[*].name}";
    let names = env.kubectl(&["get", "pod", POD, "--output", path]).unwrap();
    let expected = ["logs", "template-render", "package-copier-tools", "bosh-pre-start-web"];
    assert_eq!(names.split(' ').collect::<Vec<_>>(), expected);
}

/// Deploys the releases of `tests/fixtures/releases/{front,tools}`.
fn deploy(env: &Environment) -> Result<()> {
    let releases = root().join("tests/fixtures/releases");
    for name in ["front", "tools"] {
        let (tag, release) = (format!("{name}:busybox-1-1"), releases.join(name));
        env.registry.push_release(&tag, &release)?;
        let image = format!("{}/bosh/{tag}", env.registry.host());
        env.cluster.load_image(&Image::release(&image, &release)?)?;
    }
    let manifest = fs::read_to_string(releases.join("front/manifest.yml"))?;
    let deployment = json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "colocated"},
        "spec": {
            "manifest": {"type": "configmap", "name": "manifest"},
            "conversion": {"mode": env.mode, "registry": format!("{}/bosh", env.registry.host())}
        }
    });
    env.apply(&[config_map("manifest", "manifest", &manifest), deployment])?;
    let ready = || Ok(is(&env.get("boshdeployment/colocated")?, "Ready", "True"));
    let otherwise = || {
        let pods = env.kubectl(&["describe", "pods"]).unwrap_or_default();
        let status = env.get("boshdeployment/colocated").unwrap_or_default()["status"].clone();
        format!("{status:#}\n{pods}")
    };
    env.operator
        .until("a ready deployment", WAIT_TIMEOUT, ready, otherwise)?;
    // Ready are also pods whose process has just started.
    env.operator.until(
        "the greeting of the process",
        WAIT_TIMEOUT,
        || Ok(inside(env, "cat /var/vcap/data/web/tmp/of-server").is_ok_and(|text| !text.is_empty())),
        || env.kubectl(&["describe", "pods"]).unwrap_or_default(),
    )
}

fn inside(env: &Environment, script: &str) -> Result<String> {
    env.kubectl(&["exec", POD, "--container", "web-web", "--", "sh", "-c", script])
}
