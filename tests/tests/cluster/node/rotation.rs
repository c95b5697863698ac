//! The rotation of a CA while instances on a node connect to each other by TLS all the time: no handshake fails.

use super::manifest_of;
use crate::objects::{has_reason, is};
use crate::operator::Environment;
use anyhow::{Result, ensure};
use boson_tests::cluster::with_node;
use std::fs;
use std::io::ErrorKind;

const INSTANCES: usize = 3;
const CLAIMS: &str = "peers-pvc-rotation-peers-v1";

#[test]
fn no_handshake_fails_while_a_ca_is_rotated() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut env = Environment::with_pods(cluster, "rotation").unwrap();
    env.mode = "InProcess";
    env.load("rotation", |image| image.installed("/usr/bin/openssl"))
        .unwrap();
    cluster.disks(&env.namespace, CLAIMS, INSTANCES).unwrap();
    deploy(&env).unwrap();
    let before = wait_for_connections(&env, 0).unwrap();
    let ca = |env: &Environment| env.get("secret/rotation.var-ca").unwrap()["data"]["certificate"].clone();
    let old = ca(&env);

    let rotate = ["rotate", "--ca", "ca", "--deployment", "rotation", "--yes"];
    let ran = cluster.host(env.operator.files(), &env.namespace, &rotate).unwrap();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_ne!(ca(&env), old);
    wait_for_connections(&env, before).unwrap();
}

fn deploy(env: &Environment) -> Result<()> {
    env.deploy_manifest("rotation", &manifest_of("rotation")?)?;
    env.wait_until("ready instances", || {
        let deployment = env.get("boshdeployment/rotation")?;
        let is_rolled_out = has_reason(&deployment, "Progressing", "RolledOut");
        Ok(is(&deployment, "Ready", "True") && is_rolled_out)
    })
}

/// Waits until each instance has made more connections than that. Returns the most that one has made.
fn wait_for_connections(env: &Environment, before: usize) -> Result<usize> {
    let mut most = 0;
    env.wait_until("more connections", || {
        let counts: Vec<usize> = (0..INSTANCES).map(|at| connections(env, at)).collect::<Result<_>>()?;
        most = counts.iter().copied().max().unwrap_or_default();
        Ok(counts.iter().all(|count| *count > before))
    })?;
    Ok(most)
}

/// How many connections an instance has made since its first start.
fn connections(env: &Environment, at: usize) -> Result<usize> {
    let disk = env.cluster.disk(&env.namespace, CLAIMS, at);
    let text = |name: &str| match fs::read(disk.join(name)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    };
    let failures = text("failures")?;
    ensure!(
        failures.is_empty(),
        "a handshake of instance {at} has failed:\n{failures}"
    );
    Ok(text("connections")?.lines().count())
}
