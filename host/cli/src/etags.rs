//! A cache of documents of web servers for conditional requests. Its size in bytes is limited; the oldest are evicted
//! first.

use indexmap::IndexMap;
use reqwest::header::HeaderValue;
use std::sync::Arc;

/// Size of the cache; manifests and ops files have some hundred KiB. A document that is not cached is downloaded again.
const MAX_CACHE_BYTES: usize = 32 << 20;

/// A document as it was last read.
#[derive(Clone, Debug)]
pub struct Cached {
    /// The server's ETag of this content.
    pub tag: HeaderValue,
    pub bytes: Arc<[u8]>,
}

/// Documents by address, in the order in which they were cached.
#[derive(Debug, Default)]
pub struct Documents {
    all: IndexMap<String, Cached>,
    bytes: usize,
}

// === impl Documents ===

impl Documents {
    /// The one of this address.
    pub fn get(&self, address: &str) -> Option<Cached> {
        self.all.get(address).cloned()
    }

    /// Caches a document in place of the previous one.
    pub fn store(&mut self, address: &str, cached: Cached) {
        self.forget(address);
        self.bytes += cached.bytes.len() + address.len();
        self.all.insert(address.to_string(), cached);
        while self.bytes > MAX_CACHE_BYTES {
            let Some(oldest) = self.all.keys().next().cloned() else {
                return;
            };
            self.forget(&oldest);
        }
    }

    /// Forgets the one of this address.
    pub fn forget(&mut self, address: &str) {
        if let Some(old) = self.all.shift_remove(address) {
            self.bytes -= old.bytes.len() + address.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(bytes: usize) -> Cached {
        Cached {
            tag: HeaderValue::from_static("x"),
            bytes: vec![0; bytes].into(),
        }
    }

    #[test]
    fn the_size_is_limited_and_the_oldest_is_evicted() {
        let mut documents = Documents::default();
        for nth in 0..128 {
            documents.store(&format!("a{nth}"), cached(4 << 20));
            assert!(documents.bytes <= MAX_CACHE_BYTES);
        }
        assert!(documents.get("a0").is_none() && documents.get("a127").is_some());
        documents.store("a127", cached(1));
        documents.store("large", cached(MAX_CACHE_BYTES));
        assert!(
            documents.all.is_empty() && documents.bytes == 0,
            "too large to be cached"
        );
    }
}
