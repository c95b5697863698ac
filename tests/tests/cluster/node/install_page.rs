//! Follows `docs/install.md` as a new user, from `kubectl apply` to the uninstallation.

use super::page::Walk;
use anyhow::{Result, ensure};
use boson_tests::ports::free_port;

#[test]
fn the_page_leads_from_a_clone_to_the_example_and_out_again() {
    let Some(walk) = Walk::begin().unwrap() else {
        return;
    };
    install(&walk).unwrap();
    deploy(&walk).unwrap();
    convert_in_process(&walk).unwrap();
    make_a_mistake(&walk).unwrap();
    read_the_log(&walk).unwrap();
    delete_the_example(&walk).unwrap();
    uninstall(&walk).unwrap();
}

fn install(walk: &Walk) -> Result<()> {
    walk.write("mine/kustomization.yaml")?;
    walk.write("mine/nats/kustomization.yaml")?;
    walk.does("kubectl create namespace nats")?;
    let applied = walk.does("kubectl apply -k mine")?;
    // Also of the restricted profile.
    ensure!(!applied.contains("Warning"), "{applied}");
    let rolled = walk.does("kubectl --namespace boson-system rollout status")?;
    ensure!(rolled.contains("successfully rolled out"), "{rolled}");
    let forward = walk.page.command("kubectl --namespace boson-system port-forward")?;
    let port = free_port()?.to_string();
    let forward = forward.replace("boson 8080", &format!("boson {port}:8080"));
    let curl = walk
        .page
        .command("curl http://localhost:8080/ready")?
        .replace("8080", &port);
    let script =
        format!("{forward}\n{curl} --silent --show-error --retry 20 --retry-delay 1 --retry-connrefused\nkill %1");
    let ready = walk.shell(&script)?.text;
    ensure!(
        ready.contains("\nlease: ok\n") && ready.contains("\nadmission: ok\n"),
        "{ready}"
    );
    Ok(())
}

/// In the default mode: pods of the operator's image convert it.
fn deploy(walk: &Walk) -> Result<()> {
    for command in [
        "host image --manifest",
        "kubectl label nodes --all",
        "kubectl --namespace nats create configmap nats-manifest",
        "kubectl --namespace nats create secret generic",
        "kubectl --namespace nats apply -f -",
        "kubectl --namespace nats wait --for=condition=Applied",
    ] {
        walk.does(command)?;
    }
    let there = walk.does("kubectl --namespace nats get boshdeployments,")?;
    for wanted in [
        "nats.var-broker-tls",
        "quarksstatefulset.quarks.cloudfoundry.org/nats-gateway",
        "service/nats-broker-1",
    ] {
        ensure!(there.contains(wanted), "no {wanted} in\n{there}");
    }
    ensure!(conversion_jobs(walk)?.len() == 3, "{:?}", conversion_jobs(walk)?);
    walk.does("kubectl --namespace nats wait --for=condition=Ready")?;
    walk.does("kubectl --namespace nats patch quarksjob nats-smoke-tests")?;
    walk.does("kubectl --namespace nats wait --for=jsonpath='{.status.completed}'=true")?;
    Ok(())
}

/// QuarksJobs of the conversion, not of errands.
fn conversion_jobs(walk: &Walk) -> Result<Vec<String>> {
    let mut names = walk.names("quarksjobs")?;
    names.retain(|name| name != "nats-smoke-tests");
    Ok(names)
}

fn convert_in_process(walk: &Walk) -> Result<()> {
    let before = walk.names("secrets")?;
    walk.does(r#"kubectl --namespace nats patch boshdeployment nats --type merge --patch '{"spec": {"conversion""#)?;
    walk.wait_until("the end of the jobs", || Ok(conversion_jobs(walk)?.is_empty()))?;
    walk.does("kubectl --namespace nats wait --for=condition=Applied")?;
    let after = walk.names("secrets")?;
    ensure!(after == before, "{before:?}, and then {after:?}");
    Ok(())
}

/// The API server reaches the webhook through its Service, and trusts its certificate.
fn make_a_mistake(walk: &Walk) -> Result<()> {
    walk.does("kubectl --namespace nats create configmap broken")?;
    let said =
        walk.tries(r#"kubectl --namespace nats patch boshdeployment nats --type merge --patch '{"spec": {"ops""#)?;
    ensure!(!said.success, "{}", said.text);
    let shown =
        "\nThe request is invalid: admission webhook \"boshdeployments.quarks.cloudfoundry.org\" denied the request:";
    for words in [
        shown.trim_start(),
        "error[ops-missing-key]",
        "--> configmap/broken/ops:1:23",
    ] {
        ensure!(said.text.contains(words), "{}", said.text);
    }
    ensure!(walk.page.text().contains(shown), "the page shows something else");
    Ok(())
}

/// The log has the conversions and the refused objects, and no errors.
fn read_the_log(walk: &Walk) -> Result<()> {
    let log = walk.does("kubectl --namespace boson-system logs")?;
    for words in [r#""controller": "deployment""#, r#""outcome": "denied""#] {
        ensure!(log.contains(words), "no {words} in\n{log}");
    }
    let all =
        walk.kubectl("--namespace boson-system logs --selector app.kubernetes.io/component=operator --tail=-1")?;
    let bad = all.lines().find(|line| !line.contains(r#""level":"INFO""#));
    ensure!(bad.is_none(), "{bad:?}");
    Ok(())
}

fn delete_the_example(walk: &Walk) -> Result<()> {
    walk.does("kubectl --namespace nats delete boshdeployment nats")?;
    walk.does("kubectl --namespace nats delete persistentvolumeclaims")?;
    let kinds = "quarkssecrets,quarksstatefulsets,quarksjobs,statefulsets,jobs,services,persistentvolumeclaims";
    walk.wait_until("the end of all created objects", || Ok(walk.names(kinds)?.is_empty()))?;
    let pruned = walk.does("host prune nats")?;
    ensure!(pruned.contains("secret \"nats.var-broker-tls\" deleted"), "{pruned}");
    let stays = [
        "nats.var-implicit-system-domain",
        "boson-dns",
        "boson-output",
        "default",
    ];
    walk.wait_until("the end of all Secrets", || {
        Ok(walk.names("secrets,serviceaccounts")? == stays)
    })
}

/// Also deletes a deployment that still exists.
fn uninstall(walk: &Walk) -> Result<()> {
    walk.does("kubectl --namespace nats apply -f -")?;
    walk.does(r#"kubectl --namespace nats patch boshdeployment nats --type merge --patch '{"spec": {"conversion""#)?;
    walk.does("kubectl --namespace nats wait --for=condition=Applied")?;
    walk.does("kubectl delete -k mine")?;
    let of_deployments = "quarks.cloudfoundry.org/deployment-name";
    let of_operator = "app.kubernetes.io/part-of=boson";
    for (kind, selector) in [
        ("statefulsets", of_deployments),
        ("pods", of_deployments),
        ("services", of_deployments),
        ("clusterroles", of_operator),
        ("clusterrolebindings", of_operator),
        ("roles", of_operator),
        ("rolebindings", of_operator),
        ("validatingwebhookconfigurations", ""),
        ("customresourcedefinitions", ""),
    ] {
        walk.wait_until(&format!("the end of the {kind}"), || {
            Ok(walk.cluster.list("", kind, selector)?.is_empty())
        })?;
    }
    let ended = |namespace: &str, what: &str| {
        walk.wait_until(&format!("the end of {what}"), || {
            Ok(walk.cluster.find(namespace, what)?.is_none())
        })
    };
    ended("nats", "serviceaccount/boson-output")?;
    walk.does("kubectl delete namespace nats")?;
    ended("", "namespace/boson-system")
}
