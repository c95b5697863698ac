//! `host diff` against a cluster: it compares with the manifest that the operator has stored, and only reads.

use crate::operator_process::{OperatorProcess, small_release};
use crate::reader::Reader;
use crate::small_deployment::Small;
use boson_tests::Ran;
use std::fs;

/// Compares this manifest with that of a deployment.
fn diff(reader: &Reader<'_>, deployment: &str, manifest: &Small<'_>, more: &[&str]) -> Ran {
    fs::write(reader.folder().join("manifest.yml"), manifest.manifest()).unwrap();
    let release = small_release();
    let fixed = ["diff", "manifest.yml", "--deployment", deployment, "--release"];
    let release = [release.to_str().unwrap()];
    let arguments: Vec<&str> = fixed.iter().chain(&release).chain(more).copied().collect();
    reader.run(&arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_compared_with_what_the_cluster_has_and_nothing_is_written() {
    let operator = OperatorProcess::set("diff", false, &[]).await;
    let tenant = operator.tenant("d");
    let variables = "[{name: word, type: password}]";
    let applied = Small {
        variables,
        ..Small::default()
    };
    tenant.deployed("d", &applied.manifest()).await;
    let role = "--verb=get --resource=secrets,boshdeployments.quarks.cloudfoundry.org";
    let reader = Reader::new(&tenant, "reader", role);

    let ran = diff(&reader, "d", &applied, &[]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "no differences\n"),
        "{}",
        ran.stderr
    );

    let changed = Small {
        domain: "other.example.com",
        instances: 2,
        ..Small::default()
    };
    let ran = diff(&reader, "d", &changed, &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in [
        "-   instances: 1\n+   instances: 2\n",
        "restart web/0",
        "+ create web/1\n",
        "- word: its value is retained",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("other.example.com"), "{}", ran.stdout);

    let ran = diff(&reader, "d", &changed, &["--format", "bosh"]);
    let domain = r#"        domain: "<redacted>""#;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stdout.contains(&format!("- {domain}\n+ {domain}\n")),
        "{}",
        ran.stdout
    );

    let ran = diff(&reader, "unknown", &applied, &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("it has no manifest"), "{}", ran.stderr);
    assert!(ran.stdout.contains("+ create web/0\n"), "{}", ran.stdout);

    let used = reader.used();
    let requests: Vec<String> = used.permissions.iter().map(ToString::to_string).collect();
    assert_eq!(requests, ["get secrets", "get boshdeployments.quarks.cloudfoundry.org"]);
    assert!(used.forbidden.is_empty(), "{:?}", used.forbidden);
}
