//! The commands that show deployments, against a cluster: what they print, and that they only read. No pod runs here.

use crate::instance_states::wait_until_settled;
use crate::kubelet::Kubelet;
use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use boson_tests::cluster::shared;
use serde_json::{Value, json};

const ERRAND: &str = "\
- name: check
  lifecycle: errand
  instances: 1
  persistent_disk: 1024
  stemcell: default
  jobs: [{name: app, release: demo, properties: {app: {domain: example.com}}}]
";
/// In no output.
const VALUE: &str = "CANARY-VALUE";
const READER: &str = "--verb=get,list --resource=persistentvolumeclaims,pods,secrets,boshdeployments.quarks.cloudfoundry.org,\
    quarksstatefulsets.quarks.cloudfoundry.org,quarksjobs.quarks.cloudfoundry.org,quarkssecrets.quarks.cloudfoundry.org";

/// Deploys two instances, an errand and variables, and waits until all is ready and rolled out.
async fn deploy(tenant: &Tenant) {
    let small = Small {
        variables: "[{name: word, type: password}, {name: ca, type: certificate, options: {is_ca: true, common_name: x}}]",
        instances: 2,
        ..Small::default()
    };
    tenant.secret("d.var-implicit-port", "value", VALUE).await;
    let manifest = small.manifest() + ERRAND;
    tenant.deploy("d", &manifest).await;
    let _kubelet = Kubelet::of(tenant.pods());
    wait_until_settled(tenant, "the deployment", |pods| pods.len() == 2).await;
}

/// The rows of each table of a command.
fn rows(reader: &Reader<'_>, arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    let ran = reader.run(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    assert!(!ran.stdout.contains(VALUE), "{}", ran.stdout);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tables = printed["Tables"].as_array().unwrap();
    tables.iter().map(|table| table["Rows"].clone()).collect()
}

fn instance(index: usize) -> Value {
    json!({
        "instance": format!("web/{index}"), "process_state": "running", "az": "", "ips": "", "deployment": "d",
        "pod": format!("d-web-v1-{index}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_are_shown_as_bosh_shows_them_and_nothing_is_written() {
    let operator = OperatorProcess::set("look", false, &[]).await;
    let tenant = operator.tenant("d");
    deploy(&tenant).await;
    let reader = Reader::new(&tenant, "reader", READER);

    let deployment = json!({
        "name": "d", "release_s": "demo/1", "stemcell_s": "ubuntu-jammy/1.1", "state": "Deployed",
        "instance_groups": "1/1", "rollout": "RolledOut",
    });
    assert_eq!(rows(&reader, &["deployments"]), [json!([deployment])]);
    let both = [json!([instance(0), instance(1)])];
    assert_eq!(rows(&reader, &["instances"]), both);
    assert_eq!(rows(&reader, &["instances", "-d", "d"]), both);
    assert_eq!(rows(&reader, &["instances", "-d", "d", "--failing"]), [json!([])]);
    let words = [
        "instances",
        "-d",
        "d",
        "--ps",
        "--details",
        "--column=instance",
        "--column=Process",
    ];
    let processes = rows(&reader, &words);
    assert_eq!(processes[0][1], json!({"instance": "web/0", "process": "app-app"}));

    let status = rows(&reader, &["status", "-d", "d"]);
    let group = json!({
        "instance_group": "web", "version": "1", "instances": "2", "updated": "2", "ready": "2", "rollout": "RolledOut",
        "held_by": "", "waits_for": "",
    });
    assert_eq!((status.len(), &status[1]), (2, &json!([group])));
    let errand = json!({
        "name": "check", "lifecycle": "errand", "quarksjob": "d-check", "runs": "0", "last_run": "never", "message": "",
    });
    assert_eq!(rows(&reader, &["errands", "-d", "d"]), [json!([errand])]);
    disks(&tenant, &reader).await;
    variables(&reader);
    let manifest = reader.run(&["manifest", "-d", "d"]);
    assert!(
        manifest.stdout.contains("\ninstance_groups:\n- name: web\n"),
        "{}",
        manifest.stdout
    );
    let graph = reader.run(&["graph", "-d", "d", "--variables"]);
    let wanted = "graph LR\n  n0[\"web<br/>2 instances\"]\n  n1[\"check<br/>errand<br/>1 instance\"]\n";
    assert_eq!((graph.code, graph.stdout.as_str()), (0, wanted), "{}", graph.stderr);
    let graph = reader.run(&["graph", "-d", "d", "--format", "dot"]);
    assert!(
        graph
            .stdout
            .ends_with("  n1 [label=\"check\\nerrand\\n1 instance\"];\n}\n"),
        "{} {}",
        graph.stdout,
        graph.stderr
    );

    all_requests_read(&reader);
    texts_and_errors(&tenant, &reader);
}

fn variables(reader: &Reader<'_>) {
    let mut variables = rows(reader, &["variables", "-d", "d"]);
    for row in variables[0].as_array_mut().unwrap() {
        let expires = row.as_object_mut().unwrap().remove("expires").unwrap();
        assert_eq!(expires != "", row["type"] == "certificate", "{row}");
    }
    let variable = |id: &str, name: &str, kind: &str, source: &str| json!({"id": id, "name": name, "type": kind, "source": source});
    let wanted = json!([
        variable("d.var-ca", "ca", "certificate", "generated"),
        variable("d.var-implicit-port", "port", "", "given"),
        variable("d.var-word", "word", "password", "generated"),
    ]);
    assert_eq!(variables, [wanted]);
}

fn all_requests_read(reader: &Reader<'_>) {
    let used = reader.used();
    let requests: Vec<String> = used.permissions.iter().map(ToString::to_string).collect();
    let ours = |verb: &str, kind: &str| format!("{verb} {kind}.quarks.cloudfoundry.org");
    let wanted = [
        "list persistentvolumeclaims".to_string(),
        "list pods".to_string(),
        "get secrets".to_string(),
        "list secrets".to_string(),
        ours("get", "boshdeployments"),
        ours("list", "boshdeployments"),
        ours("list", "quarksjobs"),
        ours("list", "quarkssecrets"),
        ours("list", "quarksstatefulsets"),
    ];
    assert_eq!(requests, wanted);
    assert!(used.forbidden.is_empty(), "{:?}", used.forbidden);
}

/// The disk of the errand, and one of an instance that was removed.
async fn disks(tenant: &Tenant, reader: &Reader<'_>) {
    let labels = json!({
        "quarks.cloudfoundry.org/deployment-name": "d", "quarks.cloudfoundry.org/instance-group-name": "web",
        "quarks.cloudfoundry.org/quarks-statefulset-name": "d-web-v1", "quarks.cloudfoundry.org/az-index": "0",
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web-pvc-d-web-v1-5", "labels": labels, "annotations": {"note": VALUE}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "2Gi"}}},
    });
    tenant.apply(claim).await;
    let disk = |name: &str, size: &str, instance: &str, class: &str, orphaned: &str| {
        json!({
            "disk_cid": name, "size": size, "deployment": "d", "instance": instance, "az": "", "storage_class": class,
            "state": "Pending", "orphaned": orphaned,
        })
    };
    let errand = disk("d-check", "1Gi", "check", "", "false");
    let removed = disk("web-pvc-d-web-v1-5", "2Gi", "web/5", "none", "true");
    assert_eq!(rows(reader, &["disks", "-d", "d"]), [json!([errand, removed])]);
    assert_eq!(rows(reader, &["disks"]), [json!([errand, removed])]);
    assert_eq!(rows(reader, &["disks", "--orphaned"]), [json!([removed])]);
    assert_eq!(rows(reader, &["disks", "-d", "d", "--orphaned"]), [json!([removed])]);
    assert_eq!(rows(reader, &["disks", "-d", "deleted", "--orphaned"]), [json!([])]);
}

fn texts_and_errors(tenant: &Tenant, reader: &Reader<'_>) {
    let ran = reader.run(&["instances", "-d", "d", "--column", "instance"]);
    assert_eq!(ran.stdout, "web/0\t\nweb/1\t\n", "{}", ran.stderr);
    let ran = reader.run(&["instances", "-d", "d", "--tty"]);
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim_end).collect();
    let wanted = [
        "Deployment 'd'",
        "",
        "Instance  Process State  AZ  IPs  Deployment  Pod",
        "web/0     running        -   -    d           d-web-v1-0",
        "web/1     running        -   -    d           d-web-v1-1",
        "",
        "2 instances",
    ];
    assert_eq!(lines, wanted, "{}", ran.stderr);

    let ran = reader.run(&["errands", "-d", "unknown"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(
        ran.stderr.contains("there is no BOSHDeployment 'unknown' in namespace"),
        "{}",
        ran.stderr
    );
    let ran = reader.run(&["instances", "-d", "d", "--column", "vm_cid"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("there is no column 'vm_cid'; columns: instance,"),
        "{}",
        ran.stderr
    );

    let few = Reader::new(
        tenant,
        "few",
        "--verb=get,list --resource=boshdeployments.quarks.cloudfoundry.org",
    );
    let ran = few.run(&["instances", "-d", "d"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let namespace = &tenant.namespace;
    let lacks = format!("you may not list quarksstatefulsets.quarks.cloudfoundry.org in namespace '{namespace}'");
    assert!(ran.stderr.contains(&lacks), "{}", ran.stderr);
    let ran = few.run(&["deployments", "--column", "release_s"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "-\t\n"));
    assert!(ran.stderr.contains("you may not list secrets"), "{}", ran.stderr);

    // The test cluster has no metrics server.
    let vitals = ["instances", "-d", "d", "--vitals"];
    let ran = shared().unwrap().host(reader.folder(), namespace, &vitals).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the cluster has no metrics server"),
        "{}",
        ran.stderr
    );
}
