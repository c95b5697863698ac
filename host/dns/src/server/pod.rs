//! The server within a pod, at the link-local addresses where BOSH DNS is on a VM. It answers for the domains of which
//! files of the pod's jobs name another server, often one in the same pod, and asks the servers of the pod about the
//! others.

use super::{Forwarder, ServeError, State, link_local, reload, serve_tcp, serve_udp, sockets};
use crate::zone::Zone;
use boson_manifest::dns::{HANDLER_FILE, Handler};
use futures::future::{BoxFuture, FutureExt, select_all};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the server of a pod runs.
#[derive(Clone, Debug)]
pub struct PodSettings {
    /// Directory of the rendered jobs.
    pub jobs: PathBuf,
    /// Addresses that the pod gets, and at which it answers.
    pub addresses: Vec<Ipv4Addr>,
    pub port: u16,
    /// File that names the servers of the pod; this one may be among them.
    pub resolv_conf: PathBuf,
}

/// Runs until one of its tasks ends, which only happens on an error.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(settings: PodSettings) -> Result<(), ServeError> {
    let zone = zone(&settings)?;
    tracing::info!(domains = zone.authorities.len() - 1, "the handlers are read");
    let state = Arc::new(State::new(zone));
    // It has no names of instances.
    state.put_all(HashMap::new());
    let forwarder = Arc::new(Forwarder::new(settings.resolv_conf.clone()));
    let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
    for address in settings.addresses {
        link_local::add(address).map_err(|error| ServeError::Address(address, error))?;
        let (udp, tcp) = sockets((address, settings.port).into()).await?;
        tasks.push(serve_udp(Arc::new(udp), state.clone(), forwarder.clone()).boxed());
        tasks.push(serve_tcp(tcp, state.clone(), forwarder.clone()).boxed());
    }
    if !tasks.is_empty() {
        select_all(tasks).await;
    }
    Err(ServeError::Ended)
}

/// What the server knows: the first job, by name, decides about a domain.
///
/// # Errors
/// A file is faulty, with which BOSH's server would not start.
pub fn zone(settings: &PodSettings) -> Result<Zone, ServeError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error: std::io::Error| ServeError::Handlers(path, error.to_string())
    };
    let mut jobs = Vec::new();
    for entry in std::fs::read_dir(&settings.jobs).map_err(failed(&settings.jobs))? {
        jobs.push(entry.map_err(failed(&settings.jobs))?.path().join(HANDLER_FILE));
    }
    jobs.sort();
    let mut all = Vec::new();
    for path in jobs.iter().filter(|path| path.is_file()) {
        let text = reload::text(path).map_err(failed(path))?;
        all.extend(Handler::file(&text).map_err(|why| ServeError::Handlers(path.clone(), why))?);
    }
    let own = settings.addresses.iter().copied().map(IpAddr::V4).collect();
    Ok(Zone::of_pod(all, own))
}
