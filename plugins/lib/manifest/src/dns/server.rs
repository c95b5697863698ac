//! Settings of the DNS server from the job `bosh-dns`: recursors and handlers.

use boson_document::Tree;

/// Settings of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Servers that other names are asked of, `ip[:port]`, instead of the cluster's.
    pub recursors: Vec<String>,
    /// Servers that are not asked.
    pub excluded: Vec<String>,
    /// Other names are refused.
    pub no_recursion: bool,
    /// Domains with their own servers.
    pub handlers: Vec<Handler>,
    /// Domains for checks that the server answers.
    pub upcheck: Vec<String>,
}

/// How a domain is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    pub domain: String,
    /// Its servers, `ip[:port]`; none: denied.
    pub recursors: Vec<String>,
    /// `NXDOMAIN` or `REFUSED`, where it is denied.
    pub denied: Option<String>,
}

// === impl Server ===

impl Server {
    /// Whether there are no settings.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn tree(&self) -> Tree {
        let texts = |all: &[String]| all.iter().map(|text| Tree::from(text.as_str())).collect::<Vec<_>>();
        let handler = |handler: &Handler| {
            let mut tree = Tree::object()
                .with("domain", handler.domain.as_str())
                .with("recursors", texts(&handler.recursors));
            if let Some(denied) = &handler.denied {
                tree.set("denied", denied.as_str());
            }
            tree
        };
        Tree::object()
            .with("recursors", texts(&self.recursors))
            .with("excluded", texts(&self.excluded))
            .with("noRecursion", self.no_recursion)
            .with("handlers", self.handlers.iter().map(handler).collect::<Vec<_>>())
            .with("upcheck", texts(&self.upcheck))
    }
}
