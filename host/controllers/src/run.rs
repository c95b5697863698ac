//! The operator: one call that runs all controllers until it is asked to stop.

use crate::admission::{self, Keeper, Reviewer};
use crate::client::Cluster;
use crate::deployment::{self, Conversion};
use crate::job;
use crate::lease::{self, Election, End};
use crate::metrics::Metrics;
use crate::plugins::Plugins;
use crate::quarks_secret::{self, Signer};
use crate::running::Running;
use crate::scope::{Namespaces, Scope};
use crate::serving::{self, Health, State};
use crate::stateful_set;
use crate::turns::Turns;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How to run.
#[derive(Clone)]
pub struct Config {
    /// What to serve in it.
    pub namespaces: Namespaces,
    /// The lease that says who works.
    pub election: Election,
    /// Where `/live`, `/ready` and `/metrics` are answered; nowhere if none.
    pub address: Option<SocketAddr>,
    /// Objects that one controller looks at at a time.
    pub concurrency: u16,
    /// Keys for certificates that are kept ready, so that a first deployment does not wait for them.
    pub spare_keys: usize,
    /// How manifests are converted.
    pub conversion: Conversion,
    /// Who signs certificates with `signerType: cluster`: a signer of CertificateSigningRequests, [`crate::OWN_SIGNER`] among them. None: such
    /// certificates are refused, and the operator needs no permission for requests.
    pub signer: Option<String>,
    /// How deployments are reviewed before they are stored; not at all if none.
    pub admission: Option<admission::Settings>,
}

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An address, for health and metrics or for reviews, is taken.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Somebody else works now. Start again, and wait for your turn.
    #[error("the lease was lost")]
    LeaseLost,
}

/// Runs until `stop`, and then finishes what it is about. `client`: from [`crate::client::connect`], so that it repeats nothing by itself.
///
/// # Guarantees
/// After the end nothing is written any more, and the lease is free.
///
/// # Errors
/// See [`RunError`]. A cluster that is away, or that has no custom resource definitions yet, is no error: it is waited for.
pub async fn run(
    client: kube::Client,
    config: Config,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RunError> {
    let metrics = Arc::new(Metrics::new());
    let health = Health::default();
    // Without a part that is not ready yet, no parts at all would count as ready.
    health.set(lease::PART, State::Starting);
    let serving = serve(&config, &health, &metrics).await?;
    let cluster = Cluster::new(client, metrics.clone());
    let plugins = Plugins::new(&config.election.namespace);
    let (keeper, reviewing) = match review(&config, &cluster, &plugins, &health).await? {
        Some((keeper, reviewing)) => (Some(keeper), Some(reviewing)),
        None => (None, None),
    };
    let (asked, stopping) = watch::channel(false);
    let asking = tokio::spawn(async move {
        stop.await;
        asked.send_replace(true);
        asked.closed().await;
    });
    let scope = Scope::new(&config.namespaces);
    let running = Running::new(config.concurrency, &cluster, health.clone(), scope.clone(), stopping);
    let work = || async {
        let keeping = keep(keeper.as_ref(), running.stopped());
        let controlling = controllers(&config, cluster.clone(), scope.clone(), running.clone(), &plugins);
        futures::join!(controlling, keeping);
    };
    let end = tokio::select! {
        end = config.election.lead(&cluster, &health, running.stopped(), work) => end,
        never = follow_namespaces_and_plugins(&config, &cluster, &scope, &plugins, &health) => match never {},
    };
    for task in serving.into_iter().chain(reviewing).chain([asking]) {
        task.abort();
    }
    match end {
        End::Done => Ok(()),
        End::Lost => Err(RunError::LeaseLost),
    }
}

/// Begins to answer about health and metrics, where that is wanted.
async fn serve(config: &Config, health: &Health, metrics: &Arc<Metrics>) -> Result<Option<JoinHandle<()>>, RunError> {
    let Some(address) = config.address else {
        return Ok(None);
    };
    let listener = serving::listen(address)
        .await
        .map_err(|error| RunError::Listen(address, error))?;
    let serving = serving::serve(listener, health.clone(), metrics.clone());
    Ok(Some(tokio::spawn(serving)))
}

/// What every process does, leader or not, because each answers reviews: knows the namespaces, and loads plugins.
async fn follow_namespaces_and_plugins(
    config: &Config,
    cluster: &Cluster,
    scope: &Scope,
    plugins: &Plugins,
    health: &Health,
) -> Infallible {
    let host = &config.conversion.plugin_host;
    let loading = plugins.run(cluster, host, &config.namespaces, scope, health);
    match &config.namespaces {
        Namespaces::Fixed(_) => loading.await,
        Namespaces::Monitored(id) => {
            futures::join!(loading, scope.follow(cluster, id, health));
        }
    }
    std::future::pending().await
}

/// Begins to answer the API server, where that is wanted.
async fn review(
    config: &Config,
    cluster: &Cluster,
    plugins: &Plugins,
    health: &Health,
) -> Result<Option<(Keeper, JoinHandle<()>)>, RunError> {
    let Some(settings) = config.admission.clone() else {
        return Ok(None);
    };
    let (address, served) = (settings.listen, config.namespaces.clone());
    let listener = serving::listen(address)
        .await
        .map_err(|error| RunError::Listen(address, error))?;
    let scope = Scope::new(&served);
    let (conversion, me) = (config.conversion.clone(), &config.election.me);
    let turns = Turns::of(admission::PLACES);
    let context = deployment::Context::new(cluster.clone(), scope, conversion, plugins.clone(), turns, me);
    let reviewer = Reviewer::new(Arc::new(context), served.clone(), cluster.metrics().clone());
    let keeper = Keeper::new(cluster.clone(), settings, served, &config.election.namespace);
    let serving = admission::serve(listener, keeper.clone(), Arc::new(reviewer), health.clone());
    Ok(Some((keeper, tokio::spawn(serving))))
}

async fn keep(keeper: Option<&Keeper>, stopped: impl Future<Output = ()>) {
    let Some(keeper) = keeper else { return };
    tokio::select! {
        () = keeper.keep() => {}
        () = stopped => {}
    }
}

async fn controllers(config: &Config, cluster: Cluster, scope: Scope, running: Running, plugins: &Plugins) {
    let me = &config.election.me;
    let conversion = config.conversion.clone();
    let (image, keep_versions) = (conversion.operator_image.clone(), conversion.keep_versions);
    let signer = Signer {
        name: config.signer.clone(),
        namespace: config.election.namespace.clone(),
        cluster_domain: conversion.cluster_domain.clone(),
    };
    let all = Arc::new(All {
        deployments: Arc::new(deployment::Context::new(
            cluster.clone(),
            scope.clone(),
            conversion,
            plugins.clone(),
            turns(config),
            me,
        )),
        jobs: Arc::new(job::Context::new(
            cluster.clone(),
            scope.clone(),
            image.clone(),
            keep_versions,
            me,
        )),
        secrets: Arc::new(quarks_secret::Context::new(
            cluster.clone(),
            scope.clone(),
            signer,
            config.spare_keys,
            me,
        )),
        sets: Arc::new(stateful_set::Context::new(cluster.clone(), scope.clone(), image, me)),
    });
    match &config.namespaces {
        Namespaces::Fixed(names) => {
            let each = names.iter().map(|name| all.run(&running, Some(name.clone())));
            futures::future::join_all(each).await;
        }
        Namespaces::Monitored(_) => all.run(&running, None).await,
    }
}

/// The places in which deployments are converted. Where namespaces are listed, each has a controller of its own, and nobody to share with.
fn turns(config: &Config) -> Turns {
    let places = usize::from(config.concurrency.max(1));
    match &config.namespaces {
        Namespaces::Fixed(_) => Turns::of(places * 2),
        Namespaces::Monitored(_) => Turns::of(places),
    }
}

/// What the controllers share, each for itself.
struct All {
    deployments: Arc<deployment::Context>,
    jobs: Arc<job::Context>,
    secrets: Arc<quarks_secret::Context>,
    sets: Arc<stateful_set::Context>,
}

// === impl All ===

impl All {
    /// Runs all controllers for one namespace, or for all.
    async fn run(&self, running: &Running, namespace: Option<String>) {
        futures::join!(
            deployment::run(self.deployments.clone(), running.clone(), namespace.clone()),
            job::run(self.jobs.clone(), running.clone(), namespace.clone()),
            quarks_secret::run(self.secrets.clone(), running.clone(), namespace.clone()),
            stateful_set::run(self.sets.clone(), running.clone(), namespace),
        );
    }
}
