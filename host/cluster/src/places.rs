//! Places for the clients of a server, so that clients that ask nothing cannot lock out the others.
//!
//! If there is no place for a new client, the oldest stranger is disconnected. If the newest were refused, silent
//! clients could keep all places. A client stops being a stranger when it has shown that the server is meant for it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::AbortHandle;

/// The clients of a server.
#[derive(Debug)]
pub struct Places {
    most: usize,
    /// Most strangers from one address.
    most_strangers: usize,
    /// The oldest first.
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    peer: IpAddr,
    known: Known,
    task: AbortHandle,
}

/// Whether a client is no stranger.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<AtomicBool>);

// === impl Known ===

impl Known {
    /// From now on it is none.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is none.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Places ===

impl Places {
    /// This many clients, and this many strangers from one address.
    pub fn new(most: usize, most_strangers: usize) -> Self {
        Self {
            most,
            most_strangers,
            clients: Vec::new(),
        }
    }

    /// Gives a place to a client that `task` serves.
    pub fn give(&mut self, peer: IpAddr, known: Known, task: AbortHandle) {
        self.clients.retain(|client| !client.task.is_finished());
        let leaves = if self.strangers(peer) >= self.most_strangers {
            self.oldest_stranger(peer)
        } else if self.clients.len() >= self.most {
            let peers = self.clients.iter().filter(|client| !client.known.get());
            let busiest = peers.map(|client| client.peer).max_by_key(|peer| self.strangers(*peer));
            busiest.map_or(Some(0), |peer| self.oldest_stranger(peer))
        } else {
            None
        };
        if let Some(at) = leaves {
            self.clients.remove(at).task.abort();
        }
        self.clients.push(Client { peer, known, task });
    }

    fn strangers(&self, peer: IpAddr) -> usize {
        let is_stranger = |client: &&Client| client.peer == peer && !client.known.get();
        self.clients.iter().filter(is_stranger).count()
    }

    fn oldest_stranger(&self, peer: IpAddr) -> Option<usize> {
        let mut clients = self.clients.iter();
        clients.position(|client| client.peer == peer && !client.known.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::task::JoinHandle;

    fn client(places: &mut Places, address: u8, is_known: bool) -> JoinHandle<()> {
        let (known, task) = (Known::default(), tokio::spawn(pending()));
        if is_known {
            known.set();
        }
        places.give([10, 0, 0, address].into(), known, task.abort_handle());
        task
    }

    async fn is_gone(task: JoinHandle<()>) -> bool {
        tokio::task::yield_now().await;
        task.is_finished()
    }

    #[tokio::test]
    async fn a_flood_from_one_address_disconnects_only_itself() {
        let mut places = Places::new(8, 3);
        let (known, stranger) = (client(&mut places, 1, true), client(&mut places, 1, false));
        let flood: Vec<_> = (0..9).map(|_| client(&mut places, 2, false)).collect();
        let mut gone = Vec::new();
        for one in flood {
            gone.push(is_gone(one).await);
        }
        assert_eq!(gone, [[true; 6].as_slice(), &[false; 3]].concat());
        assert!(!is_gone(known).await && !is_gone(stranger).await);
    }

    #[tokio::test]
    async fn without_places_the_address_with_most_strangers_loses_its_oldest() {
        let mut places = Places::new(4, 3);
        let known = client(&mut places, 1, true);
        let (single, first) = (client(&mut places, 2, false), client(&mut places, 3, false));
        let second = client(&mut places, 3, false);
        let new = client(&mut places, 4, false);
        assert!(is_gone(first).await, "of the address with two");
        for kept in [known, single, second, new] {
            assert!(!is_gone(kept).await);
        }
        let mut places = Places::new(1, 3);
        let (first, second) = (client(&mut places, 1, true), client(&mut places, 1, true));
        assert!(is_gone(first).await && !is_gone(second).await);
    }
}
