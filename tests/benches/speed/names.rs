//! Names of BOSH DNS: the latency of an answer, and the memory of a server.

use crate::table::Row;
use anyhow::{Context, Result};
use boson_dns::instances::{Endpoint, Slice};
use boson_dns::server::{Forwarder, State, serve_udp};
use boson_dns::zone::{AliasFiles, Zone};
use std::collections::HashMap;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Aliases of the deployment.
const ALIASES: usize = 1_000;
/// Instances of each of its ten groups.
const INSTANCES: u32 = 30;
const QUESTIONS: usize = 10_000;

/// The latency of an answer, and the memory of a server.
pub fn names() -> Result<Vec<Row>> {
    Ok(vec![latency()?, memory()?])
}

fn document() -> String {
    let groups: Vec<String> = (0..10)
        .map(|nth| format!(r#"{{"name": "g{nth}", "instances": {INSTANCES}}}"#))
        .collect();
    let alias = |nth: usize| format!(r#""a{nth}.service.internal": ["*.g{}.default.demo.bosh"]"#, nth % 10);
    let aliases: Vec<String> = (0..ALIASES).map(alias).collect();
    format!(
        r#"{{"version": 1, "deployment": "demo", "namespace": "ns", "clusterDomain": "cluster.local", "root": "bosh", "deployments": ["demo"],
            "networks": ["default"], "groups": [{}], "aliases": {{{}}}}}"#,
        groups.join(","),
        aliases.join(",")
    )
}

/// A question for an address.
pub fn question(name: &str) -> Vec<u8> {
    let mut packet = vec![1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        packet.push(label.len() as u8);
        packet.extend(label.bytes());
    }
    packet.extend([0, 0, 1, 0, 1]);
    packet
}

fn latency() -> Result<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let zone = Zone::read(&document(), &AliasFiles::new())?;
    let slices = zone.instances.iter().zip(1u32..).map(|(instance, number)| {
        let endpoint = Endpoint {
            ip: Ipv4Addr::from(0x0a00_0000 + number).into(),
            is_running: true,
            is_ending: false,
        };
        let slice = Slice {
            service: instance.service.clone(),
            endpoints: vec![endpoint],
        };
        (instance.service.clone(), slice)
    });
    let slices: HashMap<_, _> = slices.collect();
    let state = Arc::new(State::new(zone));
    state.put_all(slices);
    let socket = runtime.block_on(tokio::net::UdpSocket::bind("127.0.0.1:0"))?;
    let server = socket.local_addr()?;
    let forwarder = Arc::new(Forwarder::new("/etc/resolv.conf".into()));
    runtime.spawn(serve_udp(Arc::new(socket), state, forwarder));
    let client = UdpSocket::bind("127.0.0.1:0")?;
    client.set_read_timeout(Some(Duration::from_secs(5)))?;
    let (mut times, mut buffer) = (Vec::with_capacity(QUESTIONS), [0; 2048]);
    for nth in 0..QUESTIONS {
        let packet = question(&format!("a{}.service.internal", nth % ALIASES));
        let began = Instant::now();
        client.send_to(&packet, server)?;
        client.recv(&mut buffer)?;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 1_000).copied().unwrap_or(f64::NAN);
    let details = format!(
        "median {:.3} ms; {ALIASES} aliases, {} instances; over the loopback interface",
        at(500),
        10 * INSTANCES
    );
    Ok(Row::below("DNS: answer of an alias, p99", at(990), 1.0, "ms", &details))
}

/// Of the whole process, before it knows any pod: there is no API server.
fn memory() -> Result<Row> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("zone.json"), document())?;
    let kubeconfig = folder.path().join("kubeconfig.yaml");
    fs::write(
        &kubeconfig,
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}], \
         clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}\n",
    )?;
    let mut server = Command::new(boson_tests::binary()?)
        .args([
            "dns",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--probe",
            "127.0.0.1:0",
            "--config",
        ])
        .arg(folder.path())
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(Duration::from_secs(2));
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()));
    server.kill()?;
    server.wait()?;
    let status = status?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: f64 = line.context("no VmRSS")?.trim().trim_end_matches(" kB").parse()?;
    Ok(Row::below(
        "DNS: memory of a server",
        kilobytes / 1_024.0,
        64.0,
        "MiB",
        "resident; half of its limit",
    ))
}
