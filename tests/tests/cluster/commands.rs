//! Commands of the documentation, run as a user runs them.

use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, program};
use boson_tests::root;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The command of the page that begins with this text, with the lines that belong to it.
pub fn of_page(page: &str, begins: &str) -> Result<String> {
    let page = fs::read_to_string(root().join(page))?;
    let (_, rest) = page
        .split_once(&format!("$ {begins}"))
        .with_context(|| format!("the page has no command '{begins}'"))?;
    let mut goes_on = true;
    let lines = rest
        .lines()
        .take_while(|line| std::mem::replace(&mut goes_on, line.ends_with('\\')));
    Ok(format!("{begins}{}", lines.collect::<Vec<_>>().join("\n")))
}

/// The output of a script, which must succeed. `directory`: where it runs.
pub fn run(directory: &Path, cluster: &Cluster, script: &str) -> Result<String> {
    let home = tempfile::tempdir()?;
    let mut path = std::env::var("PATH").unwrap_or_default();
    for tool in ["helm", "kubectl"] {
        let tool = program(tool)?;
        path = format!("{}:{path}", tool.parent().context("no folder")?.display());
    }
    let output = Command::new("bash")
        .args(["-euc", script])
        .current_dir(directory)
        .env("HOME", home.path())
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("PATH", path)
        .output()?;
    ensure!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
