//! Slots for the clients of a server, so that clients that ask nothing cannot lock out the others.
//!
//! If there is no slot for a new client, the oldest unauthenticated one is disconnected. If the newest were refused,
//! silent clients could keep all slots. A client is authenticated when it has shown that the server is meant for it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::AbortHandle;

#[derive(Debug)]
pub struct ClientSlots {
    max_clients: usize,
    /// Of one address.
    max_unauthenticated: usize,
    /// The oldest first.
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    peer: IpAddr,
    authenticated: Authenticated,
    task: AbortHandle,
}

/// Whether a client is authenticated, as its task and the slots know it.
#[derive(Clone, Debug, Default)]
pub struct Authenticated(Arc<AtomicBool>);

// === impl Authenticated ===

impl Authenticated {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl ClientSlots ===

impl ClientSlots {
    /// For this many clients, and this many unauthenticated ones from one address.
    pub fn new(max_clients: usize, max_unauthenticated: usize) -> Self {
        Self {
            max_clients,
            max_unauthenticated,
            clients: Vec::new(),
        }
    }

    /// Adds a client that `task` serves.
    pub fn insert(&mut self, peer: IpAddr, authenticated: Authenticated, task: AbortHandle) {
        self.clients.retain(|client| !client.task.is_finished());
        let leaves = if self.unauthenticated_from(peer) >= self.max_unauthenticated {
            self.oldest_unauthenticated_from(peer)
        } else if self.clients.len() >= self.max_clients {
            let peers = self.clients.iter().filter(|client| !client.authenticated.get());
            let peers = peers.map(|client| client.peer);
            let busiest = peers.max_by_key(|peer| self.unauthenticated_from(*peer));
            busiest.map_or(Some(0), |peer| self.oldest_unauthenticated_from(peer))
        } else {
            None
        };
        if let Some(at) = leaves {
            self.clients.remove(at).task.abort();
        }
        self.clients.push(Client {
            peer,
            authenticated,
            task,
        });
    }

    fn unauthenticated_from(&self, peer: IpAddr) -> usize {
        let clients = self.clients.iter();
        clients.filter(|client| client.is_unauthenticated_from(peer)).count()
    }

    fn oldest_unauthenticated_from(&self, peer: IpAddr) -> Option<usize> {
        let mut clients = self.clients.iter();
        clients.position(|client| client.is_unauthenticated_from(peer))
    }
}

// === impl Client ===

impl Client {
    fn is_unauthenticated_from(&self, peer: IpAddr) -> bool {
        self.peer == peer && !self.authenticated.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::task::JoinHandle;

    fn client(slots: &mut ClientSlots, address: u8, is_authenticated: bool) -> JoinHandle<()> {
        let (authenticated, task) = (Authenticated::default(), tokio::spawn(pending()));
        if is_authenticated {
            authenticated.set();
        }
        slots.insert([10, 0, 0, address].into(), authenticated, task.abort_handle());
        task
    }

    async fn is_gone(task: JoinHandle<()>) -> bool {
        tokio::task::yield_now().await;
        task.is_finished()
    }

    #[tokio::test]
    async fn a_flood_from_one_address_disconnects_only_itself() {
        let mut slots = ClientSlots::new(8, 3);
        let (authenticated, other) = (client(&mut slots, 1, true), client(&mut slots, 1, false));
        let flood: Vec<_> = (0..9).map(|_| client(&mut slots, 2, false)).collect();
        let mut gone = Vec::new();
        for one in flood {
            gone.push(is_gone(one).await);
        }
        assert_eq!(gone, [[true; 6].as_slice(), &[false; 3]].concat());
        assert!(!is_gone(authenticated).await && !is_gone(other).await);
    }

    #[tokio::test]
    async fn without_slots_the_address_with_most_unauthenticated_clients_loses_its_oldest() {
        let mut slots = ClientSlots::new(4, 3);
        let authenticated = client(&mut slots, 1, true);
        let (single, first) = (client(&mut slots, 2, false), client(&mut slots, 3, false));
        let second = client(&mut slots, 3, false);
        let new = client(&mut slots, 4, false);
        assert!(is_gone(first).await, "of the address with two");
        for kept in [authenticated, single, second, new] {
            assert!(!is_gone(kept).await);
        }
        let mut slots = ClientSlots::new(1, 3);
        let (first, second) = (client(&mut slots, 1, true), client(&mut slots, 1, true));
        assert!(is_gone(first).await && !is_gone(second).await);
    }
}
