//! Memory: an operator in a container of 2 GiB stays within its limit whatever a namespace asks for, and continues to
//! convert the deployments of another namespace.

use crate::objects::{condition, config_map, is};
use crate::operator::Environment;
use crate::web::Server;
use anyhow::ensure;
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::{peak, shared};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const MAX_MEMORY_BYTES: u64 = 2 << 30;
/// Deployments that need much memory.
const LARGE_DEPLOYMENTS: usize = 8;

/// A namespace that asks for too much.
struct Attack<'s> {
    env: &'s Environment,
    namespace: &'s str,
}

// === impl Attack ===

impl Attack<'_> {
    fn apply(&self, objects: &[Value]) {
        self.env.cluster.apply(self.namespace, objects).unwrap();
    }

    fn deploy(&self, name: &str, manifest: &str, ops: &[Value]) {
        let mut deployment = self.env.deployment_of(name, manifest, &[]);
        deployment["spec"]["ops"] = ops.into();
        self.apply(&[deployment]);
    }

    fn get(&self, name: &str) -> Value {
        self.env
            .cluster
            .get(self.namespace, &format!("boshdeployment/{name}"))
            .unwrap()
    }

    /// One ConfigMap, many times; one with nothing but values; many documents of a web server; and many templates that
    /// need memory.
    fn begin(&self, server: &Server) {
        let values = format!("- {{type: replace, path: /x?, value: [{}]}}\n", "~,".repeat(300_000));
        self.apply(&[config_map("list", "ops", &Self::list())]);
        self.apply(&[config_map("values", "ops", &values)]);
        let of_map = |name: &str| json!({"type": "configmap", "name": name});
        self.deploy("again", "small", &vec![of_map("list"); 64]);
        for nth in 0..4 {
            self.deploy(&format!("values-{nth}"), "small", &[of_map("values")]);
        }
        let text = format!("# {}\n", "x".repeat((4 << 20) - 100));
        let url = |nth: usize| {
            let path = format!("/{nth}.yml");
            server.put(&path, &text);
            json!({"type": "url", "name": server.url(&path)})
        };
        self.deploy("urls", "small", &(0..128).map(url).collect::<Vec<_>>());
        for nth in 0..LARGE_DEPLOYMENTS {
            self.deploy(&format!("eater-{nth}"), "eater", &[]);
        }
    }

    fn list() -> String {
        format!("- type: replace\n  path: /x?\n  value:\n{}", "  - a\n".repeat(150_000))
    }

    /// The conditions are about the current state, and clients that wait for it are notified at once.
    fn repeated_input_is_refused_and_whoever_waits_is_told(&self) {
        let reported = self.refused("again", "DeploymentTooLarge");
        assert!(
            reported.contains("configmap/list/ops (") && reported.contains(", 64 times)"),
            "{reported}"
        );
        self.is_told();
        self.apply(&[config_map("list", "ops", &format!("{}# edited\n", Self::list()))]);
        self.is_told();
    }

    fn is_told(&self) {
        // It waits for its turn: its namespace converts the others at the same time.
        let wait = ["wait", "again", "--timeout", "5m"];
        let scratch = tempfile::tempdir().unwrap();
        let ran = self.env.cluster.host(scratch.path(), self.namespace, &wait).unwrap();
        assert!(ran.code == 1 && ran.stderr.contains("64 times"), "{ran:?}");
    }

    /// How many of the large deployments are not converted yet.
    fn waiting_large_deployments(&self) -> usize {
        let waits = |nth: &usize| !is(&self.get(&format!("eater-{nth}")), "Converted", "True");
        (0..LARGE_DEPLOYMENTS).filter(waits).count()
    }

    /// Waits until the deployment has the reason why it is not converted.
    fn refused(&self, name: &str, code: &str) -> String {
        let failed = || {
            let found = self.get(name);
            let reported = condition(&found, "Converted").cloned().unwrap_or_default();
            ensure!(reported["status"] == "False", "{:#}", found["status"]);
            Ok(reported)
        };
        let reported = self
            .env
            .operator
            .wait_for_value(name, 2 * WAIT_TIMEOUT, failed)
            .unwrap();
        assert_eq!(reported["reason"], code, "{reported}");
        reported["message"].as_str().unwrap().to_string()
    }
}

/// A release whose only template needs 400 MB on every instance.
fn write_eater(folder: &Path) {
    let job = folder.join("jobs/eater");
    fs::create_dir_all(job.join("templates")).unwrap();
    fs::create_dir_all(folder.join("config")).unwrap();
    fs::write(folder.join("config/final.yml"), "name: eater\n").unwrap();
    let spec = "name: eater\ntemplates: {eat.erb: bin/eat, bpm.yml: config/bpm.yml}\npackages: []\nproperties: {}\n";
    fs::write(job.join("spec"), spec).unwrap();
    fs::write(job.join("monit"), "check process eater\n").unwrap();
    let text = "<% eaten = 'x' * 400_000_000 %><%= eaten.size + spec.index %>\n";
    fs::write(job.join("templates/eat.erb"), text).unwrap();
    let bpm = "processes: [{name: eater, executable: /var/vcap/jobs/eater/bin/eat}]\n";
    fs::write(job.join("templates/bpm.yml"), bpm).unwrap();
}

fn eater() -> &'static str {
    "name: eater
releases: [{name: eater, version: '1', url: registry.example.com/bosh}]
stemcells: [{alias: default, os: ubuntu-jammy, version: '1.584'}]
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000-60000, update_watch_time: 1000-60000}
instance_groups:
- {name: eater, instances: 12, stemcell: default, jobs: [{name: eater, release: eater}], networks: [{name: default}], azs: [z1], vm_type: small}
"
}

/// An edit of the example's ops file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edit {
    /// Time that the operator needs to convert it.
    latency: Duration,
    /// Large deployments that it converts in this time.
    others: usize,
}

/// The median of several edits, by their latency. `waiting`: counts the large deployments that are not converted.
fn edit(env: &Environment, edits: std::ops::Range<usize>, waiting: impl Fn() -> usize) -> Edit {
    let ops = fs::read_to_string(boson_tests::root().join("docs/examples/nats/ops/scale.yml")).unwrap();
    let digest = |deployment: &Value| deployment["status"]["inputsDigest"].clone();
    let one = |nth: usize| {
        // Edits in quick succession are converted together.
        std::thread::sleep(Duration::from_secs(4));
        let before = digest(&env.get("boshdeployment/nats").unwrap());
        let waited = waiting();
        let began = Instant::now();
        env.apply(&[config_map("nats-scale", "ops", &format!("{ops}# {nth}\n"))])
            .unwrap();
        let converted = |found: &Value| digest(found) != before && is(found, "Applied", "True");
        env.wait_for_deployment("an edit", converted).unwrap();
        let latency = began.elapsed();
        let others = waited.saturating_sub(waiting());
        Edit { latency, others }
    };
    let mut all: Vec<Edit> = edits.map(one).collect();
    all.sort();
    all[all.len() / 2]
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "libtest shows the measured times where they are asked for"
)]
fn an_operator_stays_within_its_container_and_others_are_served() {
    let namespace = shared().unwrap().namespace("greedy").unwrap();
    let server = Server::start();
    let flags = [
        "--document-host-without-tls",
        &server.address,
        "--webhook-listen",
        "off",
    ];
    let Some(env) = Environment::limited("served", MAX_MEMORY_BYTES, &namespace, &flags).unwrap() else {
        return;
    };
    let release = tempfile::tempdir().unwrap();
    write_eater(release.path());
    env.registry
        .push_release("eater:ubuntu-jammy-1.584-1", release.path())
        .unwrap();
    let attack = Attack {
        env: &env,
        namespace: &namespace,
    };
    attack.apply(&[
        config_map("eater", "manifest", eater()),
        config_map("small", "manifest", "name: x\n"),
    ]);

    env.deploy().unwrap();
    env.wait_until_applied().unwrap();
    let quiet = edit(&env, 0..3, || 0).latency;

    attack.begin(&server);
    let attacked = edit(&env, 3..6, || attack.waiting_large_deployments());
    let still = attack.waiting_large_deployments();
    eprintln!(
        "an edit takes {quiet:?}, and {attacked:?} under attack; {still} of {LARGE_DEPLOYMENTS} attackers are still at work"
    );
    // Without fair turns, an edit waits for whole conversions of the attackers: from the end of one to that of the
    // next. A machine that is busy with other tests delays the attackers, too.
    let is_slow = attacked.latency >= quiet * 2 + Duration::from_secs(5);
    assert!(!is_slow || attacked.others < 2, "{attacked:?} under attack");

    attack.repeated_input_is_refused_and_whoever_waits_is_told();
    let reported = attack.refused("values-0", "DeploymentTooLarge");
    assert!(reported.contains("configmap/values/ops"), "{reported}");
    let reported = attack.refused("urls", "DeploymentTooLarge");
    assert!(reported.contains(&server.url("/0.yml")), "{reported}");
    assert_eq!(
        server.count("/100.yml", 200),
        0,
        "documents are read that are of no use"
    );
    // Large but allowed deployments are converted eventually, one at a time.
    let status = || attack.get("eater-0")["status"].to_string();
    let all_are = || Ok(attack.waiting_large_deployments() == 0);
    env.operator
        .wait_until("the large deployments", 3 * WAIT_TIMEOUT, all_are, status)
        .unwrap();

    let most = peak(env.operator.process().unwrap()).unwrap();
    assert!(most < MAX_MEMORY_BYTES / 8 * 7, "{} MiB", most >> 20);
    assert_eq!(env.operator.limit().unwrap().killed().unwrap(), 0);
}
