//! The ops files of docs/examples/cf-deployment: they apply to the entries that their paths name, also after
//! cf-deployment's own ops files.

use boson_tests::{Run, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Jobs with ports that cf-deployment's operations/use-postgres.yml removes from the group `database`.
const MYSQL: [&str; 3] = ["pxc-mysql", "proxy", "galera-agent"];

fn ops(name: &str) -> String {
    root()
        .join("docs/examples/cf-deployment/ops")
        .join(name)
        .display()
        .to_string()
}

/// Group and job of every operation of these files.
fn jobs(files: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut jobs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(ops(file)).unwrap();
        for path in text
            .lines()
            .filter_map(|line| line.strip_prefix("  path: /instance_groups/name="))
        {
            let (group, rest) = path.split_once("/jobs/name=").unwrap();
            let job = rest.split('/').next().unwrap_or_default();
            jobs.entry(group.into()).or_default().push(job.into());
        }
    }
    jobs
}

fn manifest(jobs: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = "name: cf\ninstance_groups:\n".to_string();
    for (group, jobs) in jobs {
        let jobs: Vec<String> = jobs.iter().map(|job| format!("{{name: {job}, release: r}}")).collect();
        text.push_str(&format!("- {{name: {group}, jobs: [{}]}}\n", jobs.join(", ")));
    }
    text
}

/// Applies these files to a manifest; the result of `host interpolate`.
fn applied(directory: &Path, manifest: &str, files: &[&str]) -> (i32, String, String) {
    fs::write(directory.join("manifest.yml"), manifest).unwrap();
    let files: Vec<String> = files.iter().map(|file| ops(file)).collect();
    let mut arguments = vec!["interpolate", "manifest.yml"];
    files.iter().for_each(|file| arguments.extend(["-o", file]));
    let ran = Run::new(directory, arguments).start().unwrap();
    (ran.code, ran.stdout, ran.stderr)
}

#[test]
fn ports_apply_with_either_database() {
    let scratch = tempfile::tempdir().unwrap();
    let mut all = jobs(&["ports.yml", "ports-mysql.yml"]);
    assert!(
        all.len() > 10 && MYSQL.iter().all(|job| all["database"].contains(&job.to_string())),
        "{all:?}"
    );
    let (code, _, said) = applied(scratch.path(), &manifest(&all), &["ports.yml", "ports-mysql.yml"]);
    assert_eq!(code, 0, "{said}");
    // The result of operations/use-postgres.yml.
    all.insert("database".into(), vec!["postgres".into()]);
    let (code, text, said) = applied(scratch.path(), &manifest(&all), &["ports.yml", "ports-postgres.yml"]);
    assert_eq!(code, 0, "{said}");
    for job in MYSQL {
        assert!(
            !text.contains(&format!("name: {job}\n")),
            "'{job}' is back, of no release: {text}"
        );
    }
    assert!(text.contains("internal: 5524"), "{text}");
}
