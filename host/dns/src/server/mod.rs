//! The server: it follows the EndpointSlices of a deployment, reads its zone again when it changes, and answers.
//!
//! # Guarantees
//! While the API server is unavailable, or the zone's files cannot be read, the server answers from its last snapshot.
//! The numbers of open questions and connections, and memory, are bounded.

mod forward;
mod framing;
mod link_local;
mod listen;
mod over_http;
mod pod;
mod probe;
mod reload;
mod watch;

pub use forward::Forwarder;
pub use listen::{serve_tcp, serve_udp};
pub use pod::{PodSettings, serve as serve_pod, zone as zone_of_pod};
pub use reload::read;

use crate::instances::{Slice, Snapshot};
use crate::wire::{Known, Outcome, Way, answer};
use crate::zone::Zone;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::net::{TcpListener, UdpSocket};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory with the zone document and rendered alias files.
    pub config: PathBuf,
    /// Address for questions, over UDP and TCP.
    pub listen: SocketAddr,
    /// Address of `/live`, `/ready` and `/metrics`.
    pub probe: SocketAddr,
    /// File that names the cluster's servers.
    pub resolv_conf: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The zone cannot be read at the start.
    #[error(transparent)]
    Config(#[from] reload::ConfigError),
    /// It cannot listen on an address.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The container lacks the capability `NET_ADMIN`.
    #[error("cannot add the address {0} to the pod: {1}")]
    Address(Ipv4Addr, std::io::Error),
    /// A file of a job with handlers cannot be used.
    #[error("the handlers in '{0}' cannot be used: {1}")]
    Handlers(PathBuf, String),
    /// A task that should run forever has ended.
    #[error("a task of the server ended unexpectedly")]
    Ended,
}

/// What the server knows at one moment.
#[derive(Debug, Default)]
pub struct Knowledge {
    zone: Arc<Zone>,
    slices: HashMap<String, Slice>,
    pods: Snapshot,
}

/// Shared by the tasks that answer and those that update the zone and the pods.
#[derive(Debug, Default)]
pub struct State {
    known: RwLock<Arc<Knowledge>>,
    /// Serializes updates.
    updating: Mutex<()>,
    is_complete: AtomicBool,
    count: AtomicU64,
    pub tally: Tally,
}

#[derive(Debug, Default)]
pub struct Tally {
    /// Questions answered by this server.
    pub answered: AtomicU64,
    /// Questions forwarded to other servers.
    pub forwarded: AtomicU64,
    /// Forwarded questions that no server answered.
    pub unanswered: AtomicU64,
    /// Failed reads of the zone.
    pub unreadable: AtomicU64,
}

// === impl State ===

impl State {
    /// Creates the answers from a zone, before any pod is known.
    pub fn new(zone: Zone) -> Self {
        let state = Self::default();
        state.update(|known| known.zone = Arc::new(zone));
        state
    }

    pub fn answer(&self, packet: &[u8], way: Way) -> Outcome {
        let known = self.known();
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let outcome = answer(
            Known {
                zone: &known.zone,
                pods: &known.pods,
                is_complete: self.is_complete(),
                // Spread over all bits; zero would remain zero.
                chance: count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            },
            packet,
            way,
        );
        let tally = match outcome {
            Outcome::Forward(_) => &self.tally.forwarded,
            _ => &self.tally.answered,
        };
        tally.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    /// Whether the pods have been listed.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    pub fn zone(&self) -> Arc<Zone> {
        self.known().zone.clone()
    }

    pub fn put_zone(&self, zone: Zone) {
        self.update(|known| known.zone = Arc::new(zone));
    }

    pub fn put_all(&self, slices: HashMap<String, Slice>) {
        self.update(|known| known.slices = slices);
        self.is_complete.store(true, Ordering::Release);
    }

    /// Replaces a slice; `None` if it was deleted.
    pub fn put(&self, name: &str, slice: Option<Slice>) {
        self.update(|known| match slice {
            Some(slice) => drop(known.slices.insert(name.to_string(), slice)),
            None => drop(known.slices.remove(name)),
        });
    }

    fn known(&self) -> Arc<Knowledge> {
        self.known.read().clone()
    }

    fn update(&self, change: impl FnOnce(&mut Knowledge)) {
        let _one = self.updating.lock();
        let old = self.known();
        let mut new = Knowledge {
            zone: old.zone.clone(),
            slices: old.slices.clone(),
            pods: Snapshot::default(),
        };
        change(&mut new);
        new.pods = Snapshot::of(&new.zone, new.slices.values());
        *self.known.write() = Arc::new(new);
    }
}

/// The sockets at which questions arrive.
async fn sockets(address: SocketAddr) -> Result<(UdpSocket, TcpListener), ServeError> {
    let refused = |error| ServeError::Listen(address, error);
    let udp = UdpSocket::bind(address).await.map_err(refused)?;
    let tcp = TcpListener::bind(address).await.map_err(refused)?;
    Ok((udp, tcp))
}

/// Runs until one of its tasks ends, which only happens on an error.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(settings: Settings, client: kube::Client) -> Result<(), ServeError> {
    let (zone, digest) = read(&settings.config)?;
    tracing::info!(
        groups = zone.groups.len(),
        instances = zone.instances.len(),
        aliases = zone.aliases.len(),
        "the zone is read"
    );
    let label = zone.deployment.clone();
    let namespace = zone.namespace.clone();
    let state = Arc::new(State::new(zone));
    let (udp, tcp) = sockets(settings.listen).await?;
    let probe = TcpListener::bind(settings.probe).await;
    let probe = probe.map_err(|error| ServeError::Listen(settings.probe, error))?;
    let forwarder = Arc::new(Forwarder::new(settings.resolv_conf.clone()));
    tokio::select! {
        () = serve_udp(Arc::new(udp), state.clone(), forwarder.clone()) => {}
        () = serve_tcp(tcp, state.clone(), forwarder) => {}
        () = probe::serve(probe, state.clone()) => {}
        () = reload::follow(settings.config.clone(), digest, state.clone()) => {}
        () = watch::follow(client, namespace, label, state) => {}
    }
    Err(ServeError::Ended)
}
