//! `host run-errand` with pods: logs are shown to the last line, exit codes are those of the errand, and a job of a
//! service runs in its instances.

use super::manifest_of;
use crate::objects::is;
use crate::operator::Environment;
use anyhow::{Result, ensure};
use boson_tests::Ran;
use boson_tests::cluster::{Cluster, with_node};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// Of the errand `loud`: about five megabytes.
const LOUD_LINES: usize = 60_000;

#[test]
fn errands_run_to_their_ends_and_all_of_their_logs_is_shown() {
    let Some(cluster) = with_node().unwrap() else { return };
    let errands = Errands::new(cluster).unwrap();
    errands.deploy("hello").unwrap();
    errands.one_succeeds_and_is_skipped_until_something_changes().unwrap();
    errands.one_fails_with_its_exit_code().unwrap();
    errands.a_long_log_is_shown_to_its_last_line().unwrap();
    errands.a_job_of_a_service_runs_in_its_instances().unwrap();
}

/// The deployment of `tests/fixtures/releases/errands`.
struct Errands {
    env: Environment,
    scratch: TempDir,
}

// === impl Errands ===

impl Errands {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let mut env = Environment::with_pods(cluster, "errands")?;
        env.mode = "InProcess";
        env.load("errands", Ok)?;
        Ok(Self {
            env,
            scratch: tempfile::tempdir()?,
        })
    }

    /// `word`: a property of the errand `good`.
    fn deploy(&self, word: &str) -> Result<()> {
        let manifest = manifest_of("errands")?.replace("word: hello", &format!("word: {word}"));
        self.env.deploy_manifest("errands", &manifest)?;
        let waited = self.host(&["wait", "errands"])?;
        ensure!(waited.code == 0, "{}\n{}", waited.stderr, self.env.everything());
        Ok(())
    }

    fn host(&self, arguments: &[&str]) -> Result<Ran> {
        let env = &self.env;
        env.cluster.host(self.scratch.path(), &env.namespace, arguments)
    }

    fn run(&self, errand: &str, more: &[&str]) -> Result<(Ran, Value)> {
        let ran = self.host(&[&["run-errand", errand, "-d", "errands", "--json"], more].concat())?;
        let printed: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        Ok((ran, printed["Tables"][0].clone()))
    }

    fn one_succeeds_and_is_skipped_until_something_changes(&self) -> Result<()> {
        let row = |word: &str| json!([{"instance": "good/0", "exit_code": "0", "stdout": format!("{word} from 0\n"), "stderr": ""}]);
        let (ran, table) = self.run("good", &["--download-logs", "--logs-dir", "logs"])?;
        ensure!(
            ran.code == 0 && table["Rows"] == row("hello"),
            "{table:#}\n{}",
            ran.stderr
        );
        ensure!(ran.stderr.contains("hello from 0\n"), "{}", ran.stderr);
        let folder = fs::read_dir(self.scratch.path().join("logs"))?.next();
        let log = folder.transpose()?.map(|folder| folder.path().join("check-check.log"));
        let log = fs::read_to_string(log.unwrap_or_default())?;
        ensure!(log == "hello from 0\n", "{log}");
        for _ in 0..2 {
            let (ran, table) = self.run("good", &["--when-changed"])?;
            let is_skipped = table["Notes"] == json!(["skipped - no changes detected"]) && table["Rows"] == json!([]);
            ensure!(ran.code == 0 && is_skipped, "{table:#}\n{}", ran.stderr);
        }
        self.deploy("goodbye")?;
        let (ran, table) = self.run("good", &["--when-changed"])?;
        ensure!(
            ran.code == 0 && table["Rows"] == row("goodbye"),
            "{table:#}\n{}",
            ran.stderr
        );
        let found = self.env.get("quarksjob/errands-good")?;
        ensure!(found["status"]["runs"] == 2, "{found:#}");
        ensure!(is(&found, "Complete", "True"), "{found:#}");
        Ok(())
    }

    fn one_fails_with_its_exit_code(&self) -> Result<()> {
        let (ran, table) = self.run("bad", &[])?;
        let why = "Errand 'bad' completed with error (exit code 3)";
        ensure!(ran.code == 1 && ran.stderr.contains(why), "{table:#}\n{}", ran.stderr);
        ensure!(table["Rows"][0]["exit_code"] == "3", "{table:#}");
        Ok(())
    }

    fn a_long_log_is_shown_to_its_last_line(&self) -> Result<()> {
        let (ran, table) = self.run("loud", &[])?;
        let numbers = ran
            .stderr
            .lines()
            .filter_map(|line| line.split_once(" is the number of a line"));
        let numbers: Vec<&str> = numbers.map(|(number, _)| number).collect();
        let is_whole = numbers
            .iter()
            .enumerate()
            .all(|(at, number)| *number == (at + 1).to_string());
        ensure!(
            ran.code == 0 && is_whole && numbers.len() == LOUD_LINES,
            "{} lines",
            numbers.len()
        );
        let stdout = table["Rows"][0]["stdout"].as_str().unwrap_or_default();
        ensure!(
            stdout.starts_with('[') && stdout.len() < 2 << 20,
            "{} bytes",
            stdout.len()
        );
        ensure!(
            stdout
                .lines()
                .last()
                .is_some_and(|line| line.starts_with(&format!("{LOUD_LINES} ")))
        );
        Ok(())
    }

    fn a_job_of_a_service_runs_in_its_instances(&self) -> Result<()> {
        self.env.wait_until_ready("errands")?;
        let row = |index: usize| {
            json!({"instance": format!("web/{index}"), "exit_code": index.to_string(),
                "stdout": format!("instance {index}\n"), "stderr": format!("an error of {index}\n")})
        };
        let (ran, table) = self.run("status", &[])?;
        ensure!(
            ran.code == 1 && table["Rows"] == json!([row(0), row(1)]),
            "{table:#}\n{}",
            ran.stderr
        );
        ensure!(ran.stderr.contains("[web/1] instance 1\n"), "{}", ran.stderr);
        let (ran, table) = self.run("status", &["--instance", "web/first"])?;
        ensure!(
            ran.code == 0 && table["Rows"] == json!([row(0)]),
            "{table:#}\n{}",
            ran.stderr
        );
        Ok(())
    }
}
