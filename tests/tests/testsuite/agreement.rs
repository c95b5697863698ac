//! The processes for which the conversion creates containers are those that the pods find in the files that they
//! render; and generated values are only in Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::{Run, folders, host, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Objects of the release in `tests/fixtures/releases/lifecycle`, and the variables that were generated for it.
fn converted(scratch: &Path) -> (Vec<Value>, String) {
    let release = root().join("tests/fixtures/releases/lifecycle");
    let manifest = release.join("manifest.yml");
    let [release, manifest] = [&release, &manifest].map(|path| path.display().to_string());
    let vars = ["--vars-store", "vars.yml", "--registry", "boson.test"];
    let arguments = [&["convert", &manifest, "--release", &release][..], &vars].concat();
    let converted = host(scratch, arguments).unwrap();
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    let objects = serde_yaml::Deserializer::from_str(&converted.stdout)
        .map(|document| serde::Deserialize::deserialize(document).unwrap());
    (objects.collect(), fs::read_to_string(scratch.join("vars.yml")).unwrap())
}

fn find<'o>(objects: &'o [Value], kind: &str, name: &str) -> &'o Value {
    let mut found = objects.iter().filter(|object| object["kind"] == kind);
    found.find(|object| object["metadata"]["name"] == name).unwrap()
}

/// `<job>/<process>` of the containers that run a process.
fn of_containers(pod: &Value) -> BTreeSet<String> {
    let words = |container: &Value| -> Vec<String> {
        let words = container["command"].as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap().to_string()).collect()
    };
    let after = |words: &[String], flag: &str| {
        let at = words.iter().position(|word| word == flag).unwrap();
        words[at + 1].clone()
    };
    let containers = pod["containers"].as_array().unwrap().iter();
    containers
        .map(words)
        .inspect(|words| assert_eq!(words[..2], ["/container-run/bin/container-run", "process"]))
        .map(|words| format!("{}/{}", after(&words, "--job"), after(&words, "--process")))
        .collect()
}

/// `<job>/<process>` in the files that a pod writes.
fn of_pod(scratch: &Path, properties: &[u8]) -> BTreeSet<String> {
    let jobs = scratch.join("releases/jobs-src/lifecycle");
    for job in folders(&root().join("tests/fixtures/releases/lifecycle/jobs")).unwrap() {
        let target = jobs.join(job.file_name().unwrap());
        fs::create_dir_all(target.join("templates")).unwrap();
        fs::copy(job.join("spec"), target.join("job.MF")).unwrap();
        fs::copy(job.join("monit"), target.join("monit")).unwrap();
        for template in fs::read_dir(job.join("templates")).unwrap() {
            let template = template.unwrap();
            fs::copy(template.path(), target.join("templates").join(template.file_name())).unwrap();
        }
    }
    fs::write(scratch.join("properties.yaml"), properties).unwrap();
    let directory = scratch.join("data/tmp").display().to_string();
    let mut run = Run::new(scratch, ["util", "template-render", "--directory", &directory]);
    for (name, value) in [
        ("BOSH_MANIFEST_PATH", "properties.yaml"),
        ("JOBS_DIR", "releases"),
        ("OUTPUT_DIR", "jobs"),
        ("CONTAINER_RUN_DIR", "container-run"),
        ("POD_IP", "10.1.2.3"),
    ] {
        run.environment.push((name.into(), value.into()));
    }
    let rendered = run.start().unwrap();
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    assert!(scratch.join("data/tmp").is_dir());
    assert_eq!(
        fs::read_to_string(scratch.join("container-run/vcap-instance/id")).unwrap(),
        "server-0"
    );
    let packages = fs::read_link(scratch.join("jobs/second/packages")).unwrap();
    assert_eq!(packages, Path::new("/var/vcap/packages"));
    let files = fs::read_dir(scratch.join("container-run/processes")).unwrap();
    files
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .map(|text| serde_json::from_slice::<Value>(&text).unwrap())
        .flat_map(|job| {
            let name =
                |process: &Value| format!("{}/{}", job["job"].as_str().unwrap(), process["name"].as_str().unwrap());
            job["processes"]
                .as_array()
                .unwrap()
                .iter()
                .map(name)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_conversion_and_the_pod_find_the_same_processes_and_only_secrets_hold_values() {
    let scratch = tempfile::tempdir().unwrap();
    let (objects, vars) = converted(scratch.path());
    let set = find(&objects, "StatefulSet", "lifecycle-server-v1");
    let resolved = find(&objects, "Secret", "lifecycle.ig-resolved.server-v1");
    let containers = of_containers(&set["spec"]["template"]["spec"]);
    assert_eq!(
        containers,
        ["by-monit/by-monit", "first/server", "second/second"]
            .map(String::from)
            .into()
    );
    let properties = resolved["data"]["properties.yaml"].as_str().unwrap();
    let properties = STANDARD.decode(properties).unwrap();
    assert_eq!(of_pod(scratch.path(), &properties), containers);
    let word = vars.trim().strip_prefix("word: ").unwrap();
    assert!(String::from_utf8_lossy(&properties).contains(word));
    for object in objects.iter().filter(|object| object["kind"] != "Secret") {
        assert!(!object.to_string().contains(word), "{}", object["metadata"]["name"]);
    }
}
