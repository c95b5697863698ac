//! Settings of the DNS server from the job `bosh-dns`: recursors and handlers.

use super::handlers::Handler;
use boson_document::Tree;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Servers that other names are asked of, `ip[:port]`, instead of the cluster's.
    pub recursors: Vec<String>,
    /// Servers that are not asked.
    pub excluded: Vec<String>,
    /// Other names are refused.
    pub no_recursion: bool,
    /// Domains that others answer for.
    pub handlers: Vec<Handler>,
    /// Domains for checks that the server answers.
    pub upcheck: Vec<String>,
}

// === impl Server ===

impl Server {
    /// Whether there are no settings.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn tree(&self) -> Tree {
        Tree::object()
            .with("recursors", self.recursors.clone())
            .with("excluded", self.excluded.clone())
            .with("noRecursion", self.no_recursion)
            .with("handlers", self.handlers.iter().map(Handler::tree).collect::<Vec<_>>())
            .with("upcheck", self.upcheck.clone())
    }
}
