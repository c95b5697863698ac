//! Leader election with a Lease: one of the running operators works, the others wait.
//!
//! # Guarantees
//! A leader stops before another may start, if their clocks run at about the same rate; they need not show the same
//! time. A process that ends normally releases the lease, so that the next one takes over at once.
//!
//! # Caveats
//! The guarantees of the controllers do not depend on this. A process that was frozen may continue and write once more.
//! That does no harm, because writes name the version that they replace.

mod decision;
#[cfg(test)]
mod tests;

use crate::client::{Cluster, Error, ErrorKind, FieldManager};
use crate::serving::{Health, State};
use decision::{Step, decide};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

const MANAGER: FieldManager = FieldManager("boson-lease");
/// Name of this part in the health report.
pub const PART: &str = "lease";

/// A lease that has not changed for this long is free.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that cannot renew for this long stops. Shorter than [`LEASE_DURATION`], so that two leaders never overlap.
pub const RENEW_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the work may take to stop: a pod has 30 s, and the lease has to be released.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Between two reads of the lease.
pub const READ_INTERVAL: Duration = Duration::from_secs(2);
/// Longest wait for one answer: after a dead connection, a retry on another one must fit into [`RENEW_TIMEOUT`].
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The lease, and the identity of this process.
#[derive(Clone, Debug)]
pub struct Election {
    /// Namespace of the lease: the operator's own.
    pub namespace: String,
    pub name: String,
    /// Unique name of this process: the name of its pod, and a part that changes with each restart.
    pub me: String,
}

/// How leading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The work ended, or `stop` completed.
    Done,
    /// The lease was lost: write nothing more, and end the process.
    Lost,
}

/// Who holds the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// We do, and the lease is written.
    Us,
    Other,
    /// The lease changed meanwhile: read again.
    Unclear,
}

/// The lease when it was last read.
struct Observed {
    lease: Option<Lease>,
    /// When it last changed, by our clock: clocks of other machines may differ.
    changed: Instant,
}

// === impl Election ===

impl Election {
    /// Waits for the lease, then runs the work. `stop` ends the wait at once; the work must observe it itself, and is
    /// dropped after [`STOP_TIMEOUT`]. When the lease is lost, the work is dropped at once.
    pub async fn lead<W, F>(&self, cluster: &Cluster, health: &Health, stop: impl Future<Output = ()>, work: F) -> End
    where
        F: FnOnce() -> W,
        W: Future<Output = ()>,
    {
        health.set(PART, State::Starting);
        let cluster = &cluster.clone().with_answer_timeout(ANSWER_TIMEOUT);
        tokio::pin!(stop);
        let mut observed = Observed {
            lease: None,
            changed: Instant::now(),
        };
        let taken = tokio::select! {
            () = &mut stop => return End::Done,
            taken = self.acquire(cluster, health, &mut observed) => taken,
        };
        tracing::info!(me = self.me, "leading");
        cluster.metrics().leading.set(1);
        let end = {
            let work = work();
            tokio::pin!(work);
            tokio::select! {
                () = &mut work => End::Done,
                () = async {
                    (&mut stop).await;
                    tokio::time::sleep(STOP_TIMEOUT).await;
                } => End::Done,
                () = self.keep(cluster, &mut observed, taken) => End::Lost,
            }
        };
        cluster.metrics().leading.set(0);
        match end {
            End::Done => self.give_back(cluster, &observed).await,
            End::Lost => health.set(PART, State::Ended),
        }
        end
    }

    /// Waits until we hold the lease. Returns the time before the write, because the answer may be slow.
    async fn acquire(&self, cluster: &Cluster, health: &Health, observed: &mut Observed) -> Instant {
        loop {
            let began = Instant::now();
            let step = self.step(cluster, observed).await;
            // A waiting process is ready, because a rolling update waits for that; one without an API server is not.
            health.set(PART, if step.is_ok() { State::Working } else { State::Starting });
            match step {
                Ok(Holder::Us) if began.elapsed() < RENEW_TIMEOUT => return began,
                // We hold it, but the remaining time is unknown: renew it first.
                Ok(Holder::Us | Holder::Other | Holder::Unclear) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot take the lease");
                    health.problem(PART, error.to_string());
                }
            }
            tokio::time::sleep(READ_INTERVAL).await;
        }
    }

    /// Renews until that fails. `renewed`: since when we hold it.
    async fn keep(&self, cluster: &Cluster, observed: &mut Observed, mut renewed: Instant) {
        let mut pause = READ_INTERVAL;
        loop {
            let left = RENEW_TIMEOUT.saturating_sub(renewed.elapsed());
            if left.is_zero() {
                tracing::error!("the lease could not be renewed in time");
                return;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = READ_INTERVAL;
            // The lease counts from before the write, because the answer may be slow.
            let began = Instant::now();
            match tokio::time::timeout(
                RENEW_TIMEOUT.saturating_sub(renewed.elapsed()),
                self.step(cluster, observed),
            )
            .await
            {
                Ok(Ok(Holder::Us)) => renewed = began,
                // Another writer may have set a label.
                Ok(Ok(Holder::Unclear)) => {}
                Ok(Ok(Holder::Other)) => {
                    tracing::error!("another process holds the lease");
                    return;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "cannot renew the lease");
                    if matches!(error.kind, ErrorKind::NoAnswer(_)) {
                        // The timeout was a pause already.
                        pause = Duration::ZERO;
                    }
                }
                Err(_) => tracing::warn!("no answer when renewing the lease"),
            }
        }
    }

    /// One read, and a write if we may hold the lease.
    async fn step(&self, cluster: &Cluster, observed: &mut Observed) -> Result<Holder, Error> {
        let found: Option<Lease> = cluster.get(&self.namespace, &self.name).await?;
        let version = |lease: &Option<Lease>| lease.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        if version(&found) != version(&observed.lease) {
            observed.changed = Instant::now();
        }
        observed.lease = found;
        let spec = observed.lease.as_ref().and_then(|lease| lease.spec.as_ref());
        let step = decide(&self.me, observed.lease.is_some(), spec, observed.changed.elapsed());
        let changes = match step {
            Step::Wait => return Ok(Holder::Other),
            Step::Create => Some(0),
            Step::Take { changes } => Some(changes),
            Step::Renew => None,
        };
        let lease = self.lease(observed.lease.as_ref(), changes);
        let written = if step == Step::Create {
            cluster.create(MANAGER, &lease).await
        } else {
            cluster.replace(MANAGER, &lease).await.map(Some)
        };
        match written {
            Ok(Some(lease)) => {
                observed.lease = Some(lease);
                observed.changed = Instant::now();
                Ok(Holder::Us)
            }
            Ok(None) => Ok(Holder::Unclear),
            // Another process was faster.
            Err(error) if error.is_race() => Ok(Holder::Unclear),
            Err(error) => Err(error),
        }
    }

    /// The lease to write, with the `resourceVersion` that was read, so that of two concurrent writes one fails.
    /// `changes`: how often the holder has changed, if it is taken and not renewed.
    fn lease(&self, old: Option<&Lease>, changes: Option<i32>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let old_spec = old.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let taken = changes.map(|_| now.clone());
        let spec = LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: taken.or(old_spec.acquire_time),
            lease_transitions: changes.or(old_spec.lease_transitions),
            renew_time: Some(now),
            ..old_spec
        };
        let metadata = old.map_or_else(
            || ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            |lease| lease.metadata.clone(),
        );
        Lease {
            metadata,
            spec: Some(spec),
        }
    }

    /// Releases the lease, so that the next process need not wait.
    async fn give_back(&self, cluster: &Cluster, observed: &Observed) {
        let Some(mut lease) = observed.lease.clone() else {
            return;
        };
        let Some(spec) = lease
            .spec
            .as_mut()
            .filter(|spec| spec.holder_identity.as_deref() == Some(&self.me))
        else {
            return;
        };
        spec.holder_identity = None;
        spec.lease_duration_seconds = Some(1);
        if let Err(error) = cluster.replace(MANAGER, &lease).await {
            tracing::warn!(%error, "cannot release the lease");
        }
    }
}
