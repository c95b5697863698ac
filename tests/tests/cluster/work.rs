//! The commands that work in instances, against a cluster without a node: what they say if a permission or a pod is
//! missing.

use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;

const READ: &str = "--verb=get,list --resource=pods,boshdeployments.quarks.cloudfoundry.org,quarksstatefulsets.quarks.cloudfoundry.org";

fn fails(reader: &Reader<'_>, words: &[&str], why: &str) {
    let ran = reader.run(words);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{words:?}: {}", ran.stderr);
    assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
}

async fn deploy(tenant: &Tenant) {
    let small = Small {
        instances: 2,
        ..Small::default()
    };
    tenant.secret("d.var-implicit-port", "value", "8080").await;
    tenant.deploy("d", &small.manifest()).await;
    tenant.wait_until_ready("d").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named() {
    let operator = OperatorProcess::set("work", false, &[]).await;
    let tenant = operator.tenant("d");
    deploy(&tenant).await;
    let reader = Reader::new(&tenant, "reader", READ);
    let namespace = &tenant.namespace;
    let lacks = |resource: &str| format!("you may not get {resource} in namespace '{namespace}'");
    fails(&reader, &["ssh", "-d", "d", "-c", "true"], &lacks("pods/exec"));
    fails(&reader, &["ssh", "-d", "d", "web/0"], &lacks("pods/exec"));
    fails(&reader, &["scp", "-d", "d", "web/0:/a", "."], &lacks("pods/exec"));
    fails(&reader, &["logs", "-d", "d", "--num", "1"], &lacks("pods/log"));
    fails(&reader, &["logs", "-d", "d", "-f"], &lacks("pods/log"));
    fails(
        &reader,
        &["ssh", "-d", "d", "other/0", "-c", "true"],
        "there is no instance group 'other' with instances; instance groups: web",
    );
    fails(
        &reader,
        &["logs", "-d", "d", "web/2"],
        "there is no instance 'web/2'; instances: web/0, web/1",
    );
    fails(&reader, &["scp", "-d", "d", "a", "b"], "must be GROUP[/INDEX]:PATH");
}
