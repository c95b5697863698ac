//! A job on a node runs a program in a package of another release, as it could on a VM.

use super::{deploy, manifest_of};
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::cluster::with_node;
use serde_json::Value;

const POD: &str = "colocated-web-v1-0";

#[test]
fn a_job_runs_a_program_of_another_release_and_cannot_change_it() {
    let Some(cluster) = with_node().unwrap() else { return };
    let env = Environment::with_pods(cluster, "packages").unwrap();
    deploy_both(&env).unwrap();
    for (file, user) in [("of-pre-start", 0), ("tmp/of-server", 1000)] {
        let said = inside(&env, &format!("cat /var/vcap/data/web/{file}")).unwrap();
        assert_eq!(said.trim(), format!("hello from tools to {user}"));
    }
    let error = inside(&env, "touch /var/vcap/packages/greeter/bin/greeter 2>&1 || true").unwrap();
    assert!(error.contains("Read-only file system"), "{error}");
    // One more than a pod of one release has, and the script.
    let pod = env.get(&format!("pod/{POD}")).unwrap();
    let init = pod["spec"]["initContainers"].as_array().unwrap().iter();
    let names: Vec<&Value> = init.map(|container| &container["name"]).collect();
    let expected = ["logs", "template-render", "package-copier-tools", "bosh-pre-start-web"];
    assert_eq!(names, expected);
}

/// Deploys the releases of `tests/fixtures/releases/{front,tools}`.
fn deploy_both(env: &Environment) -> Result<()> {
    for name in ["front", "tools"] {
        env.load(name, Ok)?;
    }
    deploy(env, "colocated", &manifest_of("front")?)?;
    // Ready are also pods whose process has just started.
    env.wait_until("the greeting of the process", || {
        Ok(inside(env, "cat /var/vcap/data/web/tmp/of-server").is_ok_and(|text| !text.is_empty()))
    })
}

fn inside(env: &Environment, script: &str) -> Result<String> {
    env.inside(POD, "web-web", script)
}
