//! `host import`: the operator keeps the imported password and CA. No pod runs here.

use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use boson_tests::Ran;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// In no output.
const VALUE: &str = "CANARY-VALUE";
const IMPORTER: &str = "--verb=get,create,update --resource=secrets";
const IMPORT: [&str; 4] = ["import", "-d", "d", "--json"];
const VARIABLES: &str = "
- {name: word, type: password}
- {name: ca, type: certificate, options: {is_ca: true, common_name: ca}}
- {name: leaf, type: certificate, options: {ca: ca, common_name: leaf}}";

fn manifest() -> String {
    let small = Small {
        variables: VARIABLES,
        domain: "((domain))",
        ..Small::default()
    };
    small.manifest()
}

async fn data(tenant: &Tenant, secret: &str) -> Value {
    let found = tenant.get("v1", "Secret", secret).await;
    found.map(|secret| secret["data"].clone()).unwrap_or_default()
}

/// The members of a Secret, as text.
async fn texts(tenant: &Tenant, secret: &str) -> BTreeMap<String, String> {
    let data = data(tenant, secret).await;
    let decoded = |text: &Value| {
        let bytes: k8s_openapi::ByteString = serde_json::from_value(text.clone()).unwrap();
        String::from_utf8(bytes.0).unwrap()
    };
    let members = data.as_object().unwrap().iter();
    members.map(|(key, text)| (key.clone(), decoded(text))).collect()
}

/// Variables and their states.
fn states(ran: &Ran) -> Vec<(String, String)> {
    assert!(!ran.stdout.contains(VALUE) && !ran.stderr.contains(VALUE), "{ran:?}");
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_string();
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = printed["Tables"][0]["Rows"].as_array().unwrap().clone();
    rows.iter()
        .map(|row| (text(row, "variable"), text(row, "state")))
        .collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter()
        .map(|(name, state)| (name.to_string(), state.to_string()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_keeps_the_imported_password_and_ca() {
    let operator = OperatorProcess::set("import", false, &[]).await;
    // The values of the director: those that another deployment has.
    let director = operator.tenant("director");
    director.secret("d.var-implicit-domain", "value", "example.com").await;
    director.deployed("d", &manifest()).await;
    let (ca, leaf) = (texts(&director, "d.var-ca").await, texts(&director, "d.var-leaf").await);
    let of_type = |kind: &str, name: &str, value: Value| json!({"name": name, "type": kind, "value": value});
    let export = json!({"credentials": [
        of_type("password", "/director/d/word", json!(VALUE)),
        of_type("certificate", "/director/d/ca", json!(ca)),
        of_type("certificate", "/director/d/leaf", json!(leaf)),
        of_type("value", "/director/d/domain", json!("example.com")),
        of_type("password", "/director/other/word", json!("other")),
    ]});

    let tenant = operator.tenant("d");
    let importer = Reader::new(&tenant, "importer", IMPORTER);
    fs::write(importer.folder().join("export.json"), export.to_string()).unwrap();
    fs::write(importer.folder().join("manifest.yml"), manifest()).unwrap();
    let import = |more: &[&str]| {
        let from = ["--credhub-export", "export.json", "--manifest", "manifest.yml"];
        importer.run(&[&IMPORT[..], &from, more].concat())
    };
    let all = |state| {
        let unused = ("/director/other/word", "unused");
        pairs(&[
            ("ca", state),
            ("domain", state),
            ("leaf", state),
            ("word", state),
            unused,
        ])
    };
    let ran = import(&[]);
    assert_eq!((ran.code, states(&ran)), (0, all("new")), "{}", ran.stderr);
    assert_eq!(data(&tenant, "d.var-word").await, Value::Null, "a dry run has written");
    let ran = import(&["--apply", "--yes"]);
    assert_eq!((ran.code, states(&ran)), (0, all("new")), "{}", ran.stderr);

    tenant.deployed("d", &manifest()).await;
    let word = BTreeMap::from([("password".to_string(), VALUE.to_string())]);
    assert_eq!(texts(&tenant, "d.var-word").await, word);
    assert_eq!(texts(&tenant, "d.var-ca").await, ca);
    assert_eq!(texts(&tenant, "d.var-leaf").await, leaf);
    let adopted = tenant.get("v1", "Secret", "d.var-ca").await.unwrap();
    let annotations = &adopted["metadata"]["annotations"];
    assert!(
        annotations["quarks.cloudfoundry.org/request-digest"].is_string(),
        "{annotations:#}"
    );

    // Nothing is left to import, and another value is not overwritten unless the user wants that.
    let ran = import(&["--apply", "--yes"]);
    assert_eq!((ran.code, states(&ran)), (0, all("same")), "{}", ran.stderr);
    fs::write(importer.folder().join("vars.yml"), "word: another\n").unwrap();
    let import = |more: &[&str]| importer.run(&[&IMPORT[..], &["--vars-store", "vars.yml"], more].concat());
    let ran = import(&["--apply", "--yes"]);
    assert_eq!((ran.code, states(&ran)), (1, pairs(&[("word", "differs")])));
    assert!(ran.stderr.contains("'d.var-word'"), "{}", ran.stderr);
    assert_eq!(texts(&tenant, "d.var-word").await, word);
    let ran = import(&["--apply", "--overwrite", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(texts(&tenant, "d.var-word").await["password"], "another");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named() {
    let operator = OperatorProcess::set("import-forbidden", false, &[]).await;
    let tenant = operator.tenant("d");
    let reader = Reader::new(&tenant, "reader", "--verb=get --resource=secrets");
    fs::write(reader.folder().join("vars.yml"), format!("word: {VALUE}\n")).unwrap();
    let fixed = [&IMPORT[..], &["--vars-store", "vars.yml"]].concat();
    let ran = reader.run(&fixed);
    assert_eq!(
        (ran.code, states(&ran)),
        (0, pairs(&[("word", "new")])),
        "{}",
        ran.stderr
    );
    let ran = reader.run(&[&fixed[..], &["--apply", "--yes"]].concat());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("you may not create secrets"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(VALUE), "{}", ran.stderr);
}
