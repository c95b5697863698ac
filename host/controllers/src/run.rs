//! The operator: one call that runs all controllers until it is asked to stop.

use crate::client::Cluster;
use crate::deployment::{self, Conversion};
use crate::lease::{self, Election, End};
use crate::metrics::Metrics;
use crate::quarks_secret;
use crate::running::Running;
use crate::scope::{Namespaces, Scope};
use crate::serving::{self, Health, State};
use crate::stateful_set;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

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
    /// How manifests are converted.
    pub conversion: Conversion,
}

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address for health and metrics is taken.
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
    let serving = match config.address {
        Some(address) => {
            let listener = serving::listen(address)
                .await
                .map_err(|error| RunError::Listen(address, error))?;
            Some(tokio::spawn(serving::serve(listener, health.clone(), metrics.clone())))
        }
        None => None,
    };
    let cluster = Cluster::new(client, metrics.clone());
    let (asked, stopping) = watch::channel(false);
    let asking = tokio::spawn(async move {
        stop.await;
        asked.send_replace(true);
        asked.closed().await;
    });
    let scope = Scope::new(&config.namespaces);
    let running = Running::new(
        config.concurrency,
        cluster.client(),
        metrics,
        health.clone(),
        scope.clone(),
        stopping,
    );
    let work = || controllers(&config, cluster.clone(), scope, running.clone());
    let end = config.election.lead(&cluster, &health, running.stopped(), work).await;
    for task in serving.into_iter().chain([asking]) {
        task.abort();
    }
    match end {
        End::Done => Ok(()),
        End::Lost => Err(RunError::LeaseLost),
    }
}

async fn controllers(config: &Config, cluster: Cluster, scope: Scope, running: Running) {
    let me = &config.election.me;
    let conversion = config.conversion.clone();
    let all = Arc::new(All {
        deployments: Arc::new(deployment::Context::new(cluster.clone(), scope.clone(), conversion, me)),
        secrets: Arc::new(quarks_secret::Context::new(cluster.clone(), scope.clone(), me)),
        sets: Arc::new(stateful_set::Context::new(cluster.clone(), scope.clone(), me)),
    });
    match &config.namespaces {
        Namespaces::Fixed(names) => {
            let each = names.iter().map(|name| all.run(&running, Some(name.clone())));
            futures::future::join_all(each).await;
        }
        Namespaces::Monitored(id) => {
            tokio::select! {
                () = scope.follow(&cluster, id) => {}
                () = all.run(&running, None) => {}
            }
        }
    }
}

/// What the controllers share, each for itself.
struct All {
    deployments: Arc<deployment::Context>,
    secrets: Arc<quarks_secret::Context>,
    sets: Arc<stateful_set::Context>,
}

// === impl All ===

impl All {
    /// Runs all controllers for one namespace, or for all.
    async fn run(&self, running: &Running, namespace: Option<String>) {
        futures::join!(
            deployment::run(self.deployments.clone(), running.clone(), namespace.clone()),
            quarks_secret::run(self.secrets.clone(), running.clone(), namespace.clone()),
            stateful_set::run(self.sets.clone(), running.clone(), namespace),
        );
    }
}
