//! Golden cases: `golden/<case>/{group,jobs}.json` in, `expected.json` out. `BLESS=1 cargo test -p boson-bpm` rewrites
//! what is expected.
#![allow(clippy::disallowed_methods, reason = "the cases are files")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::request::{BpmCopy, Deployment, GroupRequest, JobFiles, ReleasePackage};
use boson_document::{Diagnostic, Severity, Tree, json};
use boson_manifest::instances::Spread;
use std::fs;
use std::path::Path;

fn read(path: &Path) -> Tree {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn request(case: &Path) -> GroupRequest {
    let (group, jobs) = (read(&case.join("group.json")), read(&case.join("jobs.json")));
    let name = group.str("name").unwrap().to_string();
    let slug = group.items("instance_groups")[0].str("name").unwrap().replace('_', "-");
    let deployment = Deployment {
        namespace: "default".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "example.org/boson:1".into(),
        registry: None,
        spread: Spread::Total,
        name: name.clone(),
    };
    GroupRequest {
        deployment,
        resolved_secret: format!("{name}.ig-resolved.{slug}-v1"),
        group,
        document_name: "manifest.yml".into(),
        pointer: "/instance_groups/0".into(),
        jobs: jobs.as_array().unwrap().iter().map(files).collect(),
    }
}

fn files(tree: &Tree) -> JobFiles {
    let text = |item: &Tree| item.as_str().unwrap().to_string();
    let copy = |copy: &Tree| BpmCopy {
        document_name: copy.str("document_name").unwrap().into(),
        instances: copy
            .items("instances")
            .iter()
            .map(|index| index.as_i64().unwrap() as u32)
            .collect(),
        bpm: copy.get("bpm").unwrap().clone(),
    };
    let package = |package: &Tree| ReleasePackage {
        name: package.str("name").unwrap().into(),
        release: package.str("release").unwrap().into(),
    };
    JobFiles {
        job: tree.str("job").unwrap().into(),
        release: tree.str("release").unwrap().into(),
        templates: tree.items("templates").iter().map(text).collect(),
        monitored: tree.get("monitored").and_then(Tree::as_bool).unwrap_or(true),
        bpm: tree.items("bpm").iter().map(copy).collect(),
        packages: tree.items("packages").iter().map(package).collect(),
        ..JobFiles::default()
    }
}

fn to_tree(diagnostics: &[Diagnostic]) -> Tree {
    let one = |diagnostic: &Diagnostic| {
        let severity = if diagnostic.severity == Severity::Error {
            "error"
        } else {
            "warning"
        };
        let document = diagnostic.document.as_deref().unwrap_or_default();
        Tree::object()
            .with("severity", severity)
            .with("code", diagnostic.code.name)
            .with("message", diagnostic.message.as_str())
            .with("place", format!("{document}:{}", diagnostic.pointer_text()))
    };
    diagnostics.iter().map(one).collect::<Vec<_>>().into()
}

#[test]
fn groups_become_the_objects_expected() {
    let root = Path::new("tests/golden");
    let mut cases: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty());
    let mut wrong = Vec::new();
    for case in cases {
        let reply = convert::group(&request(&case), &Tree::object());
        let (objects, diagnostics) = reply.unwrap_or_else(|diagnostics| (Vec::new(), diagnostics));
        let actual = Tree::object()
            .with("objects", objects)
            .with("diagnostics", to_tree(&diagnostics));
        let text = serde_json::to_string_pretty(&actual).unwrap() + "\n";
        let path = case.join("expected.json");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != text {
            wrong.push(case.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    assert!(
        wrong.is_empty(),
        "different from expected.json: {wrong:?}; BLESS=1 rewrites them"
    );
}
