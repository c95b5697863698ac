//! Rows about names in the network of pods: what the deployment's DNS servers add to an answer.
//!
//! The client and the cluster's DNS are threads of this process in the network namespaces of two pods. So a client
//! needs no program in its image, and the DNS that everything is compared with costs next to nothing: the difference is
//! what Boson adds, and not what another server spends.

use crate::measure::{Sample, in_turns, milliseconds};
use crate::names::question;
use crate::node::Place;
use crate::table::Row;
use anyhow::{Context, Result, anyhow, ensure};
use boson_tests::cluster::image::Image;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Questions of each kind.
const QUESTIONS: usize = 5_000;
/// Unmeasured questions before.
const WARM_UP_QUESTIONS: usize = 200;
/// The image of all pods but the servers.
const IMAGE: &str = "boson.test/web:ubuntu-jammy-1.584-1";
const ALIAS: &str = "web.service.internal";
/// Length of a message's header, in bytes.
const HEADER_BYTES: usize = 12;

/// An alias, and a name that is forwarded, each against the same question to the cluster's DNS.
pub fn names() -> Result<Vec<Row>> {
    let what = "DNS in the pod network: an alias, above a Service's name of the cluster's DNS, p99";
    let Some(place) = Place::new("bench-names")? else {
        return Ok(vec![Row::left_out(what, "a node needs root")]);
    };
    place.cluster.load_image(&Image::busybox(IMAGE)?)?;
    let upstream = service(&place)?;
    for name in ["upstream", "client", "web"] {
        place.create(&[pod(name)])?;
    }
    for name in ["upstream", "client", "web"] {
        place.wait_for_condition(&format!("pod/{name}"), "condition=Ready")?;
    }
    let _server = Server::start(network(&place, "upstream")?)?;
    let servers = servers(&place, upstream)?;
    let client = network(&place, "client")?;
    let full = format!("shop-web.{}.svc.cluster.local", place.namespace);
    // A new thread, because it stays in the pod's network.
    let measured = thread::spawn(move || measure(client, servers, upstream, &full)).join();
    let (alias, forwarded) = measured.map_err(|_| anyhow!("the client panicked"))??;
    let forwarding = "  a Service's name, forwarded, above the same of the cluster's DNS, p99";
    Ok(vec![row(what, &alias), row(forwarding, &forwarded)])
}

/// The times of a name through Boson, each with that of the direct question before it.
type Pairs = Vec<(f64, f64)>;

fn row(what: &str, pairs: &Pairs) -> Row {
    let ours = Sample::of(pairs.iter().map(|pair| pair.0));
    let direct = Sample::of(pairs.iter().map(|pair| pair.1));
    let over = Sample::of(pairs.iter().map(|(ours, direct)| ours - direct));
    let details = format!(
        "of {} paired differences, median {:.3} ms; p99 {:.3} ms against {:.3} ms, median {:.3} ms against {:.3} ms",
        pairs.len(),
        over.median(),
        ours.percentile(99),
        direct.percentile(99),
        ours.median(),
        direct.median()
    );
    Row::below(what, over.percentile(99), 1.0, "ms", &details)
}

fn measure(network: File, servers: Ipv4Addr, upstream: Ipv4Addr, full: &str) -> Result<(Pairs, Pairs)> {
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    let (ours, direct) = (Client::of(servers)?, Client::of(upstream)?);
    // The servers have to learn of the pod first.
    let began = Instant::now();
    while !ours.ask(ALIAS).is_ok_and(|(_, found)| found == 1) {
        ensure!(began.elapsed() < Duration::from_secs(60), "{ALIAS} does not resolve");
        thread::sleep(Duration::from_millis(100));
    }
    let time = |client: &Client, name: &str| {
        let (time, found) = client.ask(name)?;
        ensure!(found == 1, "{name} has {found} addresses");
        Ok(time)
    };
    let pairs = |name: &str| {
        let run = |count| in_turns(count, || time(&ours, name), || time(&direct, full));
        run(WARM_UP_QUESTIONS)?;
        run(QUESTIONS)
    };
    Ok((pairs(ALIAS)?, pairs(full)?))
}

/// A client with a connection, as a resolver has one for a question.
struct Client(UdpSocket);

// === impl Client ===

impl Client {
    fn of(server: Ipv4Addr) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((server, 53))?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        Ok(Self(socket))
    }

    /// Milliseconds, and the number of addresses.
    fn ask(&self, name: &str) -> Result<(f64, u8)> {
        let (packet, mut buffer) = (question(name), [0; 512]);
        let began = Instant::now();
        self.0.send(&packet)?;
        let length = self.0.recv(&mut buffer)?;
        let time = milliseconds(began.elapsed());
        ensure!(length > HEADER_BYTES, "{name}: a short answer");
        Ok((time, buffer[7]))
    }
}

/// The cluster's DNS: one address for each question.
struct Server {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

// === impl Server ===

impl Server {
    fn start(network: File) -> Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = ends.clone();
        let thread = thread::spawn(move || {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
            serve(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 53))?, &seen)
        });
        Ok(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, ends: &AtomicBool) -> Result<()> {
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut buffer = [0; 512];
    while !ends.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let Some(mut answer) = buffer.get(..length).map(<[u8]>::to_vec) else {
            continue;
        };
        // One question, one answer, nothing else, not even the options of the question.
        let name = answer.iter().skip(HEADER_BYTES).position(|byte| *byte == 0);
        answer.truncate(HEADER_BYTES + name.context("no name")? + 5);
        answer[2..HEADER_BYTES].copy_from_slice(&[0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 10, 96, 7, 7]);
        socket.send_to(&answer, from)?;
    }
    Ok(())
}

/// The Service of the cluster's DNS. Returns its address.
fn service(place: &Place) -> Result<Ipv4Addr> {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "upstream"},
        "spec": {"selector": {"app": "upstream"}, "ports": [{"port": 53, "protocol": "UDP"}]}});
    place.create(&[service])?;
    address(place, "upstream")
}

fn address(place: &Place, service: &str) -> Result<Ipv4Addr> {
    let path = "--output=jsonpath={.spec.clusterIP}";
    Ok(place.kubectl(&["get", "service", service, path])?.parse()?)
}

/// A pod that waits: `web` is the deployment's instance.
fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {
            "app": name, "quarks.cloudfoundry.org/deployment-name": "shop", "quarks.cloudfoundry.org/instance-group-name": name,
            "quarks.cloudfoundry.org/az-index": "0", "apps.kubernetes.io/pod-index": "0"
        }},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": IMAGE, "command": ["sleep", "3600"]}]}
    })
}

/// The deployment's DNS servers, which forward to this one, with the Services of the instance. Returns their address.
fn servers(place: &Place, upstream: Ipv4Addr) -> Result<Ipv4Addr> {
    let directory = tempfile::tempdir()?;
    let job = directory.path().join("release/jobs/web");
    fs::create_dir_all(job.join("templates"))?;
    fs::create_dir_all(directory.path().join("release/config"))?;
    fs::write(directory.path().join("release/config/final.yml"), "name: shop\n")?;
    fs::write(
        job.join("spec"),
        "name: web\ntemplates: {bpm.yml: config/bpm.yml}\nproperties: {}\n",
    )?;
    fs::write(job.join("monit"), "")?;
    fs::write(
        job.join("templates/bpm.yml"),
        "processes: [{name: web, executable: /bin/web}]\n",
    )?;
    fs::write(directory.path().join("manifest.yml"), manifest(upstream))?;
    let objects = place.convert(directory.path(), &["--name", "shop"])?;
    let is_wanted = |object: &Value| !["StatefulSet", "Secret"].iter().any(|kind| object["kind"] == *kind);
    let wanted: Vec<Value> = objects.into_iter().filter(is_wanted).collect();
    place.create(&wanted)?;
    place.wait_for_condition("deployment/shop-dns", "condition=Available")?;
    address(place, "shop-dns")
}

fn manifest(upstream: Ipv4Addr) -> String {
    format!(
        r#"name: shop
releases:
- {{name: shop, version: "1", url: registry.example.com/shop}}
- {{name: bosh-dns, version: "1", url: registry.example.com/shop}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.584"}}
instance_groups:
- name: web
  instances: 1
  stemcell: default
  jobs: [{{name: web, release: shop, properties: {{quarks: {{ports: [{{name: http, protocol: TCP, internal: 8080}}]}}}}}}]
addons:
- name: dns
  jobs:
  - name: bosh-dns
    release: bosh-dns
    properties:
      recursors: [{upstream}]
      aliases: {{{ALIAS}: ["*.web.default.shop.bosh"]}}
"#
    )
}

/// The network namespace of a pod.
fn network(place: &Place, pod: &str) -> Result<File> {
    let link = place.kubectl(&["exec", pod, "--", "readlink", "/proc/self/ns/net"])?;
    for process in fs::read_dir("/proc")? {
        // Processes end meanwhile.
        let file = process?.path().join("ns/net");
        if fs::read_link(&file).is_ok_and(|found| found.as_os_str() == link.as_str()) {
            return Ok(File::open(file)?);
        }
    }
    Err(anyhow!("no process has the network {link} of the pod {pod}"))
}
