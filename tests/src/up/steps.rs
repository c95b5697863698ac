//! The commands of the page, in their order.

use super::keeper::Keeper;
use super::site::Site;
use crate::cluster::image::Image;
use crate::page::{Checkout, Page, link};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Where the commands run, in the directory with the state.
const SITE: &str = "clone/site.json";

/// A command of the page.
struct Step {
    /// How it begins on the page.
    begins: &'static str,
    /// What is there already if this command prints something; the step is left out then.
    unless: Option<&'static str>,
}

const fn always(begins: &'static str) -> Step {
    Step { begins, unless: None }
}

const fn once(begins: &'static str, unless: &'static str) -> Step {
    Step {
        begins,
        unless: Some(unless),
    }
}

const PUSH: Step = once(
    "skopeo copy",
    "kubectl --namespace boson-system get deployment boson --ignore-not-found --output name",
);
const UP: [Step; 12] = [
    once(
        "kubectl create namespace nats",
        "kubectl get namespace nats --ignore-not-found --output name",
    ),
    always("kubectl apply -k mine"),
    always("kubectl --namespace boson-system rollout status"),
    always("host image --manifest"),
    once(
        "kubectl label nodes --all",
        "kubectl get nodes --selector topology.kubernetes.io/zone=z1 --output name",
    ),
    once(
        "kubectl --namespace nats create configmap nats-manifest",
        "kubectl --namespace nats get configmap nats-manifest --ignore-not-found --output name",
    ),
    once(
        "kubectl --namespace nats create secret generic",
        "kubectl --namespace nats get secret nats.var-implicit-system-domain --ignore-not-found --output name",
    ),
    always("kubectl --namespace nats apply -f -"),
    always("kubectl --namespace nats wait --for=condition=Applied"),
    always("kubectl --namespace nats wait --for=condition=Ready"),
    once(
        "kubectl --namespace nats patch quarksjob nats-smoke-tests",
        "kubectl --namespace nats get quarksjob nats-smoke-tests --output jsonpath='{.status.completed}' | grep true",
    ),
    always("kubectl --namespace nats wait --for=jsonpath='{.status.completed}'=true"),
];
const DOWN: [&str; 5] = [
    "kubectl --namespace nats delete boshdeployment nats",
    "kubectl --namespace nats delete persistentvolumeclaims",
    "host prune nats",
    "kubectl delete -k mine",
    "kubectl delete namespace nats",
];
/// What `make down` must have removed from a cluster.
const LEFT: &str = "kubectl get namespaces nats boson-system --ignore-not-found --output name";

/// Installs the operator, and deploys the example.
///
/// # Errors
/// A command fails; the text is its output.
pub fn up(state: &Path) -> Result<()> {
    let began = Instant::now();
    let kubeconfig = state.join("kubeconfig");
    let site = match Site::of_user(&kubeconfig)? {
        Some(site) => site,
        None => {
            say("# a cluster of plain processes, with a node and a registry");
            Keeper::at(state).start()?
        }
    };
    ensure!(
        !is_elsewhere(state, &site)?,
        "the example is up in another cluster: run `make down` first"
    );
    let checkout = checkout(state, &site)?;
    site.write(&state.join(SITE))?;
    if site.loaded.is_some() {
        link(&site.kubeconfig, &kubeconfig)?;
    }
    run(&checkout, &site, &UP)?;
    say(&format!(
        "\nThe deployment 'nats' is ready after {} s. Next:\n{}",
        began.elapsed().as_secs(),
        next(&site, &kubeconfig, checkout.directory())
    ));
    Ok(())
}

/// Whether an earlier [`up`] was for another cluster. One whose process has ended is gone.
fn is_elsewhere(state: &Path, site: &Site) -> Result<bool> {
    let file = state.join(SITE);
    if !file.exists() {
        return Ok(false);
    }
    let earlier = Site::read(&file)?;
    Ok(earlier.kubeconfig != site.kubeconfig && (earlier.loaded.is_none() || earlier.kubeconfig.exists()))
}

fn run(checkout: &Checkout, site: &Site, steps: &[Step]) -> Result<()> {
    let page = site.page()?;
    for path in ["mine/kustomization.yaml", "mine/nats/kustomization.yaml"] {
        say(&format!("# {path}, as on the page"));
        checkout.write(path, &site.file(&page, path)?)?;
    }
    if site.loaded.is_none() {
        step(checkout, site, &page, &PUSH)?;
    }
    say("$ make stemcell");
    Image::stemcell()?.write(&checkout.directory().join("target/stemcell.tar"))?;
    steps.iter().try_for_each(|one| step(checkout, site, &page, one))
}

fn step(checkout: &Checkout, site: &Site, page: &Page, step: &Step) -> Result<()> {
    let mut command = page.command(step.begins)?;
    if site.without_tls.is_some() && command.starts_with("skopeo copy") {
        command = command.replacen("skopeo copy", "skopeo copy --dest-tls-verify=false", 1);
    }
    if let Some(question) = step.unless
        && !checkout.shell(question)?.text.trim().is_empty()
    {
        say(&format!("# done before: {command}"));
        return Ok(());
    }
    say(&format!("$ {command}"));
    let said = checkout.shell(&command)?;
    say(said.text.trim_end());
    ensure!(said.success, "this command failed: {command}");
    Ok(())
}

/// Removes everything that [`up`] has made.
///
/// # Errors
/// The processes do not end, or the user's cluster still has objects; the text names them.
pub fn down(state: &Path) -> Result<()> {
    if !Keeper::at(state).stop()? {
        let file = state.join(SITE);
        if file.exists() {
            let site = Site::read(&file)?;
            // A cluster whose process was killed is gone.
            if site.loaded.is_none() {
                uninstall(state, &site)?;
            }
        }
    }
    fs::remove_dir_all(state).with_context(|| format!("cannot remove {}", state.display()))
}

/// From the user's cluster. What an earlier try has deleted is an error of one command only.
fn uninstall(state: &Path, site: &Site) -> Result<()> {
    let (checkout, page) = (checkout(state, site)?, site.page()?);
    for begins in DOWN {
        let command = page.command(begins)?;
        say(&format!("$ {command}"));
        say(checkout.shell(&command)?.text.trim_end());
    }
    let left = checkout.shell(LEFT)?;
    ensure!(
        left.success && left.text.trim().is_empty(),
        "this is left in the cluster: {}",
        left.text
    );
    Ok(())
}

fn checkout(state: &Path, site: &Site) -> Result<Checkout> {
    let directory = state.join("clone");
    let mut checkout = Checkout::at(&directory, &site.kubeconfig)?;
    if let Some(host) = &site.without_tls {
        checkout = checkout.with("BOSON_REGISTRY_WITHOUT_TLS", host);
    }
    if site.loaded.is_some() {
        // Caches end with the cluster.
        checkout = checkout.with("HOME", directory.clone());
    } else if let Some(target) = state.parent() {
        link(&target.join("image.tar"), &directory.join("target/image.tar"))?;
    }
    Ok(checkout)
}

/// What to try then.
fn next(site: &Site, own_kubeconfig: &Path, clone: &Path) -> String {
    let kubeconfig = if site.loaded.is_some() {
        own_kubeconfig
    } else {
        &site.kubeconfig
    };
    let (kubeconfig, clone) = (kubeconfig.display(), clone.display());
    format!(
        "  export KUBECONFIG={kubeconfig} PATH={clone}/bin:$PATH\n  \
         kubectl --namespace nats get boshdeployments,pods\n  \
         host instances --namespace nats --deployment nats\n  \
         host logs --namespace nats --deployment nats --num 20 broker/0\n  \
         host run-errand --namespace nats --deployment nats smoke-tests\n  \
         make down"
    )
}

#[allow(clippy::print_stdout, reason = "the output of `make up`")]
fn say(text: &str) {
    if !text.is_empty() {
        println!("{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command() {
        let site = Site::of_tests("/k".into(), "10.0.0.1:5000", "boson.test/host:1");
        let page = site.page().unwrap();
        let all = UP.iter().chain([&PUSH]).map(|step| step.begins).chain(DOWN);
        for begins in all {
            page.command(begins).unwrap();
        }
    }
}
