//! The commands that work in instances: `host ssh`, `host scp` and `host logs`, with two instances.

use super::deploy;
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::{Ran, Run, binary};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const MANIFEST: &str = r#"
name: shop
releases: [{name: shop, version: "1", url: boson.test}]
stemcells: [{alias: default, os: busybox, version: "1"}]
variables: [{name: word, type: password}]
instance_groups:
- name: web
  instances: 2
  stemcell: default
  jobs:
  - name: app
    release: shop
    properties:
      word: ((word))
      quarks:
        ports: [{name: http, protocol: TCP, internal: 8080}]
"#;
/// vcap can write here.
const FOLDER: &str = "/var/vcap/sys/log/app";

#[test]
fn shells_files_and_logs_of_instances_work_as_in_bosh() {
    let Some(cluster) = with_node().unwrap() else { return };
    let shop = Shop::new(cluster).unwrap();
    shop.deploy().unwrap();
    shop.commands_run_on_all_instances().unwrap();
    shop.a_shell_reads_its_input().unwrap();
    shop.files_are_copied_both_ways().unwrap();
    shop.logs_are_downloaded().unwrap();
    shop.lines_are_printed_and_followed().unwrap();
}

/// A deployment with a group of two instances.
struct Shop {
    env: Environment,
    scratch: TempDir,
    /// A generated password, which is in a file of the job.
    word: std::cell::OnceCell<String>,
}

// === impl Shop ===

impl Shop {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let env = Environment::with_pods(cluster, "work")?;
        env.load("shop", Ok)?;
        let scratch = tempfile::tempdir()?;
        fs::copy(cluster.kubeconfig(), scratch.path().join("kubeconfig"))?;
        Ok(Self {
            env,
            scratch,
            word: std::cell::OnceCell::new(),
        })
    }

    fn deploy(&self) -> Result<()> {
        deploy(&self.env, "shop", MANIFEST)?;
        let secret = self.env.get("secret/shop.var-word")?;
        let word = self.env.decoded(&secret["data"]["password"])?;
        ensure!(word.len() == 20, "{} characters", word.len());
        ensure!(self.word.set(word).is_ok(), "deployed twice");
        Ok(())
    }

    fn arguments<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let place = [
            "-d",
            "shop",
            "--namespace",
            &self.env.namespace,
            "--kubeconfig",
            "kubeconfig",
        ];
        words[..1].iter().chain(&place).chain(&words[1..]).copied().collect()
    }

    fn run_with(&self, words: &[&str], input: &str) -> Result<Ran> {
        let mut run = Run::new(self.scratch.path(), self.arguments(words));
        run.input = input.into();
        let ran = run.start()?;
        self.has_no_secret(&ran.stdout)?;
        self.has_no_secret(&ran.stderr)?;
        Ok(ran)
    }

    fn run(&self, words: &[&str]) -> Result<Ran> {
        self.run_with(words, "")
    }

    /// What a command prints if it succeeds.
    fn output(&self, words: &[&str]) -> Result<String> {
        let ran = self.run(words)?;
        ensure!(ran.code == 0, "{words:?}: {}{}", ran.stdout, ran.stderr);
        Ok(ran.stdout)
    }

    fn has_no_secret(&self, text: &str) -> Result<()> {
        let word = self.word.get().context("not deployed")?;
        ensure!(!text.contains(word), "the password is shown");
        Ok(())
    }

    fn commands_run_on_all_instances(&self) -> Result<()> {
        let text = self.output(&["ssh", "-c", "echo hello; echo bad >&2; id -u"])?;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let wanted = |instance: &str| {
            ["stderr | bad", "stdout | 1000", "stdout | hello"].map(|line| format!("{instance}: {line}"))
        };
        ensure!(lines == [wanted("web/0"), wanted("web/1")].concat(), "{text}");

        let ran = self.run(&["ssh", "web/1", "-c", "exit 3"])?;
        let why = "the command failed on 1 of 1 instances: web/1 (exit code 3)";
        ensure!(
            ran.code == 1 && ran.stderr.contains(why),
            "{}{}",
            ran.stdout,
            ran.stderr
        );

        let first = "echo out; test \"$(hostname)\" = \"$(hostname | sed 's/.$/0/')\"";
        let ran = self.run(&["ssh", "web", "-r", "--json", "-c", first])?;
        ensure!(ran.code == 1, "{}", ran.stderr);
        let printed: Value = serde_json::from_str(&ran.stdout)?;
        let row = |instance: &str, code: &str| json!({"instance": instance, "stdout": "out", "stderr": "", "exit_code": code, "error": ""});
        let rows = &printed["Tables"][0]["Rows"];
        ensure!(*rows == json!([row("web/0", "0"), row("web/1", "1")]), "{rows:#}");

        let text = self.output(&["ssh", "web/0", "-c", "head -c 1000000 /dev/zero | tr '\\000' x"])?;
        ensure!(
            text.ends_with("more bytes are left out]\n") && text.len() < 100_000,
            "{} bytes",
            text.len()
        );
        let ran = self.run(&["ssh", "web/0", "--container", "app-ap", "-c", "true"])?;
        let why = "its pod has no container 'app-ap'; containers: ";
        ensure!(ran.code == 1 && ran.stderr.contains(why), "{}", ran.stderr);
        Ok(())
    }

    fn a_shell_reads_its_input(&self) -> Result<()> {
        let ran = self.run_with(&["ssh", "web/0"], "echo sum-$((1 + 1))\nexit 4\n")?;
        ensure!(ran.stdout == "sum-2\n", "{}{}", ran.stdout, ran.stderr);
        ensure!(ran.code == 1 && ran.stderr.contains("exit code 4"), "{}", ran.stderr);
        let ran = self.run(&["ssh"])?;
        ensure!(
            ran.code == 1 && ran.stderr.contains("instances: web/0, web/1"),
            "{}",
            ran.stderr
        );
        Ok(())
    }

    fn files_are_copied_both_ways(&self) -> Result<()> {
        let folder = self.scratch.path().join("sent/deep");
        fs::create_dir_all(&folder)?;
        // More than one part of a stream.
        let large = "0123456789abcdef".repeat(100_000);
        fs::write(folder.join("large"), &large)?;
        fs::write(self.scratch.path().join("small"), "text")?;

        self.output(&["scp", "small", &format!(":{FOLDER}/renamed")])?;
        self.output(&["scp", "-r", "sent", &format!("web:{FOLDER}")])?;
        let sums = self.output(&[
            "ssh",
            "-c",
            &format!("cat {FOLDER}/renamed; wc -c < {FOLDER}/sent/deep/large"),
        ])?;
        for instance in ["web/0", "web/1"] {
            ensure!(sums.contains(&format!("{instance}: stdout | text1600000\n")), "{sums}");
        }
        self.output(&["scp", "-r", &format!("web:{FOLDER}/sent"), "got/((instance_id))"])?;
        for index in 0..2 {
            let copy = self.scratch.path().join(format!("got/web-{index}/deep/large"));
            ensure!(fs::read_to_string(&copy)? == large, "{}", copy.display());
        }
        self.output(&["scp", &format!("web/1:{FOLDER}/renamed"), "."])?;
        ensure!(fs::read_to_string(self.scratch.path().join("renamed"))? == "text");

        for (words, why) in [
            (["scp", "web:/a", "b"], "use ((instance_id)) in the local path"),
            (
                ["scp", "web/0:/var/vcap/sys/log", "."],
                "is a directory: use --recursive",
            ),
            (["scp", "web/0:/missing", "."], "No such file or directory"),
            (["scp", "small", "web/0:/missing/a"], "No such file or directory"),
            (["scp", "small", "other"], "must be GROUP[/INDEX]:PATH"),
        ] {
            let ran = self.run(&words)?;
            ensure!(ran.code == 1 && ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
        }
        Ok(())
    }

    /// The files of an archive, by their names.
    fn archive(&self, path: &str) -> Result<BTreeMap<String, String>> {
        let file = File::open(self.scratch.path().join(path.trim()))?;
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
            let mut entry = entry?;
            let (name, mut text) = (entry.path()?.display().to_string(), String::new());
            entry.read_to_string(&mut text)?;
            self.has_no_secret(&text)?;
            files.insert(name, text);
        }
        Ok(files)
    }

    fn logs_are_downloaded(&self) -> Result<()> {
        let write = format!("echo line of $(hostname) >> {FOLDER}/own.log");
        self.output(&["ssh", "-c", &write])?;
        fs::create_dir(self.scratch.path().join("logs"))?;
        let path = self.output(&["logs", "--dir", "logs"])?;
        ensure!(path.starts_with("logs/shop-") && path.ends_with(".tgz\n"), "{path}");
        let files = self.archive(&path)?;
        for index in 0..2 {
            let own = files.get(&format!("web.{index}/app/own.log"));
            ensure!(
                own.is_some_and(|text| text.starts_with("line of shop-web-")),
                "{files:#?}"
            );
            for name in ["app/app.stdout.log", "containers/app-app.log", "containers/logs.log"] {
                ensure!(
                    files.contains_key(&format!("web.{index}/{name}")),
                    "{name}: {:?}",
                    files.keys()
                );
            }
        }
        let path = self.output(&["logs", "web/1", "--only", "app/own.*,x/*"])?;
        ensure!(path.starts_with("./shop.web.1-"), "{path}");
        let names: Vec<String> = self.archive(&path)?.into_keys().collect();
        ensure!(names == ["app/own.log"], "{names:?}");
        let path = self.output(&["logs", "web/1", "--job", "none"])?;
        ensure!(self.archive(&path)?.is_empty(), "{path}");
        Ok(())
    }

    fn lines_are_printed_and_followed(&self) -> Result<()> {
        let line = |index: usize| format!("web/{index} app/own.log | line of shop-web-");
        self.env.wait_until("the lines of both instances", || {
            let text = self.output(&["logs", "--num", "100"])?;
            Ok((0..2).all(|index| text.contains(&line(index))))
        })?;
        let text = self.output(&["logs", "web/0", "--num", "100", "--only", "app/own.log", "-q"])?;
        ensure!(text.lines().all(|line| line.starts_with("line of shop-web-")), "{text}");

        let mut follow = Follow::begin(self.scratch.path(), &self.arguments(&["logs", "-f", "--job", "app"]))?;
        self.env.wait_until("the last lines", || {
            Ok((0..2).all(|index| follow.text().contains(&line(index))))
        })?;
        self.output(&["ssh", "-c", &format!("echo later >> {FOLDER}/own.log")])?;
        self.env.wait_until("later lines", || {
            let text = follow.text();
            Ok((0..2).all(|index| text.contains(&format!("web/{index} app/own.log | later\n"))))
        })?;
        // A container that starts again is followed again.
        // Its end may end the command, too.
        self.run(&["ssh", "web/0", "-c", "kill -9 $(cat /var/vcap/sys/run/bpm/app/app.pid)"])?;
        self.env.wait_until("a restart", || {
            let pod = self.env.get("pods")?;
            let pods = pod["items"].as_array().cloned().unwrap_or_default();
            let statuses = pods
                .iter()
                .filter_map(|pod| pod["status"]["containerStatuses"].as_array());
            Ok(statuses.flatten().any(|status| status["restartCount"] == 1))
        })?;
        ensure!(follow.runs()?, "it ended: {}", follow.text());
        self.has_no_secret(&follow.text())?;
        let path = self.output(&["logs", "web/0"])?;
        let files = self.archive(&path)?;
        ensure!(
            files.contains_key("containers/app-app.previous.log"),
            "{:?}",
            files.keys()
        );
        Ok(())
    }
}

/// A command that runs until it is killed.
struct Follow {
    child: Child,
    output: TempDir,
}

// === impl Follow ===

impl Follow {
    fn begin(folder: &Path, arguments: &[&str]) -> Result<Self> {
        let output = tempfile::tempdir()?;
        let child = Command::new(binary()?)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(output.path().join("lines"))?)
            .spawn()?;
        Ok(Self { child, output })
    }

    fn text(&self) -> String {
        fs::read_to_string(self.output.path().join("lines")).unwrap_or_default()
    }

    fn runs(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
